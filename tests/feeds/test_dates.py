"""Dates in every form that feeds have."""

import time
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.feeds.reading.dates import guessed, moment

TEN = datetime(2024, 9, 7, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Sat, 07 Sep 2024 10:00:00 GMT",
        "Sat, 7 Sep 2024 10:00 UT",
        "sat, 07 sep 2024 12:00:00 cest",
        "Sat, 07 Sep 2024 12:00:00 MESZ",
        "Saturday, 07-Sep-24 10:00:00 UTC",
        "Sat,07 Sep 2024 10:00:00 Z",
        "07 September 2024 06:00:00 EDT",
        "Sat, 07 Sep 2024 12:00:00 GMT+2",
        "Sat, 07 Sep 2024 12:00:00 +02:00",
        "Sat, 07 Sep 2024 12:00:00 [Europe/Paris]",
        "Sat, 07 Sep 2024 10:00:00 AM",
        "Sep. 7th, 2024 10:00",
        "2024-09-07T10:00:00Z",
        "2024-9-7 10:00",
        "2024-09-07T19:00:00 Asia/Tokyo",
        "20240907T100000Z",
        "20240907100000",
        "2024年9月7日 10:00",
        "1725703200",
        "1725703200000",
        "07. Sept. 2024, 10:00",
        "sábado, 07 set 2024 10:00:00 +0000",
        "Sat, 7th Sep 2024 10:00:00 GMT",
        "Saturday, September 7, 2024 - 10:00am",
        "Saturday, September 7, 2024 - 10:00",
        "Samedi, 7. Septembre 2024 - 10:00",
        "Sep. 7, 2024, 10:00 a.m.",
        "Sept. 7, 2024, 3:00 a.m. PDT",
        "Sat, September 7, 2024 at 06:00 AM EDT",
        "2024-09-07T05:00:00-05:00Z",
        "07.09.2024 10:00",
        "07.09.24 10:00",
        "07/09/2024 10:00:00",
        "07-09-2024 10:00:00 UTC",
        # The weekday tells in which order they are, or the American way to count hours.
        "Sat, 09/07/2024 - 10:00",
        "Sat, 07/09/2024 - 10:00",
        "Sat, 07 09 2024 12:00:00 +0200",
        "Sat, 09 07 2024 10:00:00",
        "9/7/2024 10:00 AM",
        "09/07/2024 3:00 am PDT",
    ],
)
def test_every_form_is_read(text: str) -> None:
    assert moment(text) == TEN


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "soon", "10:00", "2024-13-01", "31 Feb 2024", "07 Foo 2024", "9" * 99, None, 5, "２０２４"),
        *("1989-12-31", "2201-01-01", "0000-00-00"),
        "Sat, 07 Sep 2024 10:00:00 +9900",
        "Sat, 07 Sep 2024 10:00:00 ../../etc/passwd",
    ],
)
def test_what_is_no_date_is_none(text: object) -> None:
    assert moment(text) is None


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("10/30/23 21:55:58", datetime(2023, 10, 30, 21, 55, 58, tzinfo=UTC)),
        ("30.10.23", datetime(2023, 10, 30, tzinfo=UTC)),
        ("Fri, 26/06/2020", datetime(2020, 6, 26, tzinfo=UTC)),
        ("Nov. 2020", datetime(2020, 11, 1, tzinfo=UTC)),
        ("Jan. 4, 2016, 12:37 p.m.", datetime(2016, 1, 4, 12, 37, tzinfo=UTC)),
        ("Jan. 4, 2016, 12:37 a.m.", datetime(2016, 1, 4, 0, 37, tzinfo=UTC)),
        ("ven., 05 juin 2020 15:09:58 +0000", datetime(2020, 6, 5, 15, 9, 58, tzinfo=UTC)),
        ("ven., 03 juil. 2020 15:09:58 +0000", datetime(2020, 7, 3, 15, 9, 58, tzinfo=UTC)),
        ("3 juillet 2020", datetime(2020, 7, 3, tzinfo=UTC)),
        ("09/15/2014 4:20 pm PST", datetime(2014, 9, 16, 0, 20, tzinfo=UTC)),
    ],
)
def test_forms_of_other_days(text: str, at: datetime) -> None:
    assert moment(text) == at


@pytest.mark.parametrize("text", ["31/13/2020", "13/13/2020", "30.02.2020", "1.2.3", "24-09-07", "1/2-2020"])
def test_numbers_that_are_no_date_are_none(text: str) -> None:
    assert moment(text) is None


def test_a_zone_moves_with_the_season() -> None:
    winter, summer = (moment(f"2024-0{month}-07T12:00:00 Europe/Berlin") for month in (2, 9))
    assert winter == datetime(2024, 2, 7, 11, tzinfo=UTC)
    assert summer == TEN


def test_a_guess_must_be_borne_out_by_the_text() -> None:
    tenth = time.gmtime(TEN.timestamp())
    assert guessed("07 Σεπ 2024 10:00:00", tenth) == TEN
    assert guessed("2024 or so", tenth) is None
    assert guessed("1725703200", tenth) is None
    assert guessed("07 2024", tenth) is None
    assert guessed("07 Σεπ 2024", None) is None
    assert guessed("0000-00-00", time.struct_time((-1, 11, 30, 0, 0, 0, 0, 0, 0))) is None


@given(st.text(max_size=100) | st.from_regex(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d .{0,20}"))
def test_no_text_raises(text: str) -> None:
    at = moment(text)
    assert at is None or 1990 <= at.year <= 2200


@given(seconds=st.integers(631_324_800, 7_258_032_000), east=st.integers(-12 * 60, 14 * 60))
def test_what_is_written_by_the_standards_is_read_again(seconds: int, east: int) -> None:
    at = datetime.fromtimestamp(seconds, timezone(timedelta(minutes=east)))
    assert moment(at.isoformat()) == moment(format_datetime(at)) == at
