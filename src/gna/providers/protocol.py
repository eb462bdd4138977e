"""What a provider is: it takes composed mails and says of each what became of it."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import NamedTuple, Protocol

from gna.mail.compile import Mail


class Accepted(NamedTuple):
    """The provider has it, under its own id if it told one."""

    provider_id: str | None = None


class RefusedForGood(NamedTuple):
    """No other try will help. `bad_address` says that the address is to blame, and not what we sent or who we are."""

    reason: str
    bad_address: bool = False


class TryLater(NamedTuple):
    """It was certainly not taken, and may be later.

    `after` is the provider's own wish, and honouring it costs no attempt. `away` says that it is not about this mail:
    the provider cannot be reached, or refuses us altogether, so that others need not be tried now either.
    """

    reason: str
    after: timedelta | None = None
    away: bool = False


class Unknown(NamedTuple):
    """The connection broke when it might have been accepted."""

    reason: str


Outcome = Accepted | RefusedForGood | TryLater | Unknown
Failure = RefusedForGood | TryLater | Unknown
Report = Callable[[Mail, Outcome], None]


class Provider(Protocol):
    """A way out."""

    # Whether sending the same id again reaches the reader once.
    exactly_once: bool

    @property
    def international(self) -> bool:
        """Whether an address may have letters beyond ASCII before its @ (SMTPUTF8); `check` finds out."""

    async def send(self, mails: Sequence[Mail], report: Report) -> None:
        """Hand over the mails and report each exactly once, as soon as its fate is known.

        May be called again while an earlier call is still at it; urgent mails overtake.
        """

    def recall(self) -> Sequence[Mail]:
        """Take out what was not begun; it is not reported any more."""

    def share(self, workers: int) -> None:
        """So many workers use the account; each takes its part of the connections."""

    async def check(self) -> str:
        """One sentence that says it is ready; raises CannotStart with what to do if it is not."""

    async def close(self) -> None:
        """Say goodbye; nothing is being sent any more."""
