"""Which words around a link are about it: its own sentence, or the question that it answers.

A link is a way out only if these words speak of leaving. A missed way out costs little, since most mails have another
one in their header; a request to a page that has nothing to do with leaving costs more.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gna.inbox import words

# A full stop after one of these ends no sentence: "emails of Shop Inc. are sent weekly".
_ABBREVIATIONS = ("inc", "ltd", "co", "corp", "e\\.g", "i\\.e", "z\\.b", "st", "nr")
_NO_ABBREVIATION = "".join(rf"(?<!\b{name})" for name in _ABBREVIATIONS)
_SENTENCE_END = re.compile(rf"(?:{_NO_ABBREVIATION}\.|[!?|•·。！？]){{1,3}}(?:\s+|$)")
_PAUSE = re.compile(r"[.!?;:,|•·。！？、，](?:\s|$)|(?:^|\s)[-–—](?=\s)|\(")
_FIRST_WORD = re.compile(r"\W*(\w+)")
# "To be removed, click here", but not "Fifty products to be removed".
TO_BE_REMOVED = "to be removed"
_TO_BE_REMOVED = re.compile(rf"\W*{TO_BE_REMOVED}(?:\W*$|[,:]| (?:please|click|go|visit|follow|use|simply|just)\b)")
# "To unsubscribe send an email to list-leave@example.org": the words are about that address.
_MAIL = "mail|message|nachricht|courri|correo|mensa|mesaj|wiadomo|write|schreib"
_ENDS_WITH_MAILBOX = re.compile(rf"(?:{_MAIL})[^@]{{0,100}}@\S+$")

# A label names its purpose within so many words.
LABEL_STARTS_WITHIN = 4

Says = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The text around a link as `words.normal` writes it, up to the next link or to the end of its block."""

    before: str
    after: str
    # Whether another link ends the text, not the end of the block.
    follows_link: bool = False
    precedes_link: bool = False


def leaving(sentence: str) -> bool:
    """Whether a sentence, which is `normal`, speaks of leaving."""
    return words.leaving(sentence) or bool(_TO_BE_REMOVED.match(sentence))


def speak(around: Surroundings, label: str, says: Says) -> bool:
    """Whether the words about a link say it; `label` is what the link itself says."""
    *earlier, own = split(own_before(around))
    after = own_after(around)
    if _is_about_something_else(own):
        return False
    if says(own):
        return not _ENDS_WITH_MAILBOX.search(own)
    if _is_about_something_else(after):
        return False
    if not words.only_points(own):
        # "Log in at … to unsubscribe", but not "Sign up at …, unsubscribe at any time".
        if says(_up_to_pause(after)):
            return not words.BY_REPLY.said(after)
        return words.has_pointer(label) and _answers(earlier[-1:], says)
    if says(after):
        return not words.BY_REPLY.said(after)
    return words.only_points(after) and _announced(earlier, f"{label} {own} {after}", says)


def announces(sentence: str) -> bool:
    """Whether a whole sentence, which is `normal`, leads to an address that follows it without words of its own."""
    if words.ELSEWHERE.said(sentence):
        return False
    if sentence.endswith((":", "?", "？", "：")) or words.points_at_link(sentence):
        return True
    # "You may unsubscribe at any time" is a statement, whether a full stop ends it or not.
    last_clause = sentence.rpartition(", ")[2]
    if _SENTENCE_END.search(sentence) or words.ANY_TIME.said(last_clause):
        return False
    return _is_label(sentence) or words.GOING.said(sentence) or words.only_points(sentence.rpartition(" ")[2])


def _is_label(sentence: str) -> bool:
    """Whether it is what a link is for, as "Unsubscribe from this list" is, and not a story about it."""
    start = " ".join(sentence.split()[:LABEL_STARTS_WITHIN])
    return words.LEAVE.said(start) or words.CHOOSE.said(start)


def split(text: str) -> list[str]:
    """The sentences of a text with the signs that end them; the last one is not ended, and may be empty."""
    sentences = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        sentences.append(text[start : end.end()].strip())
        start = end.end()
    return [*sentences, text[start:].strip()]


def _announced(earlier: Sequence[str], pointer: str, says: Says) -> bool:
    """Whether the last sentence that does more than point says it: "No longer interested? Click here"."""
    for sentence in reversed(earlier):
        if words.only_points(sentence):
            continue
        if not says(sentence) or _is_about_something_else(sentence):
            return False
        return sentence.endswith(("?", "？")) or words.points_at_link(sentence) or words.has_pointer(pointer)
    return False


def _answers(question: Sequence[str], says: Says) -> bool:
    """Whether there is a question that says it: "No longer interested? You can leave our list by clicking here"."""
    return any(one.endswith(("?", "？")) and says(one) and not _is_about_something_else(one) for one in question)


def _is_about_something_else(text: str) -> bool:
    return words.OTHER_CALLS.said(text) or words.ELSEWHERE.said(text)


def own_before(around: Surroundings) -> str:
    """The words before a link without those that are about the link before it."""
    if not around.follows_link or _goes_on(around.before):
        return around.before
    pause = _PAUSE.search(around.before)
    return around.before[pause.end() :] if pause else ""


def own_after(around: Surroundings) -> str:
    """The rest of a link's sentence, without what is about the next link."""
    if around.precedes_link:
        return "" if _goes_on(around.after) else _up_to_pause(around.after)
    return split(around.after)[0]


def _up_to_pause(text: str) -> str:
    pause = _PAUSE.search(text)
    return text[: pause.start()] if pause else text


def _goes_on(text: str) -> bool:
    """Whether a list of alternatives goes on: "or unsubscribe"."""
    first = _FIRST_WORD.match(text)
    return first is not None and first[1] in words.OR
