"""Files whose columns a person has named: lenient as with other products, and as careful about who left."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from gna.subscribers.formats import dates, foreign, own
from gna.subscribers.formats.cells import Unpack
from gna.subscribers.formats.foreign import LONGEST_NICKNAME, Product
from gna.subscribers.formats.header import Header
from gna.subscribers.formats.leaving import STATED_BY_PERSON, PlacedSign, only_understood
from gna.subscribers.formats.mapping import Column, Mapping, Target
from gna.subscribers.formats.person import LONGEST_VALUE, NO_ATTRIBUTES, Person, Read, Standing, one_line, padded

ACTIVATED, STAYS = Standing.ACTIVATED, frozenset({Standing.ACTIVATED, Standing.PENDING})


def reader(mapping: Mapping, header: Header, product: Product, *, latest: datetime) -> Read:
    """Read rows as the mapping says; those who left, bounced or never confirmed by the product's rules stay out."""
    columns = mapping.columns or ()
    width = len(columns)
    email = _place(columns, Target.EMAIL)
    activated, nicknames = _place(columns, Target.ACTIVATED_AT), _places(columns, Target.NICKNAME)
    ocd_ids, lists = _place(columns, Target.OCD_IDS), _place(columns, Target.LISTS)
    signs = placed_signs(mapping, header, product)
    marks = foreign.marks(product, header, signs, latest=latest, default=mapping.default)
    attributes = _attributes(columns, header, product)
    assert email is not None

    def read(cells: Sequence[str]) -> Person:
        cells = padded(cells, width)
        address = own.unguarded(cells[email])
        standing, ended_at = marks(cells)
        if standing not in STAYS:
            return Person(address, None, standing, None, ended_at, (), (), NO_ATTRIBUTES)
        found = attributes(cells)
        nickname = " ".join(part for at in nicknames if (part := one_line(own.unguarded(cells[at]))))
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


def placed_signs(mapping: Mapping, header: Header, product: Product) -> list[PlacedSign]:
    """What says who left: the product's own columns, and those that were chosen as status.

    A column of an unknown product that was chosen as something else still counts where its value is understood.
    """
    columns = mapping.columns or ()
    chosen = set(_places(columns, Target.STATUS))
    email = _place(columns, Target.EMAIL)
    placed = {sign.at: sign for sign in foreign.placed_signs(product, header, email, mapping.values)}
    if product.signs_by_name:
        for at in placed.keys() - chosen - mapping.unmentioned:
            placed[at] = replace(placed[at], sign=only_understood(placed[at].sign))
    for at in chosen:
        answers = mapping.values.get(header.names[at], {})
        if at not in placed or (product.signs_by_name and placed[at].sign.is_status):
            placed[at] = PlacedSign(at, STATED_BY_PERSON, answers)
    return list(placed.values())


def _places(columns: Sequence[Column], target: Target) -> list[int]:
    return [at for at, column in enumerate(columns) if column.target is target]


def _place(columns: Sequence[Column], target: Target) -> int | None:
    return next(iter(_places(columns, target)), None)


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
