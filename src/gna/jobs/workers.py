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
)

BEAT = timedelta(seconds=3)
DEAD_AFTER = timedelta(seconds=15)
FORGET_AFTER = timedelta(days=1)


def beat(tx: Connection, worker: str, *, now: datetime) -> None:
    """This worker is alive; those long dead are forgotten."""
    tx.execute(
        db.insert(tx, workers)
        .values(id=worker, started_at=now, seen_at=now)
        .on_conflict_do_update(index_elements=["id"], set_={"seen_at": now})
    )
    tx.execute(sa.delete(workers).where(workers.c.seen_at < now - FORGET_AFTER))


def leave(tx: Connection, worker: str) -> None:
    """This worker has finished everything and goes."""
    tx.execute(sa.delete(workers).where(workers.c.id == worker))


def alive(*, now: datetime) -> sa.Select[tuple[str]]:
    """The ids of the workers seen lately, as a query to use in another."""
    return sa.select(workers.c.id).where(workers.c.seen_at > now - DEAD_AFTER)


def count(tx: Connection, *, now: datetime) -> int:
    """How many workers there are."""
    return tx.scalar(sa.select(sa.func.count()).select_from(alive(now=now).subquery())) or 0


def forget_all(tx: Connection) -> None:
    """Nobody else is there: what the rows say is of former lives."""
    tx.execute(sa.delete(workers))
