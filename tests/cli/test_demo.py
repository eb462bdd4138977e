"""The example publication is believable, and never mixed with a real one."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna import clock
from gna.db import Database
from gna.outbox import messages
from gna.subscribers import tally
from tests.cli.commands import Run, running


@pytest.fixture
def demo(database_url: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Run]:
    monkeypatch.setenv("DATABASE_URL", database_url)
    yield from running("demo", monkeypatch, capfd)


def test_an_empty_database_is_filled_once(demo: Run, client: TestClient, db: Database) -> None:
    assert demo().code == 0
    people = client.get("/admin/api/subscribers").json()
    assert people["total"] == 1200
    sent = client.get("/admin/api/campaigns?state=published").json()["items"]
    assert sent[0]["subject"] == "The quiet web, issue 39"
    for campaign in sent:
        assert campaign["audience_count"] == campaign["sent_count"] + campaign["failure_count"]
    with db.read() as tx:
        assert tx.scalar(sa.select(sa.func.count()).select_from(messages)) == 0, "the example sends nothing"

    again = demo()
    assert again.code == 1
    assert "has subscribers already" in again.err
    assert client.get("/admin/api/subscribers").json()["total"] == 1200


def test_nobody_gets_mail_from_the_example(demo: Run, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMAIL_PROVIDER", "smtp")
    monkeypatch.setenv("SMTP_URL", "smtp://127.0.0.1:25")
    done = demo()
    assert (done.code, "EMAIL_PROVIDER=mailbox" in done.err) == (1, True)
    assert client.get("/admin/api/subscribers").json()["total"] == 0


def test_days_that_were_counted_before_do_not_become_a_jump(demo: Run, client: TestClient, db: Database) -> None:
    now = clock.now()
    with db.write() as tx:
        tally.keep(tx, tally.count(tx, now=now))
    assert demo().code == 0
    with db.read() as tx:
        days = tally.of_days(tx, 90, now=now)
    confirmed = [day.confirmed for day in days]
    steps = [after - before for before, after in pairwise(confirmed)]
    assert len(days) == 90
    assert 0 < confirmed[0] < confirmed[-1] / 2
    assert max(steps) < confirmed[-1] / 5, "no day has a jump"
