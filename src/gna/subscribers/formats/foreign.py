"""Files of other products: lenient, since nobody can change what was exported."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from gna.subscribers.formats import dates
from gna.subscribers.formats.cells import Unpack
from gna.subscribers.formats.header import FIRST_NAME, LAST_NAME, NAME, Header
from gna.subscribers.formats.mapping import LEFT_OUT, Column, Target
from gna.subscribers.formats.person import (
    ENDED,
    LONGEST_NAME,
    LONGEST_VALUE,
    MOST_ATTRIBUTES,
    Person,
    Read,
    Standing,
    padded,
)
from gna.subscribers.formats.proposal import Guess

# What a row says of the person, and when that ended.
Marks = Callable[[Sequence[str]], tuple[Standing, datetime | None]]

LONGEST_NICKNAME = 50
# What is said in two columns of one row: the graver counts.
GRAVITY = (Standing.ACTIVATED, Standing.UNCONFIRMED, Standing.UNSUBSCRIBED, Standing.CLEANED)
WAITS = frozenset({Standing.UNCONFIRMED, Standing.PENDING})


@dataclass(frozen=True)
class Sign:
    """A column that says how the person stands: its values, and what any other value means."""

    columns: tuple[str, ...]
    says: Mapping[str, Standing]
    otherwise: Standing = Standing.UNCONFIRMED

    @property
    def is_status(self) -> bool:
        """Whether the column is one of words, and not of dates, numbers or yes and no."""
        return {"active", "unsubscribed"} <= self.says.keys()


@dataclass(frozen=True)
class Product:
    """What must be known of a product to read its exports; column names as compared, in small letters."""

    name: str
    marks: tuple[frozenset[str], ...] = ()
    signs: tuple[Sign, ...] = ()
    activated: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    unpack: Mapping[str, Unpack] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    keeps_others: bool = True
    technical: frozenset[str] = frozenset()
    localised: bool = False

    def wrote(self, header: Header) -> bool:
        """Whether the columns are this product's."""
        return any(mark.issubset(header.keys) for mark in self.marks)

    def address(self, header: Header) -> int | None:
        """Where the address stands; a localised header may call it anything, but puts it first."""
        found = header.address()
        return 0 if found is None and self.localised else found


@dataclass(frozen=True)
class Names:
    """Where the parts of a name stand."""

    nickname: int | None
    first: int | None
    last: int | None


def reader(
    product: Product, header: Header, address: int, *, latest: datetime, default: Standing = Standing.ACTIVATED
) -> Read:
    """Read this product's rows."""
    width = len(header.keys)
    names = _names(product, header, address)
    marked = marks(product, header, latest=latest, default=default)
    activated = _places(header, product.activated)
    attributes = _attributes_reader(product, header, address, names)

    def read(cells: Sequence[str]) -> Person:
        cells = padded(cells, width)
        standing, ended_at = marked(cells)
        nickname = None if names.nickname is None else cells[names.nickname].strip() or None
        found = attributes(cells)
        if nickname and len(nickname) > LONGEST_NICKNAME:
            found.setdefault("name", nickname[:LONGEST_VALUE])
            nickname = None
        return Person(
            email=cells[address].strip(),
            nickname=nickname,
            standing=standing,
            activated_at=None if standing in WAITS else _first(cells, activated, latest),
            ended_at=ended_at,
            ocd_ids=(),
            lists=(),
            attributes=found if len(found) <= MOST_ATTRIBUTES else dict(islice(found.items(), MOST_ATTRIBUTES)),
        )

    return read


