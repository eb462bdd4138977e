"""Ways out in the plain text of a mail: addresses that belong to words that speak of leaving, or say it themselves."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from gna.inbox import sentences, words
from gna.inbox.sentences import Says, Surroundings
from gna.inbox.tags import URL_MAX
from gna.inbox.ways import Link, Source
from gna.inbox.words import Words

# So many addresses are looked at, from the end.
LOOKED_AT = 300
# So many characters next to an address may be about it: some mails have a whole paragraph on one line.
NEAR_MAX = 1000
# A sentence is joined from so many lines at most.
LINES_JOINED = 4

_IN_BRACKETS = re.compile(r"<\s*+((?:https?://|mailto:)[^<>]{1,4000}+)>", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:https?://|mailto:)[^\s<>\"]{3,}", re.IGNORECASE)
# Some programs make the plain text from HTML and leave this as it was.
_AMPERSAND = re.compile(r"&(?:amp|#0{0,5}38|#x0{0,5}26);", re.IGNORECASE)
# What ends a sentence; and brackets, if they were opened before the address.
_ENDS = ".,;:!?'\"*_`|"
_OPENED_BY = {")": "(", "]": "[", "}": "{"}
_LETTER = re.compile(r"[^\W\d_]")
# Lists of links at the end of a text: "[3] https://…", "[3]: https://…", and "3. https://…" as lynx writes them.
_DEFINITION = re.compile(r"\s*(?:\[(\d{1,3})\]:?|(\d{1,3})\.)\s+<?((?:https?://|mailto:)[^\s<>]+)>?\s*", re.IGNORECASE)
_REFERENCE = re.compile(r"\[(\d{1,3})\](?!\()")
# Blanks and brackets around an address.
_AROUND = " \t)]>"
# What parts two labels on one line: a gap, or a mailbox, as in "Contact <us@example.org> Unsubscribe <https://…>".
_GAP = re.compile(r"\s{3,}|<[^<>\s@]{1,100}@[^<>\s@]{1,100}>")
# "-------- Forwarded message --------"
_RULED = re.compile(r"-{2,}\s*([^-]{5,60}?)\s*-{2,}\s*")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an address, or a reference to one, stands in a line."""

    url: str
    line: int
    start: int
    end: int
    # A reference in front of its words, as lynx writes it: "[3]Unsubscribe".
    is_in_front: bool = False
    # Where the address before it in the same line ends, and where the one after it starts.
    previous_end: int | None = None
    next_start: int | None = None


@dataclass(frozen=True, slots=True)
class _Purpose:
    """What is looked for: words that say it, the phrases in these, and what an address says."""

    says: Says
    phrases: tuple[Words, ...]
    url_words: Words


