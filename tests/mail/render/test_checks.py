"""A publisher is told what to mend before a campaign is sent."""

import pytest

from gna.mail.render import Draft, Format, Frame, Level, check

FRAME = Frame("The Quiet Web", "https://news.example.org")


def codes(body: str = "<p>Hello</p>", subject: str = "News", **others: str) -> list[str]:
    return [found.code for found in check(Draft(subject, body, **others), FRAME)]  # type: ignore[arg-type]


def message(body: str, code: str) -> str:
    (found,) = [found for found in check(Draft("News", body), FRAME) if found.code == code]
    return found.message


def test_a_good_draft_has_no_findings() -> None:
    body = 'Hi {{ nickname | you }}: <a href="https://example.org/">x</a> <img src="https://example.org/a.png" alt="">'
    assert codes(body, preheader="For {{ nickname | you }}", body_text="{{ unsubscribe_url }}") == []


@pytest.mark.parametrize("empty", ["", " \n", "<p></p>", "<script>x</script>", "&nbsp;"])
def test_a_draft_without_subject_and_body_has_two_errors_first(empty: str) -> None:
    found = check(Draft(" ", empty), FRAME)
    assert [finding.code for finding in found[:2]] == ["missing_subject", "missing_body"]
    assert all(finding.level is Level.ERROR for finding in found[:2])


def test_a_picture_is_something_to_read() -> None:
    assert codes('<img src="https://example.org/a.png" alt="A hill">') == []


@pytest.mark.parametrize("place", ["subject", "body", "preheader", "body_text"])
def test_an_unknown_field_is_an_error_wherever_it_stands(place: str) -> None:
    found = check(Draft(**{"subject": "News", "body": "x"} | {place: "{{ foo }}"}), FRAME)  # type: ignore[arg-type]
    assert [(finding.level, finding.code) for finding in found] == [(Level.ERROR, "unknown_field")]
    assert "{{ foo }}" in found[0].message


@pytest.mark.parametrize("body", ["<div>" * 9999, '<p style="color:{{ email }}">x</p>'])
def test_a_body_that_cannot_be_composed_is_an_error(body: str) -> None:
    assert codes(body) == ["unusable_body"]


@pytest.mark.parametrize(
    "link",
    [
        *("", "#", "http:///x", "https://", "http://example", "http://localhost/x", "http://127.0.0.1:8000/"),
        *(
            "http://[::1]/",
            "http://192.168.1.1/",
            "javascript:x",
            "ftp://x.example",
            "https://x.example/a b",
            "mailto:",
        ),
        *("mailto:", "data:text/plain,x", "http://printer.local/", "http://[x"),
    ],
)
def test_a_link_that_leads_nowhere_is_named(link: str) -> None:
    assert codes(f'<a href="{link}">x</a>') == ["broken_link"]
    assert codes(f"[x](<{link}>)", body_format=Format.MARKDOWN) in (["broken_link"], [])


@pytest.mark.parametrize(
    "link",
    [
        *("https://example.org", "HTTPS://Example.org/%20?a=1&amp;b#c", "mailto:ana@example.org", "tel:+40", "#part"),
        *("{{ profile_url }}", "https://example.org/?e={{ email }}", "https://bücher.example/", "https://8.8.8.8/"),
    ],
)
def test_a_link_that_may_lead_somewhere_is_fine(link: str) -> None:
    assert codes(f'<a href="{link}">x</a>') == []


def test_a_relative_link_says_where_it_will_lead() -> None:
    assert "https://news.example.org/www.example.org" in message('<a href="www.example.org">x</a>', "relative_link")
    assert codes('<img src=/a.png alt="A">') == ["relative_link"]


def test_many_links_are_not_many_messages() -> None:
    body = "".join(f'<a href="/{number}">x</a>' for number in range(1000))
    found = [finding for finding in check(Draft("x", body), FRAME) if finding.code == "relative_link"]
    assert len(found) == 6
    assert "995 more" in found[-1].message
    assert codes('<a href="/a">x</a>' * 100) == ["relative_link"]


