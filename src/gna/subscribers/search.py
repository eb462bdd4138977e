"""Finding people by a part of their address or nickname, among a million, in the time of a blink.

A search reads all needles, in pieces that several connections read at once. Each piece tells how many match, and who,
up to a number; beyond that the page is found by walking from the newest person on. PostgreSQL has a trigram index
besides, for what few people have. The reasons are in `docs/decisions/0009-search-without-leftovers.md`.
"""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, pairwise, product
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.db import Database
from gna.errors import Refused
from gna.subscribers.needles import NEWEST, like, matching, needle
from gna.subscribers.table import STORABLE, subscribers

s = subscribers.c

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
Q_MAX = 200

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


def parse_query(q: str) -> str:
    """The text to look for."""
    q = q.strip()
    if len(q) > Q_MAX or not STORABLE.fullmatch(q):
        raise Refused(f"What to look for must be at most {Q_MAX} characters of text")
    return q


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
    total = _count(tx, subscribers)
    size = min(limit, total - offset)
    if size <= 0 or offset <= total / 2:
        return _walk(tx, "", offset, limit), total
    oldest = sa.select(needle).select_from(subscribers).order_by(s.created_at, needle)
    return list(reversed(tx.scalars(oldest.limit(size).offset(total - offset - size)).all())), total


def _few(tx: Connection, q: str, offset: int, limit: int) -> tuple[list[str], int] | None:
    """A page by the trigram index, if the planner thinks that few match and would use the index itself."""
    tx.exec_driver_sql(SETTINGS)
    plan = tx.execute(EXPLAIN, {"pattern": like(q)}).scalar_one()[0]["Plan"]
    if plan["Plan Rows"] > FEW or plan["Node Type"] != "Bitmap Heap Scan":
        return None
    found = sa.select(needle, sa.func.count().over().label("total")).select_from(subscribers).where(matching(tx, q))
    rows = tx.execute(found.order_by(*NEWEST).limit(limit).offset(offset)).all()
    if offset and not rows:
        return [], _count(tx, subscribers, matching(tx, q))
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
    rest = _count(tx, shelf.needles, condition, shelf.place >= last)
    return Piece(taken, len(taken) - places.count(places[-1]) + rest)


def _possible(tx: Connection, q: str) -> sa.ColumnElement[bool]:
    return sa.column("wide", sa.Boolean) if tx.dialect.name == "sqlite" and not q.isascii() else sa.true()


def _between(place: sa.ColumnElement[Any], begin: Any, end: Any) -> list[sa.ColumnElement[bool]]:
    return ([] if begin is None else [place >= begin]) + ([] if end is None else [place < end])


def _walk(tx: Connection, q: str, offset: int, limit: int) -> list[str]:
    """A page in the order of time, from the newest person on."""
    _prepare(tx)
    people = sa.select(needle).select_from(subscribers).where(matching(tx, q)).order_by(*NEWEST)
    return list(tx.scalars(people.limit(limit).offset(offset)))


def _count(tx: Connection, people: sa.FromClause, *conditions: sa.ColumnElement[bool]) -> int:
    return tx.scalar(sa.select(sa.func.count()).select_from(people).where(*conditions)) or 0


def _prepare(tx: Connection) -> None:
    if tx.dialect.name == "postgresql":
        tx.exec_driver_sql(WITHOUT_TRIGRAMS)