class _Text:
    """The lines of a mail, without those that another sender wrote, and the addresses in each."""

    def __init__(self, text: str) -> None:
        self.lines = list(_own_lines(text))
        self._addresses = _referenced(self.lines)
        self._places: dict[int, list[_Place]] = {}
        for number, line in enumerate(self.lines):
            if ":" in line or ("[" in line and self._addresses):
                places = list(self._in_line(number, line))
                if places:
                    self._places[number] = places

    @cached_property
    def normal(self) -> str:
        """All of the text as words are compared."""
        return words.normal(" ".join(self.lines))

    @cached_property
    def last_places(self) -> list[_Place]:
        """The last addresses of the text, from its end, without those that are too long to lead anywhere."""
        places = [place for some in self._places.values() for place in some]
        return [place for place in places[: -LOOKED_AT - 1 : -1] if len(place.url) <= URL_MAX]

    def is_near(self, place: _Place, phrases: Collection[str]) -> bool:
        """Whether one of these is so near that it may be about the address: most addresses are far from them."""
        if not phrases:
            return False
        line = self.lines[place.line][max(place.start - NEAR_MAX, 0) : place.end + NEAR_MAX]
        above = self.lines[max(place.line - LINES_JOINED - 1, 0) : place.line]
        text = words.normal(
            " ".join([*(one[-NEAR_MAX:] for one in above), line, self._line(place.line + 1)[:NEAR_MAX]])
        )
        return any(phrase in text for phrase in phrases)

    def around(self, place: _Place) -> Surroundings:
        """The words next to an address, joined from several lines where a sentence goes on."""
        line = self.lines[place.line]
        first = max(place.previous_end or 0, place.start - NEAR_MAX)
        last = min(place.next_start or len(line), place.end + NEAR_MAX)
        before = line[first : place.start]
        after = line[place.end : last]
        follows_link = place.previous_end is not None
        precedes_link = place.next_start is not None
        if not follows_link:
            before = self._with_lines_above(before, place.line)
        if not precedes_link:
            after, precedes_link = self._with_lines_below(before, after, place.line)
        # "The Shop, https://… To unsubscribe reply": a new sentence, though nothing ends the one before.
        if follows_link and _starts_large(before):
            before = f"| {before}"
        if _LETTER.search(before.rpartition("|")[2]) and _starts_large(after):
            after = f"| {after}"
        return Surroundings(_normal(before), _normal(after), follows_link, precedes_link)

    def _in_line(self, number: int, line: str) -> Iterator[_Place]:
        if _defines(line, self._addresses):
            return
        places = [*self._addresses_in(number, line), *self._references_in(number, line)]
        if len(places) < 2:
            yield from places
            return
        places.sort(key=lambda place: place.start)
        previous_ends = [None, *(place.end for place in places)]
        next_starts = [*(place.start for place in places[1:]), None]
        for place, previous_end, next_start in zip(places, previous_ends, next_starts, strict=False):
            yield replace(place, previous_end=previous_end, next_start=next_start)

    def _addresses_in(self, number: int, line: str) -> Iterator[_Place]:
        for found in _ADDRESS.finditer(line):
            bare = _bare(found[0])
            yield _Place(_unescaped(bare), number, found.start(), found.start() + len(bare))

    def _references_in(self, number: int, line: str) -> Iterator[_Place]:
        if not self._addresses:
            return
        for found in _REFERENCE.finditer(line):
            if found[1] in self._addresses:
                is_in_front = bool(_LETTER.match(line, found.end()))
                yield _Place(self._addresses[found[1]], number, found.start(), found.end(), is_in_front)

    def _with_lines_above(self, before: str, number: int) -> str:
        """The words before an address with those lines above that lead to it."""
        joined = before
        for _ in range(LINES_JOINED):
            lead, number = self._line_above(joined, number)
            joined = f"{self._behind_links(lead, number)} {joined.strip()}"
            if not lead or self._places.get(number):
                break
        return joined

    def _line_above(self, joined: str, number: int) -> tuple[str, int]:
        """The line above, if the words that were joined so far go on from it, and its number."""
        above = self._line(number - 1)
        if _LETTER.search(joined):
            goes_on = _goes_on(joined) or words.only_points(_normal(joined))
            return (above if goes_on and _is_open(above) else ""), number - 1
        if above.strip():
            return (above if sentences.announces(_last_sentence(above)) else ""), number - 1
        # Across a blank line only what clearly leads on: "Unsubscribe here:".
        above = self._line(number - 2)
        last = _last_sentence(above)
        leads = last.endswith((":", "：")) or (words.points_at_link(last) and sentences.announces(last))
        return (above if leads else ""), number - 2

    def _behind_links(self, line: str, number: int) -> str:
        """The end of a line, without its addresses and the words about these."""
        places = self._places.get(number)
        start = places[-1].end if places else 0
        text = line[max(start, len(line) - NEAR_MAX) :].strip()
        return sentences.own_before(Surroundings(_normal(text), "", follows_link=True)) if places else text

    def _with_lines_below(self, before: str, after: str, number: int) -> tuple[str, bool]:
        """The words after an address with the rest of their sentence in the line below; and whether a link ends it."""
        below = self._line(number + 1)
        is_begun = _LETTER.search(after) or _LETTER.search(before)
        if not is_begun or not _goes_on(below) or not _is_open(after):
            return after, False
        places = self._places.get(number + 1)
        end = places[0].start if places else len(below)
        return f"{after} {below[: min(end, NEAR_MAX)]}", bool(places)

    def _line(self, number: int) -> str:
        return self.lines[number] if 0 <= number < len(self.lines) else ""


