"""Email addresses: what we accept, and how one is written on the wire."""

import email_validator
import idna
from email_validator import EmailNotValidError, validate_email

from gna.errors import Refused

# We judge the syntax alone; whether a domain is reserved (.test, .local) is not our business.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()


def parse(text: object) -> str:
    """The address as the person typed it, trimmed; an international domain in its Unicode form."""
    if not isinstance(text, str) or not text.strip():
        raise Refused("Email is required")
    typed = text.strip()
    try:
        valid = validate_email(typed, check_deliverability=False, allow_smtputf8=False, strict=True)
    except (EmailNotValidError, UnicodeError):
        raise Refused("Email is not a valid address") from None
    domain = typed.rpartition("@")[2]
    if domain.isascii() and "xn--" not in domain.lower():
        return typed
    return valid.normalized


def on_the_wire(address: str) -> str:
    """The address with its domain in ASCII, as mail servers without SMTPUTF8 need it."""
    local, _, domain = address.rpartition("@")
    return address if domain.isascii() else f"{local}@{idna.encode(domain, uts46=True).decode()}"
