"""Email addresses: what we accept, and how one is written on the wire."""

import re
from email.errors import MessageDefect
from email.headerregistry import Address

import email_validator
import idna
from email_validator import EmailNotValidError, validate_email

from gna.errors import Refused

# We judge the syntax alone; whether a domain is reserved (.test, .local) is not our business.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()

LONGEST = 254
# Something like an address within a sentence.
QUOTED = re.compile(r"[^\s<>:,;]+@[^\s<>:,;]+")
# With what a mail server begins: 550 5.1.1
CODES = re.compile(r"[0-9]{3}[ -]?(?:[0-9]\.[0-9]{1,3}\.[0-9]{1,3}(?![0-9]))?")
BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
# What almost everybody types. The validator agrees with each of these (a test compares), fifty times slower.
PLAIN = re.compile(
    r"(?=.{6,254}\Z)(?=[^@]{1,64}@)(?!.*--)[A-Za-z0-9_+]+(?:[.-][A-Za-z0-9_+]+)*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}"
)


class Reach:
    """Whom the provider can write to; told once, when a process starts."""

    # Whether letters beyond ASCII may stand before the @ (SMTPUTF8).
    international = False


def parse(text: object) -> str:
    """The address as the person typed it, trimmed; an international domain in its Unicode form.

    Letters beyond ASCII become small letters. Addresses are compared by `lower()` in SQL, which knows no other letters
    than ASCII on SQLite, and on PostgreSQL only those of the database's locale.
    """
    if not isinstance(text, str) or not text.strip():
        raise Refused("Email is required")
    typed = text.strip()
    if PLAIN.fullmatch(typed):
        return typed
    # Before anything else: validating costs the square of the length, and a body may hold a megabyte.
    if len(typed) > LONGEST:
        raise Refused("Email is not a valid address")
    try:
        valid = validate_email(typed, check_deliverability=False, allow_smtputf8=Reach.international, strict=True)
        kept = typed if typed.isascii() and "xn--" not in typed.rpartition("@")[2].lower() else valid.normalized
        if kept.rpartition("@")[0].isascii():
            Address(addr_spec=on_the_wire(kept))  # what cannot stand in a header could never be mailed
    except (EmailNotValidError, MessageDefect, ValueError):
        raise Refused("Email is not a valid address") from None
    return BEYOND_ASCII.sub(lambda letters: letters[0].lower(), kept)


def without_addresses(text: str) -> str:
    """What a server said, for others than the one it spoke of."""
    return QUOTED.sub("…", text)


def without_person(text: str, *, email: str, nickname: str | None) -> str:
    """What a server said, without anything of the person it spoke of; its codes stay."""
    codes = CODES.match(text)
    head = codes[0] if codes else ""
    local, _, domain = email.rpartition("@")
    theirs = {email, on_the_wire(email), local, domain, on_the_wire(email).rpartition("@")[2], nickname or ""} - {""}
    words = "|".join(re.escape(word) for word in sorted(theirs, key=len, reverse=True))
    rest = text[len(head) :]
    if words:
        rest = re.sub(rf"(?:(?<!\w)|(?<=%40))(?:{words})(?!\w)", "…", rest, flags=re.IGNORECASE)
    return head + without_addresses(rest)


def on_the_wire(address: str) -> str:
    """The address with its domain in ASCII, as mail servers without SMTPUTF8 need it."""
    if address.isascii():
        return address
    local, _, domain = address.rpartition("@")
    return address if domain.isascii() else f"{local}@{idna.encode(domain, uts46=True).decode()}"
