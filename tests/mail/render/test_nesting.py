"""Hostile HTML is refused quickly; what people write passes."""

import re
import time
from contextlib import suppress

import nh3
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gna.errors import Refused
from gna.mail.render import Draft, Format, Frame, check, compose
from gna.mail.render.nesting import DEEPEST, check_nesting, without_drawings

FRAME = Frame("S", "https://news.example.org")
SIZE = 1_000_000


def full_of(text: str) -> str:
    return text * (SIZE // len(text))


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 10_000,
        full_of("<div>"),
        full_of("<b>"),
        full_of("<table><tr><td>"),
        full_of("<DIV\n>"),
        full_of("<div></ </div>"),
        full_of("<div><style></div></style>"),
        full_of("<div><a title='</div>'></a>"),
        full_of("<div></div\xa0>"),
        ("<div>" * 200 + "<table>" + "</div>" * 200) * 300,
        "".join(f"<font size={number}>" for number in range(200)) + full_of("<p>x"),
        "<p>" + "".join(f"<i lang=a{number}>" for number in range(100)) + "</p>" + full_of("<p>x"),
        "<p " + " ".join(f"a{number}=1" for number in range(100_000)) + ">",
    ],
    ids=lambda html: html[:24],
)
def test_what_would_take_a_parser_minutes_is_refused_at_once(html: str) -> None:
    start = time.monotonic()
    with pytest.raises(Refused, match=r"nested too deep|attributes"):
        check_nesting(html)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    "html",
    [
        full_of("<p>x"),
        "<ul>" + full_of("<li>x"),
        "<table>" + full_of("<tr><td>x<td>y"),
        full_of("<table><tr><td><b>x</b></table>"),
        full_of("<td>"),
        full_of("<a name=x>"),
        full_of("<br><img><hr>"),
        full_of("<div><!--></div>"),
        full_of("<div><table></div>"),
        full_of("<div><p><b>x</b></div>"),
        full_of("<!-- <div> -->"),
        "<script>" + full_of("<div>"),
        full_of("</div>"),
        "<table><tr><td>" * 40 + "x" + "</table>" * 40,
        "<img src='data:" + "A " * 10_000 + "'>",
    ],
    ids=lambda html: html[:24],
)
def test_what_is_only_long_or_sloppy_passes(html: str) -> None:
    check_nesting(html)


@pytest.mark.parametrize(
    ("html", "left"),
    [
        ("a<svg><path/><title>x</title></svg>b", "ab"),
        ("a<MATH x>b</Math >c", "ac"),
        ("a<select><option>b</select>c", "ac"),
        ("a<svg>b", "a<x-svg>b"),
        ("a<!-- <svg> -->b<svg>c</svg>d", "abd"),
        ("a<!-- c -->b", "a<!-- c -->b"),
        ("a</svg>b<svg/>", "a</x-svg>b<x-svg/>"),
        ("<s<svg></svg>vg>x", "<x-svg>x"),
    ],
)
def test_drawings_are_taken_out(html: str, left: str) -> None:
    assert without_drawings(html) == left


TAGS = (
    *("div", "p", "b", "i", "a", "font", "nobr", "table", "tr", "td", "th", "tbody", "caption", "ul", "li", "dl", "dd"),
    *("span", "h1", "button", "object", "marquee", "form", "blockquote", "pre", "template", "select", "option", "svg"),
    *("style", "script", "title", "textarea", "body", "html", "section", "unknown"),
)
WRITTEN = ("<%s>", "<%s>", "</%s>", "x<%s a=1>")
HELD = {*TAGS} - {"style", "script", "title", "textarea", "template"}


@settings(max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(WRITTEN), st.sampled_from(TAGS)), min_size=1, max_size=7))
@example([("<%s>", "li"), ("<%s>", "dd")])
@example([("<%s>", "span"), ("<%s>", "div"), ("</%s>", "span")])
@example([("<%s>", "object"), ("<%s>", "marquee"), ("</%s>", "object")])
def test_a_parser_never_nests_deeper_than_we_think(tags: list[tuple[str, str]]) -> None:
    soup = without_drawings("".join(written % name for written, name in tags) * 400)
    try:
        check_nesting(soup)
    except Refused:
        return
    parsed = nh3.clean(soup, tags=HELD, clean_content_tags=set(), attributes={"*": {"a"}})
    deep = deepest = 0
    for tag in re.finditer("<(/?)[a-z]", parsed):
        deep += -1 if tag[1] else 1
        deepest = max(deepest, deep)
    assert deepest <= DEEPEST
    assert len(parsed) < 20 * len(soup) + 1000


HOSTILE = {
    "paragraphs": full_of("<p>x"),
    "cells": "<table>" + full_of("<td>x"),
    "links": '<a href="/x">y</a> ' * 50_000,
    "fields": "{{ nickname | x }} " * 20_000,
    "fields in links": '<a href="https://x.example/?e={{ email }}">x</a>' * 20_000,
    "comment": "<!--" + full_of("<div>"),
    "tags that end nowhere": full_of("<a b='x"),
    "ends": full_of("</body></html>x"),
    "cdata": full_of("<![CDATA[x]]>"),
    "MJML": full_of("<mj-section>x</mj-section>"),
    "misnested": full_of("<a><p><a>"),
    "braces": full_of("&#123;{ "),
    "quotations": "<blockquote>" * 200 + full_of("x<br>"),
    "style sheet": "<style>" + "p{color:red}" * 30_000 + "</style>" + "<p>x" * 30_000,
    "nothing": "\0" * SIZE,
    "halves": "\ud800" * SIZE,
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_body_is_composed_or_refused_before_anybody_waits(body: str) -> None:
    start = time.monotonic()
    with suppress(Refused):
        compose(Draft("x", body), FRAME)
    # Two seconds on an idle machine.
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("body", [full_of("> a\n"), "|" * 90_000, full_of("["), "|a" * 600 + "\n" + "|-" * 600])
def test_markdown_that_would_take_long_is_refused(body: str) -> None:
    with pytest.raises(Refused, match=r"longer than|columns"):
        compose(Draft("x", body, Format.MARKDOWN), FRAME)


@pytest.mark.parametrize(
    "body", ["<div>" * 9999, "|" * 999, "\ud800<p>", "{{", "<a href='http://[x'>x</a>", "<a href=//[>"]
)
def test_checking_never_raises(body: str) -> None:
    for body_format in Format:
        check(Draft("\ud800{{", body, body_format), FRAME)
        check(Draft("x", body, body_format, preheader="\0"), FRAME)


@pytest.mark.parametrize("format", [*Format])
def test_style_sheets_are_looked_for_once(format: Format) -> None:
    """None of these is one: all of them stand in an attribute that never ends."""
    start = time.monotonic()
    with suppress(Refused):
        compose(Draft("x", '<p>x</p><p a="' + "<style " * 14_000 + '"', format), FRAME)
    assert time.monotonic() - start < 10


def test_a_style_sheet_that_would_be_written_into_every_tag_is_refused() -> None:
    sheet = "".join(f"a{number}:b;" for number in range(1800))
    with pytest.raises(Refused, match="too many rules"):
        compose(Draft("x", f"<style>*{{{sheet}}}</style>" + "<p>x" * 4500), FRAME)
