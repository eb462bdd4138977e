"""The dates of feeds, which are written in more ways than the standards allow."""

import calendar
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from time import struct_time

# Before the first feed, or after anybody will care: a mistake, not a date.
FIRST_YEAR, LAST_YEAR = 1990, 2200
LONGEST = 80
MONTHS = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], start=1
    )
}
# As other languages begin them, where they do not begin as in English.
MONTHS |= {"ene": 1, "gen": 1, "fév": 2, "fev": 2, "mär": 3, "mrz": 3, "mrt": 3, "abr": 4, "avr": 4, "mai": 5, "mei": 5}
MONTHS |= {"mag": 5, "maj": 5, "giu": 6, "lug": 7, "ago": 8, "aoû": 8, "set": 9, "okt": 10, "ott": 10, "out": 10}
MONTHS |= {"dez": 12, "dic": 12, "déc": 12}
# French: three letters do not tell June from July.
MONTHS |= {"juin": 6, "juil": 7}
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
# Hours east of Greenwich. Where a name has several meanings, the one that feeds mean.
HOURS: dict[str, float] = {
    "z": 0, "ut": 0, "utc": 0, "gmt": 0, "wet": 0, "west": 1, "bst": 1, "cet": 1, "cest": 2, "met": 1, "mest": 2,
    "mez": 1, "mesz": 2, "eet": 2, "eest": 3, "msk": 3, "msd": 4, "trt": 3, "sast": 2, "cat": 2, "wat": 1, "eat": 3,
    "gst": 4, "pkt": 5, "ist": 5.5, "npt": 5.75, "wib": 7, "ict": 7, "hkt": 8, "sgt": 8, "pht": 8, "myt": 8, "awst": 8,
    "jst": 9, "kst": 9, "acst": 9.5, "acdt": 10.5, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13, "nst": -3.5,
    "ndt": -2.5, "ast": -4, "adt": -3, "est": -5, "edt": -4, "et": -5, "cst": -6, "cdt": -5, "ct": -6, "mst": -7,
    "mdt": -6, "mt": -7, "pst": -8, "pdt": -7, "pt": -8, "akst": -9, "akdt": -8, "hst": -10, "brt": -3, "brst": -2,
    "art": -3, "clt": -4, "clst": -3, "cot": -5, "pet": -5, "uyt": -3,
}  # fmt: skip
EPOCH = re.compile(r"(\d{10})(?:\d{3})?(?:\.\d{1,9})?")
TIME = (
    r"(?:(?:[\sT,]{1,3}|\s{1,3}-\s{1,3}|,?\sat\s)"
    r"(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:[.,]\d{1,9})?)?"
    r"(?:\s?(?P<noon>[ap])\.?m(?:\.|\b))?)?"
)
LETTER = r"[^\W\d_]"
WEEKDAY = rf"(?:(?P<weekday>{LETTER}{{2,12}})[.,\s]{{1,5}})?"
MONTH = rf"(?P<month>{LETTER}{{3,9}})\.?"
ORDINAL = r"(?:st|nd|rd|th)?"
ZONE = r"\s{0,5}(?P<zone>.{0,40})"
FORMS = [
    re.compile(form + TIME + ZONE, re.IGNORECASE)
    for form in (
        WEEKDAY + rf"(?P<day>\d{{1,2}}){ORDINAL}[.\s-]{{1,5}}" + MONTH + r"[\s,-]{1,5}(?P<year>\d{4}|\d{2})",
        r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})",
        WEEKDAY + MONTH + rf"\s{{1,5}}(?P<day>\d{{1,2}}){ORDINAL},?\s{{1,5}}(?P<year>\d{{4}})",
        r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})",
        r"(?P<year>\d{4})[년年.]\s?(?P<month>\d{1,2})[월月.]\s?(?P<day>\d{1,2})[일日.]?",
        # In which order day and month stand is found out later.
        WEEKDAY + r"(?P<first>\d{1,2})(?P<between>[/.])(?P<other>\d{1,2})(?P=between)(?P<year>\d{4}|\d{2})",
        WEEKDAY + r"(?P<first>\d{1,2})(?P<between>[\s-])(?P<other>\d{1,2})(?P=between)(?P<year>\d{4})",
        # A month alone is its first day.
        MONTH + r"\s{1,5}(?P<year>\d{4})",
    )
]
FORMS.append(
    re.compile(
        r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)(?:T?(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)?(?P<noon>))?"
        r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
    )
)
OFFSET = re.compile(r"(?:gmt|utc)?\s?([+-])(\d{1,2}):?(\d{2})?z?(?:\s?\(.{0,30}\))?", re.IGNORECASE)
PLACE = re.compile(r"[A-Za-z]{2,20}(?:/[A-Za-z0-9_+-]{1,30}){1,2}")


