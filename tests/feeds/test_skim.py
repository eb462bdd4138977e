"""The quick look: which entries are left to read, and which documents are mended."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.feeds.reading.parse import NotAFeed, read
from gna.feeds.reading.skim import KEPT, mended, newest, skim
from tests.feeds.recipes import NEW_YEAR, URL, feed_of, item, nested_items, rss

DAY = timedelta(days=1)


def test_a_thousand_entries_are_all_kept() -> None:
    assert newest([None] * KEPT) == newest([NEW_YEAR] * KEPT) == list(range(KEPT))


def test_the_newest_are_kept_in_the_order_of_the_feed() -> None:
    days = [NEW_YEAR + (number * 7919 % 3000) * DAY for number in range(3000)]
    kept = newest(days)
    assert kept == sorted(kept)
    assert sorted(days[place] for place in kept) == sorted(days)[-KEPT:]


def test_of_entries_without_a_date_both_ends_are_kept() -> None:
    assert newest([None] * 3000) == [*range(500), *range(2500, 3000)]


def test_of_entries_of_one_moment_both_ends_are_kept() -> None:
    """Some generators give every entry the moment at which the feed was written."""
    assert newest([NEW_YEAR] * 3000) == [*range(500), *range(2500, 3000)]


def test_entries_without_a_date_do_not_push_out_those_with_one() -> None:
    kept = newest([None] * 5000 + [NEW_YEAR + DAY * number for number in range(1000)])
    assert kept == [*range(250), *range(4750, 5000), *range(5500, 6000)]


DATES = st.none() | st.integers(0, 300).map(lambda day: NEW_YEAR + DAY * day)


@given(few=st.lists(DATES, max_size=30), repeat=st.integers(1, 100))
def test_the_newest_entry_is_never_left_out(few: list[datetime | None], repeat: int) -> None:
    dates = few * repeat
    kept = {dates[place] for place in newest(dates)}
    assert max(filter(None, dates), default=None) in kept | {None}
    assert len(newest(dates)) == min(len(dates), KEPT)


def test_what_is_around_the_entries_stays() -> None:
    body = rss([*(item(number) for number in range(1500)), "<ttl>60</ttl>"].__iter__()).decode()
    data, wrong = skim(body)
    assert not wrong
    assert data.count(b"<item>") == KEPT
    assert data.startswith(b"<?xml")
    assert data.endswith(b"<ttl>60</ttl></channel></rss>")


def test_dates_and_items_inside_of_items_are_not_theirs() -> None:
    data, wrong = skim(nested_items(1500).decode())
    assert (data.count(b"<pubDate>"), wrong) == (2 * KEPT, "")
    assert b"Letter 500 " in data
    assert b"Letter 499 " not in data


def test_an_item_without_an_end_tag_takes_nothing_with_it() -> None:
    data, wrong = skim("<channel>" + "<item/><title>x</title>" * 3000 + "</channel>")
    assert (data.count(b"<item/>"), data.count(b"<title>x</title>"), wrong) == (KEPT, 3000, "")


def test_an_old_entry_that_comes_back_on_top_is_old() -> None:
    body = feed_of(2000).replace(b"<item>", item(1).encode() + b"<item>", 1)
    assert read(body, url=URL).entries[0].published == NEW_YEAR + timedelta(hours=6) * 1999


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("a & b", "a &amp; b"),
        ("&eacute;&nbsp;", "é\xa0"),
        ("&amp;&lt;&#233;&#xe9;", "&amp;&lt;&#233;&#xe9;"),
        ("&#0;&#xD800;&#x110000;&#99999999;", ""),
        ("&LT;&AMP;", "&lt;&amp;"),
        ("&own;&other;", "A &amp; B&amp;other;"),
        ("<![CDATA[a & b &nbsp;]]> & <![CDATA[&", "<![CDATA[a & b &nbsp;]]> &amp; <![CDATA[&"),
        ("?a=1&b=2", "?a=1&amp;b=2"),
    ],
)
def test_ampersands_are_mended(wrong: str, right: str) -> None:
    assert mended(wrong, {"own": "A & B"}) == right


@pytest.mark.parametrize("value", ["a" * 101, "&b;&b;", "x&b;"])
def test_an_entity_that_grows_is_refused(value: str) -> None:
    with pytest.raises(NotAFeed, match="entities that grow"):
        skim(f'<!DOCTYPE rss [<!ENTITY a "{value}">]><rss version="2.0"><channel/></rss>')


def test_an_entity_that_is_a_letter_is_read() -> None:
    body = '<!DOCTYPE rss [<!ENTITY e "&#233;"><!ENTITY co "Ana &#38; Co">]><rss version="2.0"><channel><item>'
    body += "<title>Caf&e;, &co;</title></item></channel></rss>"
    assert [entry.title for entry in read(body.encode(), url=URL).entries] == ["Café, Ana & Co"]


def test_nothing_of_a_half_entry_is_read() -> None:
    body = feed_of(3)
    for end in range(body.index(b"</item>") + 7, len(body), 7):
        titles = [entry.title for entry in read(body[:end], url=URL).entries]
        assert titles == [f"Letter {number} & more" for number in (2, 1, 0)][: body[:end].count(b"</item>")]


def test_a_moment_is_not_needed_to_be_newest() -> None:
    assert newest([]) == []
    assert newest([datetime(2024, 1, 1, tzinfo=UTC)]) == [0]
