"""Fakes that speak in verbs."""

from collections.abc import Sequence
from datetime import timedelta

from gna.mail.compile import Mail
from gna.providers.protocol import Accepted, Outcome, RefusedForGood, Report, TryLater


class FakeProvider:
    """A provider that does as it is told."""

    exactly_once = False
    international = False

    def __init__(self) -> None:
        self.sent: list[Mail] = []
        self._refused: dict[str, Outcome] = {}
        self._error: Exception | None = None

    def refuses(self, address: str, *, permanently: bool, after: timedelta | None = None, away: bool = False) -> None:
        """Mails to this address are not taken; for good, because there is no such mailbox."""
        for_good = RefusedForGood("550 no such mailbox", bad_address=True)
        self._refused[address] = for_good if permanently else TryLater("451 try later", after, away)

    def dislikes(self, address: str) -> None:
        """Mails to this address are not taken for what they say."""
        self._refused[address] = RefusedForGood("554 5.7.1 looks like spam")

    def takes(self, address: str) -> None:
        """Mails to this address are taken again."""
        self._refused.pop(address)

    def breaks(self, error: Exception) -> None:
        """The whole call fails."""
        self._error = error

    async def send(self, mails: Sequence[Mail], report: Report) -> None:
        """Take every mail that was not refused."""
        if self._error:
            raise self._error
        for mail in mails:
            outcome = self._refused.get(mail.to, Accepted(f"fake-{mail.id}"))
            if isinstance(outcome, Accepted):
                self.sent.append(mail)
            report(mail, outcome)

    def recall(self) -> Sequence[Mail]:
        """Nothing waits here."""
        return ()

    def share(self, workers: int) -> None:
        """There is enough for everybody."""

    async def check(self) -> str:
        """Always ready."""
        return "ready"

    async def close(self) -> None:
        """Nothing to close."""
