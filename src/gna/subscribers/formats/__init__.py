"""What a row of an export means, in our own words, whichever product wrote the file."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gna import clock
from gna.errors import Refused
from gna.subscribers.formats import foreign, mapped, own
from gna.subscribers.formats.foreign import Product
from gna.subscribers.formats.header import Header
from gna.subscribers.formats.mapping import AS_IT_IS, Mapping
from gna.subscribers.formats.person import ENDED, Layout, Person, Read, Standing
from gna.subscribers.formats.products import ANY, PRODUCTS
from gna.subscribers.formats.proposal import Proposal, beside_samples, column_of_addresses, distinct, with_status

__all__ = ["AS_IT_IS", "Layout", "Mapping", "NoAddress", "Person", "Proposal", "Standing", "propose", "recognise"]

# Substack's export holds a log of opens and deliveries for every post: addresses, but nobody's wish to subscribe.
LOG = "post_id"
OWN = "gna"
MOST_COLUMNS = 1000
TOLERANCE = timedelta(days=1)


class NoAddress(Refused):
    """No column is called as one of addresses would be; a person may still know which it is."""


def recognise(
    header: Sequence[str], *, file_name: str = "", mapping: Mapping = AS_IT_IS, now: datetime | None = None
) -> Layout:
    """How to read the rows under this header; a file called `unsubscribed…` never subscribes anybody."""
    layout = _layout(Header.of(header), mapping, latest=(now or clock.now()) + TOLERANCE)
    if mapping.lists:
        layout = replace(layout, read=_joining(layout.read, mapping.lists))
    if _says_unsubscribed(file_name):
        layout = replace(layout, read=_unsubscribing(layout.read))
    return layout


def propose(header: Sequence[str], rows: Sequence[Sequence[str]], *, file_name: str = "") -> Proposal:
    """What the columns of a file are, if we know it, or probably are, judged by its first rows."""
    columns = Header.of(header)
    origin = _origin(columns)
    address = origin.address
    if address is None and not any("@" in name for name in columns.names):
        address = column_of_addresses(rows)
    if address is None or address >= len(columns.keys):
        raise _no_address(columns)
    ours = origin.name == OWN
    known = distinct(own.guesses(columns, address) if ours else foreign.guesses(origin.product, columns, address))
    guesses = with_status(known, rows) if origin.product is ANY else known
    return Proposal(
        format=None if origin.address is None else origin.name,
        columns=beside_samples(columns, guesses, rows),
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
    if LOG in header.keys:
        raise Refused("This is a log of what was sent or opened, not a list of people.")
    product = next((product for product in PRODUCTS if product.wrote(header)), None)
    if product:
        return _Origin(product.name, product, product.address(header))
    address = header.address()
    return _Origin(OWN if address is not None and own.wrote(header) else ANY.name, ANY, address)


def _layout(header: Header, mapping: Mapping, *, latest: datetime) -> Layout:
    origin, default = _origin(header), mapping.default
    if mapping.columns is not None:
        if len(mapping.columns) != len(header.keys):
            raise Refused("The file has other columns than those that were named.")
        return Layout(origin.name, mapped.reader(mapping, header, origin.product, latest=latest))
    if origin.address is None:
        raise _no_address(header)
    if origin.name == OWN:
        return Layout(OWN, own.reader(header, origin.address, latest=latest, default=default))
    reader = foreign.reader(origin.product, header, origin.address, latest=latest, default=default)
    return Layout(origin.name, reader)


def _no_address(header: Header) -> Refused:
    if any("@" in name for name in header.names):
        return Refused("The first row must name the columns, for example: email,nickname")
    return NoAddress("No column holds e-mail addresses. Name that column email in the first row.")


def _says_unsubscribed(file_name: str) -> bool:
    return file_name.rsplit("/", 1)[-1].casefold().startswith("unsubscri")


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
