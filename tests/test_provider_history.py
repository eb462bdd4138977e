"""A database that has sent real mail is not sent from into a folder."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from gna import migrations
from gna.db import Database
from gna.migrations import migrate
from gna.outbox import Status
from gna.provider_history import RecordedProvider, provider_history, record, why_no_rehearsal
from gna.providers.protocol import Accepted, Outcome
from tests.conftest import Databases
from tests.factories import NOW, a_message
from tests.fakes import FakeProvider
from tests.forking import gna
from tests.running import Gna, until
from tests.servers.smtp import ScriptedSmtp

SENTENCE = "gna: This database has sent real mail through smtp: EMAIL_PROVIDER=mailbox would write"


class AMail:
    """What the fake provider looks at."""

    def __init__(self, to: str) -> None:
        self.id = self.to = to


def history(db: Database) -> list[str]:
    with db.read() as tx:
        return [str(name) for name in tx.scalars(sa.select(provider_history.c.provider))]


def test_a_mailbox_refuses_a_database_that_has_sent_real_mail(database_url: str, start: Callable[..., Gna]) -> None:
    with ScriptedSmtp() as server:
        running = start(DATABASE_URL=database_url, EMAIL_PROVIDER="smtp", SMTP_URL=server.url)
        assert running.subscribe("ana@example.org").status_code == 201
        until(lambda: server.received, 20)
        running.stop()
    for command in (("serve", "--port", "0"), ("worker",), ("demo",)):
        done = gna(running.folder, *command, DATABASE_URL=database_url)
        assert done.returncode == 1
        assert done.stderr.startswith(SENTENCE)
        assert "rehearse with another database" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not (running.folder / "mailbox").exists()
    check = gna(running.folder, "check", DATABASE_URL=database_url)
    assert (check.returncode, "has sent real mail through smtp" in check.stdout) == (1, True)
    assert gna(running.folder, "subscribers", "list", DATABASE_URL=database_url).returncode == 0


def test_a_process_that_sends_nothing_may_start(db: Database, database_url: str, start: Callable[..., Gna]) -> None:
    with db.write() as tx:
        record(tx, "smtp", now=NOW)
    assert start(DATABASE_URL=database_url, PROCESS_ROLE="api").status("/healthz") == 200


def test_a_server_that_never_took_a_mail_leaves_no_note(db: Database) -> None:
    fake = FakeProvider()
    fake.refuses("ana@example.org", permanently=True)
    provider = RecordedProvider(fake, db, name="smtp")
    outcomes: list[Outcome] = []

    def send(to: str) -> None:
        asyncio.run(provider.send([AMail(to)], lambda _, outcome: outcomes.append(outcome)))  # type: ignore[list-item]

    send("ana@example.org")
    assert history(db) == []
    send("ion@example.org")
    send("eva@example.org")
    assert history(db) == ["smtp"]
    assert [isinstance(outcome, Accepted) for outcome in outcomes] == [False, True, True]


def test_the_first_time_counts(db: Database) -> None:
    for later in (timedelta(), timedelta(days=1)):
        with db.write() as tx:
            record(tx, "smtp", now=NOW + later)
    with db.read() as tx:
        assert tx.scalar(sa.select(provider_history.c.first_accepted_at)) == NOW
        assert "EMAIL_PROVIDER=smtp" in (why_no_rehearsal(tx) or "")


@pytest.mark.parametrize(("provider_id", "expected"), [("queue 12", ["smtp"]), (None, ["smtp"]), ("its own", [])])
def test_an_older_database_shows_who_took_its_mail(
    databases: Databases, provider_id: str | None, expected: list[str]
) -> None:
    db = Database(databases.empty())
    with db.write() as tx:
        migrations.upgrade(tx, "0008")
        a_message(tx, to="pending@example.org")
        message = a_message(tx, status=Status.SENT, sent_at=NOW, provider_message_id=provider_id)
        if provider_id == "its own":
            # As the mailbox provider writes it.
            tx.execute(sa.text("UPDATE messages SET provider_message_id = id WHERE id = :id"), {"id": message})
    migrate(db)
    assert history(db) == expected
    db.close()


def test_a_rehearsal_may_be_repeated(tmp_path: Path, start: Callable[..., Gna]) -> None:
    running = start(DATABASE_URL="sqlite:///gna.db")
    assert running.subscribe("ana@example.org").status_code == 201
    until(lambda: list(tmp_path.glob("mailbox/*.eml")), 20)
    running.stop()
    running.again()
    assert running.subscribe("ion@example.org").status_code == 201
