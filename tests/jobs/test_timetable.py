from datetime import timedelta

import pytest

from gna.db import Database
from gna.jobs import timetable
from gna.jobs.timetable import LEASE
from tests.factories import NOW, count

HOUR = timedelta(hours=1)


@pytest.fixture
def entered(db: Database) -> Database:
    with db.write() as tx:
        timetable.enter(tx, "clean-up", now=NOW)
    return db


def test_a_new_step_is_due_at_once_and_known_once(entered: Database) -> None:
    with entered.write() as tx:
        timetable.enter(tx, "clean-up", now=NOW + HOUR)
        assert count(tx, timetable.timetable) == 1
        assert timetable.claim(tx, "clean-up", worker="a", now=NOW)


def test_one_worker_wins(entered: Database) -> None:
    with entered.write() as tx:
        assert timetable.claim(tx, "clean-up", worker="a", now=NOW)
    with entered.write() as tx:
        assert not timetable.claim(tx, "clean-up", worker="b", now=NOW)


def test_a_step_that_is_done_waits_for_its_next_time(entered: Database) -> None:
    with entered.write() as tx:
        timetable.claim(tx, "clean-up", worker="a", now=NOW)
        timetable.release(tx, "clean-up", worker="a", wait=HOUR, now=NOW)
        assert not timetable.claim(tx, "clean-up", worker="b", now=NOW + HOUR - timedelta(seconds=1))
        assert timetable.claim(tx, "clean-up", worker="b", now=NOW + HOUR)


def test_the_claim_of_a_dead_worker_runs_out(entered: Database) -> None:
    with entered.write() as tx:
        timetable.claim(tx, "clean-up", worker="dead", now=NOW)
        assert not timetable.claim(tx, "clean-up", worker="b", now=NOW + LEASE - timedelta(seconds=1))
        assert timetable.claim(tx, "clean-up", worker="b", now=NOW + LEASE)


def test_a_living_worker_renews_its_claim(entered: Database) -> None:
    with entered.write() as tx:
        timetable.claim(tx, "clean-up", worker="a", now=NOW)
        timetable.renew(tx, "clean-up", worker="a", now=NOW + LEASE / 2)
        assert not timetable.claim(tx, "clean-up", worker="b", now=NOW + LEASE)


def test_whoever_lost_the_claim_cannot_release_it(entered: Database) -> None:
    with entered.write() as tx:
        timetable.claim(tx, "clean-up", worker="slow", now=NOW)
        timetable.claim(tx, "clean-up", worker="b", now=NOW + LEASE)
        timetable.release(tx, "clean-up", worker="slow", wait=timedelta(), now=NOW)
        assert not timetable.claim(tx, "clean-up", worker="c", now=NOW + LEASE)


def test_an_early_claim_does_not_wait_but_never_doubles(entered: Database) -> None:
    with entered.write() as tx:
        timetable.claim(tx, "clean-up", worker="a", now=NOW)
        assert not timetable.claim(tx, "clean-up", worker="b", now=NOW, early=True)
        timetable.release(tx, "clean-up", worker="a", wait=HOUR, now=NOW)
        assert timetable.claim(tx, "clean-up", worker="b", now=NOW, early=True)
