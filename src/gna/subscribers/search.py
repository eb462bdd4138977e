"""Finding people by a part of their address or nickname, among a million, in the time of a blink.

Both databases keep a needle for each person, `address newline nickname` in lower case, by themselves: rows that other
tools insert are found too. A search reads all needles, in pieces that several connections read at once. Each piece
tells how many match, and who, up to a number; beyond that the page is found by walking from the newest person on.
PostgreSQL has a trigram index besides, for what few people have. The reasons are in
`docs/decisions/0009-search-without-leftovers.md`.
"""

import asyncio
import json
import math
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain, groupby, pairwise, product
from string import ascii_lowercase
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.types import NullType

from gna.db import Database, metadata
from gna.errors import Refused
from gna.subscribers.lists import STORABLE
from gna.subscribers.table import subscribers

s = subscribers.c
needle: sa.ColumnClause[str] = sa.column("needle", sa.Text)
# When somebody came, as the database keeps it: other tools write it otherwise than Gna, and it sorts as it is written.
MOMENT = sa.type_coerce(s.created_at, NullType()).label("moment")
# Those who came at the same moment are in the order of their addresses.
NEWEST = (s.created_at.desc(), needle.desc())

# Into so many the needles are cut; more would spend their time on asking.
PIECES = 4
# Fewer people are read in one piece.
SMALL = 20_000
# On PostgreSQL, where to cut is read off so many pages of the table, some people on each.
SAMPLE = 100
ON_PAGE = (1, 2, 3)
# More than this are counted faster by reading every needle than by the trigram index.
FEW = 25_000
# What the trigram index can look up: three letters or digits in a row.
TRIGRAM = re.compile(r"[^\W_]{3}")
# No letter from here on has an upper and a lower case.
UNCASED = 0x20000
# On SQLite, in how many spellings a text is looked for one after the other.
SPELLINGS = 8
Q_MAX = 200

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
# Without the right to create it, search still works: every needle is read then.
TRIGRAMS = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX idx_subscribers_needle ON subscribers USING gin (needle gin_trgm_ops)",
)
# Compiling a plan, or starting a process to help with it, takes longer than reading; and the indexes are in memory.
SETTINGS = (
    "SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL random_page_cost = 1.1;"
    # Moments are sorted as text, in one zone.
    "SET LOCAL timezone = 'UTC'"
)
# Of a text that has no three letters in a row, the trigram index gives everybody, to be read one by one.
WITHOUT_TRIGRAMS = f"{SETTINGS}; SET LOCAL enable_bitmapscan = off"
EXPLAIN = sa.text("EXPLAIN (FORMAT JSON) SELECT FROM subscribers WHERE needle LIKE lower(:pattern) ESCAPE '/'")
SPREAD = sa.text("SELECT created_at FROM subscribers WHERE ctid = ANY(CAST(:places AS tid[])) ORDER BY 1")


@dataclass(frozen=True)
class Shelf:
    """Where a database keeps the needles so that reading all of them is fast, and what they are cut by."""

    needles: sa.FromClause
    place: sa.ColumnElement[Any]
    # So many matches of a piece are taken, a column of them by this function; the others are only counted.
    taken: int
    gather: Callable[[sa.ColumnElement[Any]], sa.ColumnElement[str]]


SHELVES = {
    "sqlite": Shelf(sa.table("subscriber_needles"), sa.column("rowid"), 1500, sa.func.json_group_array),
    "postgresql": Shelf(subscribers, s.created_at, 500, lambda values: sa.cast(sa.func.json_agg(values), sa.Text)),
}


@dataclass(frozen=True)
class Piece:
    """Those who match in a piece, as they are sorted and named; of many, only the first. And how many there are."""

    people: list[tuple[Any, str]]
    total: int


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


@sa.event.listens_for(metadata, "after_create")
def _created(_: sa.MetaData, tx: Connection, **__: Any) -> None:
    install(tx)


def parse_query(q: str) -> str:
    """The text to look for."""
    q = q.strip()
    if len(q) > Q_MAX or not STORABLE.fullmatch(q):
        raise Refused(f"What to look for must be at most {Q_MAX} characters of text")
    return q


def matching(tx: Connection, q: str) -> sa.ColumnElement[bool]:
    """The condition on `subscribers` that address or nickname contains the text, whatever its case."""
    if not q:
        return sa.true()
    if "\n" in q:
        return sa.false()
    if tx.dialect.name == "postgresql":
        # Lowered by the database, like the needle: what its locale makes of a letter is then the same in both.
        return needle.like(sa.func.lower(_like(q)), escape="/")
    return _containing(q)


def after(moment: Any, last: str) -> sa.ColumnElement[bool]:
    """The condition for those who stand behind this one in a list, newest first."""
    # A comparison of pairs starts in the index where the other ended; an OR would start anew.
    return sa.tuple_(MOMENT, needle) < sa.tuple_(sa.literal(moment, NullType()), sa.literal(last))


async def page_of(db: Database, q: str, *, offset: int, limit: int) -> tuple[list[str], int]:
    """The addresses, in lower case, on one page of those who match, newest first; and how many match in all."""
    async with db.large:
        needles, total = await _page_of(db, q, offset, limit)
    return [found.partition("\n")[0] for found in needles], total


