"""Time comes from here, once per unit of work: aware, in UTC."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

ZONE = re.compile(r"[A-Za-z0-9_+-]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,2}")


def now() -> datetime:
    """The present moment in UTC."""
    return datetime.now(UTC)


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with `Z` and always six decimals, so that text sorts as time does."""
    utc = moment.astimezone(UTC)
    # Half the time of `isoformat`, and whoever stores many rows notices.
    parts = (utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond)
    return "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ" % parts  # noqa: UP031


def in_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values, with each moment as text."""
    return {name: iso(value) if isinstance(value, datetime) else value for name, value in values.items()}


def zone(name: str) -> ZoneInfo | None:
    """A time zone by its name, if there is such a one."""
    try:
        return ZoneInfo(name) if ZONE.fullmatch(name) else None
    except (LookupError, OSError, ValueError):  # not a zone, or a folder of them
        return None


def zone_of_city(name: str) -> ZoneInfo | None:
    """The time zone of that name, or the only one that is named after such a city."""
    city = name.strip().replace(" ", "_").casefold()
    named = [one for one in available_timezones() if one.rpartition("/")[2].casefold() == city]
    return zone(name) or (zone(named[0]) if len(named) == 1 else None)
