"""Ways out in the plain text of a mail: addresses near words that speak of leaving."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gna.inbox import words
from gna.inbox.tags import URL_MAX
from gna.inbox.ways import Link, Source

# So many addresses are looked at, from the end.
LOOKED_AT = 300
# So much of a line, next to an address, is about it; some write a whole paragraph on one.
SAID_MAX = 1000

_IN_BRACKETS = re.compile(r"<\s*+((?:https?://|mailto:)[^<>]{1,4000}+)>", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:https?://|mailto:)[^\s<>\"]{3,}", re.IGNORECASE)
# What ends a sentence; and brackets, if they were opened before the address.
_ENDS = ".,;:!?'\"*_`|"
_OPENED_BY = {")": "(", "]": "[", "}": "{"}
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class _Place:
    """An address: on which line, and what that line says about it."""

    url: str
    line: int
    said: str


def links(text: str) -> list[Link]:
    """The addresses that speak of leaving, or are spoken of so; the last of the mail first."""
    if "://" not in text and "mailto:" not in text.lower():
        return []
    # An address that was folded is one again.
    text = _IN_BRACKETS.sub(lambda found: f"<{''.join(found[1].split())}>", text)
    # What is quoted was sent by somebody else.
    lines = ["" if line.startswith(">") else line for line in text.splitlines()]
    places = list(_places(lines))[-LOOKED_AT:]
    for says in (_leave, _choose):
        found = [Link(place.url, Source.TEXT) for place in reversed(places) if says(place, lines)]
        if found:
            return found
    return []


def _places(lines: list[str]) -> Iterator[_Place]:
    for number, line in enumerate(lines):
        if ":" not in line:
            continue
        addresses = list(_ADDRESS.finditer(line))
        starts = [0, *(found.end() for found in addresses)]
        ends = [*(found.start() for found in addresses), len(line)]
        parts = [line[start:end] for start, end in zip(starts, ends, strict=True)]
        for place, found in enumerate(addresses):
            before, after = parts[place], parts[place + 1]
            # Of several on a line each has its own words: as a rule before it, else after it.
            before, after = before[-SAID_MAX:], after[:SAID_MAX]
            said = f"{before} {after}" if len(addresses) == 1 else before if _LETTER.search(before) else after
            url = _bare(found[0])
            if len(url) <= URL_MAX:
                yield _Place(url, number, words.normal(said))


def _bare(url: str) -> str:
    """The address without what ends the sentence."""
    unopened = {closing: url.count(closing) - url.count(opening) for closing, opening in _OPENED_BY.items()}
    end = len(url)
    while end and (url[end - 1] in _ENDS or unopened.get(url[end - 1], 0) > 0):
        end -= 1
        if url[end] in unopened:
            unopened[url[end]] -= 1
    return url[:end]


def _leave(place: _Place, lines: list[str]) -> bool:
    if words.leaving(place.said) or words.address_says(words.LEAVE_URL, place.url):
        return True
    return _neighbour_says(place, lines)


def _neighbour_says(place: _Place, lines: list[str]) -> bool:
    """Whether the line before speaks of leaving; or the one after, if it is not about a next address."""
    above, below, next_below = (_near(lines, place, away) for away in (-1, 1, 2))
    if not above.strip() and not _LETTER.search(place.said):
        above = _near(lines, place, -2)
    if above.strip() and not _ADDRESS.search(above):
        return words.leaving(words.normal(above))
    if _LETTER.search(place.said) or _ADDRESS.search(below) or _ADDRESS.search(next_below):
        return False
    return words.leaving(words.normal(below))


def _choose(place: _Place, lines: list[str]) -> bool:
    above = _near(lines, place, -1)
    spoken = place.said if _LETTER.search(place.said) or _ADDRESS.search(above) else words.normal(above)
    return words.CHOOSE.said(spoken) or words.address_says(words.CHOOSE_URL, place.url)


def _near(lines: list[str], place: _Place, away: int) -> str:
    """The end of a line above, or the start of one below."""
    number = place.line + away
    line = lines[number] if 0 <= number < len(lines) else ""
    return line[-SAID_MAX:] if away < 0 else line[:SAID_MAX]
