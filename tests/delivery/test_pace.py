from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.db import Database
from gna.delivery.pace import Allowance, Pace
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
