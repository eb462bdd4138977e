"""The database goes away, the process is killed: nothing is lost, and nothing needs a restart."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
import sqlalchemy as sa

from gna.db import Database
from gna.outbox import messages
from tests import asking
from tests.running import Gna, until
from tests.servers.postgres import Postgres


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A PostgreSQL of this test's own, to be killed."""
    with Postgres() as server:
        yield server


def mails(gna: Gna) -> list[str]:
    return [file.name for file in (gna.folder / "mailbox").glob("*.eml")]


def test_postgresql_dies_and_comes_back_under_a_running_server(
    start: Callable[..., Gna], own_postgres: Postgres
) -> None:
    gna = start(DATABASE_URL=own_postgres.url)
    assert gna.subscribe("before@example.org").status_code == 201
    until(lambda: len(mails(gna)) == 1, within=10)

    own_postgres.kill()
    for answer in (asking.get(f"{gna.url}/healthz", timeout=15), gna.subscribe("during@example.org")):
        assert (answer.status_code, answer.json()) == (503, {"error": "Service temporarily unavailable"})
    assert gna.status("/health") == 200

    own_postgres.start()
    until(lambda: gna.status("/healthz") == 200, within=15)
    assert gna.subscribe("after@example.org").status_code == 201
    until(lambda: len(mails(gna)) == 2, within=15)
    assert gna.process.poll() is None


def test_a_killed_server_loses_no_mail_and_repeats_none(start: Callable[..., Gna], database_url: str) -> None:
    gna = start(DATABASE_URL=database_url)
    accepted: list[str] = []
    done = threading.Event()

    def visitors() -> None:
        number = 0
        while not done.is_set() and number < 2000:
            number += 1
            try:
                if gna.subscribe(f"v{number}@example.org").status_code == 201:
                    accepted.append(f"v{number}@example.org")
            except httpx2.TransportError:
                done.wait(0.05)  # nobody answers until it is started again

    crowd = threading.Thread(target=visitors)
    crowd.start()
    for _ in range(3):
        before = len(accepted)
        until(lambda n=before: len(accepted) > n + 15, within=20)  # type: ignore[misc]
        gna.kill()
        gna.again()
    done.set()
    crowd.join()

    db = Database(database_url)
    until(lambda: waiting(db) == 0, within=40, otherwise=lambda: f"{waiting(db)} messages still wait")
    with db.read() as tx:
        people = tx.scalar(sa.text("SELECT count(*) FROM subscribers"))
        sent = tx.scalar(sa.select(sa.func.count()).where(messages.c.status == "sent"))
    db.close()
    assert people is not None
    assert people >= len(accepted)
    assert sent == people == len(mails(gna))
    assert recipients(gna.folder) >= set(accepted)


def test_what_is_no_http_is_refused_in_the_same_shape(start: Callable[..., Gna], database_url: str) -> None:
    gna = start(DATABASE_URL=database_url)
    with socket.create_connection(("127.0.0.1", gna.port), timeout=5) as line:
        line.sendall(b"HELO mail.example.org\r\n\r\n")
        head, _, body = line.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n")
    assert json.loads(body) == {"error": "Invalid HTTP request received."}
    assert gna.status("/healthz") == 200


def test_sigterm_finishes_what_is_in_flight(start: Callable[..., Gna], database_url: str) -> None:
    gna = start(DATABASE_URL=database_url)
    for number in range(20):
        gna.subscribe(f"v{number}@example.org")
    assert gna.stop() == 0
    db = Database(database_url)
    with db.read() as tx:
        stuck = tx.scalar(sa.select(sa.func.count()).where(messages.c.status == "sending"))
        workers = tx.scalar(sa.text("SELECT count(*) FROM workers"))
    db.close()
    assert (stuck, workers) == (0, 0)


def waiting(db: Database) -> int:
    with db.read() as tx:
        unsent = messages.c.status.in_(("pending", "sending", "failed_transient"))
        return tx.scalar(sa.select(sa.func.count()).select_from(messages).where(unsent)) or 0


def recipients(folder: Path) -> set[str]:
    """Every address that a mail was written to."""
    found = set()
    for file in (folder / "mailbox").glob("*.eml"):
        head = file.read_bytes().partition(b"\r\n\r\n")[0].decode()
        found.add(next(line[4:] for line in head.splitlines() if line.startswith("To: ")))
    return found
