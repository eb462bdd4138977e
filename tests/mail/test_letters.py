"""The mails that Gna itself writes."""

import re
from importlib import resources

import pytest

from gna.mail.content import SLOT, Content, letter, names_in
from gna.web.language import LANGUAGES

SLOTS = {
    "confirm": {"site", "confirm_url"},
    "magic_link": {"site", "profile_url"},
    "change_email": {"site", "confirm_url"},
}
# These go to the admin, who is told what to do and given no link to click.
NOTICES = {
    "feed_failing": {"site", "base_url", "feed", "failures", "error"},
    "feed_well": {"site", "feed"},
    "feed_waits": {"site", "base_url", "feed", "why", "campaign"},
}
ALL = SLOTS | NOTICES
EVERY = [(name, language) for name in ALL for language in LANGUAGES]
LINKED = [(name, language) for name in SLOTS for language in LANGUAGES]


def parts(content: Content) -> tuple[str, str, str]:
    return content.subject, content.text, content.html


def test_every_letter_is_there_in_every_language() -> None:
    for language in LANGUAGES:
        folder = resources.files("gna.mail") / "letters" / language
        assert {entry.name for entry in folder.iterdir()} == set(ALL)


@pytest.mark.parametrize(("name", "language"), EVERY)
def test_a_letter_has_the_slots_that_its_sender_fills(name: str, language: str) -> None:
    ours, english = parts(letter(name, language)), parts(letter(name))
    assert set(names_in("".join(ours))) == ALL[name]
    for part, same in zip(ours, english, strict=True):
        assert sorted(names_in(part)) == sorted(names_in(same))
        # Nothing that looks like a slot is left when the slots are filled.
        assert not re.search(r"[{}]{2}|%\(", SLOT.sub("", part))


@pytest.mark.parametrize(("name", "language"), LINKED)
def test_the_link_stands_on_a_line_of_its_own_and_behind_the_button(name: str, language: str) -> None:
    (link,) = SLOTS[name] - {"site"}
    content = letter(name, language)
    assert f"{{{{ {link} }}}}" in content.text.splitlines()
    assert re.findall(r'href="([^"]*)"', content.html) == [f"{{{{ {link} }}}}"]
    assert link not in content.subject


@pytest.mark.parametrize(("name", "language"), EVERY)
def test_a_letter_says_its_language_and_loads_nothing(name: str, language: str) -> None:
    html = letter(name, language).html
    assert f'<html lang="{language}">' in html
    assert not re.search(r"<img|<script|<link|url\(|https?:", html)
    assert '<meta name="color-scheme" content="light dark">' in html


@pytest.mark.parametrize("name", ALL)
def test_a_letter_is_really_translated(name: str) -> None:
    for ours, english in zip(parts(letter(name, "ro")), parts(letter(name)), strict=True):
        assert ours != english
        assert not set("şţŞŢ") & set(ours)


def test_the_subject_is_one_line() -> None:
    assert all(len(letter(name, language).subject.splitlines()) == 1 for name, language in EVERY)


@pytest.mark.parametrize(
    ("name", "language", "time"),
    [
        ("confirm", "en", "24 hours"),
        ("confirm", "ro", "24 de ore"),
        ("magic_link", "en", "15 minutes"),
        ("magic_link", "ro", "15 minute"),
        ("change_email", "en", "24 hours"),
        ("change_email", "ro", "24 de ore"),
    ],
)
def test_both_parts_say_how_long_the_link_works(name: str, language: str, time: str) -> None:
    content = letter(name, language)
    assert time in content.text
    assert time in content.html


def test_an_unknown_language_is_english() -> None:
    assert letter("confirm", "xx") == letter("confirm", "en") == letter("confirm")
