"""The smallest rooms of the ground: clock, ids, tokens."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from gna import clock, ids, tokens


@given(st.lists(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9999, 1, 1)), min_size=2))  # noqa: DTZ001
def test_iso_text_sorts_as_time_does(moments: list[datetime]) -> None:
    aware = [moment.replace(tzinfo=UTC) for moment in moments]
    assert sorted(clock.iso(moment) for moment in aware) == [clock.iso(moment) for moment in sorted(aware)]


def test_iso_text_is_utc_with_z() -> None:
    bucharest = timezone(timedelta(hours=2))
    assert clock.iso(datetime(2026, 1, 1, 1, 30, tzinfo=bucharest)) == "2025-12-31T23:30:00.000000Z"


def test_ids_are_version_7_and_sort_by_creation() -> None:
    made = [ids.new() for _ in range(1000)]
    assert sorted(made) == made
    assert len(set(made)) == 1000
    assert {one[14] for one in made} == {"7"}


def test_a_token_is_256_bits_in_43_characters() -> None:
    made = {tokens.new() for _ in range(1000)}
    assert len(made) == 1000
    assert all(tokens.is_shaped(token) for token in made)


@given(st.text())
def test_any_text_has_a_digest_and_only_ours_have_the_shape(text: str) -> None:
    assert len(tokens.digest(text)) == 64

    letters = text.replace("-", "").replace("_", "")
    assert tokens.is_shaped(text) == (len(text) == 43 and text.isascii() and (letters.isalnum() or not letters))
