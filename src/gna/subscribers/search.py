"""Finding people by a part of their address or nickname, among a million, in the time of a blink.

Both databases keep a needle for each person, `address newline nickname` in lower case, by themselves: rows that other
tools insert are found too. On PostgreSQL it is a generated column with a trigram index; SQLite has no such index that
forgets a deleted person at once, so there a narrow table is read from end to end. The reasons are in
`docs/decisions/0009-search-without-leftovers.md`.
"""

from contextlib import suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.db import metadata
from gna.subscribers.table import subscribers

s = subscribers.c
NEWEST = (s.created_at.desc(), s.id.desc())
# Up to here it is faster to take the people who were found than to look for them in the order of time.
FEW = 10_000
TRIGRAM = 3

# What makes and keeps the needles; migration 0002 runs the same, so a change needs a migration of its own.
SQLITE = (
    "CREATE TABLE subscriber_needles (needle TEXT NOT NULL, subscriber_id TEXT NOT NULL UNIQUE)",
    """CREATE TRIGGER subscriber_needles_insert AFTER INSERT ON subscribers BEGIN
         INSERT OR REPLACE INTO subscriber_needles
           VALUES (lower(new.email) || char(10) || lower(coalesce(new.nickname, '')), new.id);
       END""",
    """CREATE TRIGGER subscriber_needles_update AFTER UPDATE OF email, nickname ON subscribers BEGIN
         UPDATE subscriber_needles
           SET needle = lower(new.email) || char(10) || lower(coalesce(new.nickname, '')) WHERE subscriber_id = new.id;
       END""",
    """CREATE TRIGGER subscriber_needles_delete AFTER DELETE ON subscribers BEGIN
         DELETE FROM subscriber_needles WHERE subscriber_id = old.id;
       END""",
    """INSERT INTO subscriber_needles
         SELECT lower(email) || char(10) || lower(coalesce(nickname, '')), id FROM subscribers""",
)
POSTGRESQL = (
    """ALTER TABLE subscribers ADD COLUMN needle text COLLATE "C"
         GENERATED ALWAYS AS (lower(email) || chr(10) || lower(coalesce(nickname, ''))) STORED""",
    "CREATE INDEX idx_subscribers_newest ON subscribers (created_at, id) INCLUDE (needle)",
    # Counting reads every needle: half as many pages as in the index above, and they stay in memory.
    "CREATE INDEX idx_subscribers_needle_plain ON subscribers (needle)",
)
# Without the right to create it, search still works: every person is read then.
TRIGRAMS = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX idx_subscribers_needle ON subscribers USING gin (needle gin_trgm_ops)",
)


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


def matching(tx: Connection, q: str) -> sa.ColumnElement[bool]:
    """The condition on `subscribers` that address or nickname contains the text, whatever its case."""
    if not q:
        return sa.true()
    if tx.dialect.name == "postgresql":
        return _column.contains(q.lower(), autoescape=True)
    return sa.exists().where(_needles.c.subscriber_id == s.id, _contains(q))


def page_of(tx: Connection, q: str, *, offset: int, limit: int) -> tuple[list[str], int]:
    """The ids on one page of those who match, newest first, and how many match in all."""
    if tx.dialect.name == "postgresql":
        # These pages are in memory or on a fast disk, and compiling the plan would take longer than running it.
        tx.exec_driver_sql("SET LOCAL random_page_cost = 1.1")
        tx.exec_driver_sql("SET LOCAL jit = off")
        if len(q) < TRIGRAM:
            # The trigram index would give everybody, to be read one by one.
            tx.exec_driver_sql("SET LOCAL enable_bitmapscan = off")
    elif q:
        few, total = _few(tx, q)
        if total <= FEW:
            people = sa.select(s.id).where(s.id.in_(few)).order_by(*NEWEST)
            return list(tx.scalars(people.limit(limit).offset(offset))), total
    total = _count(tx, q)
    return _in_order(tx, q, offset=offset, limit=limit, total=total), total


def _few(tx: Connection, q: str) -> tuple[sa.Select[Any], int]:
    """The ids of all who match, as a query to use in another, and how many they are; of many, only the first."""
    found = sa.select(_needles.c.subscriber_id).where(_contains(q)).limit(FEW + 1).subquery()
    # They stay in the database's own hands: thousands of rows and parameters take longer than finding the people.
    gathered = sa.select(sa.func.json_group_array(found.c.subscriber_id), sa.func.count())
    ids, total = tx.execute(gathered).one()
    return sa.select(sa.func.json_each(ids).table_valued("value").c.value), total


def _in_order(tx: Connection, q: str, *, offset: int, limit: int, total: int) -> list[str]:
    """A page in the order of time. The last pages of everybody are counted from the other end."""
    size = min(limit, total - offset)
    if size <= 0:
        return []
    ids = sa.select(s.id).where(matching(tx, q))
    if not q and offset > total / 2:
        oldest = ids.order_by(s.created_at, s.id).limit(size).offset(total - offset - size)
        return list(reversed(tx.scalars(oldest).all()))
    return list(tx.scalars(ids.order_by(*NEWEST).limit(limit).offset(offset)))


def _count(tx: Connection, q: str) -> int:
    if q and tx.dialect.name == "sqlite":
        return tx.scalar(sa.select(sa.func.count()).select_from(_needles).where(_contains(q))) or 0
    return tx.scalar(sa.select(sa.func.count()).select_from(subscribers).where(matching(tx, q))) or 0


_column: sa.ColumnClause[str] = sa.column("needle", sa.Text)
_needles = sa.table("subscriber_needles", sa.column("needle", sa.Text), sa.column("subscriber_id", sa.Text))


def _contains(q: str) -> sa.ColumnElement[bool]:
    return _needles.c.needle.op("GLOB", is_comparison=True)(pattern(q))


def pattern(q: str) -> str:
    """The GLOB for a needle that contains the text; SQLite lowers ASCII only, so other letters match in both cases."""
    return "*" + "".join(_either_case(letter) for letter in q.lower()) + "*"


def _either_case(letter: str) -> str:
    if letter in "*?[":
        return f"[{letter}]"
    upper = letter.upper()
    return letter if letter.isascii() or upper == letter or len(upper) > 1 else f"[{letter}{upper}]"
