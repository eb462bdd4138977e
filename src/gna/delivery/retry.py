"""What to do with a message after an attempt. Pure: values in, a decision out."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from gna.outbox import LINKS
from gna.providers.protocol import Failure, RefusedForGood, TryLater

# Soon at first, for a hiccup; then patiently, for a provider that is away for a day.
WAITS = tuple(timedelta(seconds=s) for s in (1, 4, 10, 30, 60, 300, 900, 3600, 3600 * 3, 3600 * 6, 3600 * 12))
# Somebody sits and waits for a link: every minute, until it has expired and is deleted.
LINK_WAIT = timedelta(seconds=60)
LONGEST_WAIT = max(WAITS)
# A provider's own wish to wait is never shorter, or it would be asked again and again.
SHORTEST_WISH = timedelta(seconds=1)


class NotBegun(NamedTuple):
    """The message was claimed and never handed over."""

    reason: str = "The worker stopped before this was begun"


@dataclass(frozen=True)
class Retry:
    """Try again at `at`; `spent` says whether this attempt counts."""

    at: datetime
    reason: str
    spent: bool = True


@dataclass(frozen=True)
class GiveUp:
    """No more tries; `exhausted` if nobody refused it for good, so that a person may try again."""

    reason: str
    exhausted: bool = False


def after_failure(failure: Failure | NotBegun, *, kind: str, attempt: int, now: datetime) -> Retry | GiveUp:
    """The decision after attempt number `attempt` failed: 1 for the first that a provider answered."""
    if isinstance(failure, RefusedForGood):
        return GiveUp(failure.reason)
    if isinstance(failure, NotBegun):
        return Retry(at=now, reason=failure.reason, spent=False)
    if isinstance(failure, TryLater) and failure.after is not None and (failure.away or attempt <= len(WAITS)):
        # Only a wish to all of us costs nothing: an address that is always busy would never come to an end.
        wait = min(max(failure.after, SHORTEST_WISH), LONGEST_WAIT)
        return Retry(at=now + wait, reason=failure.reason, spent=not failure.away)
    if kind in LINKS:
        return Retry(at=now + min(LINK_WAIT, WAITS[min(attempt, len(WAITS)) - 1]), reason=failure.reason)
    if attempt > len(WAITS):
        return GiveUp(f"Given up after {attempt} attempts: {failure.reason}", exhausted=True)
    return Retry(at=now + WAITS[attempt - 1], reason=failure.reason)
