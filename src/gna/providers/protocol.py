"""What a provider is: it takes composed mails and says of each what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol


@dataclass(frozen=True)
class Outgoing:
    """One composed mail on its way out. The same `id` again is the same mail."""

    id: str
    to: str
    raw: bytes


@dataclass(frozen=True)
class Accepted:
    """The provider has it, under its own id."""

    provider_id: str


@dataclass(frozen=True)
class RefusedForGood:
    """No other try will help."""

    reason: str


@dataclass(frozen=True)
class TryLater:
    """It may work later; `after` is the provider's own wish, and honouring it costs no attempt."""

    reason: str
    after: timedelta | None = None


@dataclass(frozen=True)
class Unknown:
    """The connection broke when it might have been accepted."""

    reason: str


Outcome = Accepted | RefusedForGood | TryLater | Unknown


class Provider(Protocol):
    """A way out."""

    # Whether sending the same id again reaches the reader once.
    exactly_once: bool

    async def send(self, batch: Sequence[Outgoing]) -> Sequence[Outcome]:
        """Hand over the mails; one outcome for each, in their order."""

    async def check(self) -> str:
        """One sentence that says it is ready; raises CannotStart with what to do if it is not."""
