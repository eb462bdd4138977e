"""Who is alive: each process that runs steps says so every few seconds."""

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db
from gna.db import Instant, metadata

workers = sa.Table(
    "workers",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("started_at", Instant, nullable=False),
    sa.Column("seen_at", Instant, nullable=False),
    # Since when its heartbeats have come without a gap.
    sa.Column("steady_since", Instant),
)

BEAT = timedelta(seconds=3)
# A heartbeat that is this far from the one before it, or from now, was held up.
GAP = 3 * BEAT
DEAD_AFTER = timedelta(seconds=15)
FORGET_AFTER = timedelta(days=1)


def beat(tx: Connection, worker: str, *, now: datetime, alone: bool = False) -> None:
    """This worker is alive.

    `alone` says that no other process works on this database, so that it need not wait for signs of life.
    """
    w = workers.c
    begins = now - DEAD_AFTER if alone else now
    is_steady = sa.and_(w.steady_since.is_not(None), w.seen_at.between(now - GAP, now + GAP))
    goes_on = {"seen_at": now, "steady_since": sa.case((is_steady, w.steady_since), else_=sa.literal(now, Instant))}
    tx.execute(
        db.insert(tx, workers)
        .values(id=worker, started_at=now, seen_at=now, steady_since=begins)
        .on_conflict_do_update(index_elements=["id"], set_=goes_on)
    )


def can_judge(tx: Connection, worker: str, *, now: datetime) -> bool:
    """Whether this worker may call others dead: its own heartbeats have arrived for as long as theirs must be missing.

    A database that pauses, and a clock that is set, make every worker look dead at once. Whichever worker looks first
    then finds a gap in its own heartbeats too, and waits until the others had time for theirs.
    """
    w = workers.c
    steady = sa.select(w.id).where(
        w.id == worker,
        w.seen_at.between(now - GAP, now + GAP),
        w.steady_since <= now - DEAD_AFTER,
    )
    return tx.execute(steady).first() is not None


def leave(tx: Connection, worker: str) -> None:
    """This worker has finished everything and goes."""
    tx.execute(sa.delete(workers).where(workers.c.id == worker))


def forget_dead(tx: Connection, *, now: datetime) -> None:
    """Forget those that are long dead; only for a worker that can judge others."""
    seen_at = workers.c.seen_at
    tx.execute(sa.delete(workers).where(sa.or_(seen_at < now - FORGET_AFTER, seen_at > now + FORGET_AFTER)))


def known() -> sa.Select[tuple[str]]:
    """The ids of all workers that have not signed off; any other id is of one that works no more."""
    return sa.select(workers.c.id)


def alive(*, now: datetime) -> sa.Select[tuple[str]]:
    """The ids of the workers seen lately, as a query to use in another.

    One that was seen in the future died before the clock was set back.
    """
    seen_at = workers.c.seen_at
    return sa.select(workers.c.id).where(seen_at > now - DEAD_AFTER, seen_at < now + DEAD_AFTER)


def count(tx: Connection, *, now: datetime) -> int:
    """How many workers there are."""
    return tx.scalar(sa.select(sa.func.count()).select_from(alive(now=now).subquery())) or 0


def forget_all(tx: Connection) -> None:
    """Nobody else is there: what the rows say is of former lives."""
    tx.execute(sa.delete(workers))
