"""What we write as CSV opens safely in every spreadsheet, and comes back as it was."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.inbox.violations import COLUMNS, as_csv
from gna.subscribers.admission import Problem
from gna.subscribers.export import _csv, problem_file
from gna.subscribers.formats.own import guarded, unguarded

SEPARATORS = (",", ";", "\t")
DANGEROUS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
WICKED = [
    ";=1+1;",
    "a;=1+1",
    "a;\t=1+1",
    "x\t=1",
    'a";=1+1;"',
    ';"=1+1;"',
    ';""=1+1',
    "a\n=1+1",
    "a\r\n;@SUM(A1)",
    "; -2+3",
    "=1",
    ";＝1+1",
]
TEXT = st.text(st.sampled_from("a=+-@;,\t\r\n '\"＝|"), max_size=12) | st.text(max_size=12)


def formulas(text: str) -> list[str]:
    """The cells that a spreadsheet would run, whatever its separator is; read by Python's own reader."""
    found = []
    for separator in SEPARATORS:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            found += [cell for cell in row if cell.strip(' \t\r\n"').startswith(DANGEROUS)]
    return found


@pytest.mark.parametrize("text", WICKED)
def test_no_cell_is_a_formula_with_any_separator(text: str) -> None:
    assert formulas(_csv([("a@example.org", text, "Activated", "")])), "the text is harmless, and proves nothing"
    assert not formulas(_csv([("a@example.org", guarded(text), "Activated", "")]))


@given(TEXT, TEXT)
def test_nothing_that_can_be_typed_becomes_a_formula(first: str, second: str) -> None:
    assert not formulas(_csv([("a@example.org", guarded(first), guarded(second), "Activated")]))


@given(TEXT)
def test_the_guard_is_taken_off_and_nothing_else(text: str) -> None:
    assert unguarded(guarded(text.strip())) == text.strip()


def test_plain_names_are_left_alone() -> None:
    for name in ("Ana-Maria", "O'Neill", "a; b", "1 + 1", "Ana\tPop", "ana@example.org"):
        assert guarded(name) == name


@pytest.mark.parametrize("text", WICKED)
def test_every_file_that_we_write_is_guarded(text: str) -> None:
    assert not formulas("".join(problem_file([Problem(text, 2, text)])).lstrip("\ufeff"))
    evidence = "".join(as_csv([dict.fromkeys(COLUMNS, text)])).lstrip("\ufeff")
    assert not formulas(evidence)
