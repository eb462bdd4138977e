"""Email: a mail to the address that the sender names, and to nobody else."""

import re
from collections.abc import Collection
from urllib.parse import unquote

from gna.inbox.method import Errand, Mail, Method, Outcome
from gna.inbox.safety import why_not_host
from gna.inbox.ways import Link, Offers, Way
from gna.outside.place import plain_host

SUBJECT, BODY = "Unsubscribe", "Please unsubscribe me from this mailing list."
# Bytes, of the subject and of the body: whoever wants more of us wants something else.
LONGEST = 1024
SCHEME = re.compile(r"\s*mailto:", re.IGNORECASE)
# One mailbox in its plain form, whose every character can stand in an envelope as it is; no program takes its beginning
# for an option, a file or a command.
MAILBOX = re.compile(
    r"(?![-|/])[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@([^@\s\[\]<>()\",:;]+)"
)
# What ends a line in some program, or is no text.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
NOT_IN_BODY = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class _Wrong(Exception):
    """The sentence that says why nothing is sent there."""


class _NoAddress(_Wrong):
    """The same, where there is nobody to send it to."""


def recognise(link: Link, mail: Mail) -> Way | None:
    """A `mailto:` address."""
    found = SCHEME.match(link.url)
    if not found:
        return None
    try:
        return _read(link, link.url[found.end() :].strip(), mail)
    except _Wrong as wrong:
        method = "invalid" if isinstance(wrong, _NoAddress) else "email_reply"
        return Way(method, link.url, link.source, safe=False, error=str(wrong))


def rejudge(way: Way, allowed: Collection[str]) -> Way:
    """All of it stands in the address."""
    return recognise(Link(way.url, way.source), Mail(Offers(), allowed=allowed)) or way


def _read(link: Link, text: str, mail: Mail) -> Way:
    """RFC 6068: what stands before the ? is the recipient; of the rest only subject and body are anybody's business."""
    recipient, _, query = text.partition("#")[0].partition("?")
    to = _recipient(recipient, mail)
    said, others = _parameters(query)
    subject, body = _subject(said.get("subject", "")), _body(said.get("body", ""))
    doubts = (f"The address wants to set {', '.join(others)} of the mail, which is left out",) if others else ()
    return Way(
        "email_reply",
        link.url,
        link.source,
        warnings=doubts,
        to=to,
        subject=subject or SUBJECT,
        body=body or BODY,
    )


def _recipient(text: str, mail: Mail) -> str:
    to = unquote(text).strip(" ")
    if not to:
        raise _NoAddress("The address names no recipient")
    if CONTROL.search(to):
        raise _Wrong("The recipient holds a line break or another control character")
    if "," in to or ";" in to:
        raise _Wrong("The address names several recipients")
    found = MAILBOX.fullmatch(to)
    if not found or len(to) > 254:
        raise _NoAddress("The recipient is not an email address")
    if error := why_not_host(found[1], allowed=mail.allowed):
        raise _Wrong(error)
    return to if to.isascii() else f"{to.rpartition('@')[0]}@{plain_host(found[1])}"


def _parameters(query: str) -> tuple[dict[str, str], list[str]]:
    """What subject and body say, and the names of what else is there. A + is a plus (RFC 6068)."""
    said: dict[str, str] = {}
    others: dict[str, None] = {}
    for pair in query.replace("&amp;", "&").split("&"):
        name, _, value = pair.partition("=")
        key = unquote(name).strip().lower()
        if key in ("subject", "body") and key not in said:
            said[key] = unquote(value)
        elif key:
            others[CONTROL.sub("", key)[:40]] = None
    return said, list(others)


def _subject(text: str) -> str:
    if CONTROL.search(text):
        raise _Wrong("The subject holds a line break or another control character")
    if len(text.encode()) > LONGEST:
        raise _Wrong(f"The subject is longer than {LONGEST} bytes")
    return text.strip()


def _body(text: str) -> str:
    body = text.replace("\r\n", "\n").replace("\r", "\n")
    if NOT_IN_BODY.search(body):
        raise _Wrong("The body holds a control character")
    if len(body.encode()) > LONGEST:
        raise _Wrong(f"The body is longer than {LONGEST} bytes")
    return body if body.strip() else ""


def plan(errand: Errand) -> str:
    """What would be done."""
    return f"send an email to {errand.way.to} with the subject {errand.way.subject!r}"


async def carry_out(errand: Errand) -> Outcome:
    """Write the mail and hand it to the account's own mail server."""
    from gna.inbox.letter import send

    return await send(errand)


METHOD = Method("email_reply", 4, "email_reply", recognise, plan, carry_out, rejudge=rejudge, needs_smtp=True)
