from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import Connection

from gna.db import Database
from gna.delivery.pace import Allowance, Pace, hold
from tests.factories import NOW


@pytest.mark.parametrize("rate", [0.5, 1, 2, 10, 25, 300, 5000])
def test_no_second_has_more_than_the_rate_however_often_workers_ask(db: Database, rate: float) -> None:
    pace, granted, now = Pace("x", rate), list[datetime](), NOW
    with db.write() as tx:
        for step in range(400):
            now += timedelta(seconds=(step * 7919 % 23) / rate / 10)
            allowance = Allowance(tx, pace, now=now)
            mails = allowance.upto(step % 50 + 1)
            allowance.spend(mails)
            granted += [now] * mails
    for start in granted[:: max(1, len(granted) // 100)]:
        assert sum(start <= moment < start + timedelta(seconds=1) for moment in granted) <= max(1, rate)
    seconds = (granted[-1] - granted[0]).total_seconds()
    assert len(granted) > seconds * rate * 0.4, "and it is not much slower either"


def test_an_account_without_a_rate_takes_all(db: Database) -> None:
    with db.write() as tx:
        allowance = Allowance(tx, Pace("x"), now=NOW)
        assert allowance.upto(500) == 500
        assert allowance.wait is None


@given(st.floats(0.01, 100_000))
def test_burst_and_refill_together_are_never_more_than_the_rate(rate: float) -> None:
    pace = Pace("x", rate)
    assert pace.refill > 0
    assert pace.burst <= 1 or pace.burst + pace.refill <= rate * 1.0001


@pytest.mark.parametrize("jump", [timedelta(minutes=2), timedelta(hours=6), timedelta(days=30)])
def test_a_pause_does_not_last_as_long_as_the_clock_was_set_back(db: Database, jump: timedelta) -> None:
    pace = Pace("x")
    with db.write() as tx:
        hold(tx, pace, timedelta(seconds=30), now=NOW)
        assert Allowance(tx, pace, now=NOW).upto(1) == 0
        assert Allowance(tx, pace, now=NOW - jump).upto(1) == 1


def test_a_transaction_that_waited_for_another_gains_nothing_by_its_older_time(db: Database) -> None:
    pace, late = Pace("x", 60), NOW + timedelta(milliseconds=50)
    with db.write() as tx:
        granted = [_spend_all(tx, pace, now) for now in (late, NOW, late, NOW, late)]
    assert granted == [3, 0, 0, 0, 0]


def test_a_clock_that_was_set_back_does_not_stop_the_pace(db: Database) -> None:
    pace, before = Pace("x", 60), NOW - timedelta(hours=6)
    with db.write() as tx:
        granted = [_spend_all(tx, pace, now) for now in (NOW, before, before + timedelta(seconds=1))]
    assert granted == [3, 3, 3]


def _spend_all(tx: Connection, pace: Pace, now: datetime) -> int:
    allowance = Allowance(tx, pace, now=now)
    mails = allowance.upto(100)
    allowance.spend(mails)
    return mails
