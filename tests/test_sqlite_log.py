"""SQLite's log stays small, though there are readers at every moment."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from gna import sqlite_log
from gna.db import Database
from tests.disks import small_disk

MB = 1024**2


@pytest.fixture
def log_bytes(monkeypatch: pytest.MonkeyPatch) -> int:
    """A limit that is reached soon."""
    monkeypatch.setattr(sqlite_log, "LOG_BYTES", MB)
    monkeypatch.setattr("gna.db.LOG_BYTES", MB)
    return MB


@pytest.fixture
def db(tmp_path: Path, log_bytes: int) -> Iterator[Database]:
    assert log_bytes
    database = a_database(tmp_path)
    yield database
    database.close()


def a_database(folder: Path) -> Database:
    database = Database(f"sqlite:///{folder / 'gna.db'}")
    with database.write() as tx:
        tx.execute(sa.text("CREATE TABLE stuff (x BLOB)"))
    return database


def write(db: Database, megabytes: float) -> None:
    """Change one row again and again: the log grows, the file does not."""
    for _ in range(int(megabytes * 10)):
        with db.write() as tx:
            tx.execute(sa.text("DELETE FROM stuff"))
            tx.execute(sa.text("INSERT INTO stuff VALUES (zeroblob(100000))"))


def log_size(tmp_path: Path) -> int:
    return (tmp_path / "gna.db-wal").stat().st_size


class Readers:
    """Readers of another process, of whom one is always in the middle of a transaction."""

    def __init__(self, file: Path, *, seconds: float) -> None:
        self._file = file
        self._seconds = seconds
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._read, args=(number / 2,)) for number in (0, 1)]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join()

    def _read(self, part: float) -> None:
        connection = sqlite3.connect(self._file, isolation_level=None)
        self._done.wait(part * self._seconds)
        while not self._done.is_set():
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM stuff").fetchone()
            self._done.wait(self._seconds)
            connection.execute("COMMIT")
        connection.close()


def test_the_log_stays_small_under_constant_readers(db: Database, tmp_path: Path) -> None:
    largest = 0
    with Readers(tmp_path / "gna.db", seconds=0.05):
        for _ in range(10):
            write(db, 1.5)
            largest = max(largest, log_size(tmp_path))
            if db.has_long_log:
                db.shorten_log()
    # On a busy machine some attempts to shorten it find a reader in the way.
    assert largest < 10 * MB, "15 MB were written"


def test_a_log_that_was_long_gives_its_room_back(db: Database, tmp_path: Path) -> None:
    write(db, 5)
    assert log_size(tmp_path) > 4 * MB
    assert db.has_long_log
    db.shorten_log()
    write(db, 0.2)
    assert log_size(tmp_path) <= MB
    assert not db.has_long_log


def test_a_reader_that_stays_does_not_stop_the_writers_again_and_again(db: Database, tmp_path: Path) -> None:
    reader = sqlite3.connect(tmp_path / "gna.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM stuff").fetchone()
    write(db, 2)
    assert db.has_long_log
    db.shorten_log()
    write(db, 0.2)
    assert not db.has_long_log, "not before it has grown as much again"
    write(db, 2)
    assert db.has_long_log
    reader.execute("COMMIT")
    db.shorten_log()
    write(db, 0.2)
    assert log_size(tmp_path) <= MB
    reader.close()


def test_a_log_does_not_fill_a_disk_that_is_smaller_than_its_limits(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", megabytes=6) as disk:
        database = a_database(disk.folder)
        write(database, 30)
        assert log_size(disk.folder) < 3 * MB
        database.close()


def test_a_log_gives_its_room_back_when_the_disk_is_short_of_it(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", megabytes=40) as disk:
        database = a_database(disk.folder)
        write(database, 4)
        assert not database.has_long_log
        disk.fill(leaving=2 * MB)
        assert database.has_long_log
        database.shorten_log()
        assert log_size(disk.folder) == 0
        assert not database.has_long_log
        database.close()
