"""/healthz tells whether the database can be written, at the price of a small write now and then."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna.db import Database
from gna.web import write_probe


@contextmanager
def read_only(db: Database) -> Iterator[None]:
    """The database can be read, and refuses every write."""
    if db.kind == "postgresql":
        pytest.skip("a standby needs a server of its own: tests/journeys/test_full_disks.py")
    _tell_writer(db, "PRAGMA query_only=ON")
    yield
    _tell_writer(db, "PRAGMA query_only=OFF")


def _tell_writer(db: Database, statement: str) -> None:
    with db._writer.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.execute(statement)


def test_a_database_that_cannot_be_written_is_503_until_it_can(
    client: TestClient, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_probe, "EVERY", 0.0)
    assert client.get("/healthz").json() == {"status": "ok", "database": "ok"}
    with read_only(db):
        answer = client.get("/healthz")
        assert (answer.status_code, answer.json()) == (503, {"error": "Service temporarily unavailable"})
        assert client.get("/health").status_code == 200
        signup = client.post("/api/subscribe", json={"email": "ana@example.org"})
        assert (signup.status_code, signup.json()) == (503, {"error": "Service temporarily unavailable"})
    assert client.get("/healthz").status_code == 200
    assert client.post("/api/subscribe", json={"email": "ana@example.org"}).status_code == 201


def test_many_questions_are_one_write(client: TestClient, db: Database) -> None:
    written: list[str] = []

    @sa.event.listens_for(db._writer, "before_cursor_execute")
    def count(_c: object, _k: object, statement: str, *_: object) -> None:
        if not statement.startswith(("SELECT", "BEGIN", "SHOW")):
            written.append(statement)

    began = time.monotonic()
    for _ in range(30):
        assert client.get("/healthz").status_code == 200
    assert 1 <= len(written) <= 1 + (time.monotonic() - began) / write_probe.EVERY


def test_the_last_outcome_counts_until_the_next_write(client: TestClient, db: Database) -> None:
    with read_only(db):
        assert [client.get("/healthz").status_code for _ in range(3)] == [503] * 3


def test_a_busy_writer_is_not_broken_until_it_was_silent_for_long(
    client: TestClient, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_probe, "EVERY", 0.0)
    monkeypatch.setattr(write_probe, "PATIENCE", 0.2)
    assert client.get("/healthz").status_code == 200
    with db.write() as tx:
        tx.execute(sa.text("UPDATE alembic_version SET version_num = version_num"))
        began = time.monotonic()
        assert client.get("/healthz").status_code == 200
        assert time.monotonic() - began < 2
        monkeypatch.setattr(write_probe, "SILENCE", 0.0)
        assert client.get("/healthz").status_code == 503
    assert client.get("/healthz").status_code == 200
