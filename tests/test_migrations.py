import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

from gna import migrations
from gna.campaigns.table import campaigns
from gna.db import Database
from gna.errors import CannotStart
from gna.migrations import HEAD, migrate, version
from gna.subscribers.filing import Status, Totals
from gna.subscribers.search import page_of
from gna.subscribers.table import memberships, subscribers
from gna.subscribers.wanted import Wanted
from gna.tables import metadata
from tests.conftest import Databases
from tests.factories import NOW, a_subscriber, count


def test_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", "gna:migrations")
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_the_migrated_schema_equals_the_declared_one(databases: Databases) -> None:
    declared, migrated = Database(databases.empty()), Database(databases.empty())
    migrate(declared)
    with migrated.write() as tx:
        migrations.upgrade(tx)
    with declared.read() as one, migrated.read() as other:
        expected = schema(one)
        assert schema(other) == expected
        made_by_search = {"subscriber_needles"} if databases.kind == "sqlite" else set()
        assert {table for table, _, _ in expected} == {*metadata.tables, "alembic_version"} | made_by_search
    declared.close()
    migrated.close()


# How 0002 once made what searching needs.
OLD_SEARCH = {
    "sqlite": (
        "CREATE TABLE subscriber_needles (needle TEXT NOT NULL, subscriber_id TEXT NOT NULL UNIQUE)",
        """CREATE TRIGGER subscriber_needles_insert AFTER INSERT ON subscribers BEGIN
             INSERT INTO subscriber_needles VALUES (new.email, new.id);
           END""",
        "CREATE INDEX idx_subscribers_newest ON subscribers (created_at, id)",
    ),
    "postgresql": (
        """ALTER TABLE subscribers ADD COLUMN needle text COLLATE "C" GENERATED ALWAYS AS (lower(email)) STORED""",
        "CREATE INDEX idx_subscribers_newest ON subscribers (created_at, id) INCLUDE (needle)",
        "CREATE INDEX idx_subscribers_needle_plain ON subscribers (needle)",
    ),
}


def test_a_database_that_searched_in_the_old_way_searches_in_the_new(databases: Databases) -> None:
    db, new = Database(databases.empty()), Database(databases.empty())
    migrate(new)
    with db.write() as tx:
        migrations.upgrade(tx, "0002")
        for statement in OLD_SEARCH[databases.kind]:
            tx.exec_driver_sql(statement)
        a_subscriber(tx, nickname="Ana")
    migrate(db)
    with db.read() as one, new.read() as other:
        assert schema(one) == schema(other)
    assert asyncio.run(page_of(db, Wanted("ana"), offset=0, limit=9)) == (["ana@example.org"], Totals(1, 1))
    db.close()
    new.close()


def test_people_who_were_there_before_are_filed(databases: Databases) -> None:
    db = Database(databases.empty())
    with db.write() as tx:
        migrations.upgrade(tx, "0006")
        ana = a_subscriber(tx, activated=True)
        ion = a_subscriber(tx, email="ion@example.org")
        a_subscriber(tx, email="eva@example.org", activated=True)
        for person, key, left in ((ana, "news", None), (ion, "old", NOW)):
            row = {"subscriber_id": person, "list_key": key, "created_at": NOW, "unsubscribed_at": left}
            tx.execute(sa.insert(memberships).values(row))
    migrate(db)
    for wanted, found in (
        (Wanted(list_key="news"), ["ana@example.org"]),
        (Wanted("n", None, "news"), ["ana@example.org"]),
        (Wanted(list_key="general"), ["eva@example.org"]),
        (Wanted(list_key="old"), []),
        (Wanted(status=Status.PENDING), ["ion@example.org"]),
        (Wanted("ion", Status.PENDING), ["ion@example.org"]),
    ):
        assert asyncio.run(page_of(db, wanted, offset=0, limit=9))[0] == found
    db.close()


def test_an_empty_database_gets_the_schema_once(empty_url: str) -> None:
    db = Database(empty_url)
    assert migrate(db) is True
    assert migrate(db) is False
    with db.read() as tx:
        assert version(tx) == HEAD
        assert count(tx, subscribers) == 0
    db.close()


def test_several_processes_may_start_at_once(databases: Databases) -> None:
    for _ in range(10):
        url = databases.empty()
        starters = [Database(url) for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            changed = list(pool.map(migrate, starters))
        assert sorted(changed) == [False] * 7 + [True]
        for db in starters:
            db.close()


def test_a_newer_schema_is_refused_with_what_to_do(db: Database) -> None:
    with db.write() as tx:
        tx.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(CannotStart, match=r"The database is at 9999, which Gna .* does not know .* Install the newer"):
        migrate(db)


def test_a_migration_that_fails_leaves_nothing_behind(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db = Database(empty_url)
    monkeypatch.setattr(migrations, "ALEMBIC", "CREATE TABLE subscribers (again TEXT)")
    with pytest.raises(sa.exc.DBAPIError):
        migrate(db)
    with db.read() as tx:
        assert sa.inspect(tx).get_table_names() == []
    db.close()


def schema(tx: Connection) -> set[tuple[str, str, str]]:
    """Every table, column, index and constraint as the database itself describes it: (table, name, definition)."""
    query = SQLITE if tx.dialect.name == "sqlite" else POSTGRESQL
    return {(row[0], row[1], _plain(row[2])) for row in tx.execute(sa.text(query))}


def _plain(definition: str) -> str:
    """Without the white space in which two writers of the same DDL differ."""
    return re.sub(r"\s+", " ", definition).replace("( ", "(").replace(" )", ")").strip()


SQLITE = "SELECT tbl_name, name, coalesce(sql, '') FROM sqlite_master"
POSTGRESQL = """
    SELECT table_name, column_name, concat_ws(' ', data_type, is_nullable, column_default,
           collation_name, generation_expression)
      FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
      WHERE connamespace = 'public'::regnamespace
"""


def test_only_untouched_drafts_of_feeds_have_a_text_that_the_feed_made(databases: Databases) -> None:
    db = Database(databases.empty())
    campaign = "INSERT INTO campaigns (id, subject, body, body_text, created_at, updated_at) VALUES "
    entry = "INSERT INTO feed_entries (id, feed_id, campaign_id, title, excerpt, found_at) VALUES "
    then, later = "'2026-01-01 09:00:00'", "'2026-01-02 09:00:00'"
    with db.write() as tx:
        migrations.upgrade(tx, "0008")
        tx.exec_driver_sql(f"INSERT INTO feeds (id, url, due_at, created_at) VALUES ('f', 'u', {then}, {then})")
        for name, changed in (("untouched", then), ("edited", later), ("own", then)):
            tx.exec_driver_sql(f"{campaign} ('{name}', 'S', 'B', 'T', {then}, {changed})")
        for name in ("untouched", "edited"):
            tx.exec_driver_sql(f"{entry} ('{name}', 'f', '{name}', 'T', 'E', {then})")
    migrate(db)
    with db.read() as tx:
        made = sa.select(campaigns.c.id).where(campaigns.c.body_text_made)
        assert list(tx.scalars(made)) == ["untouched"]
    db.close()