def marks(
    product: Product,
    header: Header,
    *,
    latest: datetime,
    default: Standing = Standing.ACTIVATED,
    but: int | None = None,
) -> Marks:
    """What this product's rows say of who left, bounced or never confirmed; one column may be left to others."""
    width = len(header.keys)
    signs = [(at, sign) for at, sign in _signs(product, header) if at != but]
    ended = _places(header, product.ended)

    def marked(cells: Sequence[str]) -> tuple[Standing, datetime | None]:
        cells = padded(cells, width)
        said = [sign.says.get(cells[at].strip().casefold(), sign.otherwise) for at, sign in signs]
        standing = max(said, key=GRAVITY.index, default=default)
        return standing, _first(cells, ended, latest) if standing in ENDED else None

    return marked


def guesses(product: Product, header: Header, address: int) -> list[Guess]:
    """What each column is for this product."""
    names = _names(product, header, address)
    plain = dict(_plain(product, header, address, names))
    signs = dict(_signs(product, header))
    since = next(iter(_places(header, product.activated)), None)
    known = {since: Target.ACTIVATED_AT, names.nickname: Target.NICKNAME, address: Target.EMAIL}

    def guess(at: int, key: str) -> Guess:
        if at in signs or key in product.ended:
            return Guess(Column(Target.STATUS) if at in signs and signs[at].is_status else LEFT_OUT, counts=True)
        if at in known:
            return Guess(Column(known[at]))
        name = plain.get(at) or (key if key in product.unpack else "")
        return Guess(Column(Target.ATTRIBUTE, name) if name else LEFT_OUT)

    return [guess(at, key) for at, key in enumerate(header.keys)]


def _signs(product: Product, header: Header) -> list[tuple[int, Sign]]:
    return [(at, sign) for sign in product.signs if (at := header.at(*sign.columns)) is not None]


def _names(product: Product, header: Header, address: int) -> Names:
    first, last, name = header.among(FIRST_NAME), header.among(LAST_NAME), header.among(NAME)
    unknown = first is None and last is None and name is None
    if unknown and product.localised and not header.speaks_english():
        first, last = _names_by_place(product, header, address)
    if first is None and last is not None and name is None:
        return Names(None, None, last)
    return Names(name if first is None else first, first, last)


def _names_by_place(product: Product, header: Header, address: int) -> tuple[int | None, int | None]:
    """The second and the third column, as far as they are the person's own."""
    own = next((at for at, key in enumerate(header.keys) if key in product.technical), len(header.keys))
    places = [at if at < own and at != address else None for at in (1, 2)]
    return places[0], places[1]


def _places(header: Header, columns: tuple[str, ...]) -> list[int]:
    return [header.keys.index(column) for column in columns if column in header.keys]


def _first(cells: Sequence[str], places: list[int], latest: datetime) -> datetime | None:
    found = (dates.past(cells[at].strip(), latest=latest) for at in places)
    return next((moment for moment in found if moment), None)


def _attributes_reader(
    product: Product, header: Header, address: int, names: Names
) -> Callable[[Sequence[str]], dict[str, Any]]:
    unpacked = [(at, product.unpack[key]) for at, key in enumerate(header.keys) if key in product.unpack]
    plain = _plain(product, header, address, names)

    def attributes(cells: Sequence[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for at, name in plain:
            if value := cells[at].strip():
                found.setdefault(name, value[:LONGEST_VALUE])
        for at, unpack in unpacked:
            if value := cells[at].strip():
                found = unpack(value) | found
        return found

    return attributes


def _plain(product: Product, header: Header, address: int, names: Names) -> list[tuple[int, str]]:
    """The columns that become attributes as they are, and their names."""
    used = {*product.activated, *product.ended, *product.unpack, *product.dropped, *product.technical}
    used.update(column for sign in product.signs for column in sign.columns)
    parts = {names.first: "first_name", names.last: "last_name"}
    return [
        (at, parts.get(at) or product.renamed.get(key) or name[:LONGEST_NAME])
        for at, (key, name) in enumerate(zip(header.keys, header.names, strict=True))
        if at in parts
        or key in product.renamed
        or (product.keeps_others and name and key not in used and at not in (address, names.nickname))
    ]
