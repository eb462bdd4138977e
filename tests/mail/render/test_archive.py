"""A public page shows a campaign to nobody in particular."""

import pytest

from gna.mail.render import Draft, Format, Frame, excerpt, headline, reading

FRAME = Frame("The Quiet Web", "https://news.example.org")


def read(body: str, body_format: Format = Format.HTML) -> str:
    return reading(Draft("News", body, body_format), FRAME)


def test_a_page_has_nobodys_data_in_it() -> None:
    body = 'Dear {{ nickname | A &amp; B }}{{ nickname }}{{ email }}, <a href="{{ unsubscribe_url }}">u</a>'
    assert read(body) == 'Dear A &amp; B, <a href="https://news.example.org/subscribe">u</a>'
    assert read('<a href="{{ profile_url }}">p</a>') == '<a href="https://news.example.org/profile">p</a>'
    assert read('<a href="/?n={{ nickname | a b }}">x</a>') == '<a href="https://news.example.org/?n=a%20b">x</a>'


def test_a_page_has_no_looks_of_its_own() -> None:
    html = read('<style>p{color:red}</style><p class="a" id="b" style="margin:0;background:#fff" align="center">x</p>')
    assert html.strip() == "<p>x</p>"


@pytest.mark.parametrize(
    "link", ["https://other.example/", "http://news.example.org.evil.example/", "HTTPS://o.example"]
)
def test_a_link_to_elsewhere_is_not_vouched_for(link: str) -> None:
    assert read(f'<a href="{link}">x</a>') == f'<a href="{link}" rel="noopener nofollow">x</a>'


@pytest.mark.parametrize("link", ["https://news.example.org", "https://news.example.org/a", "mailto:a@b.example", "#a"])
def test_a_link_of_ours_is(link: str) -> None:
    assert read(f'<a href="{link}">x</a>') == f'<a href="{link}">x</a>'


def test_links_and_pictures_are_absolute_and_nothing_runs() -> None:
    html = read("[a](/a) ![A hill](b.png) <script>alert(1)</script>", Format.MARKDOWN)
    assert 'href="https://news.example.org/a"' in html
    assert '<img src="https://news.example.org/b.png" alt="A hill">' in html
    assert "script" not in html


def test_literal_braces_stay_literal() -> None:
    assert read("&#123;{ nickname }}") == "&#123;{ nickname }}"


def test_an_excerpt_is_the_preheader_or_how_the_text_begins() -> None:
    body = "<h1>Big news</h1><ul><li>for <a href='/x'>{{ nickname | you }}</a> &amp; <b>me</b></li></ul><hr>"
    assert excerpt(Draft("News", body), FRAME) == "Big news for you & me"
    assert excerpt(Draft("News", body, preheader=" In short,\n{{ nickname | you }} "), FRAME) == "In short, you"
    assert excerpt(Draft("News", body, body_text="Text for {{ nickname | you }}"), FRAME) == "Text for you"
    assert excerpt(Draft("News", ""), FRAME) == ""


def test_an_excerpt_is_cut_at_a_word() -> None:
    draft = Draft("News", "<p>" + "word, " * 100)
    assert excerpt(draft, FRAME, 20) == "word, word, word…"
    assert excerpt(Draft("News", "x" * 300), FRAME, 10) == "x" * 9 + "…"
    assert all(len(excerpt(draft, FRAME, length)) <= length for length in range(5, 300))


def test_a_headline_is_the_same_for_everybody() -> None:
    assert (
        headline(Draft("{{&nbsp;nickname&nbsp;| Friend }}, {{ email }}news &#123;{ x }}", "x"), FRAME)
        == "Friend, news &#123;{ x }}"
    )
