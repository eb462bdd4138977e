"""Moments as exports write them."""

import re
from datetime import UTC, datetime

# Before this nobody subscribed to anything: such a date is a default or a birthday.
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
# Go writes `2020-02-10 23:07:16.194843 +0100 CET`, Ruby `2023-03-24 10:23:10 UTC`.
SPOKEN = re.compile(r"([0-9-]{10})[T ]([0-9:.]{5,20}) ?(UTC|GMT|[+-][0-9]{2}:?[0-9]{2})(?: .*)?")

# Whether a cell is a date is asked more often than which: `12/31/2024` may have its month first.
DATE = re.compile(
    r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}\b.*"
    r"|[0-9]{1,2}[-/.] ?[0-9]{1,2}[-/.] ?(?:[0-9]{4}|[0-9]{2})\b.*"
    r"|(?:[A-Za-z]{3,9},? )?[A-Za-z]{3,9}\.? [0-9]{1,2},? [0-9]{4}\b.*"
    r"|(?:[A-Za-z]{3,9},? )?[0-9]{1,2}\.? [A-Za-zäéû]{3,10}\.? [0-9]{4}\b.*"
    # Seconds or milliseconds since 1970.
    r"|[0-9]{10}|[0-9]{13}"
)
DOTTED = re.compile(r"([0-9]{1,2})\. ?([0-9]{1,2})\. ?([0-9]{4})((?: .*)?)")


def moment(text: str) -> datetime | None:
    """The moment in UTC, which is also assumed where no zone is given; None if it cannot be read."""
    try:
        return _utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return _spoken(text)


def past(text: str, *, latest: datetime) -> datetime | None:
    """The moment, unless it cannot be true."""
    found = moment(text)
    return found if found and EARLIEST <= found <= latest else None


def is_date(text: str) -> bool:
    """Whether the text is a date in one of the usual ways of writing, even if it does not say which."""
    return DATE.fullmatch(text) is not None


def undotted(text: str) -> str:
    """A date that is written with dots has its day first; another text stays as it is."""
    found = DOTTED.fullmatch(text)
    return "{2}-{1:0>2}-{0:0>2}{3}".format(*found.groups()) if found else text


def _spoken(text: str) -> datetime | None:
    found = SPOKEN.fullmatch(text)
    if not found:
        return None
    day, time, zone = found.groups()
    try:
        return _utc(datetime.fromisoformat(f"{day}T{time}{zone if zone[0] in '+-' else 'Z'}"))
    except (ValueError, OverflowError):
        return None


def _utc(found: datetime) -> datetime:
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
