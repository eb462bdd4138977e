"""Nothing in a mail runs, loads by itself, or hides."""

import re

import pytest

from gna.errors import Refused
from gna.mail.render.fields import Words
from gna.mail.render.nesting import without_drawings
from gna.mail.render.sanitise import sanitised, style

BASE = "https://news.example.org"


def clean(html: str) -> str:
    return sanitised(html, Words(html), BASE)


@pytest.mark.parametrize(
    "evil",
    [
        "<script>alert(1)</script>",
        "<iframe src='https://x.example'></iframe>",
        "<form action='https://x.example'><input name=a><button>x</button></form>",
        "<object data=x></object><embed src=x>",
        "<meta http-equiv=refresh content='0;url=https://x.example'><link rel=stylesheet href=https://x.example>",
        "<style>p{background:url(https://x.example)}</style>",
        "<img src=x onerror=alert(1)>",
        "<a href='javascript:alert(1)'>",
        "<a href=' java\nscript:alert(1)'>",
        "<a href='data:text/html,x'>",
        "<img src='data:image/png;base64,AAAA'>",
        "<p style='background:url(https://x.example/a.png)'>",
        "<p style='position:fixed;width:expression(alert(1))'>",
        "<p style='background:u\\72l(https://x.example)'>",
        "<p style='background:src(\"https://x.example\")'>",
        "<p style='background:cross-fade(https://x.example)'>",
        "<p style='background:url/**/(https://x.example)'>",
        "<!-- x --><!--[if mso]><b>x</b><![endif]-->",
        "<video src=https://x.example></video>",
        "<base href=https://x.example>",
        "<svg><style><img src=x onerror=alert(1)></style></svg>",
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
        "<mj-section><mj-raw><script>x</script></mj-raw></mj-section>",
        "<![CDATA[<script>alert(1)</script>]]>",
        "<table background='https://x.example/a.png'>",
        "<img srcset='https://x.example/a.png 2x'>",
    ],
)
def test_what_acts_or_loads_is_gone(evil: str) -> None:
    for html in (clean(evil), clean(without_drawings(evil))):
        acts = (
            r"<(script|iframe|form|input|button|object|embed|meta|link|style|svg|math|video|base|mj-)|<!--|javascript:"
        )
        assert not re.search(acts + r"|<[^>]*(data:|x\.example|onerror|url|position|expression|srcset)", html)


def test_what_mails_are_made_of_stays() -> None:
    html = (
        '<table width="600" cellpadding="0" style="margin:0 auto"><tbody><tr>'
        '<td align="center" valign="top" colspan="2"><font face="serif">x</font></td></tr></tbody></table>'
    )
    assert clean(html) == html


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("COLOR : Red ; position:fixed", "color:Red"),
        ("font-family:'Segoe UI', Arial", "font-family:'Segoe UI', Arial"),
        ("background:#fff url(x)", None),
        ("color:red;}</style>", "color:red"),
        ("color:", None),
        ("--x:1;color:var(--x)", None),
        ("color:red!important", "color:red!important"),
    ],
)
def test_a_style_keeps_what_clients_understand(written: str, kept: str | None) -> None:
    assert style(written) == kept


@pytest.mark.parametrize(
    ("link", "leads"),
    [
        ("/a", f"{BASE}/a"),
        ("a.html?b=1", f"{BASE}/a.html?b=1"),
        ("//other.example/a", "https://other.example/a"),
        ("https://other.example", "https://other.example"),
        ("#part", "#part"),
        ("mailto:ana@example.org", "mailto:ana@example.org"),
        ("tel:+40", "tel:+40"),
    ],
)
def test_a_link_leads_to_the_same_place_from_everywhere(link: str, leads: str) -> None:
    assert clean(f'<a href="{link}">x</a>') == f'<a class="link" href="{leads}">x</a>'


@pytest.mark.parametrize(
    ("html", "mark"),
    [
        ('<p style="background:#ffe">x</p>', "light"),
        ('<p style="background-color:#ffe;border-color:red">x</p>', "light"),
        ('<p style="background:#ffe;color:#333">x</p>', "own"),
        ('<p style="margin:0;color:#333">x</p>', "inked"),
        ('<font color="red">x</font>', "inked"),
    ],
)
def test_what_has_colours_of_its_own_is_marked_so_that_it_can_be_read_in_the_dark(html: str, mark: str) -> None:
    name, _, rest = html.partition(" ")
    assert clean(html) == f'{name} class="{mark}" {rest}'


def test_a_border_is_no_colour_to_read() -> None:
    assert "class" not in clean('<p style="border-color:red">x</p>')


def test_a_table_with_a_head_is_one_to_be_read_and_classes_are_only_ours() -> None:
    assert clean("<table class=evil>\n<thead><tr><th>x</th></tr></thead></table>").startswith('<table class="data">')
    assert "class" not in clean("<table class=data><tr><td>x</td></tr></table>")


@pytest.mark.parametrize(
    "link", ["/\t/{{ nickname }}", "https:/\n/{{ nickname }}", "https://x.example/" + "a" * 1500 + "{{ email }}"]
)
def test_a_reader_never_says_where_a_link_leads(link: str) -> None:
    words = Words(link)
    with pytest.raises(Refused, match="cannot stand"):
        sanitised(f'<a href="{words.hold(link)}">x</a>', words, BASE)