def links(text: str, *, with_preferences: bool = True) -> list[Link]:
    """The addresses to leave by; if there is none, those of pages with preferences. The last of the mail first."""
    if "://" not in text and "mailto:" not in text.lower():
        return []
    # An address that was folded is one again.
    text = _IN_BRACKETS.sub(lambda found: f"<{''.join(found[1].split())}>", text)
    mail = _Text(text)
    found = _ways_out(mail, _Purpose(sentences.leaving, (words.LEAVE, words.GOING), words.LEAVE_URL))
    if not found and with_preferences:
        found = _ways_out(mail, _Purpose(words.CHOOSE.said, (words.CHOOSE,), words.CHOOSE_URL))
    return [Link(place.url, Source.TEXT) for place in found]


def _ways_out(mail: _Text, purpose: _Purpose) -> list[_Place]:
    """The places of the addresses for this purpose, from the end of the mail."""
    phrases = [phrase for some in purpose.phrases for phrase in some.within(mail.normal)]
    if sentences.TO_BE_REMOVED in mail.normal:
        phrases.append(sentences.TO_BE_REMOVED)
    return [place for place in mail.last_places if _is_way_out(mail, place, purpose, phrases)]


def _is_way_out(mail: _Text, place: _Place, purpose: _Purpose, phrases: Collection[str]) -> bool:
    """Whether the address names such a page, or the words about it do; `phrases` are all that the mail has."""
    if words.address_says(purpose.url_words, place.url):
        return True
    if words.is_social(place.url) or not mail.is_near(place, phrases):
        return False
    around = mail.around(place)
    if place.is_in_front:
        # The words behind it are those of the link; the words before it count only if these do no more than point.
        label = sentences.own_after(around)
        if not words.only_points(label):
            return purpose.says(label) and sentences.speak(replace(around, before=""), "", purpose.says)
    return sentences.speak(around, "", purpose.says)


def _own_lines(text: str) -> Iterator[str]:
    """The lines that this sender wrote: a quoted line is blank, and a mail that is attached below is left out."""
    for line in text.splitlines():
        ruled = _RULED.fullmatch(line) if line.startswith("--") else None
        if ruled and words.WROTE.said(words.normal(ruled[1])):
            return
        yield "" if line.startswith(">") else line


def _referenced(lines: Iterable[str]) -> dict[str, str]:
    """The addresses in a list of links, by their numbers, as far as the text refers to them."""
    found: dict[str, str] = {}
    for line in lines:
        definition = _DEFINITION.fullmatch(line) if "://" in line or "mailto:" in line.lower() else None
        if definition:
            found[definition[1] or definition[2]] = _unescaped(definition[3])
    if not found:
        return {}
    named = {match[1] for line in lines if not _DEFINITION.fullmatch(line) for match in _REFERENCE.finditer(line)}
    return {number: url for number, url in found.items() if number in named}


def _defines(line: str, referenced: dict[str, str]) -> bool:
    """Whether this line is in the list of links, which has no words of its own."""
    definition = _DEFINITION.fullmatch(line) if referenced else None
    return definition is not None and (definition[1] or definition[2]) in referenced


def _bare(url: str) -> str:
    """The address without what ends the sentence."""
    unopened = {closing: url.count(closing) - url.count(opening) for closing, opening in _OPENED_BY.items()}
    end = len(url)
    while end and (url[end - 1] in _ENDS or unopened.get(url[end - 1], 0) > 0):
        end -= 1
        if url[end] in unopened:
            unopened[url[end]] -= 1
    return url[:end]


def _unescaped(url: str) -> str:
    return _AMPERSAND.sub("&", url) if "&" in url else url


def _normal(text: str) -> str:
    """The text as words are compared, with a sign where a gap parts it."""
    return words.normal(_GAP.sub(" | ", text.strip()))


def _last_sentence(line: str) -> str:
    """The last sentence of a line with the sign that ends it."""
    last = [sentence for sentence in sentences.split(_normal(line[-NEAR_MAX:])) if sentence]
    return last[-1] if last else ""


def _goes_on(text: str) -> bool:
    """Whether the text goes on with a small letter, as a line does that was wrapped; "web:" is a label."""
    is_label = text.rstrip().endswith(":") and len(text.split()) == 1
    return text.lstrip()[:1].islower() and not is_label


def _starts_large(text: str) -> bool:
    """Whether the text goes on with a capital letter, as a new sentence does."""
    return text.lstrip(_AROUND)[:1].isupper()


def _is_open(text: str) -> bool:
    """Whether a sentence may go on behind this text."""
    return not text.rstrip().endswith((".", "!", "?", "|", ":", ";"))
