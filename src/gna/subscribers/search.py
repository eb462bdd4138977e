"""Finding people by a part of their address or nickname, or by their list, among a million, in the time of a blink.

A search reads all needles, in pieces that several connections read at once. Each piece tells how many match, and who,
up to a number; beyond that the page is found by walking from the newest person on, or from the oldest if that is
nearer. PostgreSQL has a trigram index besides, for what few people have. The reasons are in
`docs/decisions/0009-search-without-leftovers.md`.
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
from gna.subscribers import filing
from gna.subscribers.filing import Totals, pending
from gna.subscribers.needles import NEWEST, OLDEST, fold, like, needle, regex
from gna.subscribers.table import subscribers
from gna.subscribers.wanted import Wanted

s = subscribers.c

# Into so many the needles are cut; more would spend their time on asking.
PIECES = 4
# Fewer people are read in one piece, and a list of fewer is sorted.
SMALL = 20_000
# On PostgreSQL, where to cut is read off so many pages of the table, some people on each.
SAMPLE = 100
ON_PAGE = (1, 2, 3)
# More than this are counted faster by reading every needle than by the trigram index.
FEW = 25_000
# What the trigram index can look up: three letters or digits in a row.
TRIGRAM = re.compile(r"[^\W_]{3}")

# Compiling a plan, or starting a process to help with it, takes longer than reading; and the indexes are in memory.
SETTINGS = (
    "SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL random_page_cost = 1.1;"
    # Moments are sorted as text, in one zone.
    "SET LOCAL timezone = 'UTC'"
)
# Of a text that has no three letters in a row, the trigram index gives everybody, to be read one by one.
WITHOUT_TRIGRAMS = f"{SETTINGS}; SET LOCAL enable_bitmapscan = off"
EXPLAIN = sa.text("""EXPLAIN (FORMAT JSON) SELECT FROM subscribers WHERE needle LIKE :pattern ESCAPE '/'
    OR char_length(needle) < octet_length(needle) AND needle ~ :regex""")
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
    """Those who match in a piece: how they are sorted, named, and whether pending. Of many, only the first."""

    people: list[tuple[Any, str, bool]]
    totals: Totals

    @property
    def is_whole(self) -> bool:
        """Whether nobody was only counted."""
        return len(self.people) == self.totals.everybody


async def page_of(db: Database, wanted: Wanted, *, offset: int, limit: int) -> tuple[list[str], Totals]:
    """The addresses, in lower case, on one page of those who are wanted, newest first; and how many match."""
    async with db.large:
        needles, totals = await _page_of(db, wanted, offset, limit)
    return [found.partition("\n")[0] for found in needles], totals


async def _page_of(db: Database, wanted: Wanted, offset: int, limit: int) -> tuple[list[str], Totals]:
    if not wanted.q:
        return await db.look(_without_text, wanted, offset, limit)
    if db.kind == "postgresql" and TRIGRAM.search(wanted.q):
        few = await db.look(_few, wanted, offset, limit)
        if few:
            return few
    edges = [None, *await db.look(_cuts), None]
    pieces = await asyncio.gather(*(db.look(_piece, wanted, begin, end) for begin, end in pairwise(edges)))
    totals = sum((piece.totals for piece in pieces), Totals())
    if not all(piece.is_whole for piece in pieces):
        return await db.look(_walk, wanted, offset, limit, totals), totals
    people = sorted(chain.from_iterable(piece.people for piece in pieces), reverse=True)
    chosen = [found for _, found, is_pending in people if wanted.takes(is_pending)]
    return chosen[offset : offset + limit], totals


def _without_text(tx: Connection, wanted: Wanted, offset: int, limit: int) -> tuple[list[str], Totals]:
    """A page of all people, or of those on a list; they are counted without reading them."""
    if not wanted.list_key:
        totals = filing.everybody(tx)
        return _walk(tx, wanted, offset, limit, totals), totals
    totals, filed_as = filing.members(tx, wanted.list_key)
    if totals.everybody > SMALL or "" in filed_as:
        return _walk(tx, wanted, offset, limit, totals), totals
    # To walk until the few are met may take long.
    few = sa.select(needle).select_from(subscribers).where(filing.is_one_of(filed_as), wanted.standing())
    return list(tx.scalars(few.order_by(*NEWEST).limit(limit).offset(offset))), totals


def _few(tx: Connection, wanted: Wanted, offset: int, limit: int) -> tuple[list[str], Totals] | None:
    """A page by the trigram index, if the planner thinks that few match and would use the index itself."""
    tx.exec_driver_sql(SETTINGS)
    folded = fold(wanted.q)
    plan = tx.execute(EXPLAIN, {"pattern": like(folded), "regex": regex(folded)}).scalar_one()[0]["Plan"]
    if plan["Plan Rows"] > FEW or plan["Node Type"] != "Bitmap Heap Scan":
        return None
    people = sa.select(s.created_at, needle, pending, wanted.standing().label("chosen")).where(wanted.matching(tx))
    found = people.cte("found")
    chosen = sa.select(found.c.needle).where(found.c.chosen).order_by(sa.desc("created_at"), sa.desc("needle"))
    page = chosen.limit(limit).offset(offset).subquery()
    counts = sa.select(sa.func.count(), sa.func.count().filter(found.c.pending)).select_from(found).subquery()
    shown = sa.select(sa.func.json_agg(page.c.needle)).scalar_subquery()
    needles, *totals = tx.execute(sa.select(shown, counts)).one()
    return needles or [], Totals(*totals)


def _cuts(tx: Connection) -> list[Any]:
    """Places that cut the needles into pieces of about the same size; none if there are few."""
    if tx.dialect.name == "sqlite":
        last = tx.scalar(sa.text("SELECT max(rowid) FROM subscriber_needles")) or 0
        return [last * piece // PIECES for piece in range(1, PIECES)] if last > SMALL else []
    pages = tx.scalar(sa.text("SELECT pg_relation_size('subscribers') / 8192")) or 0
    spread = product(range(0, pages, max(1, pages // SAMPLE)), ON_PAGE)
    sample = tx.scalars(SPREAD, {"places": [f"({page},{row})" for page, row in spread]}).all()
    return [sample[len(sample) * piece // PIECES] for piece in range(1, PIECES)] if len(sample) > SAMPLE else []


def _piece(tx: Connection, wanted: Wanted, begin: Any, end: Any) -> Piece:
    """Who matches from one place up to another, and how many; each needle is read once."""
    _prepare(tx)
    shelf = SHELVES[tx.dialect.name]
    condition = sa.and_(_possible(tx, wanted.q), wanted.matching(tx), *_between(shelf.place, begin, end))
    people = sa.select(shelf.place.label("place"), sa.column("created_at"), needle, pending).select_from(shelf.needles)
    first = people.where(condition).order_by(shelf.place).limit(shelf.taken).subquery()
    # In one row: fetching them one by one would keep the other pieces from running.
    columns = tx.execute(sa.select(sa.func.max(first.c.place), *map(shelf.gather, first.c))).one()
    last, places, *rows = columns[0], *(json.loads(column or "[]") for column in columns[1:])
    taken = list(zip(*rows, strict=True))
    if len(taken) < shelf.taken:
        return Piece(taken, _totals(taken))
    # Several people may stand in the last place; they are counted anew.
    before = _totals(taken[: places.index(places[-1])])
    rest = sa.select(sa.func.count(), sa.func.count().filter(pending)).select_from(shelf.needles)
    return Piece(taken, before + Totals(*tx.execute(rest.where(condition, shelf.place >= last)).one()))


def _totals(people: list[tuple[Any, str, bool]]) -> Totals:
    return Totals(len(people), sum(is_pending for _, _, is_pending in people))


def _possible(tx: Connection, q: str) -> sa.ColumnElement[bool]:
    return sa.column("wide", sa.Boolean) if tx.dialect.name == "sqlite" and not fold(q).isascii() else sa.true()


def _between(place: sa.ColumnElement[Any], begin: Any, end: Any) -> list[sa.ColumnElement[bool]]:
    return ([] if begin is None else [place >= begin]) + ([] if end is None else [place < end])


def _walk(tx: Connection, wanted: Wanted, offset: int, limit: int, totals: Totals) -> list[str]:
    """A page in the order of time, from the newest person on; the later pages are counted from the other end."""
    _prepare(tx)
    total = totals.of(wanted.status)
    size = min(limit, total - offset)
    if size <= 0:
        return []
    people = sa.select(needle).select_from(subscribers).where(wanted.matching(tx), wanted.standing())
    if offset <= total / 2:
        return list(tx.scalars(people.order_by(*NEWEST).limit(size).offset(offset)))
    return list(tx.scalars(people.order_by(*OLDEST).limit(size).offset(total - offset - size)))[::-1]


def _prepare(tx: Connection) -> None:
    if tx.dialect.name == "postgresql":
        tx.exec_driver_sql(WITHOUT_TRIGRAMS)
