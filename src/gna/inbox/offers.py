"""What a mail offers to whoever wants no more of it: in its header (RFC 2369), in its HTML, in its plain text."""

import re
from collections.abc import Sequence
from itertools import islice

from gna.inbox import markup, mime, plain
from gna.inbox.encoded_words import decoded
from gna.inbox.mime import Opened
from gna.inbox.ways import Form, Link, Offers

# What a field says beyond this, and links beyond these, nobody meant.
FIELD_MAX = 16 * 1024
ITEMS_MAX = 20
LINKS_MAX = 20

_BARE = r"(?:https?://|mailto:)"
_PLAIN = r"[^()\\]*+(?:\\.[^()\\]*+)*"
# In this order: an item, a comment, an address that nobody put into brackets. Anything else is passed over.
_ITEM = re.compile(
    rf"<([^<>]*)>?|(?<!\\)\({_PLAIN}(?:\({_PLAIN}\){_PLAIN})*\)|({_BARE}[^<>]*?)(?=,? ?(?:<|{_BARE})| \(|,? ?$)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+[.,!]?")


def fields(values: Sequence[str]) -> list[str]:
    """The addresses in List-Unsubscribe fields, from left to right; whether one is any good is not asked."""
    return list(islice((url for value in values for url in _items(value)), ITEMS_MAX))


def in_body(html: bytes, text: str, *, with_preferences: bool = True) -> tuple[Link, ...]:
    """The links and forms of a body that speak of leaving: the likeliest first, each once.

    A page with preferences is the second best, for a mail that offers nothing else.
    """
    found = markup.links(html, with_preferences=with_preferences) if html else []
    if text:
        found += plain.links(text, with_preferences=with_preferences and not found)
    # The same address as a link and as a form is two ways; in HTML and in text it is one.
    once: dict[tuple[str, Form | None], Link] = {}
    for link in found:
        once.setdefault((link.url, link.form), link)
    return tuple(once.values())[:LINKS_MAX]


def of_mail(raw: bytes) -> tuple[Offers, Opened]:
    """All that a mail offers, and the mail."""
    opened = mime.opened(raw)
    header = tuple(opened.header.get("list-unsubscribe", ()))
    post = tuple(opened.header.get("list-unsubscribe-post", ()))
    # A page with preferences is opened before a mail is sent, and must not outrank a true way out of the header.
    body = in_body(opened.html, opened.text, with_preferences=not fields(header))
    return Offers(header, post, body), opened


def _items(value: str) -> list[str]:
    value = " ".join(decoded(value[:FIELD_MAX]).split())
    found = []
    for item in _ITEM.finditer(value):
        url = _without_blanks(item[1] or "") if item[2] is None else _bare(item[2])
        if url:
            found.append(url)
    return found


def _without_blanks(url: str) -> str:
    return "".join(url.split())


def _bare(said: str) -> str:
    """An address that was folded, up to the first word that belongs to no address."""
    first, *more = said.split()
    for part in more:
        if _WORD.fullmatch(part):
            break
        first += part
    return first.rstrip(",;")
