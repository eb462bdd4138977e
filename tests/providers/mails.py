"""Mails for the tests of providers, and a clerk who writes down what became of them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import count

import uvloop

from gna.mail.compile import Compiled, Mail, Sender
from gna.mail.content import Content
from gna.providers.protocol import Outcome, Provider

NUMBERS = count(1)
SENDER = "Gazette <news@example.org>"


class WrittenMail(Mail):
    """A mail whose bytes the test has written itself."""

    __slots__ = ("written",)

    written: bytes | Exception

    @property
    def is_ascii(self) -> bool:
        return isinstance(self.written, bytes) and self.written.isascii()

    def pieces(self) -> list[bytes]:
        if isinstance(self.written, Exception):
            raise self.written
        return [self.written]


def a_mail(
    to: str = "ana@example.org",
    *,
    raw: bytes | Exception = b"Subject: Hello\r\n\r\nHello, Ana\r\n",
    id: str | None = None,
    urgent: bool = False,
    sender: str = SENDER,
) -> WrittenMail:
    """A mail to somebody."""
    compiled = Compiled(Content("Hello", "<p>Hello</p>", "Hello"), Sender(sender, "https://news.example.org"))
    mail = WrittenMail(compiled, id or f"mail-{next(NUMBERS)}", to, {}, urgent=urgent)
    mail.written = raw
    return mail


def mails(number: int) -> list[Mail]:
    """Mails to as many people, each with its own content."""
    return [
        a_mail(f"reader{i}@example.org", raw=f"Subject: {i}\r\n\r\n{'x' * 70}\r\n".encode() * (1 + i % 3))
        for i in range(number)
    ]


class Clerk:
    """Hears the reports."""

    def __init__(self) -> None:
        self.heard: list[tuple[Mail, Outcome]] = []

    def __call__(self, mail: Mail, outcome: Outcome) -> None:
        self.heard.append((mail, outcome))

    def of(self, mails: Sequence[Mail]) -> list[Outcome]:
        """What became of these mails, in their order; each of them, and nothing else, was reported once."""
        assert sorted(id(mail) for mail, _ in self.heard) == sorted(id(mail) for mail in mails)
        outcomes = {id(mail): outcome for mail, outcome in self.heard}
        return [outcomes[id(mail)] for mail in mails]


def sent(provider: Provider, mails: Sequence[Mail]) -> list[Outcome]:
    """Send the mails, say goodbye, and return what became of them."""
    clerk = Clerk()
    running(provider, lambda: provider.send(mails, clerk))
    return clerk.of(mails)


def running(provider: Provider, act: Callable[[], Awaitable[None]], within: float = 20) -> None:
    """Run it in an event loop of its own, of the kind that Gna uses, and close the provider at the end."""

    async def run() -> None:
        try:
            async with asyncio.timeout(within):
                await act()
        finally:
            await provider.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
