"""The operator's own template is used, or refused with a sentence before anything starts."""

from pathlib import Path

import pytest

from gna.errors import CannotStart
from gna.mail.content import names_in
from gna.mail.render import Draft, Frame, compose

DRAFT = Draft("For {{ nickname | you }}", "<p>Hello</p>", preheader="In short")


def mjml(inner: str, head: str = "") -> str:
    body = f"<mj-section><mj-column><mj-text>{inner}</mj-text></mj-column></mj-section>"
    return f"<mjml><mj-head>{head}</mj-head><mj-body>{body}</mj-body></mjml>"


def load(tmp_path: Path, template: str | bytes) -> Frame:
    file = tmp_path / "own.mjml"
    file.write_bytes(template if isinstance(template, bytes) else template.encode())
    return Frame.load(site="S & T", base_url="https://news.example.org", language="ro", file=file)


def test_without_a_file_it_is_ours() -> None:
    frame = Frame.load(site="S", base_url="https://news.example.org", language="en", file=None)
    assert frame == Frame("S", "https://news.example.org")
    assert compose(DRAFT, frame).html


def test_every_field_of_a_template_is_filled(tmp_path: Path) -> None:
    fields = "{{site}}|{{base_url}}|{{language}}|{{archive_url}}|{{subject}}|{{preheader}}|{{greeting}}|{{email}}|"
    people = (
        '{{nickname|you}}|<a href="{{profile_url}}">p</a>|<a href="{{unsubscribe_url}}">u</a>|{{footer}}|{{content}}'
    )
    html = compose(DRAFT, load(tmp_path, mjml(fields + people))).html
    said = "S &amp; T|https://news.example.org|ro|https://news.example.org|For {{ nickname | you }}|In short"
    assert said in html
    assert '|{{ greeting | Bună }}|{{ email }}|{{ nickname | you }}|<a href="{{ profile_url }}">p</a>' in html
    assert "|<p>Hello</p>" in html
    assert "Dezabonare</a> · <a" in html


def test_a_template_greets_in_its_own_words_or_not_at_all(tmp_path: Path) -> None:
    own = compose(DRAFT, load(tmp_path, mjml("{{ greeting | Dear reader }} {{ content }}")))
    assert "{{ greeting | Dear reader }}" in own.html
    assert own.text.startswith("{{ greeting | Dear reader }}\n\n")
    silent = compose(DRAFT, load(tmp_path, mjml("{{ content }}")))
    assert "greeting" not in names_in(silent.html + silent.text)


def test_the_style_of_a_template_is_put_into_the_content(tmp_path: Path) -> None:
    head = "<mj-style>.big p { font-size: 30px } @media print { p { color: red } }</mj-style>"
    template = mjml('<div class="big">{{ content }}</div>', head)
    html = compose(DRAFT, load(tmp_path, template)).html
    assert '<p style="font-size: 30px;">Hello</p>' in html
    assert "@media print" in html
    assert "fonts.googleapis" not in html


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (b"\xff\xfe", "not UTF-8"),
        ("<mjml", "not MJML that compiles: unexpected end of stream"),
        ("hello {{ content }}", "not MJML that compiles"),
        (mjml("hello"), "lacks {{ content }}"),
        (mjml("<!-- {{ content }} -->"), "lacks {{ content }}"),
        (mjml("{{ content }} {{ foo }}"), "Unknown merge field: {{ foo }}; known are archive_url, "),
        (mjml("{{ content }} {{ content"), "not closed"),
        (mjml('<a href="{{ content }}">x</a>'), "{{ content }} cannot stand in the attribute href of <a>"),
        (mjml('{{ content }}<p style="color:{{ nickname }}">x</p>'), "cannot stand in the attribute style of <p>"),
        (mjml("{{ content }}", "<mj-style>p { color: {{ site }} }</mj-style>"), "{{ site }} cannot stand in <style>"),
    ],
)
def test_a_template_that_cannot_be_used_stops_the_start(tmp_path: Path, template: str | bytes, why: str) -> None:
    with pytest.raises(CannotStart) as stopped:
        load(tmp_path, template)
    assert why in str(stopped.value)
    assert "own.mjml" in str(stopped.value)


def test_a_template_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="cannot be read: No such file"):
        Frame.load(site="S", base_url="https://x.example", language="en", file=tmp_path / "none.mjml")


def test_a_tag_that_mjml_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"MJML has no tag <mj-txt>"):
        load(tmp_path, mjml("{{ content }}").replace("mj-text", "mj-txt"))


def test_a_template_without_links_gets_them_where_everybody_looks(tmp_path: Path) -> None:
    content = compose(DRAFT, load(tmp_path, mjml("{{ content }}")))
    assert {"unsubscribe_url", "profile_url"} <= set(names_in(content.html))
    assert "Dezabonare</a>" in content.html
