"""A content: subject, HTML and text with merge slots, the same for everybody who gets it."""

import hashlib
import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import NamedTuple
from urllib.parse import quote

# `{{ nickname }}`, or `{{ nickname | friend }}` with what is said to those who have none. `{{ greeting | Hi }}` is
# "Hi, Ana", or "Hi" to those who have no name.
SLOT = re.compile(r"\{\{[ \t]*([a-z_]+)[ \t]*(?:\|[ \t]*([^{}]*?)[ \t]*)?\}\}")
FRAMED = re.compile(r"\[(?:language|title|body)\]")
# The end of an HTML text that leads into a link: what stands in the attribute so far.
IN_LINK = re.compile(r"""\b(?:href|src|action)\s*=\s*(?:"[^"]*|'[^']*|[^\s"'<>]*)\Z""", re.IGNORECASE)
# So far back it may begin; looking further for each slot would take the square of the text's length.
LINK_REACH = 2000
NEEDS_ESCAPE = re.compile("[&<>\"']").search


def _as_text(value: str) -> str:
    """In plain text a value stands as it is; line ends become ours."""
    return value.replace("\r\n", "\n").replace("\r", "\n") if "\r" in value else value


def _as_html(value: str) -> str:
    """In HTML a value is text, never markup."""
    value = _as_text(value)
    return html.escape(value) if NEEDS_ESCAPE(value) else value


def _in_link(value: str) -> str:
    """Inside a link a value is a part of it, never a link of its own."""
    return quote(value, safe="")


class Slot(NamedTuple):
    """A place for a person's value, and what makes the value safe there."""

    name: str
    fallback: str
    safe: Callable[[str], str]

    def of(self, values: Mapping[str, str]) -> str:
        """What stands here for one person."""
        return self.safe(values[self.name] or self.fallback)


Pieces = list[str | Slot]


@dataclass(frozen=True)
class Content:
    """What is said, before it is said to anybody; a slot is written `{{ name }}`."""

    subject: str
    html: str
    text: str

    @cached_property
    def hash(self) -> str:
        """The name under which the content is stored once."""
        return hashlib.sha256(json.dumps([self.subject, self.html, self.text]).encode()).hexdigest()

    def merged(self, values: Mapping[str, str]) -> "Content":
        """The content for one person: each value is made safe for the place where it lands."""
        return Content(
            subject=one_line(filled(text_pieces(self.subject), values)),
            html=filled(html_pieces(self.html), values),
            text=filled(text_pieces(self.text), values),
        )


def text_pieces(text: str) -> Pieces:
    """A text cut at its slots: static, slot, static, …, static."""
    return _cut(text, lambda *_: _as_text)


def html_pieces(text: str) -> Pieces:
    """An HTML text cut at its slots."""
    return _cut(text, _html_context)


def names_in(text: str) -> list[str]:
    """The names of the slots in a text."""
    return [found[1] for found in SLOT.finditer(text)]


def filled(pieces: Pieces, values: Mapping[str, str]) -> str:
    """The pieces for one person."""
    return "".join(piece.of(values) if isinstance(piece, Slot) else piece for piece in pieces)


def one_line(value: str) -> str:
    """A header value cannot smuggle in another header."""
    return " ".join(value.split())


@lru_cache
def letter(name: str, language: str = "en") -> Content:
    """A mail that Gna itself writes, from its folder in `letters/`; in English where a language has none."""
    letters = resources.files("gna.mail") / "letters"
    if not (letters / language / name).is_dir():
        language = "en"
    folder, frame = letters / language / name, (letters / "frame.html").read_text("utf-8")
    subject, text, body = (folder.joinpath(f).read_text("utf-8") for f in ("subject.txt", "body.txt", "body.html"))
    framed = {"[language]": language, "[title]": _heading(body), "[body]": body.rstrip()}
    return Content(subject.strip(), FRAMED.sub(lambda part: framed[part[0]], frame), text)


def _heading(body: str) -> str:
    found = re.search(r"<h1[^>]*>(.*?)</h1>", body)
    return found[1] if found else ""


def _cut(text: str, context: Callable[[str, str], Callable[[str], str]]) -> Pieces:
    text, pieces, end = _as_text(text), Pieces(), 0
    for found in SLOT.finditer(text):
        safe = context(text[max(0, found.start() - LINK_REACH) : found.start()], found[1])
        pieces += [text[end : found.start()], _slot(found[1], found[2] or "", safe)]
        end = found.end()
    return [*pieces, text[end:]]


def _slot(name: str, fallback: str, safe: Callable[[str], str]) -> Slot:
    return Slot("nickname", "", _greeting(fallback, safe)) if name == "greeting" else Slot(name, fallback, safe)


# The same function for the same words: equal slots are filled together.
@lru_cache
def _greeting(word: str, safe: Callable[[str], str]) -> Callable[[str], str]:
    """How somebody is greeted: by their name, or with the word alone."""

    def greeted(nickname: str) -> str:
        return safe(f"{word}, {nickname}" if nickname else word)

    return greeted


def _html_context(before: str, name: str) -> Callable[[str], str]:
    """How a value must be written after this much HTML. A slot named `…_url` holds a whole link of ours."""
    return _in_link if IN_LINK.search(before) and not name.endswith("_url") else _as_html
