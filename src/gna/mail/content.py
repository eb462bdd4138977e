"""A content: subject, HTML and text with merge slots, the same for everybody who gets it."""

import hashlib
import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources

SLOT = re.compile(r"\{\{ ([a-z_]+) \}\}")
FRAMED = re.compile(r"\[(?:language|title|body)\]")


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
            subject=_fill(self.subject, values, _one_line),
            html=_fill(self.html, values, html.escape),
            text=_fill(self.text, values, str),
        )


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


def _fill(template: str, values: Mapping[str, str], safe: Callable[[str], str]) -> str:
    return SLOT.sub(lambda slot: safe(values[slot[1]]), template)


def _one_line(value: str) -> str:
    """A header value cannot smuggle in another header."""
    return " ".join(value.split())
