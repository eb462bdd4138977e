"""Files whose columns a person has named: lenient as with other products, and as careful about who left."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from gna.errors import Refused
from gna.subscribers.formats import dates, foreign, own
from gna.subscribers.formats.cells import Unpack
from gna.subscribers.formats.foreign import LONGEST_NICKNAME, Product
from gna.subscribers.formats.header import Header
from gna.subscribers.formats.mapping import Column, Mapping, Target
from gna.subscribers.formats.person import LONGEST_VALUE, NO_ATTRIBUTES, Person, Read, Standing, padded
from gna.subscribers.formats.products import ANY
from gna.subscribers.formats.words import ANSWERS, STANDINGS

ACTIVATED, STAYS = Standing.ACTIVATED, frozenset({Standing.ACTIVATED, Standing.PENDING})


def reader(mapping: Mapping, header: Header, product: Product, *, latest: datetime) -> Read:
    """Read rows as the mapping says; whoever left, bounced or never confirmed by this product's rules stays out."""
    columns = mapping.columns or ()
    width, default = len(columns), mapping.default
    email, status = _place(columns, Target.EMAIL), _place(columns, Target.STATUS)
    activated, nicknames = _place(columns, Target.ACTIVATED_AT), _places(columns, Target.NICKNAME)
    ocd_ids, lists = _place(columns, Target.OCD_IDS), _place(columns, Target.LISTS)
    # Of a file of nobody we know, the column that says it was named; a product's own rules hold beside.
    marks = foreign.marks(product, header, latest=latest, but=status if product is ANY else None)
    attributes = _attributes(columns, header, product)
    assert email is not None

    def read(cells: Sequence[str]) -> Person:
        cells = padded(cells, width)
        address = own.unguarded(cells[email])
        standing, ended_at = marks(cells)
        if standing is ACTIVATED:
            standing = default if status is None else _said(cells[status], default)
        if standing not in STAYS:
            return Person(address, None, standing, None, ended_at, (), (), NO_ATTRIBUTES)
        found = attributes(cells)
        nickname = " ".join(part for at in nicknames if (part := own.unguarded(cells[at])))
        if len(nickname) > LONGEST_NICKNAME:
            found.setdefault("name", nickname[:LONGEST_VALUE])
            nickname = ""
        since = None if activated is None else dates.past(dates.undotted(cells[activated].strip()), latest=latest)
        return Person(
            address,
            nickname or None,
            standing,
            since if standing is ACTIVATED else None,
            None,
            () if ocd_ids is None else own.parts(cells[ocd_ids]),
            () if lists is None else own.parts(cells[lists]),
            found,
        )

    return read


def _places(columns: Sequence[Column], target: Target) -> list[int]:
    return [at for at, column in enumerate(columns) if column.target is target]


def _place(columns: Sequence[Column], target: Target) -> int | None:
    return next(iter(_places(columns, target)), None)


def _said(cell: str, default: Standing) -> Standing:
    word = cell.strip().casefold()
    standing = (STANDINGS.get(word) or ANSWERS.get(word)) if word else default
    if standing is None:
        raise Refused("The status is not a word that is known here: write Activated, Pending or Unsubscribed")
    return standing


def _attributes(
    columns: Sequence[Column], header: Header, product: Product
) -> Callable[[Sequence[str]], dict[str, Any]]:
    places: list[tuple[int, str, Unpack | None]] = [
        (at, column.name, product.unpack.get(key))
        for at, (column, key) in enumerate(zip(columns, header.keys, strict=True))
        if column.target is Target.ATTRIBUTE
    ]

    def attributes(cells: Sequence[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for at, name, unpack in places:
            if value := cells[at].strip():
                found = unpack(value) | found if unpack else found | {name: value[:LONGEST_VALUE]}
        return found

    return attributes
