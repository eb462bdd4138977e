"""Every document is read as the file beside it says; whatever else comes, only NotAFeed is raised."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gna.errors import Refused
from gna.feeds.reading.parse import NotAFeed, read
from tests.feeds.documents import KEPT, URL, Kept, as_json, assert_sound


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.path.name)
def test_every_document_is_read_as_the_file_beside_it_says(kept: Kept) -> None:
    if "refused" in kept.expected:
        with pytest.raises(NotAFeed) as refusal:
            read(kept.body, content_type=kept.content_type, url=URL)
        assert str(refusal.value) == kept.expected["refused"]
        return
    document = read(kept.body, content_type=kept.content_type, url=URL)
    assert as_json(document) == kept.expected["document"]
    assert_sound(document)


def test_a_refusal_is_one_of_ours() -> None:
    assert issubclass(NotAFeed, Refused)


def test_there_are_many_documents() -> None:
    assert len(KEPT) >= 70


def test_an_edited_entry_keeps_its_name() -> None:
    before, after = (
        next(read(kept.body, url=URL).entries[0] for kept in KEPT if kept.path.name == f"names_edited_{when}.xml")
        for when in ("before", "after")
    )
    assert before.guid == after.guid
    assert before != after


def test_the_same_feed_at_another_address_names_its_entries_the_same() -> None:
    for kept in KEPT:
        if "document" in kept.expected:
            here, there = (
                [entry.guid for entry in read(kept.body, content_type=kept.content_type, url=url).entries]
                for url in (URL, "https://moved.example/elsewhere/rss")
            )
            assert here == there


def only_refuses(body: bytes, content_type: str = "") -> None:
    try:
        document = read(body, content_type=content_type, url=URL)
    except NotAFeed:
        return
    assert_sound(document)


BODIES = [kept.body for kept in KEPT if len(kept.body) < 10_000]
FRAGMENTS = [
    b"<item>", b"</item>", b"<entry>", b"<![CDATA[", b"]]>", b"&", b"&amp;", b"&#xD800;", b"&#0;", b"\xff", b"\x00",
    b"<", b">", b'"', b"'", b"<link/>", b"<title>", b"<content type='xhtml'>", b"<source>", b"<image>", b"<textinput>",
    b"xml:base='http://['", b"<media:thumbnail/>", b"<media:content/>", b"</channel>", b"<!--", b"<!DOCTYPE", b"]>",
    b"<guid isPermaLink=''>", b"<content mode='base64'>", b"%", b"{", b"}", b"[", b"null", b"\xe2\x80\xae", b"-->",
    b"<georss:point>1 x</georss:point>", b"<category/>", b"<media:rating>", b"</media:rating>", b"<author>", b"\x1b$B",
    "\u2028\xa0".encode(), b"<rss/>", b"<links>", b"</links>", b"<title_detail a=''/>", b"<media_content>",
    b"<published_parsed>", b"<summary_detail>", b"</summary_detail>", b"<link", b"<published a=''/>",
]  # fmt: skip


@settings(max_examples=200)
@given(body=st.binary(max_size=300), content_type=st.sampled_from(["", "text/xml; charset=utf-7", "x;charset=idna"]))
def test_no_bytes_raise_anything_but_a_refusal(body: bytes, content_type: str) -> None:
    only_refuses(body, content_type)
    only_refuses(b"<rss version='2.0'><channel><item><title>" + body, content_type)


@settings(max_examples=300)
@given(data=st.data())
def test_no_damaged_document_raises_anything_but_a_refusal(data: st.DataObject) -> None:
    body = data.draw(st.sampled_from(BODIES))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(body)))
        end = start + data.draw(st.integers(0, 20))
        body = body[:start] + data.draw(st.sampled_from(FRAGMENTS) | st.binary(max_size=4)) + body[end:]
    only_refuses(body)


TEXT = st.text(max_size=40) | st.sampled_from(
    ["<b>", "&lt;", "&amp;lt;b&amp;gt;", "\u202e", "x" * 400, "http://[", "{{"]
)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
NAMES = ["id", "url", "external_url", "title", "summary", "content_html", "content_text", "image", "banner_image"]
NAMES += ["date_published", "date_modified", "attachments"]
ITEM = st.dictionaries(st.sampled_from(NAMES), VALUE) | VALUE


@settings(max_examples=150)
@given(
    items=st.lists(ITEM, max_size=4) | VALUE,
    rest=st.dictionaries(st.sampled_from(["title", "hubs", "feed_url", "home_page_url"]), VALUE),
)
def test_no_json_raises_anything_but_a_refusal(items: object, rest: dict[str, object]) -> None:
    told = rest | {"version": "https://jsonfeed.org/version/1.1", "items": items}
    only_refuses(json.dumps(told).encode())
