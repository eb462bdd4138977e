from datetime import datetime, timedelta

import pytest
from sqlalchemy.engine import Connection

from gna.db import Database
from gna.jobs import timetable
from gna.jobs.timetable import LEASE
from tests.factories import NOW, count

HOUR = timedelta(hours=1)


def claim(tx: Connection, *, worker: str, now: datetime, early: bool = False) -> bool:
    return timetable.claim(tx, "clean-up", worker=worker, every=HOUR, now=now, early=early)


@pytest.fixture
def entered(db: Database) -> Database:
    with db.write() as tx:
        timetable.enter(tx, "clean-up", now=NOW)
    return db


def test_a_new_step_is_due_at_once_and_known_once(entered: Database) -> None:
    with entered.write() as tx:
        timetable.enter(tx, "clean-up", now=NOW + HOUR)
        assert count(tx, timetable.timetable) == 1
        assert claim(tx, worker="a", now=NOW)


def test_one_worker_wins(entered: Database) -> None:
    with entered.write() as tx:
        assert claim(tx, worker="a", now=NOW)
    with entered.write() as tx:
        assert not claim(tx, worker="b", now=NOW)


def test_a_step_that_is_done_waits_for_its_next_time(entered: Database) -> None:
    with entered.write() as tx:
        claim(tx, worker="a", now=NOW)
        timetable.release(tx, "clean-up", worker="a", wait=HOUR, now=NOW)
        assert not claim(tx, worker="b", now=NOW + HOUR - timedelta(seconds=1))
        assert claim(tx, worker="b", now=NOW + HOUR)


def test_the_claim_of_a_dead_worker_runs_out(entered: Database) -> None:
    with entered.write() as tx:
        claim(tx, worker="dead", now=NOW)
        assert not claim(tx, worker="b", now=NOW + LEASE - timedelta(seconds=1))
        assert claim(tx, worker="b", now=NOW + LEASE)


def test_a_living_worker_renews_its_claim(entered: Database) -> None:
    with entered.write() as tx:
        claim(tx, worker="a", now=NOW)
        timetable.renew(tx, "clean-up", worker="a", now=NOW + LEASE / 2)
        assert not claim(tx, worker="b", now=NOW + LEASE)


def test_a_worker_that_lost_its_claim_cannot_renew_it(entered: Database) -> None:
    with entered.write() as tx:
        claim(tx, worker="slow", now=NOW)
        claim(tx, worker="b", now=NOW + LEASE)
        timetable.renew(tx, "clean-up", worker="slow", now=NOW + LEASE + LEASE / 2)
        assert claim(tx, worker="c", now=NOW + 2 * LEASE)


def test_whoever_lost_the_claim_cannot_release_it(entered: Database) -> None:
    with entered.write() as tx:
        claim(tx, worker="slow", now=NOW)
        claim(tx, worker="b", now=NOW + LEASE)
        timetable.release(tx, "clean-up", worker="slow", wait=timedelta(), now=NOW)
        assert not claim(tx, worker="c", now=NOW + LEASE)


def test_an_early_claim_does_not_wait_but_never_doubles(entered: Database) -> None:
    with entered.write() as tx:
        claim(tx, worker="a", now=NOW)
        assert not claim(tx, worker="b", now=NOW, early=True)
        timetable.release(tx, "clean-up", worker="a", wait=HOUR, now=NOW)
        assert claim(tx, worker="b", now=NOW, early=True)


def test_a_step_is_not_repeated_by_a_worker_that_read_the_clock_before_another_released_it(entered: Database) -> None:
    read_at = NOW
    released_at = NOW + timedelta(milliseconds=5)
    with entered.write() as tx:
        claim(tx, worker="a", now=NOW)
        timetable.release(tx, "clean-up", worker="a", wait=HOUR, now=released_at)
        assert not claim(tx, worker="b", now=read_at)


@pytest.mark.parametrize("jump", [timedelta(hours=6), timedelta(days=30)])
def test_a_clock_that_was_set_back_stops_no_step(entered: Database, jump: timedelta) -> None:
    with entered.write() as tx:
        claim(tx, worker="a", now=NOW)
        timetable.release(tx, "clean-up", worker="a", wait=HOUR, now=NOW)
        assert claim(tx, worker="b", now=NOW - jump)


def test_a_claim_holds_against_a_worker_that_read_the_clock_before_it_was_made(entered: Database) -> None:
    with entered.write() as tx:
        claim(tx, worker="a", now=NOW + timedelta(milliseconds=5))
        assert not claim(tx, worker="b", now=NOW)


def test_a_lease_from_before_the_clock_was_set_back_is_over(entered: Database) -> None:
    with entered.write() as tx:
        claim(tx, worker="dead", now=NOW)
        assert claim(tx, worker="b", now=NOW - timedelta(hours=6))
