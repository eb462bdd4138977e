"""Files of other products: lenient, since nobody can change what was exported."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from gna.subscribers.formats import dates
from gna.subscribers.formats.cells import Unpack
from gna.subscribers.formats.header import FIRST_NAME, LAST_NAME, NAME, Header
from gna.subscribers.formats.leaving import (
    LEFT,
    Meanings,
    PlacedSign,
    Sign,
    gravest,
    only_understood,
    sign_of,
    signs_of_unknown,
)
from gna.subscribers.formats.mapping import LEFT_OUT, Column, Target
from gna.subscribers.formats.person import (
    ENDED,
    LONGEST_NAME,
    LONGEST_VALUE,
    MOST_ATTRIBUTES,
    Person,
    Read,
    Standing,
    one_line,
    padded,
)
from gna.subscribers.formats.proposal import Guess

# What a row says of the person, and when that ended.
Marks = Callable[[Sequence[str]], tuple[Standing, datetime | None]]

LONGEST_NICKNAME = 50
# Columns of our own format that no other product has.
OURS = frozenset({"email", "nickname", "activated_at", "ocd_ids", "lists"})
WAITS = frozenset({Standing.UNCONFIRMED, Standing.PENDING})


@dataclass(frozen=True)
class Product:
    """What must be known of a product to read its exports; column names as compared, in small letters."""

    name: str
    marks: tuple[frozenset[str], ...] = ()
    # Names that other products have too, spelled exactly as this product does. They only count where every other
    # column is about something else than leaving, since those of this product are all in `technical` and `signs`.
    marks_as_spelled: tuple[frozenset[str], ...] = ()
    signs: tuple[Sign, ...] = ()
    activated: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    unpack: Mapping[str, Unpack] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    keeps_others: bool = True
    technical: frozenset[str] = frozenset()
    localised: bool = False
    # How the product calls the column of addresses, where no other product calls it so.
    address_column: str = ""
    # An unknown product: columns that say who left are found by their names, and a person is asked about their values.
    signs_by_name: bool = False

    def wrote(self, header: Header) -> bool:
        """Whether the columns are this product's."""
        if any(mark.issubset(header.keys) for mark in self.marks):
            return True
        if not any(mark.issubset(header.names) for mark in self.marks_as_spelled):
            return False
        known = self.technical.union(*(sign.columns for sign in self.signs))
        return not any(key in OURS or sign_of(key) for key in header.keys if key not in known)

    def address(self, header: Header) -> int | None:
        """Where the address stands; a localised header may call it anything, but puts it first."""
        found = header.address()
        if found is None and self.address_column:
            found = header.at(self.address_column)
        return 0 if found is None and self.localised else found


@dataclass(frozen=True)
class Names:
    """Where the parts of a name stand."""

    nickname: int | None
    first: int | None
    last: int | None


def reader(
    product: Product,
    header: Header,
    address: int,
    *,
    latest: datetime,
    default: Standing = Standing.ACTIVATED,
    answers: Mapping[str, Meanings] | None = None,
) -> Read:
    """Read this product's rows."""
    width = len(header.keys)
    names = _names(product, header, address)
    signs = placed_signs(product, header, address, answers or {})
    marked = marks(product, header, signs, latest=latest, default=default)
    activated = _places(header, product.activated) + _dates_of_agreement(product, signs)
    attributes = _attributes_reader(product, header, address, names)

    def read(cells: Sequence[str]) -> Person:
        cells = padded(cells, width)
        standing, ended_at = marked(cells)
        nickname = None if names.nickname is None else one_line(cells[names.nickname]) or None
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
    signs: Sequence[PlacedSign],
    *,
    latest: datetime,
    default: Standing = Standing.ACTIVATED,
) -> Marks:
    """What rows say by these signs of who left, bounced or never confirmed."""
    width = len(header.keys)
    ended = _places(header, product.ended)

    def marked(cells: Sequence[str]) -> tuple[Standing, datetime | None]:
        cells = padded(cells, width)
        standing = gravest((sign.standing(cells) for sign in signs), default)
        return standing, _first(cells, ended, latest) if standing in ENDED else None

    return marked


def guesses(product: Product, header: Header, address: int) -> list[Guess]:
    """What each column is for this product."""
    names = _names(product, header, address)
    plain = dict(_plain(product, header, address, names))
    signs = {placed.at: placed.sign for placed in placed_signs(product, header, address, {})}
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


def placed_signs(
    product: Product, header: Header, address: int | None, answers: Mapping[str, Meanings]
) -> list[PlacedSign]:
    """The columns of this header that say who left, bounced or agreed."""
    if product.signs_by_name:
        names = None if address is None else _names(product, header, address)
        parts = (names.nickname, names.first, names.last) if names else ()
        return signs_of_unknown(header, answers, but=[address, *parts, *_places(header, product.activated)])
    placed = [PlacedSign(at, sign) for sign in product.signs for at in _places_of_sign(header, sign)]
    unknown = _unknown_places(product, header) - {address, *(one.at for one in placed)}
    # A field that the publisher added. What else it holds is asked of nobody: the product itself says who left.
    opt_outs = [at for at in sorted(unknown) if sign_of(header.keys[at]) is LEFT]
    return [*placed, *(PlacedSign(at, only_understood(LEFT)) for at in opt_outs)]


def _unknown_places(product: Product, header: Header) -> set[int]:
    """The columns that the product does not write by itself."""
    known = {*product.activated, *product.ended, *product.unpack, *product.renamed, *product.dropped}
    known |= product.technical
    return {at for at, key in enumerate(header.keys) if key not in known}


def _places_of_sign(header: Header, sign: Sign) -> list[int]:
    beginnings = tuple(column[:-1] for column in sign.columns if column.endswith("*"))
    if beginnings:
        return [at for at, key in enumerate(header.keys) if key.startswith(beginnings)]
    first = header.at(*sign.columns)
    return [] if first is None else [at for at, key in enumerate(header.keys) if key == header.keys[first]]


def _dates_of_agreement(product: Product, signs: Sequence[PlacedSign]) -> list[int]:
    """Columns of an unknown product that may say when the person agreed."""
    if not product.signs_by_name:
        return []
    return [placed.at for placed in signs if placed.sign.date is Standing.ACTIVATED]


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
    names_at = {names.first, names.last}

    def attributes(cells: Sequence[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for at, name in plain:
            if value := one_line(cells[at]) if at in names_at else cells[at].strip():
                found.setdefault(name, value[:LONGEST_VALUE])
        for at, unpack in unpacked:
            if value := cells[at].strip():
                found = unpack(value) | found
        return found

    return attributes


def _plain(product: Product, header: Header, address: int, names: Names) -> list[tuple[int, str]]:
    """The columns that become attributes as they are, and their names."""
    used = {*product.activated, *product.ended, *product.unpack, *product.dropped, *product.technical}
    used.update(header.keys[placed.at] for placed in placed_signs(product, header, address, {}))
    parts = {names.first: "first_name", names.last: "last_name"}
    return [
        (at, parts.get(at) or product.renamed.get(key) or name[:LONGEST_NAME])
        for at, (key, name) in enumerate(zip(header.keys, header.names, strict=True))
        if at in parts
        or key in product.renamed
        or (product.keeps_others and name and key not in used and at not in (address, names.nickname))
    ]
