"""How many there are, day by day. People are deleted when they leave, so nobody could count it afterwards.

A row a day, in UTC: numbers only, and nothing about anybody.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db
from gna.db import metadata
from gna.subscribers.table import subscribers, suppressions

days = sa.Table(
    "days",
    metadata,
    sa.Column("day", sa.Text, primary_key=True),
    # At its end, or so far.
    sa.Column("confirmed", sa.Integer, nullable=False),
    # Nothing of a day on which nobody counted.
    sa.Column("pending", sa.Integer),
    sa.Column("joined", sa.Integer, nullable=False),
    sa.Column("left", sa.Integer, nullable=False),
)

s = subscribers.c
# So far back the first count looks.
PAST = timedelta(days=90)
# Whoever confirms has signed up a day before at most, unless they asked for another link, again and again.
SIGNED_UP_WITHIN = timedelta(days=7)


@dataclass(frozen=True)
class Day:
    """One day's numbers."""

    day: date
    confirmed: int
    joined: int
    left: int
    pending: int | None = None


def count(tx: Connection, *, now: datetime) -> list[Day]:
    """How today is so far, how the day ended that was counted last, and the days in between."""
    today = _day(now)
    last = tx.scalar(sa.select(sa.func.max(days.c.day)).where(days.c.day <= today.isoformat()))
    first = date.fromisoformat(last) if last else today - PAST
    pending, joined, left = count_pending(tx), _joined(tx, first), _left(tx, first)
    so_far = Day(today, count_confirmed(tx), joined.get(today, 0), left.get(today, 0), pending)
    return backwards(so_far, joined, left, first=first)


def keep(tx: Connection, counted: Sequence[Day]) -> None:
    """Write down what was counted; by whom and how often does not matter."""
    tx.execute(_keep(tx), [asdict(day) | {"day": day.day.isoformat()} for day in counted])


def of_days(tx: Connection, number: int, *, now: datetime) -> list[Day]:
    """The last days that are known, oldest first; who is here today, and who left, is counted anew."""
    today = _day(now)
    first = today - timedelta(days=number - 1)
    rows = tx.execute(sa.select(days).where(days.c.day <= today.isoformat()).order_by(days.c.day))
    known = {row.day: Day(**{**row._mapping, "day": date.fromisoformat(row.day)}) for row in rows}
    before = known.pop(today.isoformat(), None)
    left = max(_left(tx, today).get(today, 0), before.left if before else 0)
    so_far = Day(today, count_confirmed(tx), before.joined if before else 0, left, count_pending(tx))
    return [day for day in unbroken([*known.values(), so_far]) if day.day >= first]


def count_confirmed(tx: Connection) -> int:
    """How many have confirmed, exactly; among a million, all less those few who have not are counted fastest."""
    return (tx.scalar(sa.select(sa.func.count()).select_from(subscribers)) or 0) - count_pending(tx)


def count_pending(tx: Connection) -> int:
    """How many have not confirmed yet."""
    return tx.scalar(sa.select(sa.func.count()).select_from(subscribers).where(s.activated_at.is_(None))) or 0


def anybody_signed_up(tx: Connection) -> bool:
    """Whether somebody among the newest came by the form; who was imported has confirmed when they came."""
    newest = tx.execute(sa.select(s.created_at, s.activated_at).order_by(s.created_at.desc()).limit(100))
    return any(row.activated_at != row.created_at for row in newest)


def backwards(today: Day, joined: Mapping[date, int], left: Mapping[date, int], *, first: date) -> list[Day]:
    """Today, and from who came and who left since then, each day before."""
    found = [today]
    while (later := found[-1]).day > first:
        day, confirmed = later.day - timedelta(days=1), max(0, later.confirmed - later.joined + later.left)
        found.append(Day(day, confirmed, joined.get(day, 0), left.get(day, 0)))
    return found[::-1]


def unbroken(known: Sequence[Day]) -> Iterator[Day]:
    """Every day from the first to the last; on one that nobody counted there were as many as on the day before."""
    for day, after in pairwise(known):
        yield day
        for number in range(1, (after.day - day.day).days):
            yield Day(day.day + timedelta(days=number), day.confirmed, 0, 0)
    yield from known[-1:]


def _joined(tx: Connection, since: date) -> dict[date, int]:
    # There is no index of who confirmed when: SQLite would count audiences with it, ten times as slowly.
    lately = s.created_at >= _begin(since) - SIGNED_UP_WITHIN
    return _per_day(tx, s.activated_at, since, lately)


def _left(tx: Connection, since: date) -> dict[date, int]:
    # Written out: SQLite takes a partial index only for what it can read.
    themselves = suppressions.c.reason == sa.literal_column("'unsubscribed'")
    return _per_day(tx, suppressions.c.created_at, since, themselves)


def _per_day(
    tx: Connection, moment: sa.Column[Any], since: date, *conditions: sa.ColumnElement[bool]
) -> dict[date, int]:
    day = db.day_of(tx, moment).label("day")
    found = sa.select(day, sa.func.count().label("number")).where(moment >= _begin(since), *conditions).group_by(day)
    return {date.fromisoformat(row.day): row.number for row in tx.execute(found)}


def _day(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


def _begin(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


@db.prepared
def _keep(insert: Any) -> Any:
    new = insert(days)
    # Who came and has left since then, or the other way round, came nevertheless.
    most = {
        name: sa.case((days.c[name] > new.excluded[name], days.c[name]), else_=new.excluded[name])
        for name in ("joined", "left")
    }
    pending = sa.func.coalesce(new.excluded.pending, days.c.pending)
    return new.on_conflict_do_update(
        index_elements=["day"], set_={"confirmed": new.excluded.confirmed, "pending": pending, **most}
    )
