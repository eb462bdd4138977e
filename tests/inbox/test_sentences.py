"""Which words around a link are about it."""

import pytest

from gna.inbox import sentences
from gna.inbox.sentences import Surroundings


def speak(
    before: str, after: str = "", label: str = "", *, follows_link: bool = False, precedes_link: bool = False
) -> bool:
    around = Surroundings(before, after, follows_link, precedes_link)
    return sentences.speak(around, label, sentences.leaving)


@pytest.mark.parametrize(
    ("before", "after", "label"),
    [
        ("to unsubscribe, visit", "", ""),
        ("thanks for reading. to unsubscribe, click", "", "here"),
        ("please click", "to unsubscribe.", "here"),
        ("", "to unsubscribe", ""),
        ("log in at", "to unsubscribe", ""),
        ("you no longer wish to receive this?", "", "click here"),
        ("you no longer wish to receive this? no problem! click", "", "here"),
        ("you do not want to receive this? you can ask for it", "", "by clicking here"),
        ("you can unsubscribe at any time. to do so, please follow this link:", "", ""),
        ("to unsubscribe from mails of shop inc. please click", "", "here"),
        ("to be removed, please click", "", "here"),
    ],
)
def test_words_about_the_link(before: str, after: str, label: str) -> None:
    assert speak(before, after, label)


@pytest.mark.parametrize(
    ("before", "after", "label"),
    [
        ("you may unsubscribe at any time. follow us", "", "here"),
        ("you may unsubscribe at any time, but first follow us", "", "here"),
        ("you may unsubscribe at any time. click", "to read on.", "here"),
        ("you may unsubscribe at any time.", "", ""),
        ("you may unsubscribe at the end of this mail. see", "", "here"),
        ("sign up at", "(unsubscribe any time)", ""),
        ("sign up at", ", unsubscribe any time", ""),
        ("", "to unsubscribe reply with stop", ""),
        ("to unsubscribe send a mail to list-leave@example.org", "", ""),
        ("fifty products are to be removed, see", "", "here"),
    ],
)
def test_words_about_something_else(before: str, after: str, label: str) -> None:
    assert not speak(before, after, label)


def test_words_between_two_links_are_about_one_of_them() -> None:
    assert speak("click", "to unsubscribe or", "here", precedes_link=True)
    assert not speak("to unsubscribe or", "to read on", "here", follows_link=True)
    assert speak("or unsubscribe", "", "here", follows_link=True)
    assert not speak("follow us", "or unsubscribe", "here", precedes_link=True)
    assert speak(", to unsubscribe click", "", "here", follows_link=True)


@pytest.mark.parametrize("text", ["", "one", "one.", "one. two", "one? two! three", "shop inc. sells. more"])
def test_sentences_are_all_of_the_text(text: str) -> None:
    assert " ".join(sentences.split(text)).strip() == text
