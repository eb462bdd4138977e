"""The template around every campaign: MJML, ours or the operator's own, compiled once."""

import re
from dataclasses import dataclass
from functools import lru_cache
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

from gna.errors import CannotStart, Refused
from gna.mail.footer import COMMENT
from gna.mail.render.fields import KNOWN, Field, Words
from gna.mail.render.pictures import column_width

# What a template may name besides what publishers may.
OURS = frozenset(
    {"archive_url", "base_url", "content", "footer", "greeting", "language", "preheader", "site", "subject"}
)
FIELDS = KNOWN | OURS
MARKUP = {"content", "footer"}
KEPT = re.compile(r"<style[^>]*>[^<]*(?:#outlook|data-ogsc|data-ogsb)[^<]*</style>\s*")
# What the compiler does not know it leaves as it is, and nobody sees what stands in it.
UNKNOWN = re.compile(r"<(mj-[a-z0-9-]+)", re.IGNORECASE)
# Attributes in which a value can stand as text or as a link.
HARMLESS = {"alt", "aria-label", "content", "href", "lang", "src", "title"}


@dataclass(frozen=True)
class Frame:
    """What is around every campaign of a publication."""

    site: str
    base_url: str
    language: str = "en"
    template: str | None = None

    @classmethod
    def load(cls, *, site: str, base_url: str, language: str, file: Path | None) -> "Frame":
        """The frame with the operator's template, if there is one and it can be used."""
        return cls(site, base_url, language, _checked(file) if file else None)


@dataclass(frozen=True)
class Page:
    """A compiled template, with words in place of its fields."""

    html: str
    # Style sheets that stay as they are: made to look for what only a mail client adds, or to reset what one does.
    kept: str
    words: Words
    greeting: Field | None
    # How wide the column of the content is, in pixels.
    column: int


def page(frame: Frame) -> Page:
    """The frame's template, compiled."""
    return compiled(_our_own() if frame.template is None else frame.template)


@lru_cache(4)
def compiled(template: str) -> Page:
    """A template, compiled. What is wrong with it is refused in a sentence."""
    import mjml

    words = Words(template, known=FIELDS)
    held = words.hold(template, decode=True)
    try:
        html = mjml.mjml2html(held, fonts={})
    except ValueError as error:
        raise Refused(f"it is not MJML that compiles: {error}") from error
    if unknown := UNKNOWN.search(html):
        raise Refused(f"MJML has no tag <{unknown[1]}>")
    _Places(words).feed(html)
    fields = words.among(COMMENT.sub("", html))
    if "content" not in {field.name for field in fields}:
        raise Refused("it lacks {{ content }}, the place of what the publisher writes")
    kept = "".join(found[0] for found in KEPT.finditer(html))
    greeting = next((field for field in fields if field.name == "greeting"), None)
    content = next(field for field in fields if field.name == "content")
    column = column_width(html.partition(words.word(content))[0])
    return Page(KEPT.sub("", html), kept, words, greeting, column)


@lru_cache
def _our_own() -> str:
    return (resources.files("gna.mail.render") / "campaign.mjml").read_text("utf-8")


def _checked(file: Path) -> str:
    try:
        template = file.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise CannotStart(f"The campaign template {file} cannot be read: {why}") from error
    try:
        compiled(template)
    except Refused as refused:
        raise CannotStart(f"The campaign template {file} cannot be used: {refused}") from refused
    return template


class _Places(HTMLParser):
    """Refuses a template with a field where no value is safe."""

    def __init__(self, words: Words) -> None:
        super().__init__()
        self._words = words

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            for field in self._words.among(value or ""):
                if field.name in MARKUP or name not in HARMLESS:
                    raise Refused(f"{{{{ {field.name} }}}} cannot stand in the attribute {name} of <{tag}>")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem and (fields := self._words.among(data)):
            raise Refused(f"{{{{ {fields[0].name} }}}} cannot stand in <{self.cdata_elem}>")