def moment(text: object) -> datetime | None:
    """The moment in UTC that a feed means, or None if it cannot be told or believed."""
    found = written(text)
    return found[0] if found else None


def written(text: object) -> tuple[datetime, bool] | None:
    """The moment, and whether it says the day alone; midnight is what software writes for that."""
    said = " ".join(text[: LONGEST * 2].split())[:LONGEST] if isinstance(text, str) else ""
    if epoch := EPOCH.fullmatch(said):
        at = believable(datetime.fromtimestamp(int(epoch[1]), UTC))
        return (at, False) if at else None
    found = next((found for form in FORMS if (found := form.fullmatch(said))), None)
    zone = _zone((found["zone"] or "").strip()) if found else None
    if not found or zone is None:
        return None
    try:
        at = believable(_moment(found, zone))
    except (ValueError, OverflowError):
        return None
    return (at, not any(int(found[part] or 0) for part in ("hour", "minute", "second"))) if at else None


def guessed(text: object, nine: object) -> datetime | None:
    """What feedparser made of a date in a form that only it knows, if the text bears it out.

    Where it finds a year alone, it takes the month from today; where it finds a number alone, it finds a year in it.
    """
    if not isinstance(text, str) or not isinstance(nine, struct_time):
        return None
    said = text[:LONGEST]
    numbers = set(map(int, re.findall(r"\d{1,4}", said)))
    if said.isdigit() or not {nine.tm_mday, nine.tm_year} <= numbers | {n + 2000 for n in numbers}:
        return None
    if nine.tm_mon not in numbers and not re.search(LETTER * 3, said):
        return None
    try:
        return believable(datetime.fromtimestamp(calendar.timegm(nine), UTC))
    except (ValueError, OverflowError, OSError):
        return None


def believable(at: datetime) -> datetime | None:
    """The moment, unless its year says that it is a mistake."""
    return at if FIRST_YEAR <= at.year <= LAST_YEAR else None


def _moment(found: re.Match[str], zone: tzinfo) -> datetime:
    hour = int(found["hour"] or 0)
    if found["noon"]:
        hour = hour % 12 + (12 if found["noon"].lower() == "p" else 0)
    clock = time(
        # The end of a day may be written as hour 24, a leap second as second 60.
        hour % 24 if hour == 24 else hour,
        int(found["minute"] or 0),
        min(int(found["second"] or 0), 59),
        tzinfo=zone,
    )
    return (datetime.combine(_date(found), clock) + timedelta(days=hour == 24)).astimezone(UTC)


def _date(found: re.Match[str]) -> date:
    said = found.groupdict()
    year = _year(said["year"])
    if "first" not in said:
        return date(year, _month(said["month"]), int(said.get("day", 1)))
    first, second = int(said["first"]), int(said["other"])
    if _is_month_first(said, year, first, second):
        return date(year, first, second)
    return date(year, second, first)


def _month(said: str) -> int:
    if said.isdigit():
        return int(said)
    name = said.lower()
    return MONTHS.get(name[:4]) or MONTHS.get(name[:3], 0)


def _is_month_first(said: Mapping[str, str | None], year: int, first: int, second: int) -> bool:
    """Whether numbers are written in the American order: the weekday tells it, or `am` and `pm` suggest it."""
    if first > 12 or second > 12:
        return second > 12
    weekday = (said["weekday"] or "").lower()[:3]
    if weekday in WEEKDAYS:
        orders = {date(year, second, first).weekday(): False, date(year, first, second).weekday(): True}
        return orders.get(WEEKDAYS.index(weekday), False)
    return bool(said["noon"]) and said["between"] != "."


def _year(digits: str) -> int:
    year = int(digits)
    return year if len(digits) == 4 else year + (1900 if year >= 90 else 2000)


@lru_cache(maxsize=100)
def _zone(name: str) -> tzinfo | None:
    """The zone of that name; without a name it is UTC, and None is a name that nobody knows."""
    bare = name.strip("()[] ")
    if not bare or bare.lower() in HOURS:
        return timezone(timedelta(hours=HOURS.get(bare.lower(), 0)))
    if offset := OFFSET.fullmatch(bare) or OFFSET.fullmatch(name):
        east = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        return timezone(east if offset[1] == "+" else -east) if east < timedelta(days=1) else None
    return _place(bare) if PLACE.fullmatch(bare) else None


def _place(name: str) -> tzinfo | None:
    # Few feeds write so, and the others need not wait for the module.
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None
