"""What a row of an export means, in our own words, whichever product wrote the file."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gna import clock
from gna.errors import Refused
from gna.subscribers.formats import foreign, mapped, own
from gna.subscribers.formats.foreign import Product
from gna.subscribers.formats.header import Header
from gna.subscribers.formats.leaving import ANY_OTHER, Meanings, PlacedSign, columns_with_words_of_leaving
from gna.subscribers.formats.mapping import AS_IT_IS, Mapping
from gna.subscribers.formats.person import ENDED, Layout, Person, Read, Standing, Unknown, padded
from gna.subscribers.formats.products import ANY, PRODUCTS
from gna.subscribers.formats.proposal import (
    Proposal,
    beside_samples,
    column_of_addresses,
    distinct,
    with_status,
    with_unknown,
)

__all__ = [
    "AS_IT_IS",
    "Layout",
    "Mapping",
    "NoAddress",
    "Person",
    "Proposal",
    "Standing",
    "columns_with_words_of_leaving",
    "propose",
    "recognise",
]

# Columns of logs, which hold addresses but no wish to subscribe: Substack's of opens and deliveries, listmonk's of
# views and clicks.
LOGS = frozenset({"post_id", "campaign_id", "campaign_uuid"})
OWN = "gna"
MOST_COLUMNS = 1000
# So many rows show what stands in a column.
LOOKED_AT = 100
TOLERANCE = timedelta(days=1)


class NoAddress(Refused):
    """No column is called as one of addresses would be; a person may still know which it is."""


def recognise(
    header: Sequence[str],
    *,
    file_name: str = "",
    mapping: Mapping = AS_IT_IS,
    with_words_of_leaving: frozenset[int] = frozenset(),
    now: datetime | None = None,
) -> Layout:
    """How to read the rows under this header; a file called `unsubscribed…` never subscribes anybody.

    `with_words_of_leaving` are the columns found by `columns_with_words_of_leaving`, for a layout that looks at values.
    """
    columns = replace(Header.of(header), with_words_of_leaving=with_words_of_leaving)
    leaves = _says_unsubscribed(file_name)
    if leaves:
        mapping = replace(mapping, values=_ignoring_others(mapping, columns))
    layout = _layout(columns, mapping, latest=(now or clock.now()) + TOLERANCE)
    if mapping.lists:
        layout = replace(layout, read=_joining(layout.read, mapping.lists))
    if leaves:
        layout = replace(layout, read=_unsubscribing(layout.read), tells_who_left=True)
    return layout


def propose(header: Sequence[str], rows: Sequence[Sequence[str]], *, file_name: str = "") -> Proposal:
    """What the columns of a file are, if we know it, or probably are, judged by its first rows."""
    columns = Header.of(header)
    origin = _origin(columns)
    if _looks_at_values(origin, columns):
        columns = replace(columns, with_words_of_leaving=columns_with_words_of_leaving(rows))
    address = origin.address
    if address is None and not any("@" in name for name in columns.names):
        address = column_of_addresses(rows[:LOOKED_AT])
    if address is None or address >= len(columns.keys):
        raise _no_address(columns)
    ours = origin.name == OWN
    known = distinct(own.guesses(columns, address) if ours else foreign.guesses(origin.product, columns, address))
    first = rows[:LOOKED_AT]
    guesses = with_status(known, first) if origin.product is ANY else known
    found = with_unknown(beside_samples(columns, guesses, first), _signs(origin, columns, address), rows)
    return Proposal(
        format=None if origin.address is None else origin.name,
        columns=tuple(found),
        known=tuple(guess.column for guess in known),
        leaving=_says_unsubscribed(file_name),
    )


@dataclass(frozen=True)
class _Origin:
    """Who wrote a file, and where the address stands if the header tells."""

    name: str
    product: Product
    address: int | None


def _origin(header: Header) -> _Origin:
    if len(header.keys) > MOST_COLUMNS:
        raise Refused("The first row names more than 1,000 columns.")
    if not LOGS.isdisjoint(header.keys):
        raise Refused("This is a log of what was sent or opened, not a list of people.")
    product = next((product for product in PRODUCTS if product.wrote(header)), None)
    if product:
        return _Origin(product.name, product, product.address(header))
    address = header.address()
    return _Origin(OWN if address is not None and own.wrote(header) else ANY.name, ANY, address)


def _signs(origin: _Origin, header: Header, address: int) -> list[PlacedSign]:
    """The columns whose values a page may have to ask about."""
    if origin.name != OWN:
        return foreign.placed_signs(origin.product, header, address, {})
    status = header.at("status")
    ours = [] if status is None else [PlacedSign(status, own.STATUS_SIGN)]
    return [*ours, *own.placed_signs(header, address, {})]


def _layout(header: Header, mapping: Mapping, *, latest: datetime) -> Layout:
    origin = _origin(header)
    if mapping.columns is not None:
        if len(mapping.columns) != len(header.keys):
            raise Refused("The file has other columns than those that were named.")
        read = mapped.reader(mapping, header, origin.product, latest=latest)
        return _layout_of(origin, header, read, mapped.placed_signs(mapping, header, origin.product))
    if origin.address is None:
        raise _no_address(header)
    address, default, answers = origin.address, mapping.default, mapping.values
    if origin.name == OWN:
        read = own.reader(header, address, latest=latest, default=default, answers=answers)
        signs = own.placed_signs(header, address, answers)
        return _layout_of(origin, header, read, signs, tells_who_left=bool(signs) or "status" in header.keys)
    read = foreign.reader(origin.product, header, address, latest=latest, default=default, answers=answers)
    return _layout_of(origin, header, read, foreign.placed_signs(origin.product, header, address, answers))


def _layout_of(
    origin: _Origin,
    header: Header,
    read: Read,
    signs: Sequence[PlacedSign],
    *,
    tells_who_left: bool | None = None,
) -> Layout:
    tells = bool(signs) if tells_who_left is None else tells_who_left
    return Layout(origin.name, read, _unknown(header, signs), tells, _looks_at_values(origin, header))


def _looks_at_values(origin: _Origin, header: Header) -> bool:
    """Whether columns that say who left are also found by their values; a file with our `status` says it there."""
    return origin.product is ANY and "status" not in header.keys and len(header.keys) > 1


def _unknown(header: Header, signs: Sequence[PlacedSign]) -> Unknown | None:
    asking = [sign for sign in signs if sign.sign.asks]
    width = len(header.keys)

    def unknown(cells: Sequence[str]) -> list[int]:
        row = padded(cells, width)
        return [sign.at for sign in asking if sign.is_unknown(row)]

    return unknown if asking else None


def _no_address(header: Header) -> Refused:
    if any("@" in name for name in header.names):
        return Refused("The first row must name the columns, for example: email,nickname")
    return NoAddress("No column holds e-mail addresses. Name that column email in the first row.")


def _says_unsubscribed(file_name: str) -> bool:
    return file_name.rsplit("/", 1)[-1].casefold().startswith("unsubscri")


def _ignoring_others(mapping: Mapping, header: Header) -> dict[str, Meanings]:
    """Everybody in the file left, so that a column with unknown values need not say it again."""
    return {name: {ANY_OTHER: None, **mapping.values.get(name, {})} for name in header.names}


def _unsubscribing(read: Read) -> Read:
    def read_unsubscribed(cells: Sequence[str]) -> Person:
        person = read(cells)
        return person if person.standing in ENDED else replace(person, standing=Standing.UNSUBSCRIBED)

    return read_unsubscribed


def _joining(read: Read, lists: Sequence[str]) -> Read:
    """Everybody is put on these lists too."""

    def read_joining(cells: Sequence[str]) -> Person:
        person = read(cells)
        return replace(person, lists=tuple(dict.fromkeys((*person.lists, *lists))))

    return read_joining
