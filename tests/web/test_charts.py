"""Charts are drawn from any numbers, and say them to those who cannot see them."""

import re
from datetime import date, timedelta
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.web.charts import Chart, area, bars, ticks

TODAY = date(2026, 11, 15)
SVG = "{http://www.w3.org/2000/svg}"
counts = st.integers(0, 10**9)


def days(number: int) -> list[date]:
    return [TODAY - timedelta(days=ago) for ago in reversed(range(number))]


def growth(*values: int, language: str = "en", label: str = "Growth") -> Chart:
    return area(list(zip(days(len(values)), values, strict=True)), label=label, language=language)


def sendings(*values: tuple[int, int], language: str = "en", series: tuple[str, str] = ("Sent", "Failed")) -> Chart:
    points = list(zip(days(len(values)), values, strict=True))
    return bars(points, series=series, label="Deliveries", language=language)


def drawn(chart: Chart) -> list[ElementTree.Element]:
    """The drawings, wide and narrow, as a browser reads them."""
    return list(ElementTree.fromstring(f'<div xmlns="{SVG[1:-1]}">{chart.svg}</div>'))


def texts(svg: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in svg.iter(f"{SVG}text")]


def inside(svg: ElementTree.Element) -> bool:
    """Whether all numbers of all places are on the canvas, or a few letters beside it."""
    width, height = map(float, svg.attrib["viewBox"].split()[2:])
    xs = [float(e.attrib[name]) for e in svg.iter() for name in ("x", "cx") if name in e.attrib]
    ys = [float(e.attrib[name]) for e in svg.iter() for name in ("y", "cy") if name in e.attrib]
    for path in svg.iter(f"{SVG}path"):
        pairs = re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.attrib["d"])
        xs += [float(x) for x, _ in pairs]
        ys += [float(y) for _, y in pairs]
    return all(0 <= x <= width for x in xs) and all(0 <= y <= height for y in ys)


@given(counts, counts)
def test_ticks_are_round_and_hold_everything(one: int, other: int) -> None:
    low, high = sorted((one, other))
    marks = ticks(low, high)
    [step] = {after - before for before, after in pairwise(marks)}
    assert str(step).rstrip("0") in ("1", "2", "5")
    assert marks[0] <= low <= high <= marks[-1]
    assert marks[0] % step == 0
    assert 2 <= len(marks) <= 8
    # None of them is there for nothing.
    assert low - marks[0] < step
    assert marks[-1] - high <= step


@pytest.mark.parametrize(
    ("low", "high", "marks"),
    [
        (0, 4, [0, 1, 2, 3, 4]),
        (0, 1170, [0, 200, 400, 600, 800, 1000, 1200]),
        (0, 1000, [0, 200, 400, 600, 800, 1000]),
        (990_100, 1_000_000, [990_000, 992_000, 994_000, 996_000, 998_000, 1_000_000]),
        (0, 0, [0, 1]),
        (7, 7, [7, 8]),
    ],
)
def test_some_ticks(low: int, high: int, marks: list[int]) -> None:
    assert ticks(low, high) == marks


@given(st.lists(counts, max_size=100))
def test_any_growth_can_be_drawn(values: list[int]) -> None:
    for svg in drawn(growth(*values)):
        assert inside(svg)


@given(st.lists(st.tuples(counts, counts), max_size=100))
def test_any_deliveries_can_be_drawn(values: list[tuple[int, int]]) -> None:
    for svg in drawn(sendings(*values)):
        assert inside(svg)


def test_nothing_at_all_is_a_flat_line_at_zero() -> None:
    wide, _ = drawn(growth(0, 0, 0))
    assert texts(wide)[:5] == ["0", "1", "2", "3", "4"]
    line = next(path.attrib["d"] for path in wide.iter(f"{SVG}path") if path.attrib["class"] == "line")
    assert len(set(re.findall(r" ([\d.]+)", line))) == 1


def test_no_days_at_all_are_an_empty_frame() -> None:
    for chart in (growth(), sendings()):
        assert chart.rows == []
        assert [texts(svg) for svg in drawn(chart)] == [["0", "1", "2", "3", "4"]] * 2


def test_a_small_change_of_a_large_number_is_seen() -> None:
    wide, _ = drawn(growth(999_000, 999_500, 1_000_000))
    assert texts(wide)[0] == "999,000"
    assert texts(drawn(growth(10, 500, 1000))[0])[0] == "0"


def test_both_drawings_have_a_name_and_only_one_can_be_pointed_at() -> None:
    wide, narrow = drawn(growth(1, 2, label='"Growth" & <more>'))
    assert [svg.attrib["aria-label"] for svg in (wide, narrow)] == ['"Growth" & <more>'] * 2
    assert {svg.attrib["role"] for svg in (wide, narrow)} == {"img"}
    assert (len(list(wide.iter(f"{SVG}title"))), len(list(narrow.iter(f"{SVG}title")))) == (2, 0)


def test_whoever_points_at_a_day_is_told_its_numbers() -> None:
    wide, _ = drawn(sendings((1200, 0), (3, 4), series=("Sent", "<Failed>")))
    assert [title.text for title in wide.iter(f"{SVG}title")] == [
        "14 Nov: Sent 1,200, <Failed> 0",
        "15 Nov: Sent 3, <Failed> 4",
    ]


def test_numbers_and_days_are_written_as_the_language_does() -> None:
    assert growth(1170, language="ro").rows == [("15 nov.", "1.170")]
    assert growth(1170).rows == [("15 Nov", "1,170")]


@pytest.mark.parametrize("number", [1, 2, 7, 30, 90])
def test_few_days_are_named_and_today_is_among_them(number: int) -> None:
    for svg, most in zip(drawn(growth(*range(number))), (7, 4), strict=True):
        named = [text for text in texts(svg) if "Nov" in text or "Oct" in text or "Aug" in text or "Sep" in text]
        assert 1 <= len(named) <= most
        assert named[-1] == "15 Nov"


def test_even_one_failure_among_a_million_is_to_be_seen() -> None:
    wide, _ = drawn(sendings((1_000_000, 1)))
    [failed] = [path.attrib["d"] for path in wide.iter(f"{SVG}path") if path.attrib["class"] == "s1"]
    assert re.fullmatch(r"M[\d.]+ [\d.]+h34v1h-34z", failed)


def test_nothing_is_styled_inline() -> None:
    assert not re.search(r"style|<script|on[a-z]+=", str(growth(1, 2, 3).svg + sendings((1, 2)).svg))


def test_ninety_days_are_small() -> None:
    chart = growth(*range(0, 900_000, 10_000))
    assert len(chart.svg) < 18_000
