"""What a row of an export means, in our own words, whichever product wrote the file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gna import clock
from gna.errors import Refused
from gna.subscribers.formats import foreign, mapped, own
from gna.subscribers.formats.foreign import Product
from gna.subscribers.formats.header import Header
from gna.subscribers.formats.leaving import (
    ANY_OTHER,
    Meanings,
    PlacedSign,
    columns_with_words_of_leaving,
    gravest,
)
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
from gna.subscribers.formats.words import loose

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
    "standing_by_file_name",
]

# Columns of logs, which hold addresses but no wish to subscribe: Substack's of opens and deliveries, listmonk's of
# views and clicks.
LOGS = frozenset({"post_id", "campaign_id", "campaign_uuid"})
OWN = "gna"
# Names of files. Mailchimp's begin so, and hold nobody else.
CERTAIN = re.compile(r"unsubscri|non ?subscri")
FILES_OF_WHO_LEFT = re.compile(
    r"\b(unsubscri|unsubs?\b|suppress|opt(ed)? ?outs?\b|blocklist|blacklist|dezabon|abgemeldet|desabonn|desinscri)"
)
FILES_OF_BOUNCES = re.compile(r"\b(bounce[ds]?|complaints?)\b|^cleaned (members|segment|email)")
# With one of these words a name does not speak of everybody in the file.
OF_OTHERS_TOO = re.compile(
    r"\b(not|no|non|without|except|excluding|minus|removed|free|fara|ohne|sans|and|und|et|si|all|active"
    r"|subscribed|subscribers)\b"
)
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
    """How to read the rows under this header; a file called `unsubscribed…` or `nonsubscribed…` subscribes nobody.

    `with_words_of_leaving` are the columns found by `columns_with_words_of_leaving`, for a layout that looks at values.
    """
    columns = replace(Header.of(header), with_words_of_leaving=with_words_of_leaving)
    everybody = standing_by_file_name(file_name)
    is_certain = CERTAIN.match(_base_name(file_name)) is not None
    if is_certain:
        mapping = replace(mapping, values=_ignoring_others(mapping, columns))
    layout = _layout(columns, mapping, latest=(now or clock.now()) + TOLERANCE)
    if mapping.lists:
        layout = replace(layout, read=_joining(layout.read, mapping.lists))
    # Names of other files are hints: a column that says who left knows better.
    if everybody and (is_certain or not layout.tells_who_left):
        layout = replace(layout, read=_standing_at_best(layout.read, everybody), tells_who_left=True)
    return replace(layout, read=_refusing_shifted_rows(layout.read, len(columns.keys)))


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
    signs = _signs(origin, columns, address)
    found = with_unknown(beside_samples(columns, guesses, first), signs, rows)
    name_counts = not signs or CERTAIN.match(_base_name(file_name)) is not None
    return Proposal(
        format=None if origin.address is None else origin.name,
        columns=tuple(found),
        known=tuple(guess.column for guess in known),
        leaving=name_counts and standing_by_file_name(file_name) in ENDED,
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


def standing_by_file_name(file_name: str) -> Standing | None:
    """What the name of a file says of everybody in it. Mailchimp writes each kind of people into a file of its own."""
    name = _base_name(file_name)
    if CERTAIN.match(name):
        return Standing.UNSUBSCRIBED if name.startswith("unsub") else Standing.UNCONFIRMED
    if OF_OTHERS_TOO.search(name):
        return None
    if FILES_OF_BOUNCES.search(name):
        return Standing.CLEANED
    return Standing.UNSUBSCRIBED if FILES_OF_WHO_LEFT.search(name) else None


def _base_name(file_name: str) -> str:
    return loose(file_name.rsplit("/", 1)[-1]).removesuffix(".csv")


def _ignoring_others(mapping: Mapping, header: Header) -> dict[str, Meanings]:
    """Nobody in the file is subscribed, so that a column with unknown values need not say it again."""
    return {name: {ANY_OTHER: None, **mapping.values.get(name, {})} for name in header.names}


def _standing_at_best(read: Read, best: Standing) -> Read:
    def read_at_best(cells: Sequence[str]) -> Person:
        person = read(cells)
        return replace(person, standing=gravest((person.standing, best), default=best))

    return read_at_best


def _refusing_shifted_rows(read: Read, width: int) -> Read:
    """Refuse rows with more cells than the header: a comma without quotes moves all cells behind it.

    The mark of a person who left would then stand under another column.
    """

    def read_in_place(cells: Sequence[str]) -> Person:
        if len(cells) > width and any(cell.strip() for cell in cells[width:]):
            raise Refused("The row has more cells than the header: a cell with a separator in it needs quotes")
        return read(cells)

    return read_in_place


def _joining(read: Read, lists: Sequence[str]) -> Read:
    """Everybody is put on these lists too."""

    def read_joining(cells: Sequence[str]) -> Person:
        person = read(cells)
        return replace(person, lists=tuple(dict.fromkeys((*person.lists, *lists))))

    return read_joining
