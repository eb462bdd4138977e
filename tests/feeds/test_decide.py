"""What is new in a feed: the rule of the dates, and every trap that memory saves us from."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.feeds.decide import FEW, MANY, Memory, Verdict, decide, keyed
from gna.feeds.entry import Document, Entry

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
SITE = "https://blog.example.org/"


def post(number: int, **fields: object) -> Entry:
    """The posts are an hour apart: number 0 is the oldest."""
    usual = Entry(
        guid=f"post-{number}",
        link=f"{SITE}{number}",
        title=f"Post {number}",
        published=NOW - timedelta(days=2) + timedelta(hours=number),
    )
    return replace(usual, **fields)  # type: ignore[arg-type]


class Follower:
    """Somebody who looks at a feed again and again, and has everything delivered at once."""

    def __init__(self, *first: Entry, now: datetime = NOW) -> None:
        self.keys: set[str] = set()
        self.marker: datetime | None = None
        self.knows = False
        self.now = self.since = now
        self.looks(*first)

    def looks(self, *entries: Entry) -> Verdict:
        document = Document(title="Blog", site=SITE, entries=entries)
        present = {key for _, keys in keyed(document) for key in keys}
        since = self.since if self.knows else None
        memory = Memory(since, self.marker, self.keys & present, anything=bool(self.keys))
        verdict = decide(document, memory, now=self.now)
        self.keys |= set(verdict.learned)
        past = [entry.published for entry in verdict.new if entry.published and entry.published <= self.now]
        self.marker = (
            verdict.marker if not self.knows else max([*past, self.marker] if self.marker else past, default=None)
        )
        self.knows = True
        return verdict

    def finds(self, *entries: Entry) -> list[str]:
        """The titles of what is new, newest first."""
        return [entry.title for entry in self.looks(*entries).new]


def test_the_first_look_is_the_baseline() -> None:
    follower = Follower(post(2), post(1))
    assert follower.marker == post(2).published
    assert follower.finds(post(2), post(1)) == []


def test_a_post_after_the_marker_is_new_and_one_before_it_is_not() -> None:
    follower = Follower(post(5))
    assert follower.finds(post(9), post(5), post(1)) == ["Post 9"]
    assert follower.finds(post(9), post(5), post(1)) == []


def test_all_new_posts_are_found_together_newest_first() -> None:
    assert Follower(post(1)).finds(post(2), post(4), post(3), post(1)) == ["Post 4", "Post 3", "Post 2"]


def test_an_empty_feed_is_a_baseline_too() -> None:
    follower = Follower()
    assert follower.marker is None
    assert follower.finds(post(1)) == ["Post 1"]


@pytest.mark.parametrize(
    "edited",
    [
        post(1, title="Another title"),
        post(1, excerpt="Other words"),
        post(1, published=NOW),
        post(1, published=NOW + timedelta(days=3)),
        post(1, published=None),
        post(1, guid="another-guid"),
        post(1, guid="another-guid", published=NOW),
        post(1, guid=None),
        post(1, guid=None, published=NOW),
        post(1, link="http://blog.example.org/1/?utm_source=rss"),
        post(1, link=None, published=NOW),
    ],
    ids=lambda entry: repr(entry)[:60] if isinstance(entry, str) else None,
)
def test_an_edited_post_is_not_new(edited: Entry) -> None:
    assert Follower(post(1), post(0)).finds(edited, post(0)) == []


def test_another_post_of_the_same_moment_is_new() -> None:
    same = post(2, published=post(1).published)
    assert Follower(post(1)).finds(same, post(1)) == ["Post 2"]


@pytest.mark.parametrize(("earlier", "is_new"), [(timedelta(hours=11), True), (timedelta(days=1, hours=1), False)])
def test_a_day_without_a_time_is_the_whole_day(earlier: timedelta, *, is_new: bool) -> None:
    follower = Follower(post(1))
    marker = post(1).published
    assert marker is not None
    assert follower.finds(post(2, published=marker - earlier, whole_day=True), post(1)) == ["Post 2"] * is_new
    assert follower.finds(post(3, published=marker - earlier), post(1)) == []


@pytest.mark.parametrize(("number", "held"), [(FEW - 1, False), (FEW, True)])
def test_old_posts_in_a_feed_that_was_empty_wait_for_a_person(number: int, *, held: bool) -> None:
    long_ago = [post(hour, published=NOW - timedelta(days=400 + hour)) for hour in range(number)]
    assert (Follower().looks(*long_ago).hold is not None) is held


def test_the_same_address_once_more_repeats_no_post() -> None:
    bare = [post(number, guid=None, title="", link=f"{SITE}a", excerpt=f"Text {number}") for number in range(2)]
    follower = Follower(bare[0])
    assert [entry.excerpt for entry in follower.looks(bare[1], bare[0]).new] == ["Text 1"]
    undated = [post(number, guid=None, published=None, link=f"{SITE}b") for number in range(2)]
    follower = Follower(undated[0])
    assert follower.finds(undated[1], undated[0]) == ["Post 1"]


def test_a_marker_of_a_clock_that_was_ahead_hides_nothing() -> None:
    follower = Follower(post(1), post(0))
    follower.marker = NOW + timedelta(days=100)
    assert follower.finds(post(2), post(1), post(0)) == ["Post 2"]


def test_what_comes_with_an_old_date_is_passed_over_and_counted_once() -> None:
    follower = Follower(post(5))
    assert follower.looks(post(9), post(5), post(1), post(0)).passed_over == 2
    assert follower.looks(post(9), post(5), post(1), post(0)).passed_over == 0


def test_posts_without_a_date_are_told_by_their_name() -> None:
    follower = Follower(post(1, published=None))
    assert follower.finds(post(2, published=None), post(1, published=None)) == ["Post 2"]
    assert follower.finds(post(2, published=None), post(1, published=None)) == []


def test_a_post_from_the_future_is_new_once_and_hides_no_other() -> None:
    follower = Follower(post(1))
    future = post(2, published=NOW + timedelta(days=400))
    assert follower.finds(future, post(1)) == ["Post 2"]
    assert follower.marker == post(1).published
    assert follower.finds(future, post(3), post(1)) == ["Post 3"]
    follower.now += timedelta(days=500)
    assert follower.finds(future, post(3), post(1)) == []


def test_a_future_post_at_the_first_look_is_part_of_the_baseline() -> None:
    future = post(2, published=NOW + timedelta(days=400))
    follower = Follower(future, post(1))
    assert follower.marker == post(1).published
    assert follower.finds(future, post(3), post(1)) == ["Post 3"]


def test_a_post_that_stands_there_twice_is_one() -> None:
    assert Follower(post(1)).finds(post(2), post(2, title="Post 2 again"), post(1)) == ["Post 2"]


def test_posts_that_all_have_the_same_guid_are_told_by_their_addresses() -> None:
    same = [post(number, guid="tag:blog") for number in range(5)]
    follower = Follower(same[1], same[0])
    assert follower.finds(same[2], same[1], same[0]) == ["Post 2"]
    assert follower.finds(same[4], same[3], same[2]) == ["Post 4", "Post 3"]
    assert follower.finds(*same) == []


def test_untitled_posts_are_known_by_their_words_when_guids_change() -> None:
    notes = [post(number, title="", excerpt=f"Note {number}") for number in range(2)]
    changed = [replace(note, guid=f"https://{note.guid}") for note in notes]
    assert Follower(*notes).looks(*changed).new == ()


def test_one_post_at_two_addresses_is_one() -> None:
    both = [post(2), post(2, link=f"{SITE}2?ref=b")]
    assert Follower(post(1)).finds(*both, post(1)) == ["Post 2"]
    assert Follower(post(2), post(1)).finds(*both, post(1)) == []


def test_a_text_that_changes_all_the_time_is_not_remembered_all_the_time() -> None:
    follower = Follower(post(1))
    for count in range(5):
        assert follower.looks(post(1, excerpt=f"{count} comments")).learned == ()


def test_posts_that_share_an_address_are_told_by_their_guids() -> None:
    live = [post(number, link=f"{SITE}live", title="Live") for number in range(4)]
    follower = Follower(*live[:2])
    assert len(follower.looks(*live[:3]).new) == 1
    assert len(follower.looks(*live).new) == 1


def test_a_feed_of_one_post_that_always_leads_to_the_site() -> None:
    follower = Follower(post(1, link=SITE, title="Status"))
    assert follower.finds(post(2, link=SITE, title="Status")) == ["Status"]


def test_without_guids_the_address_is_the_name() -> None:
    follower = Follower(post(1, guid=None))
    assert follower.finds(post(2, guid=None), post(1, guid=None, title="Retitled", published=NOW)) == ["Post 2"]


def test_without_guid_and_address_the_title_and_date_are_the_name() -> None:
    bare = [post(number, guid=None, link=None, title="Open thread") for number in range(3)]
    follower = Follower(*bare[:2])
    assert len(follower.looks(*bare).new) == 1
    assert len(follower.looks(*bare).new) == 0


def test_what_left_the_feed_and_comes_back_is_not_new() -> None:
    follower = Follower(post(1, published=None))
    follower.looks(post(2, published=None))
    assert follower.finds(post(1, published=None), post(2, published=None)) == []


def test_a_move_of_the_site_that_changes_every_name_sends_nothing() -> None:
    moved = [post(number, guid=f"new-{number}", link=f"https://new.example/{number}") for number in range(8)]
    verdict = Follower(*map(post, range(8))).looks(*moved)
    assert verdict.new == ()
    assert verdict.hold is None


def test_a_move_that_changes_names_and_dates_waits_for_a_person() -> None:
    new = "https://new.example/"
    moved = [post(number, guid=f"new-{number}", link=f"{new}{number}", published=NOW) for number in range(8)]
    verdict = Follower(*map(post, range(8))).looks(*moved)
    assert len(verdict.new) == 8
    assert (verdict.hold or "").startswith("8 of the 8 posts in the feed look new at once")


@pytest.mark.parametrize(
    ("known", "new", "held"),
    [
        (0, 1, False),
        (0, MANY - 1, False),
        (0, MANY, True),
        (1, 2, False),
        (1, MANY - 1, False),
        (1, MANY, True),
        (MANY + 1, MANY, False),
        (MANY, MANY, True),
        (500, 100, False),
    ],
)
def test_how_much_is_too_much_while_old_posts_are_still_there(known: int, new: int, *, held: bool) -> None:
    old = [post(0, guid=f"old-{number}", link=None) for number in range(known)]
    fresh = [post(47, guid=f"fresh-{number}", link=None) for number in range(new)]
    verdict = Follower(*old).looks(*fresh, *old)
    assert (len(verdict.new), verdict.hold is not None) == (new, held)


@pytest.mark.parametrize(("new", "held"), [(1, False), (FEW - 1, False), (FEW, True)])
def test_how_much_is_too_much_when_nothing_old_is_left(new: int, *, held: bool) -> None:
    fresh = [post(47, guid=f"fresh-{number}", link=None) for number in range(new)]
    assert (Follower(post(0)).looks(*fresh).hold is not None) is held


dates = st.none() | st.integers(-500, 500).map(lambda hours: NOW + timedelta(hours=hours))
words = st.sampled_from(["a", "b", "c"])
entries = st.builds(
    Entry,
    guid=st.none() | words,
    link=st.none() | words.map(lambda word: f"{SITE}{word}"),
    title=words,
    published=dates,
)
documents = st.lists(st.lists(entries, max_size=6), min_size=1, max_size=6)


@given(documents)
def test_nothing_is_new_twice_whatever_a_feed_does(looks: list[list[Entry]]) -> None:
    follower = Follower(*looks[0])
    for entries in looks[1:]:
        follower.looks(*entries)
        assert follower.looks(*entries).new == ()


@given(documents, st.integers(1, 1000))
def test_a_post_of_today_with_a_name_of_its_own_is_always_found(looks: list[list[Entry]], minutes: int) -> None:
    follower = Follower(*looks[0])
    for entries in looks[1:]:
        follower.looks(*entries)
    follower.now = NOW + timedelta(days=100)
    today = Entry(guid="today", link=f"{SITE}today", title="Today", published=follower.now - timedelta(minutes=minutes))
    assert today in follower.looks(*looks[-1], today).new
