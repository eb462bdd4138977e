from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from gna.db import Database
from gna.jobs import workers
from gna.jobs.workers import BEAT, DEAD_AFTER, FORGET_AFTER
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
        workers.forget_dead(tx, now=NOW)
        assert tx.scalars(sa.select(workers.workers.c.id)).all() == ["new"]


def beats(db: Database, worker: str, *, since: datetime, until: datetime) -> None:
    moment = since
    with db.write() as tx:
        while moment <= until:
            workers.beat(tx, worker, now=moment)
            moment += BEAT


def can_judge(db: Database, worker: str, now: datetime) -> bool:
    with db.read() as tx:
        return workers.can_judge(tx, worker, now=now)


def test_a_worker_whose_heart_beat_without_a_gap_can_judge_others(db: Database) -> None:
    beats(db, "w1", since=NOW - DEAD_AFTER, until=NOW)
    assert can_judge(db, "w1", NOW)


def test_a_new_worker_waits_before_it_judges_others(db: Database) -> None:
    beats(db, "w1", since=NOW - DEAD_AFTER / 2, until=NOW)
    assert not can_judge(db, "w1", NOW)


def test_a_worker_that_is_alone_need_not_wait(db: Database) -> None:
    with db.write() as tx:
        workers.beat(tx, "w1", now=NOW, alone=True)
    assert can_judge(db, "w1", NOW)


def test_a_worker_without_a_heartbeat_judges_no_other(db: Database) -> None:
    assert not can_judge(db, "w1", NOW)


def test_while_the_database_was_away_no_worker_judges_another(db: Database) -> None:
    pause = timedelta(seconds=25)
    beats(db, "w1", since=NOW - DEAD_AFTER, until=NOW)
    assert not can_judge(db, "w1", NOW + pause)  # before its own heartbeat arrived
    with db.write() as tx:
        workers.beat(tx, "w1", now=NOW + pause)
    assert not can_judge(db, "w1", NOW + pause)  # and after it, until the others had time for theirs
    beats(db, "w1", since=NOW + pause, until=NOW + pause + DEAD_AFTER)
    assert can_judge(db, "w1", NOW + pause + DEAD_AFTER)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("jump", [timedelta(minutes=2), timedelta(hours=6), timedelta(days=30)])
def test_a_clock_that_was_set_lets_no_worker_judge_another(db: Database, jump: timedelta, sign: int) -> None:
    beats(db, "w1", since=NOW - DEAD_AFTER, until=NOW)
    after = NOW + sign * jump
    assert not can_judge(db, "w1", after)
    beats(db, "w1", since=after, until=after + DEAD_AFTER - BEAT)
    assert not can_judge(db, "w1", after + DEAD_AFTER - BEAT)
    beats(db, "w1", since=after + DEAD_AFTER, until=after + DEAD_AFTER)
    assert can_judge(db, "w1", after + DEAD_AFTER)


def test_a_worker_seen_in_the_future_died_before_the_clock_was_set_back(db: Database) -> None:
    with db.write() as tx:
        workers.beat(tx, "dead", now=NOW + timedelta(hours=6))
    assert living(db) == []
