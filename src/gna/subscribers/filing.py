"""How people are filed: pending or not, and the lists that they are on, where search reads it beside the needle.

Both databases keep it by themselves, so that rows which other tools insert are found too. The reasons are in
`docs/decisions/0009-search-without-leftovers.md`.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.db import metadata
from gna.subscribers import needles
from gna.subscribers.table import GENERAL

pending: sa.ColumnClause[bool] = sa.column("pending", sa.Boolean)
# `;general;weekly;`, and nothing for the many who are on `general` because they were never put on a list.
listed: sa.ColumnClause[str] = sa.column("listed", sa.Text)

LISTED = """SELECT CASE count(*) WHEN 0 THEN '' ELSE
    ';' || coalesce({join}(CASE WHEN unsubscribed_at IS NULL THEN list_key END, ';') || ';', '') END
    FROM memberships WHERE subscriber_id = {person}"""
SQLITE_LISTED = LISTED.format(join="group_concat", person="{person}")
POSTGRESQL_LISTED = LISTED.format(join="string_agg", person="{person}")
# Migration 0007 runs the same, so a change needs a migration of its own.
SQLITE = (
    "ALTER TABLE subscribers ADD COLUMN listed TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE subscribers ADD COLUMN pending INTEGER GENERATED ALWAYS AS (activated_at IS NULL) VIRTUAL",
    "DROP INDEX idx_subscribers_newest",
    "CREATE INDEX idx_subscribers_newest ON subscribers (created_at, needle, pending, listed)",
    "CREATE INDEX idx_subscribers_pending ON subscribers (created_at, needle, pending, listed) WHERE pending = 1",
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
    *(
        f"""CREATE TRIGGER memberships_{event.lower()} AFTER {event} ON memberships BEGIN
              UPDATE subscribers SET listed = ({SQLITE_LISTED.format(person=f"{row}.subscriber_id")})
              WHERE id = {row}.subscriber_id
              AND listed <> ({SQLITE_LISTED.format(person=f"{row}.subscriber_id")});
            END"""
        for event, row in (("INSERT", "new"), ("UPDATE", "new"), ("DELETE", "old"))
    ),
    f"""UPDATE subscribers SET listed = ({SQLITE_LISTED.format(person="subscribers.id")})
        WHERE id IN (SELECT subscriber_id FROM memberships)""",
    "UPDATE subscriber_needles SET pending = 1 WHERE subscriber_id IN (SELECT id FROM subscribers WHERE pending = 1)",
)
POSTGRESQL = (
    """ALTER TABLE subscribers ADD COLUMN listed text COLLATE "C" NOT NULL DEFAULT '',
         ADD COLUMN pending boolean GENERATED ALWAYS AS (activated_at IS NULL) STORED""",
    f"""UPDATE subscribers SET listed = ({POSTGRESQL_LISTED.format(person="subscribers.id")})
        WHERE id IN (SELECT subscriber_id FROM memberships)""",
    "DROP INDEX idx_subscribers_newest",
    "CREATE INDEX idx_subscribers_newest ON subscribers (created_at, needle, pending, listed)",
    "CREATE INDEX idx_subscribers_pending ON subscribers (created_at, needle, pending, listed) WHERE pending",
    f"""CREATE FUNCTION file_subscriber() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
          person text := CASE TG_OP WHEN 'DELETE' THEN OLD.subscriber_id ELSE NEW.subscriber_id END;
          found text := ({POSTGRESQL_LISTED.format(person="person")});
        BEGIN
          UPDATE subscribers SET listed = found WHERE id = person AND listed <> found;
          RETURN NULL;
        END $$""",
    """CREATE TRIGGER memberships_filed AFTER INSERT OR UPDATE OR DELETE ON memberships
       FOR EACH ROW EXECUTE FUNCTION file_subscriber()""",
)


def install(tx: Connection) -> None:
    """Make what filters need, in a database that has needles."""
    for statement in SQLITE if tx.dialect.name == "sqlite" else POSTGRESQL:
        tx.exec_driver_sql(statement)


@sa.event.listens_for(metadata, "after_create")
def _created(_: sa.MetaData, tx: Connection, **__: Any) -> None:
    needles.install(tx)
    install(tx)


def on_list(tx: Connection, list_key: str) -> sa.ColumnElement[bool]:
    """The condition on what is filed that a person is on this list; `lists.on_list` reads the memberships instead."""
    place = sa.func.instr if tx.dialect.name == "sqlite" else sa.func.strpos
    member = place(listed, f";{list_key};") > 0
    return sa.or_(listed == "", member) if list_key == GENERAL else member


def filed_under(lists: Any) -> str:
    """What is filed of somebody who is put on these lists when they come."""
    return f";{';'.join(lists)};" if lists else ""
