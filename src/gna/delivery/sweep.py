"""Taking back what dead workers left in `sending`, and healing times that a clock's jump made wrong."""

import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import log, metrics
from gna.db import Instant
from gna.delivery import dead_letters, mailings
from gna.delivery.claim import SUSPECT_AFTER, Claimed
from gna.delivery.retry import LONGEST_WAIT
from gna.jobs import workers
from gna.outbox import FLEETING, Status, is_sending, is_to_be_tried_again, messages

logger = log.get(__name__)

STUCK_AFTER = timedelta(minutes=15)
# A message that was being sent at this many deaths of workers is what kills them: it is given up.
MOST_CRASHES = 20
# A suspect waits before it is tried again, so that a server that it kills is up for some time in between.
SUSPECT_WAIT = timedelta(seconds=5)
WORKER_DIED = "The worker stopped before it knew what became of this message"
GIVEN_UP = f"Given up: {MOST_CRASHES} workers died while they were sending this message"
# The time of day may drift this far from the time that passed.
DRIFT = timedelta(seconds=2)

# Goes on while the machine sleeps, where there is such a clock.
_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

m = messages.c


def uptime() -> float:
    """Seconds that passed, whatever the time of day says."""
    return time.clock_gettime(_BOOT)


class JumpDetector:
    """Notices that the database's time of day and the time that passed disagree."""

    def __init__(self) -> None:
        self._offset: float | None = None

    def has_jumped(self, now: datetime) -> bool:
        """Whether the clock was set since the last look; before the first look it may have been."""
        before = self._offset
        self._offset = now.timestamp() - uptime()
        return before is None or abs(self._offset - before) > DRIFT.total_seconds()


@dataclass(frozen=True)
class Swept:
    """How many messages were taken back; how many workers are alive, or None while that cannot be judged."""

    taken: int
    alive: int | None


def sweep(tx: Connection, *, worker: str, ours: Collection[str], jumps: JumpDetector, now: datetime) -> Swept:
    """Renew the claims in `ours`, take back those of dead workers, and make due what waits for a wrong time."""
    if ours:
        renew(tx, ours, worker=worker, now=now)
    make_due(tx, clock_was_set=jumps.has_jumped(now), now=now)
    if not workers.can_judge(tx, worker, now=now):
        gone = m.claimed_by.not_in(workers.known())
        return Swept(_take_back(tx, gone, now=now), alive=None)
    taken = take_back(tx, worker=worker, now=now)
    workers.forget_dead(tx, now=now)
    return Swept(taken, workers.count(tx, now=now))


def renew(tx: Connection, ids: Collection[str], *, worker: str, now: datetime) -> None:
    """Say of messages that are still on their way that they are not forgotten."""
    recently = m.last_attempt_at.between(now - STUCK_AFTER / 3, now + STUCK_AFTER / 3)
    tx.execute(
        sa.update(messages)
        .where(is_sending, m.claimed_by == worker, ~recently, m.id.in_(ids))
        .values(last_attempt_at=now)
    )


def make_due(tx: Connection, *, clock_was_set: bool, now: datetime) -> None:
    """Let messages be tried now whose due time was written by a clock that has been set back since.

    A due time beyond the longest wait is found by the index at every sweep. A nearer one is told by its last attempt,
    which lies in the future; that needs a look at every message that waits, so only after a jump.
    """
    going = sa.select(mailings.mailings.c.id).where(mailings.mailings.c.state == mailings.State.GOING)
    for lane in (m.mailing_id.is_(None), m.mailing_id.in_(going)):
        waiting = sa.update(messages).where(lane, is_to_be_tried_again)
        wrong = m.due_at > now + LONGEST_WAIT
        if clock_was_set:
            wrong = sa.or_(wrong, sa.and_(m.due_at > now, m.last_attempt_at > now))
        tx.execute(waiting.where(wrong).values(due_at=now))


def take_back(tx: Connection, *, worker: str, now: datetime) -> int:
    """Let the living send what a dead worker had claimed; says how many. The caller is alive."""
    dead = sa.and_(m.claimed_by != worker, m.claimed_by.not_in(workers.alive(now=now)))
    forgotten = sa.or_(
        m.last_attempt_at.is_(None),
        m.last_attempt_at < now - STUCK_AFTER,
        m.last_attempt_at > now + STUCK_AFTER,
    )
    return _take_back(tx, sa.or_(dead, forgotten), now=now)


def _take_back(tx: Connection, is_abandoned: sa.ColumnElement[bool], *, now: datetime) -> int:
    abandoned = sa.update(messages).where(is_sending, is_abandoned)
    crashes = m.crash_count + 1
    given_up = _give_up(tx, abandoned.where(crashes >= MOST_CRASHES), now=now)
    later = sa.literal(now + SUSPECT_WAIT, Instant)
    due_at = sa.case((crashes >= SUSPECT_AFTER, later), else_=sa.literal(now, Instant))
    again = abandoned.values(
        status=Status.FAILED_TRANSIENT,
        claimed_by=None,
        due_at=due_at,
        crash_count=crashes,
        last_error=WORKER_DIED,
    )
    return given_up + tx.execute(again).rowcount


def _give_up(tx: Connection, guilty: sa.Update, *, now: datetime) -> int:
    """End messages that keep killing workers: an admin sees why, and may send them again."""
    values = {
        "status": Status.FAILED_PERMANENT,
        "claimed_by": None,
        "exhausted": True,
        "crash_count": m.crash_count + 1,
        "last_error": GIVEN_UP,
    }
    columns = (m.id, m.kind, m.mailing_id, m.to_email, m.content_hash, m.attempt_count)
    rows: Sequence[Any] = tx.execute(guilty.values(values).returning(*columns)).all()
    failed = Counter(row.mailing_id for row in rows if row.mailing_id is not None)
    for row in rows:
        logger.error("gave up a message: workers keep dying while they send it", message=row.id)
        metrics.messages.labels(row.kind, Status.FAILED_PERMANENT).inc()
        if row.kind not in FLEETING:
            claimed = Claimed(
                row.id, row.kind, None, row.to_email, row.content_hash, None, row.attempt_count, None, None
            )
            dead_letters.bury(tx, claimed, GIVEN_UP, now=now)
    for mailing in sorted(failed):
        mailings.count(tx, mailing, failed=failed[mailing])
    return len(rows)
