from datetime import timedelta

import sqlalchemy as sa

from gna.db import Database
from gna.jobs import workers
from gna.jobs.workers import DEAD_AFTER, FORGET_AFTER
from tests.factories import NOW


def living(db: Database) -> list[str]:
    with db.read() as tx:
        return list(tx.scalars(workers.alive(now=NOW)))


def test_a_worker_lives_as_long_as_its_heart_beats(db: Database) -> None:
    with db.write() as tx:
        workers.beat(tx, "fresh", now=NOW)
        workers.beat(tx, "silent", now=NOW - DEAD_AFTER)
    assert living(db) == ["fresh"]
    with db.write() as tx:
        workers.beat(tx, "silent", now=NOW)
    assert sorted(living(db)) == ["fresh", "silent"]


def test_a_worker_that_leaves_is_gone(db: Database) -> None:
    with db.write() as tx:
        workers.beat(tx, "w1", now=NOW)
        workers.leave(tx, "w1")
    assert living(db) == []


def test_the_long_dead_are_forgotten(db: Database) -> None:
    with db.write() as tx:
        workers.beat(tx, "old", now=NOW - FORGET_AFTER - timedelta(seconds=1))
        workers.beat(tx, "new", now=NOW)
        assert tx.scalars(sa.select(workers.workers.c.id)).all() == ["new"]
