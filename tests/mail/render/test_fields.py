"""Merge fields are known, or refused with a sentence."""

import pytest

from gna.errors import Refused
from gna.mail.render import check_fields
from gna.mail.render.fields import Field, Words


@pytest.mark.parametrize(
    "text",
    [
        "no field",
        "{{ nickname }}{{nickname}}",
        "{{ nickname | friend }}",
        "{{ nickname|upper() }}",
        "{{ email }} {{ unsubscribe_url }} {{ profile_url }}",
        "{{\tnickname\n| a friend }}",
        "a { b } }} c",
    ],
)
def test_known_fields_pass(text: str) -> None:
    check_fields(text)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("{{ foo }}", "{{ foo }}"),
        ("{{ Nickname }}", "{{ Nickname }}"),
        ("{{ user.name }}", "{{ user.name }}"),
        ("{{ greeting }}", "{{ greeting }}"),
        ("{{ content }}", "{{ content }}"),
        ("{{}}", "{{  }}"),
        ("{{ " + "x" * 200 + " }}", "{{ " + "x" * 40 + " }}"),
        ("{{ a\x00\x1b[31m\n }}", "{{ a[31m }}"),
    ],
)
def test_an_unknown_field_is_quoted_and_the_known_are_named(text: str, quoted: str) -> None:
    with pytest.raises(Refused) as refused:
        check_fields(text)
    known = "known are email, nickname, profile_url, unsubscribe_url"
    assert str(refused.value) == f"Unknown merge field: {quoted}; {known}"


@pytest.mark.parametrize("text", ["{{ nickname", "{{ nickname }", "x {{", "{{{ nickname }}}", "{{ nickname | {x} }}"])
def test_a_field_that_is_not_closed_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="not closed"):
        check_fields(text)


def test_a_word_occurs_in_none_of_the_texts_even_if_somebody_knows_how_words_are_made() -> None:
    known = Words("a text").word(Field("nickname"))
    words = Words("a text", known)
    assert words.word(Field("nickname")) != known
    held = words.hold(f"{known} {{{{ nickname | you }}}}")
    assert held.startswith(known)
    assert words.put_back(held, lambda field: field.slot) == f"{known} {{{{ nickname | you }}}}"


def test_a_fallback_with_encoded_braces_is_refused() -> None:
    with pytest.raises(Refused, match="braces"):
        Words("x").hold("{{ nickname | &#123; }}", decode=True)


def test_nothing_stands_in_for_a_link_of_ours() -> None:
    words = Words("x")
    assert words.put_back(words.hold("{{ profile_url | javascript:x }}"), lambda f: f.slot) == "{{ profile_url }}"
