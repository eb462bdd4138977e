"""How people are filed: pending or not, and the lists that they are on, where search reads it beside the needle.

Both databases keep it by themselves, so that rows which other tools insert are found too. The reasons are in
`docs/decisions/0009-search-without-leftovers.md`.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.db import metadata
from gna.subscribers import needles
from gna.subscribers.table import GENERAL, subscribers
from gna.subscribers.tally import count_pending


class Status(StrEnum):
    """How far somebody has come; these are the labels that admins see."""

    ACTIVATED = "Activated"
    PENDING = "Pending"


@dataclass(frozen=True)
class Totals:
    """How many people there are, whatever their status, and how many of them are pending."""

    everybody: int = 0
    pending: int = 0

    def __add__(self, other: "Totals") -> "Totals":
        return Totals(self.everybody + other.everybody, self.pending + other.pending)

    def __sub__(self, other: "Totals") -> "Totals":
        return Totals(self.everybody - other.everybody, self.pending - other.pending)

    def of(self, status: Status | None) -> int:
        """How many have this status."""
        some = {Status.PENDING: self.pending, Status.ACTIVATED: self.everybody - self.pending}
        return some[status] if status else self.everybody


pending: sa.ColumnClause[bool] = sa.column("pending", sa.Boolean)
listed: sa.ColumnClause[str] = sa.column("listed", sa.Text)
# Written as in the index, so that SQLite takes it.
EXPLICIT = listed != sa.literal_column("''")

# What is filed of the lists of a person, read off their memberships: in the order of their keys, so that the same lists
# are always filed in one way, as `listed_on` does.
LISTED = """(SELECT CASE count(*) WHEN 0 THEN '' ELSE ';' || coalesce({joined} || ';', '') END
    FROM (SELECT list_key, unsubscribed_at FROM memberships WHERE subscriber_id = {person}{order}) AS theirs)"""
JOINED = {
    "sqlite": "group_concat(CASE WHEN unsubscribed_at IS NULL THEN list_key END, ';')",
    "postgresql": """string_agg(list_key, ';' ORDER BY list_key COLLATE "C") FILTER (WHERE unsubscribed_at IS NULL)""",
}
ORDER = {"sqlite": " ORDER BY list_key", "postgresql": ""}
# By which name a statement below asks for that, and who is meant then.
PERSON = {
    "of_each": "subscribers.id",
    "of_new": "new.subscriber_id",
    "of_old": "old.subscriber_id",
    "of_person": "person",
}
FILE_ALL = "UPDATE subscribers SET listed = {of_each} WHERE id IN (SELECT subscriber_id FROM memberships)"
INDEXES = (
    "CREATE INDEX idx_subscribers_newest ON subscribers (created_at, needle, pending, listed)",
    # With the column of the condition in it: else SQLite would read everybody's row.
    """CREATE INDEX idx_subscribers_pending ON subscribers (created_at, needle, activated_at, listed)
       WHERE activated_at IS NULL""",
    "CREATE INDEX idx_subscribers_listed ON subscribers (listed, pending) WHERE listed <> ''",
)
# Migration 0007 runs the same, so a change needs a migration of its own.
SQLITE = (
    "ALTER TABLE subscribers ADD COLUMN listed TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE subscribers ADD COLUMN pending INTEGER GENERATED ALWAYS AS (activated_at IS NULL) VIRTUAL",
    "DROP INDEX idx_subscribers_newest",
    *INDEXES,
    "ALTER TABLE subscriber_needles ADD COLUMN pending INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE subscriber_needles ADD COLUMN listed TEXT NOT NULL DEFAULT ''",
    "DROP TRIGGER subscriber_needles_insert",
    """CREATE TRIGGER subscriber_needles_insert AFTER INSERT ON subscribers BEGIN
         INSERT OR REPLACE INTO subscriber_needles (needle, created_at, subscriber_id, pending, listed)
         VALUES (new.needle, new.created_at, new.id, new.pending, new.listed);
       END""",
    "DROP TRIGGER subscriber_needles_update",
    """CREATE TRIGGER subscriber_needles_update
       AFTER UPDATE OF email, nickname, created_at, activated_at, listed ON subscribers BEGIN
         UPDATE subscriber_needles
         SET needle = new.needle, created_at = new.created_at, pending = new.pending, listed = new.listed
         WHERE subscriber_id = new.id;
       END""",
    # Who is new comes with what is filed of them, and is left alone.
    """CREATE TRIGGER memberships_insert AFTER INSERT ON memberships BEGIN
         UPDATE subscribers SET listed = {of_new} WHERE id = new.subscriber_id
         AND (new.unsubscribed_at IS NOT NULL OR instr(listed, ';' || new.list_key || ';') = 0);
       END""",
    """CREATE TRIGGER memberships_update AFTER UPDATE ON memberships BEGIN
         UPDATE subscribers SET listed = {of_new} WHERE id = new.subscriber_id;
       END""",
    """CREATE TRIGGER memberships_delete AFTER DELETE ON memberships BEGIN
         UPDATE subscribers SET listed = {of_old} WHERE id = old.subscriber_id;
       END""",
    FILE_ALL,
    "UPDATE subscriber_needles SET pending = 1 WHERE subscriber_id IN (SELECT id FROM subscribers WHERE pending = 1)",
)
POSTGRESQL = (
    "DROP INDEX idx_subscribers_newest",
    "ALTER TABLE subscribers ADD COLUMN listed text NOT NULL DEFAULT ''",
    FILE_ALL,
    # This writes the table anew, and so leaves nothing of how people were filed before.
    "ALTER TABLE subscribers ADD COLUMN pending boolean GENERATED ALWAYS AS (activated_at IS NULL) STORED",
    *INDEXES,
    # The lock is a statement of its own: what is read after it is what others left who had the person before.
    """CREATE FUNCTION file_subscriber() RETURNS trigger LANGUAGE plpgsql AS $$
       DECLARE
         person text;
       BEGIN
         IF TG_OP = 'DELETE' THEN
           person := old.subscriber_id;
         ELSE
           person := new.subscriber_id;
         END IF;
         IF TG_OP = 'INSERT' AND new.unsubscribed_at IS NULL THEN
           PERFORM 1 FROM subscribers WHERE id = person AND strpos(listed, ';' || new.list_key || ';') > 0;
           IF FOUND THEN
             RETURN NULL;
           END IF;
         END IF;
         PERFORM 1 FROM subscribers WHERE id = person FOR NO KEY UPDATE;
         UPDATE subscribers SET listed = {of_person} WHERE id = person;
         RETURN NULL;
       END $$""",
    """CREATE TRIGGER memberships_filed AFTER INSERT OR UPDATE OR DELETE ON memberships
       FOR EACH ROW EXECUTE FUNCTION file_subscriber()""",
)


def install(tx: Connection) -> None:
    """Make what filters need, in a database that has needles."""
    kind = tx.dialect.name
    lists_of = {
        name: LISTED.format(joined=JOINED[kind], order=ORDER[kind], person=person) for name, person in PERSON.items()
    }
    for statement in SQLITE if kind == "sqlite" else POSTGRESQL:
        tx.exec_driver_sql(statement.format(**lists_of))


@sa.event.listens_for(metadata, "after_create")
def _created(_: sa.MetaData, tx: Connection, **__: Any) -> None:
    needles.install(tx)
    install(tx)


def everybody(tx: Connection) -> Totals:
    """How many people there are."""
    people = sa.select(sa.func.count()).select_from(subscribers)
    return Totals(tx.execute(people).scalar_one(), count_pending(tx))


def members(tx: Connection, list_key: str) -> tuple[Totals, list[str]]:
    """How many people are on a list, and in which ways they are filed."""
    ways = _ways(tx)
    theirs = [way for way in ways if f";{list_key};" in way]
    totals = sum((ways[way] for way in theirs), Totals())
    if list_key != GENERAL:
        return totals, theirs
    return totals + everybody(tx) - sum(ways.values(), Totals()), [*theirs, ""]


def is_one_of(ways: list[str]) -> sa.ColumnElement[bool]:
    """The condition that somebody who was put on lists is filed in one of these ways."""
    return EXPLICIT & listed.in_(ways)


def _ways(tx: Connection) -> dict[str, Totals]:
    """In which ways people are filed who were put on lists, and how many in each."""
    columns = (listed, sa.func.count(), sa.func.count().filter(pending))
    rows = tx.execute(sa.select(*columns).select_from(subscribers).where(EXPLICIT).group_by(listed))
    return {way: Totals(number, waiting) for way, number, waiting in rows}


def on_list(tx: Connection, list_key: str) -> sa.ColumnElement[bool]:
    """The condition on what is filed that a person is on this list; `lists.on_list` reads the memberships instead."""
    place = sa.func.instr if tx.dialect.name == "sqlite" else sa.func.strpos
    member = place(listed, f";{list_key};") > 0
    return sa.or_(listed == "", member) if list_key == GENERAL else member


def listed_on(lists: Collection[str]) -> str:
    """What is filed of somebody who comes and is put on these lists."""
    return f";{';'.join(sorted({*lists}))};" if lists else ""
