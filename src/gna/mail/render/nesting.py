"""Whether HTML is nested so deep that parsers would take minutes for it.

A parser closes what a writer left open, and opens bold and the like again in every paragraph until it is closed. For a
hostile text that takes the square of its length, so we follow the tags first, in one pass, and refuse.
"""

import re

from gna.errors import Refused
from gna.mail.render.allowed import names

DEEPEST = 250
# So often may bold and the like be opened again.
REOPENED = 200_000
# A parser compares each attribute of a tag with all others.
MOST_ATTRIBUTES = 200

# As a parser reads them: a comment, an element that holds only text, or a tag. The end of the text ends each of them.
VALUE = r"""[ \t\n]*+=[ \t\n]*+(?:"[^"]*+"|'[^']*+'|[^>"' \t\n][^> \t\n]*+)?+"""
ATTRIBUTE = rf"[^/> \t\n][^/>= \t\n]*+(?:{VALUE})?+"
ATTRIBUTES = rf"(?:[/ \t\n]++|{ATTRIBUTE})*+"
HEAD = re.compile(rf"<[a-z][^/> \t\n]*+({ATTRIBUTES})", re.IGNORECASE)
TAG = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))|<(?:[!?]|/[^a-z>])[^>]*+"
    r"|<(script|style|textarea|title|xmp|iframe|noembed|noframes|noscript)(?=[/> \t\n])"
    rf"{ATTRIBUTES}>.*?(?:</\1(?=[/> \t\n])|\Z)"
    rf"|<(/?)([a-z][^/> \t\n]*+){ATTRIBUTES}(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
DRAWING = re.compile(r"<(/?)(?:svg|math)\b[^>]*>?", re.IGNORECASE)
# A parser closes these by itself; they nest only through others.
FLAT = names(
    "area base body br col colgroup dd dt embed head hr html img input keygen li link meta optgroup option p param",
    "source track wbr",
)
FORMATTING = names("a b big code em font i nobr s small strike strong tt u")
ROWS = names("tr tbody thead tfoot")
CELLS = names("td th caption")
# What is closed inside one of these leaves open what is outside.
WALLS = CELLS | names("applet button marquee object table template")


def without_drawings(html: str) -> str:
    """The HTML without drawings and formulas: no mail client shows them, and they have a grammar of their own."""
    kept, end, start = [], 0, None
    for tag in DRAWING.finditer(html):
        if not tag[1]:
            start = tag.start() if start is None else start
        elif start is not None:
            kept.append(html[end:start])
            end, start = tag.end(), None
    rest = "".join((*kept, html[end:]))
    # Whatever is left is no pair, and becomes a tag that means nothing.
    return re.sub(r"<(/?)(svg|math)\b", r"<\1x-\2", rest, flags=re.IGNORECASE)


def check_nesting(html: str) -> None:
    """Refuse HTML that is nested too deep, or leaves too much open."""
    house, reopened = _House(), 0
    for tag in TAG.finditer(html):
        if tag.end() - tag.start() > 2 * MOST_ATTRIBUTES:
            _check_attributes(tag[0])
        name = (tag[3] or "").lower()
        if name in FORMATTING:
            house.format(name, opens=not tag[2])
        else:
            reopened += house.formatting
            (house.close if tag[2] else house.open)(name)
        if house.depth > DEEPEST or reopened > REOPENED:
            raise Refused("The HTML is nested too deep, or leaves too many tags open; close every tag that it opens")


def _check_attributes(tag: str) -> None:
    head = HEAD.match(tag)
    if head and sum(1 for _ in re.finditer(ATTRIBUTE, head[1])) > MOST_ATTRIBUTES:
        raise Refused(f"A tag of the HTML has more than {MOST_ATTRIBUTES} attributes; leave some out")


class _House:
    """What is open: rooms within walls, in each of them elements, and what formats their text."""

    def __init__(self) -> None:
        self.depth = 0
        self.formatting = 0
        self._walls = [""]
        self._rooms: list[list[str]] = [[]]
        self._formats: list[dict[str, int]] = [{}]

    def open(self, name: str) -> None:
        if name in ROWS or name in CELLS or (name == "table" and self._walls[-1] == "table"):
            self._leave(up_to="table", itself=name == "table")
        if name in FLAT or name in ROWS or not name or (name in CELLS and "table" not in self._walls):
            return
        self.depth += 1
        if name not in WALLS:
            self._rooms[-1].append(name)
            return
        self._walls.append(name)
        self._rooms.append([])
        self._formats.append({})
        self.formatting = 0

    def close(self, name: str) -> None:
        if name in WALLS:
            self._leave(up_to=name, itself=True)
        elif name in ROWS:
            self._leave(up_to="table", itself=False)
        elif name in self._rooms[-1]:
            room = self._rooms[-1]
            while room.pop() != name:
                self.depth -= 1
            self.depth -= 1

    def format(self, name: str, *, opens: bool) -> None:
        formats = self._formats[-1]
        # A link in a link ends the outer one.
        had = formats.get(name, 0)
        change = (0 if had and name in ("a", "nobr") else 1) if opens else -min(1, had)
        formats[name] = had + change
        self.formatting += change
        self.depth += change

    def _leave(self, *, up_to: str, itself: bool) -> None:
        """Leave the rooms inside the nearest wall of that name, and that one too."""
        if up_to not in self._walls or (up_to in CELLS and self._is_behind_a_table(up_to)):
            return
        while self._walls[-1] != up_to:
            self._pop()
        if itself:
            self._pop()
        self.formatting = sum(self._formats[-1].values())

    def _is_behind_a_table(self, cell: str) -> bool:
        inward = self._walls[::-1]
        return "table" in inward[: inward.index(cell)]

    def _pop(self) -> None:
        wall, room, formats = self._walls.pop(), self._rooms.pop(), self._formats.pop()
        self.depth -= 1 + len(room)
        if wall == "table":
            # What stood between the cells was moved out of the table, and still formats what follows.
            outside = self._formats[-1]
            outside.update({name: count + outside.get(name, 0) for name, count in formats.items()})
        else:
            self.depth -= sum(formats.values())
