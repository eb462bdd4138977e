"""Our own format: strict, since whoever wrote the file can still correct it."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from gna import clock
from gna.errors import Refused
from gna.subscribers.formats import dates
from gna.subscribers.formats.header import FIRST_NAME, LAST_NAME, NAME, Header
from gna.subscribers.formats.person import (
    LONGEST_NAME,
    LONGEST_VALUE,
    MOST_ATTRIBUTES,
    NO_ATTRIBUTES,
    Person,
    Standing,
    padded,
)
from gna.subscribers.formats.products import STATUS

COLUMNS = frozenset({"nickname", "status", "activated_at", "ocd_ids", "state", "lists"})
# Our own words, and those by which other products tell of people who left; an import must never take one for a mistake.
STANDINGS = STATUS | {"": Standing.ACTIVATED, "activated": Standing.ACTIVATED, "pending": Standing.PENDING}
# A spreadsheet would run a cell that starts so; our export writes a quote before it, which is taken away again here.
# Where a semicolon parts the columns, what follows one is a cell of its own.
FORMULA = re.compile(r"(?:.*[;\t])?\s*'?[=+@\t\r＝＋－＠-]", re.DOTALL)

ACTIVATED = Standing.ACTIVATED
TOLERANCE = timedelta(days=1)


def wrote(header: Header) -> bool:
    """Whether the columns are ours, however the address is called."""
    return len(header.keys) == 1 or not COLUMNS.isdisjoint(header.keys)


def reader(header: Header, email: int) -> Callable[[Sequence[str]], Person]:
    """Read rows with these columns; what can be known from the header is found once, here."""
    width = len(header.keys)
    status, activated = header.at("status"), header.at("activated_at")
    ocd_ids, lists = header.at("ocd_ids"), header.at("lists")
    nickname = _nickname(header)
    others = _others(header, taken={email, nickname, status, activated, ocd_ids, lists})

    def read(cells: Sequence[str]) -> Person:
        if len(cells) < width:
            cells = padded(cells, width)
        standing = ACTIVATED if status is None else _standing(cells[status])
        since = None if activated is None else _since(cells[activated].strip())
        return Person(
            _unguarded(cells[email]),
            None if nickname is None else _unguarded(cells[nickname]) or None,
            standing,
            since if standing is ACTIVATED else None,
            None,
            () if ocd_ids is None else _parts(cells[ocd_ids]),
            () if lists is None else _parts(cells[lists]),
            _attributes(cells, others) if others else NO_ATTRIBUTES,
        )

    return read


def _nickname(header: Header) -> int | None:
    places = (header.at("nickname"), header.among(FIRST_NAME), header.among(NAME))
    return next((place for place in places if place is not None), None)


def _others(header: Header, *, taken: set[int | None]) -> list[tuple[int, str]]:
    """The columns that become attributes, and their names."""
    first = header.among(FIRST_NAME)
    named = {first: "first_name", header.among(LAST_NAME): "last_name", header.at("state"): "state"}
    return [
        (at, named.get(at, name)[:LONGEST_NAME])
        for at, name in enumerate(header.names)
        if name and (at not in taken or at == first)
    ]


def _unguarded(cell: str) -> str:
    cell = cell.strip()
    return cell[1:].strip() if cell[:1] == "'" and FORMULA.match(cell[1:]) else cell


def _standing(cell: str) -> Standing:
    standing = STANDINGS.get(cell.strip().casefold())
    if standing is None or standing is Standing.UNCONFIRMED:
        raise Refused("Status must be Activated or Pending")
    return standing


def _since(text: str) -> datetime | None:
    found = dates.moment(text) if text else None
    if text and found is None:
        raise Refused("activated_at is not a date")
    if found and not dates.EARLIEST <= found <= clock.now() + TOLERANCE:
        raise Refused("activated_at must be between 1990 and now")
    return found


def _parts(cell: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for part in map(str.strip, cell.split(";")) if part)) if cell else ()


def _attributes(cells: Sequence[str], others: list[tuple[int, str]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for at, name in others:
        if value := cells[at].strip():
            if len(value) > LONGEST_VALUE:
                raise Refused(f"Column {_spoken(name, at)} is longer than 1,000 characters")
            found.setdefault(name, value)
    if len(found) > MOST_ATTRIBUTES:
        raise Refused("A person can have at most 100 attributes")
    return found


def _spoken(name: str, at: int) -> str:
    """The column's name, or its number where the name could be somebody's address."""
    return str(at + 1) if "@" in name else name
