import asyncio
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from gna import ids
from gna.db import Database, answers, insert, timed
from gna.errors import CannotStart, DatabaseAway
from gna.migrations import migrate
from gna.subscribers.table import subscribers
from gna.tables import metadata
from tests.conftest import Databases
from tests.factories import a_message, a_subscriber, count, the_subscriber
from tests.servers.postgres import Postgres


def test_a_block_that_ends_is_kept(db: Database) -> None:
    with db.write() as tx:
        a_subscriber(tx)
    with db.read() as tx:
        assert count(tx, subscribers) == 1


def test_a_block_that_fails_is_undone(db: Database) -> None:
    with pytest.raises(RuntimeError), db.write() as tx:
        a_subscriber(tx)
        raise RuntimeError
    with db.read() as tx:
        assert count(tx, subscribers) == 0


def test_a_reading_transaction_cannot_write(db: Database) -> None:
    with pytest.raises((DatabaseAway, sa.exc.DBAPIError)), db.read() as tx:
        a_subscriber(tx)
    with db.read() as tx:
        assert count(tx, subscribers) == 0


def test_a_reader_does_not_wait_for_the_writer(db: Database) -> None:
    with db.write() as writing:
        a_subscriber(writing)
        with db.read() as tx:
            assert count(tx, subscribers) == 0


def test_foreign_keys_hold(db: Database) -> None:
    with pytest.raises(sa.exc.IntegrityError), db.write() as tx:
        a_message(tx, subscriber_id="nobody")


def test_times_come_back_as_they_went_in_utc(db: Database) -> None:
    moment = datetime(2026, 11, 15, 14, 30, 15, 123456, tzinfo=timezone(timedelta(hours=2)))
    with db.write() as tx:
        a_subscriber(tx, created_at=moment)
    with db.read() as tx:
        found = the_subscriber(tx, "ana@example.org").created_at
    assert found == moment
    assert found.tzinfo is UTC


def test_times_are_iso_text_on_sqlite_and_native_on_postgresql(db: Database, databases: Databases) -> None:
    with db.write() as tx:
        a_subscriber(tx, created_at=datetime(2026, 11, 15, 14, 30, tzinfo=UTC))
    with db.read() as tx:
        raw = tx.scalar(sa.text("SELECT created_at FROM subscribers"))
    if databases.kind == "sqlite":
        assert raw == "2026-11-15T14:30:00.000000Z"
    else:
        assert raw == datetime(2026, 11, 15, 14, 30, tzinfo=UTC)


def test_a_conflicting_insert_can_be_a_no_op(db: Database) -> None:
    with db.write() as tx:
        kept = a_subscriber(tx)
        row = the_subscriber(tx, "ana@example.org")._mapping
        tx.execute(insert(tx, subscribers).values(**row).on_conflict_do_nothing())
        assert the_subscriber(tx, "ana@example.org").id == kept


