"""One quick look over an XML document before it is read: is it whole, and which of its entries can be new?

The reader that understands every feed needs a millisecond for five entries, whether they are new or years old. This
look needs less than a tenth of that, and leaves it the entries that matter.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html.entities import html5
from xml.parsers import expat

from gna.feeds.reading.dates import moment
from gna.feeds.reading.refusal import NotAFeed

# A thousand posts between two looks at a feed is more than anybody would mail; whatever is older was there before.
KEPT = 1000
# A page inside a post may be nested deeply, but not so.
DEEPEST = 500
# The root of a feed may name dozens of vocabularies. The readers after us compare every attribute with every other.
ATTRIBUTES_MAX = 200
# An entity stands for a letter or a name. A longer one, or one made of others, is meant to grow.
ENTITY_MAX = 100
ROOTS = frozenset({"rss", "rdf", "feed", "channel", "entry"})
PARENTS = frozenset({"rss", "channel", "rdf", "feed"})
PUBLISHED = frozenset({"pubdate", "published", "issued"})
UPDATED = frozenset({"date", "updated", "modified", "created"})
DATES = PUBLISHED | UPDATED
JUNK_AFTER = expat.errors.codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]
CUT_OFF = {
    expat.errors.codes[error]
    for error in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
}
UNCLEAR = {
    expat.errors.codes[error]
    for error in (
        expat.errors.XML_ERROR_INVALID_TOKEN,
        expat.errors.XML_ERROR_UNDEFINED_ENTITY,
        expat.errors.XML_ERROR_BAD_CHAR_REF,
    )
}
# An unclosed section reaches to the end, so that no document is searched twice.
REFERENCE = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|&(?:#(?P<decimal>\d{1,9});|#[xX](?P<hex>[0-9a-fA-F]{1,8});|(?P<name>\w{1,40});)?",
    re.DOTALL,
)
ITEM_START = re.compile(rb"<(item|entry)[\s>]")
DATE_BY_SIGHT = re.compile(
    rb"<(?:\w{1,10}:)?(pubDate|published|issued|date|updated|modified)>\s*+([^<]{1,80})<", re.IGNORECASE
)
# The date of a post stands before or after its text, which may be long; then it counts as one without a date.
BY_SIGHT_MAX = 20_000
OF_XML = frozenset({"amp", "lt", "gt", "quot", "apos"})


@dataclass
class _Item:
    start: int
    end: int = 0
    published: str = ""
    updated: str = ""

    def date(self, name: str, text: str) -> None:
        if name in PUBLISHED:
            self.published = text
        else:
            self.updated = text

    def when(self) -> datetime | None:
        return moment(self.published) or moment(self.updated)


@dataclass
class _Look:
    """What was seen of a document until its end or its first error."""

    items: list[_Item] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    # The elements that are open after the last whole item, as they are written.
    open: list[str] = field(default_factory=list)
    root_end: int = 0
    entities: dict[str, str] = field(default_factory=dict)
    unclear: bool = False
    error: int = 0
    message: str = ""


def skim(document: str) -> tuple[bytes, str]:
    """The document with only the entries that can be new, mended where that is safe, and what is still wrong."""
    data = document.encode()
    look = _look(data)
    if look.unclear or look.entities or look.error in UNCLEAR:
        data = mended(document, look.entities).encode()
        look = _look(data)
    if look.error == JUNK_AFTER:
        data = data[: look.root_end]
    elif look.error in CUT_OFF:
        if not look.items:
            raise NotAFeed(f"It is not well-formed XML: {look.message}. Perhaps it was cut off.")
        # What is written of the last entry may be half its title or half its address.
        data = data[: look.items[-1].end] + "".join(f"</{name}>" for name in reversed(look.open)).encode()
    elif look.error:
        return _newest(data, _by_sight(data)), look.message
    return _newest(data, look.items), ""


def newest(dates: Sequence[datetime | None]) -> list[int]:
    """The places of the entries that can be new; of those without a date, the ends, since feeds grow at either end."""
    dated = sorted(at for at in dates if at)
    undated = [place for place, at in enumerate(dates) if not at]
    undated = _ends(undated, max(KEPT // 2, KEPT - len(dated)))
    room = KEPT - len(undated)
    limit = dated[-room] if len(dated) > room else None
    after = [place for place, at in enumerate(dates) if at and (limit is None or at > limit)]
    same = [place for place, at in enumerate(dates) if at and at == limit]
    return sorted(after + _ends(same, room - len(after)) + undated)


def mended(document: str, entities: Mapping[str, str]) -> str:
    """The document with every ampersand written as XML wants it; its own entities and those of HTML become letters."""

    def mend(found: re.Match[str]) -> str:
        if found[0].startswith("<") or found["name"] in OF_XML:
            return found[0]
        if found["name"] in entities:
            return _escaped(entities[found["name"]])
        if number := found["decimal"] or found["hex"]:
            return found[0] if _is_letter(int(number, 10 if found["decimal"] else 16)) else ""
        letters = html5.get(f"{found['name']};", "") if found["name"] else ""
        return _escaped(letters) or f"&amp;{found[0][1:]}"

    return REFERENCE.sub(mend, document)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _is_letter(number: int) -> bool:
    return number in (9, 10, 13) or 32 <= number < 0xD800 or 0xE000 <= number < 0xFFFE or 0x10000 <= number < 0x110000


def _ends(places: list[int], room: int) -> list[int]:
    if len(places) <= room:
        return places
    last = room // 2
    return places[: room - last] + places[len(places) - last :]


def _newest(data: bytes, items: list[_Item]) -> bytes:
    if len(items) <= KEPT:
        return data
    kept = set(newest([item.when() for item in items]))
    pieces, end = [], 0
    for place, item in enumerate(items):
        if place not in kept:
            pieces.append(data[end : item.start])
            end = item.end
    return b"".join([*pieces, data[end:]])


def _by_sight(data: bytes) -> list[_Item]:
    """The items of a document that is broken in a way that we do not mend, by their tags alone."""
    items = []
    start = ITEM_START.search(data)
    while start:
        end = data.find(b"</" + start[1] + b">", start.end())
        if end < 0:
            break
        item = _Item(start.start(), end + len(start[1]) + 3)
        for name, text in DATE_BY_SIGHT.findall(data, start.end(), min(end, start.end() + BY_SIGHT_MAX)):
            item.date(name.decode().lower(), text.decode(errors="replace"))
        items.append(item)
        start = ITEM_START.search(data, item.end)
    return items


def _look(data: bytes) -> _Look:
    look = _Look()
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    _Eye(parser, data, look).open()
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        look.error, look.message = error.code, f"{expat.ErrorString(error.code)} in line {error.lineno}"
        # The last one may be open.
        look.items = [item for item in look.items if item.end]
    return look


class _Eye:
    """Follows the elements as they open and close."""

    def __init__(self, parser: expat.XMLParserType, data: bytes, look: _Look) -> None:
        self._parser, self._data, self._look = parser, data, look
        self._names: dict[str, str] = {}
        self._path = look.path
        # How many elements are open around the items' own elements; 0 is outside of any item.
        self._inside = 0
        self._text: list[str] = []

    def open(self) -> None:
        parser = self._parser
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.EntityDeclHandler, parser.SkippedEntityHandler = self._entity, self._skipped

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        path, local = self._path, self._names.get(name) or self._local(name)
        path.append(name)
        depth = len(path)
        if not self._inside:
            if local in ("item", "entry") and (depth == 1 or self._names[path[-2]] in PARENTS):
                self._inside = depth
                self._look.items.append(_Item(self._parser.CurrentByteIndex))
        elif depth == self._inside + 1 and local in DATES:
            self._text = []
            self._parser.CharacterDataHandler = self._text.append
        if depth > DEEPEST or len(attributes) > ATTRIBUTES_MAX:
            what = "is nested too deeply" if depth > DEEPEST else "has too many attributes"
            raise NotAFeed(f"It {what} to be a feed.")

    def _end(self, name: str) -> None:
        path, depth = self._path, len(self._path)
        if depth == self._inside:
            self._look.items[-1].end = self._after()
            self._look.open, self._inside = path[:-1], 0
        elif self._inside and depth == self._inside + 1 and self._names[name] in DATES:
            self._parser.CharacterDataHandler = None
            self._look.items[-1].date(self._names[name], "".join(self._text))
        path.pop()
        if not path:
            self._look.root_end = self._after()

    def _after(self) -> int:
        # At an element without an end tag, we are told of its end when we are behind it.
        here = self._parser.CurrentByteIndex
        return self._data.index(b">", here) + 1 if self._data.startswith(b"</", here) else here

    def _local(self, name: str) -> str:
        local = self._names[name] = name.rpartition(":")[2].lower()
        return local

    def _entity(
        self, name: str, _parameter: bool, value: str | None, _base: str | None, *_external: str | None
    ) -> None:
        # What stands outside of the document is nothing to us.
        self._look.entities[name] = value or ""
        if value and (len(value) > ENTITY_MAX or re.search(r"&\w{1,100};", value)):
            raise NotAFeed("It is not safe to read: it declares entities that grow when they are read.")

    def _skipped(self, _name: str, _parameter: bool) -> None:
        self._look.unclear = True
