"""What a row of an export means, in our own words, whichever product wrote the file."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from gna import clock
from gna.errors import Refused
from gna.subscribers.formats import foreign, own
from gna.subscribers.formats.header import Header
from gna.subscribers.formats.person import ENDED, Layout, Person, Standing
from gna.subscribers.formats.products import ANY, PRODUCTS

__all__ = ["Layout", "Person", "Standing", "recognise"]

# Substack's export holds a log of opens and deliveries for every post: addresses, but nobody's wish to subscribe.
LOG = "post_id"
MOST_COLUMNS = 1000
TOLERANCE = timedelta(days=1)


def recognise(header: Sequence[str], *, file_name: str = "", now: datetime | None = None) -> Layout:
    """How to read the rows under this header; a file called `unsubscribed…` never subscribes anybody."""
    layout = _layout(Header.of(header), latest=(now or clock.now()) + TOLERANCE)
    if not _says_unsubscribed(file_name):
        return layout
    return replace(layout, read=_unsubscribing(layout.read))


def _layout(header: Header, *, latest: datetime) -> Layout:
    if len(header.keys) > MOST_COLUMNS:
        raise Refused("The first row names more than 1,000 columns.")
    if LOG in header.keys:
        raise Refused("This is a log of what was sent or opened, not a list of people.")
    product = next((product for product in PRODUCTS if product.wrote(header)), None)
    address = product.address(header) if product else header.address()
    if address is None:
        raise Refused(_why_no_address(header))
    if product is None and own.wrote(header):
        return Layout("gna", own.reader(header, address))
    product = product or ANY
    return Layout(product.name, foreign.reader(product, header, address, latest=latest))


def _why_no_address(header: Header) -> str:
    if any("@" in name for name in header.names):
        return "The first row must name the columns, for example: email,nickname"
    return "No column holds e-mail addresses. Name that column email in the first row."


def _says_unsubscribed(file_name: str) -> bool:
    return file_name.rsplit("/", 1)[-1].casefold().startswith("unsubscri")


def _unsubscribing(read: Callable[[Sequence[str]], Person]) -> Callable[[Sequence[str]], Person]:
    def read_unsubscribed(cells: Sequence[str]) -> Person:
        person = read(cells)
        return person if person.standing in ENDED else replace(person, standing=Standing.UNSUBSCRIBED)

    return read_unsubscribed