def test_many_writers_at_once_all_succeed(db: Database) -> None:
    """SQLite refuses a second writer at once or after a time-out unless they queue."""

    def add(number: int) -> None:
        for turn in range(10):
            with db.write() as tx:
                a_subscriber(tx, email=f"p{number}-{turn}@example.org")

    threads = [threading.Thread(target=add, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with db.read() as tx:
        assert count(tx, subscribers) == 160


def test_run_does_a_whole_transaction_off_the_event_loop(db: Database) -> None:
    async def busy() -> int:
        ticks = 0

        def slow(tx: sa.Connection, *, pause: float) -> str:
            time.sleep(pause)
            return a_subscriber(tx)

        running = asyncio.create_task(db.run(slow, pause=0.2))
        while not running.done():
            ticks += 1
            await asyncio.sleep(0.01)
        assert await db.look(count, subscribers) == 1
        return ticks

    assert asyncio.run(busy()) > 5


def test_it_says_which_database_answers(db: Database, databases: Databases) -> None:
    with db.read() as tx:
        assert answers(tx).lower().startswith(databases.kind)


def test_a_database_that_is_away_is_told_from_a_mistake(tmp_path: Path) -> None:
    away = Database("postgresql://nobody@127.0.0.1:1/none")
    with (
        pytest.raises(DatabaseAway, match=r"The database does not answer: .*Connection refused"),
        away.read(),
    ):
        pass
    here = Database(f"sqlite:///{tmp_path}/x.db")
    with pytest.raises(sa.exc.OperationalError, match="no such table"), here.read() as tx:
        tx.execute(sa.text("SELECT * FROM missing"))
    away.close()
    here.close()


def test_a_sqlite_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/gna.db")
    with db.write() as tx:
        tx.execute(sa.text("CREATE TABLE x (y)"))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    db.close()
    assert modes == {"gna.db": 0o600, "gna.db-wal": 0o600, "gna.db-shm": 0o600}


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="is not a folder; create it first"):
        Database(f"sqlite:///{tmp_path}/nowhere/gna.db")


def test_sqlite_keeps_other_writers_out_flushes_and_overwrites(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/gna.db")
    with db.write() as tx:
        assert tx.scalar(sa.text("PRAGMA journal_mode")) == "wal"
        assert tx.scalar(sa.text("PRAGMA synchronous")) == 2
        assert tx.scalar(sa.text("PRAGMA secure_delete")) == 1
        other = sqlite3.connect(tmp_path / "gna.db", timeout=0, isolation_level=None)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.close()
    db.close()


def test_the_words_of_a_failed_statement_are_not_repeated(postgres: Postgres) -> None:
    db = Database(postgres.url)
    statement = sa.text("SET LOCAL statement_timeout = 1; SELECT pg_sleep(1), 'ana@example.org'")
    with pytest.raises(DatabaseAway) as caught, db.write() as tx:
        tx.execute(statement)
    assert str(caught.value) == "The database does not answer."
    db.close()


def test_a_server_that_became_read_only_is_away(postgres: Postgres) -> None:
    db = Database(postgres.url)
    with pytest.raises(DatabaseAway), db.write() as tx:
        tx.execute(sa.text("SET TRANSACTION READ ONLY"))
        tx.execute(sa.text("CREATE TABLE anything (x TEXT)"))
    db.close()


def test_a_restarted_server_fails_nobody() -> None:
    with Postgres() as server:
        db = Database(server.url)
        with db.read() as tx:
            answers(tx)
        server.kill()
        server.start()
        with db.read() as tx:
            assert answers(tx).startswith("PostgreSQL")
        db.close()


def test_closing_does_not_wait_for_a_transaction_that_hangs(db: Database) -> None:
    release = threading.Event()

    async def hang() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(db.run(lambda _: release.wait(20)), 0.1)

    asyncio.run(hang())
    assert db.close(within=0.1) is False
    release.set()
    assert db.close() is True


def test_time_is_the_databases_own(db: Database, databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = datetime(2001, 1, 1, tzinfo=UTC)
    monkeypatch.setattr("gna.clock.now", lambda: wrong)
    with db.read() as tx:
        told = timed(lambda _, *, now: now)(tx)
    if databases.kind == "sqlite":
        assert told == wrong
    else:
        assert told.year > 2025
        assert told.tzinfo is UTC


def test_changes_at_once_are_all_kept_and_one_that_fails_is_undone_alone(db: Database) -> None:
    def add(tx: sa.Connection, number: int) -> int:
        a_subscriber(tx, email=f"p{number}@example.org")
        if number % 5 == 0:
            raise ValueError(number)
        return number

    async def together() -> list[int | BaseException]:
        return await asyncio.gather(*(db.run(add, number) for number in range(100)), return_exceptions=True)

    results = asyncio.run(together())
    assert [result for result in results if isinstance(result, int)] == [n for n in range(100) if n % 5]
    assert sum(isinstance(result, ValueError) for result in results) == 20
    with db.read() as tx:
        assert count(tx, subscribers) == 80


def test_a_change_that_breaks_a_rule_of_the_database_is_undone_alone(db: Database) -> None:
    def add(tx: sa.Connection) -> None:
        a_subscriber(tx, email="same@example.org")

    async def together() -> list[BaseException | None]:
        return await asyncio.gather(*(db.run(add) for _ in range(20)), return_exceptions=True)

    results = asyncio.run(together())
    assert results.count(None) == 1
    assert sum(isinstance(result, sa.exc.IntegrityError) for result in results) == 19


def test_nobody_is_told_of_success_before_the_commit(db: Database) -> None:
    async def seen_by_another(number: int) -> bool:
        await db.run(lambda tx: a_subscriber(tx, email=f"p{number}@example.org"))
        return await db.look(lambda tx: the_subscriber(tx, f"p{number}@example.org") is not None)

    async def together() -> list[bool]:
        return await asyncio.gather(*(seen_by_another(number) for number in range(50)))

    assert all(asyncio.run(together()))


def test_a_visitor_who_gave_up_before_their_turn_changes_nothing(db: Database) -> None:
    async def give_up() -> None:
        blocker = asyncio.create_task(db.run(lambda _: time.sleep(0.3)))
        for _ in range(20):  # every writer of PostgreSQL's pool is busy too
            asyncio.create_task(db.run(lambda _: time.sleep(0.3)))  # noqa: RUF006
        await asyncio.sleep(0.05)
        waiting = asyncio.create_task(db.run(lambda tx: a_subscriber(tx)))
        await asyncio.sleep(0.05)
        waiting.cancel()
        await blocker
        await asyncio.sleep(1)

    asyncio.run(give_up())
    with db.read() as tx:
        assert count(tx, subscribers) == 0


def test_a_full_disk_is_told_to_everybody_who_waited(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path / 'full.db'}")
    with db.write() as tx:
        tx.exec_driver_sql("CREATE TABLE stuff (x BLOB)")
        tx.exec_driver_sql("PRAGMA max_page_count=20")

    def fill(tx: sa.Connection) -> None:
        tx.exec_driver_sql("INSERT INTO stuff VALUES (zeroblob(20000))")

    async def together() -> list[BaseException | None]:
        return await asyncio.gather(*(db.run(fill) for _ in range(10)), return_exceptions=True)

    results = asyncio.run(together())
    with db.read() as tx:
        kept = tx.execute(sa.text("SELECT count(*) FROM stuff")).scalar_one()
    assert kept == results.count(None)
    assert {type(result) for result in results if result is not None} == {DatabaseAway}
    db.close()


def test_a_person_who_is_gone_is_gone_from_the_files_too(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path / 'gna.db'}")
    migrate(db)
    with db.write() as tx:
        a_subscriber(tx, email="vanishing.vera@example.org", activated=True)
    with db.write() as tx:
        tx.execute(sa.delete(subscribers))
    assert b"vanishing.vera" in (tmp_path / "gna.db-wal").read_bytes()
    db.empty_log()
    assert not [file for file in tmp_path.iterdir() if b"vanishing.vera" in file.read_bytes()]
    db.close()


def test_json_is_compared_with_values(db: Database) -> None:
    attributes = {"city": "Cluj", "tags": ["a", "b"]}
    with db.write() as tx:
        a_subscriber(tx, attributes=attributes)
    with db.read() as tx:
        same = sa.select(subscribers.c.attributes).where(subscribers.c.attributes == attributes)
        assert tx.scalars(same).all() == [attributes]
        other = sa.select(subscribers.c.id).where(subscribers.c.attributes == {"city": "Iași"})
        assert tx.scalars(other).all() == []


def test_tables_that_are_made_one_by_one_keep_the_conditions_of_their_indexes(postgres: Postgres) -> None:
    url = postgres.create_database(f"t{ids.new()}")
    code = f"""
from gna.db import Database
from gna.tables import metadata
with Database({url!r}).write() as tx:
    for table in metadata.sorted_tables:
        table.create(tx)
"""
    # In a process of its own: in this one, the conditions are known from other tests.
    subprocess.run([sys.executable, "-c", code], check=True)
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '% WHERE %'").fetchone()
    assert found is not None
    declared = [index for table in metadata.tables.values() for index in table.indexes]
    assert found[0] == sum(index.dialect_options["sqlite"]["where"] is not None for index in declared)
    assert found[0] > 5
    postgres.drop_database(url.rpartition("/")[2])
