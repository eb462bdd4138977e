"""Our own format: strict, since whoever wrote the file can still correct it."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from gna.errors import Refused
from gna.subscribers.formats import dates
from gna.subscribers.formats.header import FIRST_NAME, LAST_NAME, NAME, Header
from gna.subscribers.formats.mapping import LEFT_OUT, Column, Target
from gna.subscribers.formats.person import (
    LONGEST_NAME,
    LONGEST_VALUE,
    MOST_ATTRIBUTES,
    NO_ATTRIBUTES,
    Person,
    Read,
    Standing,
    padded,
)
from gna.subscribers.formats.proposal import Guess
from gna.subscribers.formats.words import STANDINGS

COLUMNS = frozenset({"nickname", "status", "activated_at", "ocd_ids", "state", "lists"})
# A spreadsheet would run a cell that starts so; our export writes a quote before it, which is taken away again here.
# Where a semicolon parts the columns, what follows one is a cell of its own.
FORMULA = re.compile(r"(?:.*[;\t])?\s*'?[=+@\t\r＝＋－＠-]", re.DOTALL)

ACTIVATED = Standing.ACTIVATED


def wrote(header: Header) -> bool:
    """Whether the columns are ours, however the address is called."""
    return len(header.keys) == 1 or not COLUMNS.isdisjoint(header.keys)


def reader(header: Header, email: int, *, latest: datetime, default: Standing = ACTIVATED) -> Read:
    """Read rows with these columns; what can be known from the header is found once, here."""
    width = len(header.keys)
    status, activated = header.at("status"), header.at("activated_at")
    ocd_ids, lists = header.at("ocd_ids"), header.at("lists")
    nickname = _nickname(header)
    others = _others(header, taken={email, nickname, status, activated, ocd_ids, lists})

    def read(cells: Sequence[str]) -> Person:
        if len(cells) < width:
            cells = padded(cells, width)
        standing = default if status is None else _standing(cells[status], default)
        since = None if activated is None else _since(cells[activated].strip(), latest)
        return Person(
            unguarded(cells[email]),
            None if nickname is None else unguarded(cells[nickname]) or None,
            standing,
            since if standing is ACTIVATED else None,
            None,
            () if ocd_ids is None else parts(cells[ocd_ids]),
            () if lists is None else parts(cells[lists]),
            _attributes(cells, others) if others else NO_ATTRIBUTES,
        )

    return read


def guesses(header: Header, email: int) -> list[Guess]:
    """What each column is for this format."""
    columns = header.at("status"), header.at("activated_at"), header.at("ocd_ids"), header.at("lists")
    targets = (Target.STATUS, Target.ACTIVATED_AT, Target.OCD_IDS, Target.LISTS)
    known = dict(zip(columns, targets, strict=True)) | {_nickname(header): Target.NICKNAME, email: Target.EMAIL}
    named = dict(_others(header, taken={*known}))
    return [
        Guess(Column(known[at]) if at in known else Column(Target.ATTRIBUTE, named[at]) if at in named else LEFT_OUT)
        for at in range(len(header.keys))
    ]


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


def unguarded(cell: str) -> str:
    """The cell without outer space, and without the quote that our export wrote before a formula."""
    cell = cell.strip()
    return cell[1:].strip() if cell[:1] == "'" and FORMULA.match(cell[1:]) else cell


def _standing(cell: str, default: Standing) -> Standing:
    word = cell.strip().casefold()
    standing = STANDINGS.get(word) if word else default
    if standing is None or standing is Standing.UNCONFIRMED:
        raise Refused("Status must be Activated or Pending")
    return standing


def _since(text: str, latest: datetime) -> datetime | None:
    found = dates.moment(text) if text else None
    if text and found is None:
        raise Refused("activated_at is not a date")
    if found and not dates.EARLIEST <= found <= latest:
        raise Refused("activated_at must be between 1990 and now")
    return found


def parts(cell: str) -> tuple[str, ...]:
    """What a cell names, separated by semicolons."""
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
