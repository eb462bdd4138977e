"""When the entries of a feed are mailed. Pure: values in, a moment out."""

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from gna import clock
from gna.errors import Refused

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")


class Every(StrEnum):
    """How often there is a campaign at most."""

    POST = "every"
    DAY = "daily"
    WEEK = "weekly"
    MONTH = "monthly"


@dataclass(frozen=True)
class Cadence:
    """As they come, or all of a day, a week or a month at a time of the clock somewhere."""

    every: Every = Every.POST
    at: time = time(9)
    zone: str = "UTC"
    weekday: str = "monday"
    # In a shorter month, its last day.
    monthday: int = 1

    def next(self, found: datetime) -> datetime:
        """The moment at which an entry that was found then is mailed."""
        if self.every is Every.POST:
            return found
        local = found.astimezone(ZoneInfo(self.zone))
        return next(moment for day in _days(local.date()) if self._fits(day) and (moment := self._on(day)) >= found)

    def _fits(self, day: date) -> bool:
        if self.every is Every.WEEK:
            return WEEKDAYS[day.weekday()] == self.weekday
        if self.every is Every.MONTH:
            return day.day == min(self.monthday, calendar.monthrange(day.year, day.month)[1])
        return True

    def _on(self, day: date) -> datetime:
        # A time that the clock leaps over in spring is the same moment an hour later; one that comes twice, the first.
        return datetime.combine(day, self.at, ZoneInfo(self.zone)).astimezone(UTC)


def _days(start: date) -> Iterator[date]:
    """From this day on, over the end of the longest month and a little more."""
    yield from (start + timedelta(days=number) for number in range(64))


def parse_every(value: object) -> str:
    """How often."""
    if value not in [*Every]:
        raise Refused(f"cadence must be one of {', '.join(Every)}")
    return str(value)


def parse_at(value: object) -> str:
    """A time of day, as people write it."""
    found = CLOCK.fullmatch(value.strip()) if isinstance(value, str) else None
    if not found:
        raise Refused("at must be a time of day: 09:00")
    return f"{int(found[1]):02}:{found[2]}"


def parse_zone(value: object) -> str:
    """A time zone by its name."""
    zone = clock.zone(value) if isinstance(value, str) else None
    if zone is None:
        raise Refused("zone must be a time zone: Europe/Bucharest")
    return zone.key


def parse_weekday(value: object) -> str:
    """A day of the week in English."""
    if not isinstance(value, str) or value.strip().lower() not in WEEKDAYS:
        raise Refused(f"weekday must be one of {', '.join(WEEKDAYS)}")
    return value.strip().lower()


def parse_monthday(value: object) -> int:
    """A day of the month."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 31:
        raise Refused("monthday must be a number from 1 to 31; in shorter months it is the last day")
    return value
