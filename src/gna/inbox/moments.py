"""Moments as mails and their servers write them, as the text that is stored: in UTC, so it sorts as time does.

Every mail has two of them, and thousands of mails share an hour and a zone: these are worked out once and remembered.
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import AnyStr

from gna import clock

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MONTH = {name: f"{number:02}" for number, name in enumerate(MONTHS, start=1)}
# No mail is older than mail, and what claims to be from the next century comes from a broken clock.
FIRST_YEAR, LAST_YEAR = "1971", "2099"
# Characters: a moment needs fewer.
LONGEST = 200
REMEMBERED = 4096

# A moment up to its hour, with its zone, and the rest of it: `2026-11-16T17` and `:23:03.000000Z`. Only of zones that
# are whole hours away, where the one says nothing of the other.
_hours: dict[str | bytes, str] = {}
_minutes: dict[str | bytes, str] = {}


def sent(value: str) -> str | None:
    """A Date field, such as `Mon, 16 Nov 2026 17:23:03 +0000`; None if no clock shows that."""
    try:
        return _hours[value[3:19] + value[25:]] + _minutes[value[19:25]]
    except KeyError:
        pass
    if len(value) == 31 and value[3:5] == ", ":
        found = text(value[12:16], value[8:11], value[5:7], value[17:25], value[26:])
        if found:
            return _remembered(value[3:19], value[19:25], value[25:], found) if _is_sane(found) else None
    return None if " 0000 " in value else _odd(value)  # the library takes the year 0 for 2000


def received(written: bytes) -> str | None:
    """INTERNALDATE, such as `16-Nov-2026 17:23:03 +0000`."""
    try:
        return _hours[written[:14] + written[20:]] + _minutes[written[14:20]]
    except KeyError:
        pass
    line = written.decode("latin-1")
    day = f"0{line[1:2]}" if line.startswith(" ") else line[:2]
    found = text(line[7:11], line[3:6], day, line[12:20], line[21:])
    return _remembered(written[:14], written[14:20], written[20:], found) if found else None


def text(year: str, month: str, day: str, time: str, zone: str) -> str | None:
    """A moment from its parts, such as 2026, Nov, 16, 17:23:03 and +0000; None if it is none."""
    try:
        # No reader is faster than that of ISO 8601.
        return clock.iso(datetime.fromisoformat(f"{year}-{MONTH[month]}-{day}T{time}{zone[:3]}:{zone[3:]}"))
    except (ValueError, KeyError, OverflowError):
        return None


def parsed(stored: str) -> datetime:
    """The moment itself."""
    return datetime.fromisoformat(stored)


def _remembered(hour: AnyStr, rest: AnyStr, zone: AnyStr, found: str) -> str:
    written = rest if isinstance(rest, str) else rest.decode("latin-1")
    if len(zone) == 6 and found[13:19] == written:
        if len(_hours) >= REMEMBERED:
            _hours.clear()
        _hours[hour + zone], _minutes[rest] = found[:13], found[13:]
    return found


def _is_sane(found: str) -> bool:
    return FIRST_YEAR <= found[:4] <= LAST_YEAR


def _odd(value: str) -> str | None:
    """One of the many other forms in which programs have written a date."""
    try:
        there = parsedate_to_datetime(value[:LONGEST])
        found = clock.iso(there.replace(tzinfo=UTC) if there.tzinfo is None else there)
    except (ValueError, TypeError, IndexError, OverflowError, AttributeError):
        return None
    return found if _is_sane(found) else None
