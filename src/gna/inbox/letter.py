"""The mail that asks to leave: to one address, in plain text, by the mail server of the account."""

import asyncio
from dataclasses import replace
from datetime import datetime
from email.utils import format_datetime
from urllib.parse import quote, urlsplit

from gna import clock, ids
from gna.inbox import server as reading
from gna.inbox.method import Errand, Outcome, What
from gna.mail.address import on_the_wire
from gna.mail.compile import Mail
from gna.mail.encode import header, quoted
from gna.providers.protocol import Accepted, Unknown
from gna.providers.protocol import Outcome as Reply
from gna.providers.smtp import Auth, Server, Smtp, Timeouts, parse

CRLF = b"\r\n"
CONNECT = 15.0  # seconds
# The provider's advice, and ours: the password stands in no address.
LOGIN = (
    "Check the user and the password in SMTP_URL.",
    "Check the user in the account's SMTP address, and type the password again: gna inbox account password EMAIL",
)


class Letter(Mail):
    """One mail as the provider wants it, written by hand instead of compiled for many."""

    __slots__ = ("_content", "_sender")

    def __init__(self, content: bytes, *, id: str, sender: str, to: str) -> None:
        self.id = id
        self.to = to
        self.urgent = True
        self._content = content
        self._sender = sender

    @property
    def sender(self) -> str:
        """The account's address."""
        return self._sender

    def pieces(self) -> list[bytes]:
        """All of it is here already."""
        return [self._content]


async def send(errand: Errand) -> Outcome:
    """Hand it over, and say what the mail server said."""
    said: list[Reply] = []
    smtp = Smtp(server(errand), connections=1, timeouts=Timeouts(connect=min(CONNECT, errand.within)))
    try:
        async with asyncio.timeout(errand.within):
            await smtp.send([written(errand, now=clock.now())], lambda _, reply: said.append(reply))
    except TimeoutError:
        return Outcome(What.UNKNOWN, f"The mail server took longer than {errand.within:g} seconds")
    finally:
        await smtp.close()
    return meaning(said[0])


def server(errand: Errand) -> Server:
    """The account's mail server. User and kind of login are as for reading, unless its own URL says otherwise; so is
    the secret."""
    url = errand.smtp_url or ""
    at = reading.parse(errand.imap_url) if errand.imap_url else None
    user, own, _ = urlsplit(url).netloc.rpartition("@")
    scheme, _, rest = url.partition("://")
    name = user if own else quote((at and at.user) or errand.email, safe="")
    login = f"{name}:{quote(errand.secret or '', safe='')}"
    parsed = parse(f"{scheme}://{login}@{rest.removeprefix(f'{user}@') if own else rest}")
    by_token = at is not None and at.auth == reading.Auth.XOAUTH2
    return replace(parsed, may_skip_login=True, auth=parsed.auth or (Auth.XOAUTH2 if by_token else None))


def written(errand: Errand, *, now: datetime) -> Letter:
    """The mail. Responders ignore what calls itself automatic, so nothing in it does; a person asked for it."""
    way, sender, id = errand.way, on_the_wire(errand.email), ids.new()
    to = on_the_wire(way.to or "")
    lines = (
        b"From: " + sender.encode(),
        b"To: " + to.encode(),
        b"Subject: " + header(way.subject or "", len("Subject: ")),
        f"Date: {format_datetime(now)}".encode(),
        f"Message-ID: <{id}@{sender.rpartition('@')[2]}>".encode(),
        b"MIME-Version: 1.0",
        b"Content-Type: text/plain; charset=utf-8",
        b"Content-Transfer-Encoding: quoted-printable",
    )
    body = quoted(f"{way.body or ''}\n", goes_on=False)
    return Letter(CRLF.join((*lines, b"", body)), id=id, sender=sender, to=to)


def meaning(reply: Reply) -> Outcome:
    """What the mail server's word is worth."""
    if isinstance(reply, Accepted):
        return Outcome(What.SENT, "The mail server took the mail")
    reason = reply.reason.replace(*LOGIN).rstrip(".").replace("SMTP_URL", "the account's SMTP address")
    if isinstance(reply, Unknown):
        return Outcome(What.UNKNOWN, f"Whether the mail was sent is not known: {reason}")
    return Outcome(What.REFUSED, f"The mail was not sent: {reason}")
