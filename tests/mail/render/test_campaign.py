"""A draft becomes a mail that reads well everywhere, and is the same for everybody but for their own data."""

import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gna.errors import Refused
from gna.mail.content import Content, names_in
from gna.mail.footer import with_footer
from gna.mail.render import Draft, Format, Frame, compose

FRAME = Frame("The Quiet Web", "https://news.example.org")
SAMPLES = sorted(path for path in (Path(__file__).parent / "samples").iterdir() if path.suffix != ".txt")
ANA = {
    "nickname": "Ana",
    "email": "ana@example.org",
    "unsubscribe_url": "https://news.example.org/api/unsubscribe?token=t",
    "profile_url": "https://news.example.org/profile",
}


def sample(path: Path) -> Draft:
    body_format = Format.MARKDOWN if path.suffix == ".md" else Format.HTML
    return Draft("News", path.read_text("utf-8"), body_format, archive_url="https://news.example.org/archive/1")


def mail(body: str, body_format: Format = Format.HTML, frame: Frame = FRAME, **others: str) -> Content:
    return compose(Draft(**{"subject": "News", "body": body, "body_format": body_format, **others}), frame)  # type: ignore[arg-type]


class Tags(HTMLParser):
    """Collects the tags and the texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))
        self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.texts.append("")

    def handle_data(self, data: str) -> None:
        self.texts.append(self.texts.pop() + data if self.texts else data)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_the_text_part_reads_as_if_somebody_had_typed_it(path: Path) -> None:
    draft = sample(path)
    expected = path.with_suffix(".txt").read_text("utf-8")
    archive = "Read in the browser: https://news.example.org/archive/1\n"
    assert compose(draft, FRAME).text == expected + archive


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_nothing_is_added_to_our_footer_and_the_same_draft_is_the_same_mail(path: Path) -> None:
    content = compose(sample(path), FRAME)
    assert with_footer(content, "en") == content
    assert compose(sample(path), FRAME) == content


def test_importing_it_costs_no_memory_until_something_is_composed() -> None:
    lazy = "import sys, gna.mail.render; print(sorted({'mjml', 'css_inline', 'nh3', 'markdown_it'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", lazy], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_mail_says_its_language_its_title_and_that_it_knows_the_dark() -> None:
    html = mail("<p>Hello</p>", subject="A & B").html
    assert '<html lang="en"' in html
    assert "<title>A &amp; B</title>" in html
    assert '<meta name="color-scheme" content="light dark">' in html
    assert "@media (prefers-color-scheme: dark)" in html
    assert "[data-ogsc] .content a" in html
    assert "<!--[if mso" in html


@pytest.mark.parametrize(("language", "ana", "nobody"), [("en", "Hi, Ana", "Hi"), ("ro", "Bună, Ana", "Bună")])
def test_everybody_is_greeted_in_the_language_of_the_publication(language: str, ana: str, nobody: str) -> None:
    content = mail("<p>Hello</p>", frame=Frame("S", "https://news.example.org", language))
    for greeted, nickname in ((ana, "Ana"), (nobody, "")):
        merged = content.merged(ANA | {"nickname": nickname})
        assert f">{greeted}</p>" in merged.html
        assert merged.text.startswith(f"{greeted}\n\nHello\n")


def test_an_unknown_language_behaves_as_english() -> None:
    content = mail("<p>Hello</p>", frame=Frame("S", "https://news.example.org", "xx"))
    assert content == mail("<p>Hello</p>", frame=Frame("S", "https://news.example.org"))


def test_the_archive_is_named_only_if_the_mail_is_in_it() -> None:
    assert "Read in the browser" not in mail("x").html + mail("x").text
    archived = mail("x", archive_url="https://news.example.org/a?b=1&c=2")
    assert '<a href="https://news.example.org/a?b=1&amp;c=2" style' in archived.html
    assert "Read in the browser: https://news.example.org/a?b=1&c=2\n" in archived.text
    romanian = mail("x", archive_url="https://x.example", frame=Frame("S", "https://news.example.org", "ro"))
    assert "Citiți în browser: https://x.example" in romanian.text


def test_the_preheader_is_hidden_and_nothing_of_the_body_follows_it_in_the_inbox_list() -> None:
    html = mail("<p>Body</p>", preheader="In short, {{ nickname | you }}").html
    hidden = html.partition("In short, {{ nickname | you }}")
    assert "display:none" in hidden[0].rpartition("<div")[2]
    assert hidden[2].startswith("&#847;&zwnj;&nbsp;" * 90 + "</div>")


def test_without_a_preheader_the_inbox_shows_how_the_text_begins() -> None:
    html = mail('<h1>Big</h1><p>Hello {{ nickname }}, <a href="/x">go</a></p>').html
    assert ">Big Hello {{ nickname }}, go&#847;" in html


def test_the_subject_is_one_line_with_its_slots() -> None:
    assert mail("x", subject=" For\r\n {{nickname|you}} ").subject == "For {{ nickname | you }}"


def test_a_written_text_part_is_taken_as_it_is() -> None:
    text = mail("<p>HTML</p>", body_text="\nFor {{ nickname | you & me }}: 1 < 2\n").text
    assert text.startswith("{{ greeting | Hi }}\n\nFor {{ nickname | you & me }}: 1 < 2\n\n--\nUnsubscribe: {{")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{{ nickname | A &amp; B }}", "A & B"),
        ("{{nickname|<b>x</b>}}", "<b>x</b>"),
        ("{{&nbsp;nickname&nbsp;|&nbsp;you }}", "you"),
        ('<img alt="{{ nickname | &quot;you&quot; }}" src="https://x.example/a.png">', '"you"'),
    ],
)
def test_a_fallback_is_said_as_it_was_meant(body: str, said: str) -> None:
    merged = mail(body).merged(ANA | {"nickname": ""})
    assert said in unescape(merged.html)
    assert "<b>" not in merged.html
    assert said in merged.text


def test_fields_travel_through_markdown_links() -> None:
    content = mail("[go]({{ unsubscribe_url }}) **{{ nickname }}**", Format.MARKDOWN)
    assert '<a href="{{ unsubscribe_url }}"' in content.html
    assert "<strong>{{ nickname }}</strong>" in content.html
    assert "go ({{ unsubscribe_url }}) {{ nickname }}" in content.text


@pytest.mark.parametrize("body", ["&#123;{ nickname }}", "{&#123; nickname }}", "<p title='&#123;&#123; email }}'>x"])
def test_braces_that_appear_when_entities_are_decoded_are_no_slot(body: str) -> None:
    content = mail(body)
    plain = mail("x")
    assert sorted(names_in(content.html)) == sorted(names_in(plain.html))
    assert sorted(names_in(content.text)) == sorted(names_in(plain.text))
    assert "{{ nickname }}" in unescape(content.html) or "{{ email }}" in unescape(content.html)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('<p style="color:{{ nickname }}">x</p>', "in the attribute style"),
        ('<td width="{{ nickname }}">x</td>', None),
        ('<table width="{{ nickname }}"><tr><td>x</table>', "in the attribute width"),
        ('<a href="{{ nickname }}">x</a>', "at the beginning of a link"),
        ('<a href="https://{{ nickname }}.example">x</a>', "at the beginning of a link"),
        ('<a href="https://{{ unsubscribe_url }}">x</a>', "at the beginning of a link"),
        ("<{{ nickname }}>x", "name of a tag"),
        ("<style>p { color: {{ nickname }} }</style><p>x</p>", "in the attribute style"),
    ],
)
def test_a_field_where_no_value_is_safe_is_refused(body: str, why: str | None) -> None:
    if why is None:
        assert names_in(mail(body).html) == names_in(mail("x").html)
        return
    with pytest.raises(Refused, match=why):
        mail(body)


@pytest.mark.parametrize("link", ["https://x.example/?e={{ email }}", "mailto:{{ email }}", "{{ profile_url }}?a=1"])
def test_a_field_may_stand_in_a_link_that_is_the_publishers_own(link: str) -> None:
    assert f'href="{link}"' in mail(f'<a href="{link}">x</a>').html


letters = st.characters(exclude_categories=["Cs"])
EVERYWHERE = mail(
    'Dear {{ nickname | you }} <img src="https://x.example/{{ nickname }}" alt="{{ nickname }}"> <b>{{ nickname }}</b>',
    subject="For {{ nickname }}",
    preheader="{{ nickname }}",
)
SHAPE = [(tag, [name for name, _ in attrs]) for tag, attrs in Tags(EVERYWHERE.merged(ANA).html).tags]


@settings(max_examples=300)
@given(st.text(letters, min_size=1, max_size=40))
@example("</p><script>alert(1)</script>")
@example('"><img src=x onerror=x>')
@example("{{ email }}")
@example("--> <!-- ]]> &amp; &#123;")
def test_whatever_somebody_is_called_they_read_it_and_nothing_else_changes(nickname: str) -> None:
    page = Tags(EVERYWHERE.merged(ANA | {"nickname": nickname}).html)
    assert [(tag, [name for name, _ in attrs]) for tag, attrs in page.tags] == SHAPE
    typed = nickname.replace("\r\n", "\n").replace("\r", "\n")
    assert f"Hi, {typed}" in page.texts
    assert [dict(attrs)["alt"] for tag, attrs in page.tags if tag == "img"] == [typed]


# What can go wrong stands closer together here than in real mails.
SNIPPETS = (
    *("{{ nickname }}", "{{", "}}", "&#123;", "gna0123456789abcdefx0z", "\0", "\ud800", "\n", "`", "*", "|", "]]>"),
    *("<b>", "<td>", "<svg>", "<a href='", "'>", "<!--", "-->", "<style>", "p{color:red}", "</style>", "</body>"),
)
bodies = st.lists(st.one_of(st.sampled_from(SNIPPETS), st.text(max_size=6)), max_size=10).map("".join)


@settings(max_examples=150)
@given(bodies, st.sampled_from(Format))
def test_whatever_is_written_it_is_composed_or_refused_and_parses(body: str, body_format: Format) -> None:
    try:
        content = mail(body, body_format)
    except Refused:
        return
    allowed = {"greeting", "nickname", "unsubscribe_url", "profile_url"}
    assert set(names_in(content.html + content.text)) <= allowed
    assert not {tag for tag, _ in Tags(content.html).tags} & {"script", "svg", "iframe", "form", "link"}
    content.merged(ANA)
    content.html.encode()
