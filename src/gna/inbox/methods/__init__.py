"""The methods to leave by. Each file in this folder is one, and a new file is found by itself."""

import re
import sys
from collections.abc import Collection
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from gna.inbox.method import Mail, Method, judged
from gna.inbox.safety import LONGEST
from gna.inbox.ways import Link, Offers, Source, Way

INVALID = "invalid"
NO_ADDRESS = "The List-Unsubscribe field holds no address"
NOT_KEPT = re.compile(r"[\x00\ud800-\udfff]")
NOT_SHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
REPLACED = "\ufffd"
SOURCES = {source: number for number, source in enumerate(Source)}


@cache
def known() -> tuple[Method, ...]:
    """Every method, the best first."""
    found: list[Method] = [import_module(f"{__name__}.{file.name}").METHOD for file in iter_modules(__path__)]
    return tuple(sorted(found, key=lambda method: method.rank))


@cache
def find(name: str | None) -> Method | None:
    """The method of this name, if there is one."""
    return next((method for method in known() if method.name == name), None)


def ways(offers: Offers, *, allowed: Collection[str] = (), sender: str = "") -> tuple[Way, ...]:
    """All ways out that a mail offers, the best first: safe ones, by method, by where it stands, as in the mail.

    `allowed` are hosts that the rules on addresses spare; `sender` is the domain that the mail came from.
    """
    # Reading the header's fields is the other half of this package.
    from gna.inbox.offers import fields

    mail = Mail(offers, tuple(fields(offers.list_unsubscribe)), allowed, sender)
    found: dict[tuple[str, str], Way] = {}
    for link in (*(Link(url, Source.HEADER) for url in mail.header_urls), *offers.body):
        way = _storable(_recognised(link, mail))
        found.setdefault((way.method, way.url), way)
    said = " ".join(" ".join(offers.list_unsubscribe).split())
    if said and not mail.header_urls:
        found[INVALID, said] = _storable(Way(INVALID, said[:LONGEST], Source.HEADER, safe=False, error=NO_ADDRESS))
    return tuple(sorted(found.values(), key=rank))


def rejudged(way: Way, *, allowed: Collection[str]) -> Way:
    """The way as it is judged where these hosts are spared; one that is none stays so."""
    method = find(way.method)
    return method.rejudge(way, allowed) if method else way


def _recognised(link: Link, mail: Mail) -> Way:
    for method in known():
        if way := method.recognise(link, mail):
            return way
    return judged(INVALID, link, mail)


def _storable(way: Way) -> Way:
    """The way without what no database keeps and no terminal shows; an address that has such a thing is invalid."""
    if not way.fields and way.url.isascii() and way.url.isprintable():
        return way
    fields = tuple((NOT_KEPT.sub(REPLACED, name), NOT_KEPT.sub(REPLACED, value)) for name, value in way.fields)
    error = NOT_SHOWN.sub(REPLACED, way.error) if way.error else None
    return replace(way, url=NOT_SHOWN.sub(REPLACED, way.url), fields=fields, error=error)


def rank(way: Way) -> tuple[bool, int, int]:
    """The place of a way among others of its mail: the lowest is the best. One that must not be gone is none."""
    method = find(way.method)
    return not way.safe, method.rank if method else sys.maxsize, SOURCES[way.source]
