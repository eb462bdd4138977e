"""Merge fields on their way through Markdown, sanitiser and template.

None of them is to see braces: a field travels as a word that occurs nowhere else, and is put back at the end.
"""

import hashlib
import html
import re
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from gna.errors import Refused

# What a publisher may say of each reader.
KNOWN = frozenset({"email", "nickname", "profile_url", "unsubscribe_url"})
WRITTEN = re.compile(r"\{\{(?:([^{}]*)\}\})?")
# Editors of HTML put these where somebody typed a space.
NO_BREAK = re.compile("\xa0|&nbsp;")
QUOTED = 40
# Between two braces in plain text: nobody sees it, and they are no slot any more.
WORD_JOINER = "\u2060"


class Field(NamedTuple):
    """A merge field: its name, and what is said to those of whom we do not know it."""

    name: str
    fallback: str = ""

    @property
    def slot(self) -> str:
        """As a content has it."""
        return f"{{{{ {self.name} | {self.fallback} }}}}" if self.fallback else f"{{{{ {self.name} }}}}"


def readable_fields(text: str) -> list[Field]:
    """The merge fields of a text that can be read; all others are left out."""
    fields = []
    for found in WRITTEN.finditer(text):
        with suppress(Refused):
            fields.append(_read(text, found, KNOWN, decode=False))
    return fields


def check_fields(text: str) -> None:
    """Refuse a text with a merge field that we do not know."""
    for found in WRITTEN.finditer(text):
        _read(text, found, KNOWN, decode=False)


class Words:
    """The words that stand for fields while a text is worked on; the same for the same texts.

    With `forgiving`, a field that cannot be read stays in the text as it was typed.
    """

    def __init__(
        self,
        *texts: str,
        known: frozenset[str] = KNOWN,
        forgiving: bool = False,
    ) -> None:
        self._known = known
        self._forgiving = forgiving
        self._stem = _stem(texts)
        self._fields: dict[Field, str] = {}
        self._found = re.compile(rf"{self._stem}(\d+)z")

    def hold(self, text: str, *, decode: bool = False) -> str:
        """The text with words for its fields; `decode` where it is HTML, in which a fallback is written in entities."""

        def held(found: re.Match[str]) -> str:
            try:
                field = _read(text, found, self._known, decode=decode)
            except Refused:
                if not self._forgiving:
                    raise
                return found[0]
            return self.word(field)

        return WRITTEN.sub(held, text)

    def word(self, field: Field) -> str:
        """The word for a field."""
        return self._fields.setdefault(field, f"{self._stem}{len(self._fields)}z")

    def put_back(self, text: str, written: Callable[[Field], str]) -> str:
        """The text with each field written as somebody wants it."""
        fields = [*self._fields]
        return self._found.sub(lambda found: written(fields[int(found[1])]), text)

    def among(self, text: str) -> list[Field]:
        """The fields whose words are in a text."""
        fields = [*self._fields]
        return [fields[int(found[1])] for found in self._found.finditer(text)]

    def are_tags(self, text: str) -> bool:
        """Whether a word stands where HTML has the name of a tag."""
        return re.search(rf"</?{self._stem}", text) is not None

    def first(self, text: str) -> int | None:
        """Where the first word begins."""
        found = self._found.search(text)
        return found.start() if found else None


def without_slots(text: str, brace: str) -> str:
    """The text in which no pair of braces can be taken for a slot."""
    return re.sub(r"\{(?=\{)", lambda _: brace, text) if "{{" in text else text


def _read(text: str, found: re.Match[str], known: frozenset[str], *, decode: bool) -> Field:
    if found[1] is None:
        raise Refused(f"A merge field is not closed: {{{{ {_quoted(text[found.end() :])}; write }}}} after its name")
    name, _, fallback = (part.strip() for part in NO_BREAK.sub(" ", found[1]).partition("|"))
    fallback = html.unescape(fallback) if decode else fallback
    if name not in known:
        names = ", ".join(sorted(known))
        raise Refused(f"Unknown merge field: {{{{ {_quoted(name)} }}}}; known are {names}")
    if "{" in fallback or "}" in fallback:
        raise Refused(f"What is said instead of {name} cannot hold braces")
    # A link of ours is always known, and nothing else may lead from its place.
    return Field(name, "" if name.endswith("_url") else " ".join(fallback.split()))


def _quoted(text: str) -> str:
    return "".join(letter for letter in text[: QUOTED * 2] if letter.isprintable()).strip()[:QUOTED]


def _stem(texts: tuple[str, ...]) -> str:
    """A word's beginning that occurs in none of the texts."""
    digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass"))
    while any((stem := f"gna{digest.hexdigest()[:16]}x") in text.lower() for text in texts):
        digest.update(b"again")
    return stem