def test_pictures_without_alt_text_are_counted() -> None:
    body = '<img src="https://x.example/a.png">' * 3 + '<img src="https://x.example/b.png" alt="">'
    assert message(body, "missing_alt").startswith("3 pictures have no alt text")


def test_a_mail_that_gmail_would_cut_says_its_size() -> None:
    assert "kB" in message("<p>" + "word " * 30_000, "too_large")
    assert codes("<p>" + "word " * 10_000) == []


@pytest.mark.parametrize(
    "field", ["*|FNAME|*", "{nickname}", "%%name%%", "%recipient.name%", "[[name]]", "{% if x %}", "{ first_name }"]
)
def test_a_field_of_another_product_is_named(field: str) -> None:
    assert field in message(f"<p>Dear {field}</p>", "unresolved_field")
    assert codes(subject=f"Dear {field}") == ["unresolved_field"]
    assert codes(f"<pre><code>{field}</code></pre>") == []


def test_three_braces_are_no_field_of_ours() -> None:
    assert codes("<p>{{{nickname}}}</p>") == ["unknown_field", "unresolved_field"]


def test_a_long_subject_is_told_its_length() -> None:
    assert codes(subject="x" * 79) == ["long_subject"]
    assert codes(subject="x" * 78) == []


def test_what_was_taken_out_is_named() -> None:
    told = message("<form><input></form><script>x</script><svg></svg>x", "removed")
    assert "<form>, <input>, <script>, <svg>" in told
    assert codes("<!doctype html><html><head><meta charset=utf-8><title>x</title></head><body>x</body></html>") == []


def test_every_message_is_a_sentence_and_errors_come_first() -> None:
    body = '<a href="">x</a><a href="/a">x</a><img src="https://x.example/a"><script></script>*|A|*' + "x" * 200_000
    found = check(Draft(" ", body), FRAME)
    assert len({finding.code for finding in found}) == 7
    assert [finding.level for finding in found] == sorted(finding.level for finding in found)
    assert not any(finding.message[0].islower() for finding in found)
    assert all(finding.message.endswith(".") for finding in found)


def test_what_markdown_hides_is_found_all_the_same() -> None:
    assert codes("Hello *|FNAME|* there", body_format=Format.MARKDOWN) == ["unresolved_field"]
    assert codes("![](https://example.org/a.png) text", body_format=Format.MARKDOWN) == ["missing_alt"]
    assert codes("![A hill](https://example.org/a.png)", body_format=Format.MARKDOWN) == []


@pytest.mark.parametrize(
    "said",
    [
        {"body": "Hi {{ nickname }},"},
        {"body": "Hi {{nickname|}},"},
        {"subject": "{{ nickname }}, news"},
        {"preheader": "For {{ nickname }}"},
        {"body_text": "Hi {{ nickname }}"},
    ],
)
def test_a_nickname_without_a_fallback_is_a_warning(said: dict[str, str]) -> None:
    draft = Draft(**{"subject": "News", "body": "<p>Hello</p>"} | said)  # type: ignore[arg-type]
    [finding] = check(draft, FRAME)
    assert (finding.level, finding.code) == (Level.WARNING, "missing_fallback")
    assert "{{ nickname | friend }}" in finding.message


@pytest.mark.parametrize(
    "body",
    [
        "Hi {{ nickname }} and {{ unknownthing }}",
        "{{ unknownthing }} before {{ nickname }}",
        "Hi {{ nickname }}, {{ not closed",
    ],
)
def test_a_missing_fallback_is_told_beside_a_field_that_cannot_be_read(body: str) -> None:
    assert codes(body) == ["unknown_field", "missing_fallback"]


def test_other_fields_need_no_fallback() -> None:
    assert codes("<p>{{ email }} {{ profile_url }} {{ unsubscribe_url }} {{ nickname | you }}</p>") == []
