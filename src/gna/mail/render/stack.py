"""The elements that a parser has open, by the rules of HTML for what closes what.

Only as exact as it must be: never less open than there is, and for HTML as people write it hardly more.
"""

from gna.mail.render.allowed import names

# These hold nothing, or are closed by the next of their kind.
EMPTY = names("area base body br col colgroup embed head hr html img input keygen link meta param source track wbr")
FORMATTING = names("a b big code em font i nobr s small strike strong tt u")
HEADINGS = names("h1 h2 h3 h4 h5 h6")
# Whatever is in them, their end tag closes them.
BLOCKS = HEADINGS | names(
    "address article aside blockquote button center details dialog dir div dl fieldset figcaption figure footer header",
    "hgroup listing main menu nav ol pre search section summary ul",
)
ENDS_PARAGRAPH = (BLOCKS - {"button"}) | names("dd dt form li p")
SPECIAL = BLOCKS | names("dd dt form li p")
ITEMS = {"li": {"li"}, "dd": {"dd", "dt"}, "dt": {"dd", "dt"}}
ROWS = names("tr tbody thead tfoot")
CELLS = names("td th caption")
# What is closed inside one of these leaves open what is outside.
WALLS = CELLS | names("applet marquee object table template")
# Which walls keep one from being closed from behind them; without an entry, all.
BARRED = {"table": {"template"}, "template": set()} | {cell: {"table", "template"} for cell in CELLS}


class Stack:
    """What is open: rooms within walls, in each of them elements, and what formats their text."""

    def __init__(self) -> None:
        self.depth = 0
        self.formatting = 0
        self._walls = [""]
        self._rooms: list[list[str]] = [[]]
        self._formats: list[dict[str, int]] = [{}]

    def open(self, name: str) -> None:
        """A start tag, of anything that does not format text."""
        if name in ROWS or name in CELLS:
            self._leave("table", itself=False)
        if not name or name in EMPTY or name in ROWS or (name in CELLS and "table" not in self._walls):
            return
        if name in WALLS:
            self._enter(name)
            return
        self._make_way(name)
        self._rooms[-1].append(name)
        self.depth += 1

    def close(self, name: str) -> None:
        """An end tag, of anything that does not format text."""
        room = self._rooms[-1]
        if name in WALLS:
            self._leave(name, itself=True)
        elif name in ROWS:
            self._leave("table", itself=False)
        elif name == "form" and name in room:
            # Alone among all, it leaves open what is in it.
            del room[_last(room, {name})]
            self.depth -= 1
        elif name in HEADINGS:
            self._cut(_last(room, HEADINGS))
        elif name in room:
            at = _last(room, {name})
            stops = {"ol", "ul"} if name == "li" else set() if name in SPECIAL else SPECIAL
            self._cut(len(room) if not stops.isdisjoint(room[at + 1 :]) else at)

    def format(self, name: str, *, opens: bool) -> None:
        """A tag of something that formats text."""
        formats = self._formats[-1]
        had = formats.get(name, 0)
        # A link in a link ends the outer one.
        change = (0 if had and name in ("a", "nobr") else 1) if opens else -min(1, had)
        formats[name] = had + change
        self.formatting += change
        self.depth += change

    def _make_way(self, name: str) -> None:
        """Close what cannot hold such an element."""
        room = self._rooms[-1]
        if name in ENDS_PARAGRAPH and "p" in room:
            self._cut(_last(room, {"p"}))
        if room and name in HEADINGS and room[-1] in HEADINGS and not self.formatting:
            self._cut(len(room) - 1)
        if name in ITEMS:
            at = _last(room, ITEMS[name])
            between = (SPECIAL - {"address", "div", "p"}).intersection(room[at + 1 :])
            self._cut(len(room) if between else at)

    def _cut(self, at: int) -> None:
        room = self._rooms[-1]
        self.depth -= len(room) - at
        del room[at:]

    def _enter(self, wall: str) -> None:
        if wall == self._walls[-1] == "table":
            self._leave(wall, itself=True)
        self._walls.append(wall)
        self._rooms.append([])
        self._formats.append({})
        self.depth += 1
        self.formatting = 0

    def _leave(self, wall: str, *, itself: bool) -> None:
        """Leave the rooms behind the nearest wall of that name, and that one too."""
        outward = self._walls[::-1]
        if wall not in outward or not BARRED.get(wall, WALLS).isdisjoint(outward[: outward.index(wall)]):
            return
        while self._walls[-1] != wall:
            self._pop()
        if itself:
            self._pop()
        self.formatting = sum(self._formats[-1].values())

    def _pop(self) -> None:
        wall, room, formats = self._walls.pop(), self._rooms.pop(), self._formats.pop()
        self.depth -= 1 + len(room)
        if wall == "table":
            # What stood between the cells was moved out of the table, and still formats what follows.
            outside = self._formats[-1]
            outside.update({name: count + outside.get(name, 0) for name, count in formats.items()})
        else:
            self.depth -= sum(formats.values())


def _last(room: list[str], wanted: set[str]) -> int:
    """Where the innermost of the wanted is; the end of the room if none is in it."""
    return next((at for at in range(len(room) - 1, -1, -1) if room[at] in wanted), len(room))
