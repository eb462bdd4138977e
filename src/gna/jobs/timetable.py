"""Which periodic step is due, and who does it: one row a step, won by a conditional update."""

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db
from gna.db import Instant, metadata

timetable = sa.Table(
    "timetable",
    metadata,
    sa.Column("step", sa.Text, primary_key=True),
    sa.Column("due_at", Instant, nullable=False),
    sa.Column("claimed_by", sa.Text),
    sa.Column("claimed_until", Instant),
)

# A worker that dies in the middle loses its claim after this; a living one renews it.
LEASE = timedelta(seconds=60)


def enter(tx: Connection, step: str, *, now: datetime) -> None:
    """Know the step; a new one is due at once."""
    tx.execute(db.insert(tx, timetable).values(step=step, due_at=now).on_conflict_do_nothing())


def claim(tx: Connection, step: str, *, worker: str, every: timedelta, now: datetime, early: bool = False) -> bool:
    """Whether this worker does the step now. `early` does not wait until it is due, but never doubles it.

    A time further away than the step or a lease ever waits was written before the clock was set back: it has come.
    Both have a lease of tolerance, since another worker may have released the step after this one read the clock.
    """
    t = timetable.c
    free = sa.or_(t.claimed_until.is_(None), t.claimed_until <= now, t.claimed_until > now + 2 * LEASE)
    due = sa.true() if early else sa.or_(t.due_at <= now, t.due_at > now + every + LEASE)
    won = tx.execute(
        sa.update(timetable).where(t.step == step, free, due).values(claimed_by=worker, claimed_until=now + LEASE)
    )
    return won.rowcount == 1


def renew(tx: Connection, step: str, *, worker: str, now: datetime) -> None:
    """Keep the claim while the work goes on."""
    t = timetable.c
    tx.execute(sa.update(timetable).where(t.step == step, t.claimed_by == worker).values(claimed_until=now + LEASE))


def release(tx: Connection, step: str, *, worker: str, wait: timedelta, now: datetime) -> None:
    """The step is done, or has failed: somebody does it again after `wait`."""
    t = timetable.c
    tx.execute(
        sa.update(timetable)
        .where(t.step == step, t.claimed_by == worker)
        .values(due_at=now + wait, claimed_by=None, claimed_until=None)
    )
