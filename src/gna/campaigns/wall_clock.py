"""A time as a clock on the wall shows it, and the moment that it means. Pure: values in, a moment out."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from gna import clock
from gna.errors import Refused

# As browsers send it.
WRITTEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?", re.ASCII)


@dataclass(frozen=True)
class Planned:
    """A moment, in the zone in which it was chosen."""

    local: datetime
    # In autumn an hour comes twice; then the first one is meant.
    comes_twice: bool = False

    @property
    def moment(self) -> datetime:
        """The same in UTC."""
        return self.local.astimezone(UTC)


def read(written: str, zone_name: str, *, now: datetime) -> Planned:
    """What somebody chose, if it is a moment that can be waited for."""
    zone = clock.zone_of_city(zone_name)
    if zone is None:
        raise Refused("There is no such time zone; choose one of the list: Europe/Bucharest")
    try:
        wall = datetime.fromisoformat(written) if WRITTEN.fullmatch(written) else None
        planned = _planned(wall, zone) if wall else None
    except (ValueError, OverflowError):
        planned = None
    if planned is None:
        raise Refused("Choose a day and a time")
    if planned.moment <= now:
        raise Refused("That moment is over; choose a later one")
    return planned


def proposal(zone: tzinfo, *, now: datetime) -> datetime:
    """When to send if nobody has said: tomorrow at nine."""
    return (now.astimezone(zone) + timedelta(days=1)).replace(hour=9, minute=0, second=0, microsecond=0)


def _planned(wall: datetime, zone: tzinfo) -> Planned:
    first, second = (wall.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    # There and back: a time that does not exist comes back as another.
    if first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != wall:
        raise Refused("The clock leaps over this time on that day; choose an earlier or a later one")
    return Planned(first, comes_twice=first.utcoffset() != second.utcoffset())
