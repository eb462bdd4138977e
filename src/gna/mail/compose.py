"""One person's mail as bytes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr

from gna.mail.address import on_the_wire
from gna.mail.content import Content


@dataclass(frozen=True)
class Envelope:
    """Who writes to whom, when, and under which id."""

    id: str
    sender: str
    to: str
    date: datetime


def compose(content: Content, slots: Mapping[str, str], envelope: Envelope) -> bytes:
    """The whole mail: headers, then plain text and HTML as alternatives."""
    person = content.merged(slots)
    name, typed = parseaddr(envelope.sender)
    address = on_the_wire(typed)
    mail = EmailMessage(policy=SMTP)
    mail["From"] = Address(name, addr_spec=address)
    mail["To"] = Address(addr_spec=on_the_wire(envelope.to))
    mail["Date"] = format_datetime(envelope.date)
    # Made from the message's id, so that a repeat after a crash can be recognised as the same mail.
    mail["Message-ID"] = f"<{envelope.id}@{address.rpartition('@')[2]}>"
    # Vacation responders stay silent.
    mail["Auto-Submitted"] = "auto-generated"
    # Plain ASCII travels unencoded, so that a link can be read in the file itself.
    mail.set_content(person.text, cte="7bit" if person.text.isascii() else "quoted-printable")
    mail.add_alternative(person.html, subtype="html")
    return b"Subject: " + _header(person.subject) + b"\r\n" + bytes(mail)


def _header(text: str) -> bytes:
    """RFC 2047 by the older encoder: the newer one loses a space where it folds a long line (CPython 3.11)."""
    if text.isascii() and "=?" not in text and len(text) < 60:
        return text.encode()
    return Header(text, "utf-8", header_name="Subject").encode(linesep="\r\n").encode()
