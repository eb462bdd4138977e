"""How many there are, day by day."""

from datetime import UTC, date, datetime, timedelta

import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import Connection

from gna.db import Database
from gna.subscribers import tally
from gna.subscribers.leave import unsubscribe
from gna.subscribers.suppressions import Reason, suppress
from gna.subscribers.table import subscribers
from gna.subscribers.tally import Day, backwards, unbroken
from tests.factories import NOW, a_subscriber, count, the_subscriber

TODAY, A_DAY = NOW.date(), timedelta(days=1)
numbers = st.dictionaries(st.dates(TODAY - 30 * A_DAY, TODAY), st.integers(0, 1000))


def counted(tx: Connection, *, now: datetime = NOW) -> dict[date, Day]:
    """What the step does, and what is known then."""
    tally.keep(tx, tally.count(tx, now=now))
    return known(tx)


def known(tx: Connection) -> dict[date, Day]:
    rows = tx.execute(sa.select(tally.days).order_by(tally.days.c.day)).all()
    return {(day := date.fromisoformat(row.day)): Day(**{**row._mapping, "day": day}) for row in rows}


def a_reader(tx: Connection, number: int, *, since: datetime = NOW) -> str:
    """Somebody who confirmed at that time."""
    return a_subscriber(tx, email=f"p{number}@example.org", activated_at=since, created_at=since)


def leaves(tx: Connection, number: int, *, now: datetime = NOW) -> None:
    unsubscribe(tx, the_subscriber(tx, f"p{number}@example.org").unsubscribe_token, secret="k" * 32, now=now)


def test_the_first_count_knows_the_past_from_who_is_here_and_who_left(db: Database) -> None:
    with db.write() as tx:
        for number, ago in enumerate((400, 10, 5, 5, 0)):
            a_reader(tx, number, since=NOW - ago * A_DAY)
        suppress(tx, ["gone@example.org"], secret="k" * 32, reason=Reason.UNSUBSCRIBED, now=NOW - 3 * A_DAY)
        a_subscriber(tx, email="waits@example.org")
        days = counted(tx)
    assert len(days) == 91
    assert days[TODAY] == Day(TODAY, confirmed=5, joined=1, left=0, pending=1)
    assert days[TODAY - 3 * A_DAY] == Day(TODAY - 3 * A_DAY, confirmed=4, joined=0, left=1)
    assert days[TODAY - 4 * A_DAY].confirmed == 5
    assert days[TODAY - 5 * A_DAY] == Day(TODAY - 5 * A_DAY, confirmed=5, joined=2, left=0)
    assert days[TODAY - 10 * A_DAY].confirmed == 3
    assert days[TODAY - 90 * A_DAY].confirmed == 2


def test_counting_again_brings_today_up_to_date_and_leaves_the_past_alone(db: Database) -> None:
    with db.write() as tx:
        a_reader(tx, 1, since=NOW - A_DAY)
        before = counted(tx)
        a_reader(tx, 2)
        after = counted(tx)
        assert after == counted(tx)
    assert (before.pop(TODAY).confirmed, after.pop(TODAY).confirmed) == (1, 2)
    assert before == after


def test_when_the_day_changes_the_last_one_is_completed(db: Database) -> None:
    late, early = datetime(2026, 11, 15, 23, 58, tzinfo=UTC), datetime(2026, 11, 16, 0, 8, tzinfo=UTC)
    with db.write() as tx:
        a_subscriber(tx, email="waits@example.org")
        a_reader(tx, 1)
        counted(tx, now=late)
        a_reader(tx, 2, since=late + timedelta(seconds=30))
        a_reader(tx, 3, since=early)
        days = counted(tx, now=early)
    assert days[TODAY] == Day(TODAY, confirmed=2, joined=2, left=0, pending=1)
    assert days[TODAY + A_DAY] == Day(TODAY + A_DAY, confirmed=3, joined=1, left=0, pending=1)


def test_days_on_which_nobody_counted_are_filled(db: Database) -> None:
    with db.write() as tx:
        a_reader(tx, 1)
        counted(tx)
        a_reader(tx, 2, since=NOW + 2 * A_DAY)
        days = counted(tx, now=NOW + 4 * A_DAY)
    assert [days[TODAY + number * A_DAY].confirmed for number in range(5)] == [1, 1, 2, 2, 2]
    assert days[TODAY + A_DAY].pending is None


def test_whoever_comes_and_goes_on_one_day_is_counted_both_ways(db: Database) -> None:
    with db.write() as tx:
        a_reader(tx, 1)
        counted(tx)
        leaves(tx, 1)
        days = counted(tx)
        assert count(tx, subscribers) == 0
    assert days[TODAY] == Day(TODAY, confirmed=0, joined=1, left=1, pending=0)


def test_who_left_elsewhere_has_not_left_here(db: Database) -> None:
    with db.write() as tx:
        for number, reason in enumerate(Reason):
            suppress(tx, [f"p{number}@example.org"], secret="k" * 32, reason=reason, now=NOW)
        assert counted(tx)[TODAY].left == 1


def test_a_day_of_a_wrong_clock_stops_nothing(db: Database) -> None:
    with db.write() as tx:
        counted(tx, now=NOW + 500 * A_DAY)
        a_reader(tx, 1)
        assert counted(tx)[TODAY].confirmed == 1
        assert tally.of_days(tx, 7, now=NOW)[-1].confirmed == 1


def test_what_is_shown_of_today_is_of_this_moment(db: Database) -> None:
    with db.write() as tx:
        a_reader(tx, 1, since=NOW - 2 * A_DAY)
        a_reader(tx, 2, since=NOW - 2 * A_DAY)
        counted(tx)
        leaves(tx, 1)
        week = tally.of_days(tx, 7, now=NOW)
    assert [day.confirmed for day in week] == [0, 0, 0, 0, 2, 2, 1]
    assert (week[-1].day, week[-1].left) == (TODAY, 1)


def test_before_anybody_counted_today_is_known(db: Database) -> None:
    with db.write() as tx:
        a_reader(tx, 1)
        assert [day.confirmed for day in tally.of_days(tx, 30, now=NOW)] == [1]


def test_the_rows_hold_numbers_only(db: Database) -> None:
    with db.write() as tx:
        a_reader(tx, 1)
        counted(tx)
        assert "example" not in str(tx.execute(sa.select(tally.days)).all())


def test_gaps_are_filled_with_what_held_before() -> None:
    some = [Day(TODAY, 5, 1, 0), Day(TODAY + 3 * A_DAY, 9, 4, 0)]
    assert [(day.day.day, day.confirmed) for day in unbroken(some)] == [(15, 5), (16, 5), (17, 5), (18, 9)]
    assert list(unbroken([])) == []


@given(numbers, numbers, st.integers(0, 10**7))
def test_the_past_is_never_negative_and_has_every_day(joined: dict[date, int], left: dict[date, int], now: int) -> None:
    first = TODAY - 30 * A_DAY
    today = Day(TODAY, now, joined.get(TODAY, 0), left.get(TODAY, 0))
    days = backwards(today, joined, left, first=first)
    assert [day.day for day in days] == [first + number * A_DAY for number in range(31)]
    assert all(day.confirmed >= 0 for day in days)
    assert days[-1] == today
