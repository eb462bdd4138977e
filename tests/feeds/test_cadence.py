"""When the posts of a feed are mailed."""

from datetime import UTC, datetime, time

import pytest

from gna.errors import Refused
from gna.feeds import cadence
from gna.feeds.cadence import Cadence, Every


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


MORNING = time(9)
# 2026-11-16 is a Monday; Bucharest is two hours ahead of UTC in winter, three in summer.
CASES = [
    (Cadence(Every.POST), "2026-11-16T12:34", "2026-11-16T12:34"),
    (Cadence(Every.DAY, MORNING), "2026-11-16T08:59", "2026-11-16T09:00"),
    (Cadence(Every.DAY, MORNING), "2026-11-16T09:00", "2026-11-16T09:00"),
    (Cadence(Every.DAY, MORNING), "2026-11-16T09:01", "2026-11-17T09:00"),
    (Cadence(Every.DAY, MORNING, "Europe/Bucharest"), "2026-11-16T06:59", "2026-11-16T07:00"),
    (Cadence(Every.DAY, MORNING, "Europe/Bucharest"), "2026-07-16T06:30", "2026-07-17T06:00"),
    # Already tomorrow there.
    (Cadence(Every.DAY, MORNING, "Pacific/Auckland"), "2026-11-16T12:00", "2026-11-16T20:00"),
    # The night in which the clock leaps from 03:00 to 04:00, and the one in which it falls back.
    (Cadence(Every.DAY, time(3, 30), "Europe/Bucharest"), "2026-03-28T12:00", "2026-03-29T01:30"),
    (Cadence(Every.DAY, time(3, 30), "Europe/Bucharest"), "2026-10-24T12:00", "2026-10-25T00:30"),
    (Cadence(Every.WEEK, MORNING, weekday="monday"), "2026-11-16T08:00", "2026-11-16T09:00"),
    (Cadence(Every.WEEK, MORNING, weekday="monday"), "2026-11-16T10:00", "2026-11-23T09:00"),
    (Cadence(Every.WEEK, MORNING, weekday="friday"), "2026-11-16T10:00", "2026-11-20T09:00"),
    (Cadence(Every.MONTH, MORNING, monthday=1), "2026-11-16T10:00", "2026-12-01T09:00"),
    (Cadence(Every.MONTH, MORNING, monthday=16), "2026-11-16T08:00", "2026-11-16T09:00"),
    (Cadence(Every.MONTH, MORNING, monthday=31), "2026-11-16T10:00", "2026-11-30T09:00"),
    (Cadence(Every.MONTH, MORNING, monthday=31), "2026-01-31T10:00", "2026-02-28T09:00"),
    (Cadence(Every.MONTH, MORNING, monthday=30), "2028-02-01T10:00", "2028-02-29T09:00"),
]


@pytest.mark.parametrize(("cadence", "found", "mailed"), CASES)
def test_when_a_post_is_mailed(cadence: Cadence, found: str, mailed: str) -> None:
    assert cadence.next(at(found)) == at(mailed)


@pytest.mark.parametrize(
    ("parse", "good", "stored"),
    [
        (cadence.parse_every, "weekly", "weekly"),
        (cadence.parse_at, "7:05", "07:05"),
        (cadence.parse_at, " 23:59 ", "23:59"),
        (cadence.parse_zone, "Europe/Bucharest", "Europe/Bucharest"),
        (cadence.parse_weekday, "Friday", "friday"),
        (cadence.parse_monthday, 31, 31),
    ],
)
def test_what_a_publisher_may_say(parse: object, good: object, stored: object) -> None:
    assert callable(parse)
    assert parse(good) == stored


@pytest.mark.parametrize(
    ("parse", "bad"),
    [
        *((cadence.parse_every, bad) for bad in ("hourly", "", None, 1)),
        *((cadence.parse_at, bad) for bad in ("24:00", "9", "09:60", "٠٩:٠٠", None, 9)),
        *((cadence.parse_zone, bad) for bad in ("Mars/Olympus", "../etc/passwd", "", "Europe", None, "a" * 65)),
        *((cadence.parse_weekday, bad) for bad in ("someday", "", None, 1)),
        *((cadence.parse_monthday, bad) for bad in (0, 32, True, "1", None, 1.5)),
    ],
)
def test_what_a_publisher_may_not_say(parse: object, bad: object) -> None:
    assert callable(parse)
    with pytest.raises(Refused):
        parse(bad)
