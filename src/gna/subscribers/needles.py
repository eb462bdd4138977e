"""Needles: what search looks at, `address newline nickname` in lower case for each person.

Both databases keep them by themselves, so that rows which other tools insert are found too. The reasons are in
`docs/decisions/0009-search-without-leftovers.md`.
"""

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from itertools import groupby, product
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.types import NullType

from gna.subscribers.table import subscribers

s = subscribers.c
needle: sa.ColumnClause[str] = sa.column("needle", sa.Text)
# When somebody came, as the database keeps it: other tools write it otherwise than Gna, and it sorts as it is written.
MOMENT = sa.type_coerce(s.created_at, NullType()).label("moment")
# Those who came at the same moment are in the order of their addresses.
NEWEST = (s.created_at.desc(), needle.desc())
OLDEST = (s.created_at, needle)

# What makes and keeps the needles; migration 0003 runs the same, so a change needs a migration of its own.
NEEDLE = "lower(email) || char(10) || lower(coalesce(nickname, ''))"
SQLITE = (
    f"ALTER TABLE subscribers ADD COLUMN needle TEXT GENERATED ALWAYS AS ({NEEDLE}) VIRTUAL",
    "CREATE INDEX idx_subscribers_newest ON subscribers (created_at, needle)",
    # In the order in which people came: read from end to end, twice as fast as an index that grew in any order.
    # `wide` needles have letters beyond ASCII, and only they can match a text that has some.
    """CREATE TABLE subscriber_needles (
         needle TEXT NOT NULL, created_at TEXT NOT NULL, subscriber_id TEXT NOT NULL UNIQUE,
         wide INTEGER GENERATED ALWAYS AS (length(needle) < length(CAST(needle AS BLOB))) STORED)""",
    """CREATE TRIGGER subscriber_needles_insert AFTER INSERT ON subscribers BEGIN
         INSERT OR REPLACE INTO subscriber_needles VALUES (new.needle, new.created_at, new.id);
       END""",
    """CREATE TRIGGER subscriber_needles_update AFTER UPDATE OF email, nickname, created_at ON subscribers BEGIN
         UPDATE subscriber_needles SET needle = new.needle, created_at = new.created_at WHERE subscriber_id = new.id;
       END""",
    """CREATE TRIGGER subscriber_needles_delete AFTER DELETE ON subscribers BEGIN
         DELETE FROM subscriber_needles WHERE subscriber_id = old.id;
       END""",
    "INSERT INTO subscriber_needles SELECT needle, created_at, id FROM subscribers",
)
POSTGRESQL = (
    f"""ALTER TABLE subscribers ADD COLUMN needle text COLLATE "C"
          GENERATED ALWAYS AS ({NEEDLE.replace("char", "chr")}) STORED""",
    "CREATE INDEX idx_subscribers_newest ON subscribers (created_at, needle)",
)
BY_TRIGRAM = "CREATE INDEX idx_subscribers_needle ON subscribers USING gin (needle gin_trgm_ops)"
# Without the right to create it, search still works: every needle is read then.
TRIGRAMS = ("CREATE EXTENSION IF NOT EXISTS pg_trgm", BY_TRIGRAM)
# No letter from here on has an upper and a lower case.
UNCASED = 0x20000
# On SQLite, in how many spellings a text is looked for one after the other.
SPELLINGS = 8


def install(tx: Connection) -> None:
    """Make what searching needs, in a database whose tables were just made or brought up to date."""
    if tx.dialect.name == "sqlite":
        for statement in SQLITE:
            tx.exec_driver_sql(statement)
        return
    for statement in POSTGRESQL:
        tx.exec_driver_sql(statement)
    with suppress(sa.exc.DBAPIError), tx.begin_nested():
        for statement in TRIGRAMS:
            tx.exec_driver_sql(statement)


def matching(tx: Connection, q: str) -> sa.ColumnElement[bool]:
    """The condition on `subscribers` that address or nickname contains the text, whatever its case."""
    if not q:
        return sa.true()
    if "\n" in q:
        return sa.false()
    if tx.dialect.name == "postgresql":
        # Lowered by the database, like the needle: what its locale makes of a letter is then the same in both.
        return needle.like(sa.func.lower(like(q)), escape="/")
    return _containing(q)


def after(moment: Any, last: str) -> sa.ColumnElement[bool]:
    """The condition for those who stand behind this one in a list, newest first."""
    # A comparison of pairs starts in the index where the other ended; an OR would start anew.
    return sa.tuple_(MOMENT, needle) < sa.tuple_(sa.literal(moment, NullType()), sa.literal(last))


def like(q: str) -> str:
    """The pattern on PostgreSQL, to be lowered there."""
    return "%" + re.sub("[%_/]", r"/\g<0>", q) + "%"


def _containing(q: str) -> sa.ColumnElement[bool]:
    """The condition on SQLite, which lowers ASCII only: other letters match in every case.

    A pattern with a choice of letters is read five times as slowly as a plain one. So a few spellings are looked for
    one by one, and whoever lacks a plain part of the text is ruled out before.
    """
    letters = [_cases_of(letter) for letter in q]
    plain = max(("".join(part) for is_plain, part in groupby(letters, _is_plain) if is_plain), key=len, default="")
    if len(plain) == len(letters):
        return _glob(plain)
    if math.prod(map(len, letters)) <= SPELLINGS:
        whole = _any_of("".join(spelling) for spelling in product(*letters))
    else:
        whole = _glob("".join(letter if _is_plain(letter) else f"[{letter}]" for letter in letters))
    return _glob(plain) & whole if plain else whole


def _any_of(spellings: Iterable[str]) -> sa.ColumnElement[bool]:
    return sa.or_(*(sa.func.instr(needle, spelling) > 0 for spelling in spellings))


def _glob(pattern: str) -> sa.ColumnElement[bool]:
    return needle.op("GLOB", is_comparison=True)(f"*{pattern}*")


def _is_plain(cases: str) -> bool:
    return len(cases) == 1 and cases not in "*?["


def _cases_of(letter: str) -> str:
    return letter.lower() if letter.isascii() else _cases().get(letter.casefold(), letter)


@cache
def _cases() -> dict[str, str]:
    """The letters beyond ASCII that differ in case alone, by what they are without case: Σ, σ and ς by σ."""
    found: dict[str, str] = {}
    for letter in map(chr, range(0x80, UNCASED)):
        if letter.casefold() != letter or letter.upper() != letter:
            found[letter.casefold()] = found.get(letter.casefold(), "") + letter
    return found
