"""Attributes survive being edited as lines."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.errors import Refused
from gna.subscribers.attributes import read, written

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)


@given(st.dictionaries(st.text(), VALUES, max_size=6))
def test_lines_that_nobody_touched_mean_what_they_meant(attributes: dict[str, Any]) -> None:
    assert read(written(attributes), attributes) == attributes


def test_a_person_reads_and_writes_plain_lines() -> None:
    before = {"city": "Cluj", "postcode": "400001", "age": 40, "tags": ["a", "b"]}
    assert written(before) == 'city = Cluj\npostcode = 400001\nage = 40\ntags = ["a", "b"]'
    edited = 'city=Iași\n\n  postcode = 700 \nage = 41\ntags = ["a"]\n"odd = name" = x\nnew = 5 = five'
    assert read(edited, before) == {
        "city": "Iași",
        "postcode": "700",
        "age": 41,
        "tags": ["a"],
        "odd = name": "x",
        "new": "5 = five",
    }


def test_what_is_not_json_any_more_becomes_a_text() -> None:
    assert read("age = forty", {"age": 40}) == {"age": "forty"}


@pytest.mark.parametrize("text", ["city", "= Cluj", '"" = x', '"city', "a = 1\na = 2"])
def test_lines_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(Refused, match="attribute"):
        read(text, {})
