"""Fakes that speak in verbs."""

from collections.abc import Sequence
from datetime import timedelta

from gna.providers.protocol import Accepted, Outcome, Outgoing, RefusedForGood, TryLater


class FakeProvider:
    """A provider that does as it is told."""

    exactly_once = False

    def __init__(self) -> None:
        self.sent: list[Outgoing] = []
        self._refused: dict[str, Outcome] = {}
        self._error: Exception | None = None

    def refuses(self, address: str, *, permanently: bool, after: timedelta | None = None) -> None:
        """Mails to this address are not taken."""
        self._refused[address] = (
            RefusedForGood("550 no such mailbox") if permanently else TryLater("451 try later", after)
        )

    def breaks(self, error: Exception) -> None:
        """The whole call fails."""
        self._error = error

    async def send(self, batch: Sequence[Outgoing]) -> Sequence[Outcome]:
        """Take every mail that was not refused."""
        if self._error:
            raise self._error
        outcomes = [self._refused.get(mail.to, Accepted(f"fake-{mail.id}")) for mail in batch]
        self.sent += [mail for mail, outcome in zip(batch, outcomes, strict=True) if isinstance(outcome, Accepted)]
        return outcomes

    async def check(self) -> str:
        """Always ready."""
        return "ready"