async def _page_of(db: Database, q: str, offset: int, limit: int) -> tuple[list[str], int]:
    if not q:
        return await db.look(_everybody, offset, limit)
    if db.kind == "postgresql" and TRIGRAM.search(q):
        few = await db.look(_few, q, offset, limit)
        if few:
            return few
    edges = [None, *await db.look(_cuts), None]
    pieces = await asyncio.gather(*(db.look(_piece, q, begin, end) for begin, end in pairwise(edges)))
    total = sum(piece.total for piece in pieces)
    if any(piece.total > len(piece.people) for piece in pieces):
        return await db.look(_walk, q, offset, limit), total
    people = sorted(chain.from_iterable(piece.people for piece in pieces), reverse=True)
    return [found for _, found in people[offset : offset + limit]], total


def _everybody(tx: Connection, offset: int, limit: int) -> tuple[list[str], int]:
    """A page of all people; the last pages are counted from the other end."""
    total = tx.scalar(sa.select(sa.func.count()).select_from(subscribers)) or 0
    size = min(limit, total - offset)
    if size <= 0 or offset <= total / 2:
        return _walk(tx, "", offset, limit), total
    oldest = sa.select(needle).select_from(subscribers).order_by(s.created_at, needle)
    return list(reversed(tx.scalars(oldest.limit(size).offset(total - offset - size)).all())), total


def _few(tx: Connection, q: str, offset: int, limit: int) -> tuple[list[str], int] | None:
    """A page by the trigram index, if the planner thinks that few match and would use the index itself."""
    tx.exec_driver_sql(SETTINGS)
    plan = tx.execute(EXPLAIN, {"pattern": _like(q)}).scalar_one()[0]["Plan"]
    if plan["Plan Rows"] > FEW or plan["Node Type"] != "Bitmap Heap Scan":
        return None
    found = sa.select(needle, sa.func.count().over().label("total")).select_from(subscribers).where(matching(tx, q))
    rows = tx.execute(found.order_by(*NEWEST).limit(limit).offset(offset)).all()
    if offset and not rows:
        return [], tx.scalar(sa.select(sa.func.count()).select_from(subscribers).where(matching(tx, q))) or 0
    return [row.needle for row in rows], rows[0].total if rows else 0


def _cuts(tx: Connection) -> list[Any]:
    """Places that cut the needles into pieces of about the same size; none if there are few."""
    if tx.dialect.name == "sqlite":
        last = tx.scalar(sa.text("SELECT max(rowid) FROM subscriber_needles")) or 0
        return [last * piece // PIECES for piece in range(1, PIECES)] if last > SMALL else []
    pages = tx.scalar(sa.text("SELECT pg_relation_size('subscribers') / 8192")) or 0
    spread = product(range(0, pages, max(1, pages // SAMPLE)), ON_PAGE)
    sample = tx.scalars(SPREAD, {"places": [f"({page},{row})" for page, row in spread]}).all()
    return [sample[len(sample) * piece // PIECES] for piece in range(1, PIECES)] if len(sample) > SAMPLE else []


def _piece(tx: Connection, q: str, begin: Any, end: Any) -> Piece:
    """Who matches from one place up to another, and how many; each needle is read once."""
    _prepare(tx)
    shelf = SHELVES[tx.dialect.name]
    condition = sa.and_(_possible(tx, q), matching(tx, q), *_between(shelf.place, begin, end))
    people = sa.select(shelf.place.label("place"), sa.column("created_at"), needle).select_from(shelf.needles)
    first = people.where(condition).order_by(shelf.place).limit(shelf.taken).subquery()
    # In one row: fetching them one by one would keep the other pieces from running.
    columns = tx.execute(sa.select(sa.func.max(first.c.place), *map(shelf.gather, first.c))).one()
    last, places, moments, needles = columns[0], *(json.loads(column or "[]") for column in columns[1:])
    taken = list(zip(moments, needles, strict=True))
    if len(taken) < shelf.taken:
        return Piece(taken, len(taken))
    # Several people may stand in the last place; they are counted anew.
    rest = sa.select(sa.func.count()).select_from(shelf.needles).where(condition, shelf.place >= last)
    return Piece(taken, len(taken) - places.count(places[-1]) + (tx.scalar(rest) or 0))


def _possible(tx: Connection, q: str) -> sa.ColumnElement[bool]:
    return sa.column("wide", sa.Boolean) if tx.dialect.name == "sqlite" and not q.isascii() else sa.true()


def _between(place: sa.ColumnElement[Any], begin: Any, end: Any) -> list[sa.ColumnElement[bool]]:
    return ([] if begin is None else [place >= begin]) + ([] if end is None else [place < end])


def _walk(tx: Connection, q: str, offset: int, limit: int) -> list[str]:
    """A page in the order of time, from the newest person on."""
    _prepare(tx)
    people = sa.select(needle).select_from(subscribers).where(matching(tx, q)).order_by(*NEWEST)
    return list(tx.scalars(people.limit(limit).offset(offset)))


def _prepare(tx: Connection) -> None:
    if tx.dialect.name == "postgresql":
        tx.exec_driver_sql(WITHOUT_TRIGRAMS)


def _like(q: str) -> str:
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
    """The letters that differ in case alone, by what they are without case: Σ, σ and ς by σ."""
    found: dict[str, str] = {}
    for letter in map(chr, chain(map(ord, ascii_lowercase), range(0x80, UNCASED))):
        if letter.casefold() != letter or letter.upper() != letter:
            found[letter.casefold()] = found.get(letter.casefold(), "") + letter
    return found
