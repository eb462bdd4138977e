"""The mail server goes away in the middle of a campaign: everybody gets it once, and the sums say so."""

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import chain
from pathlib import Path

import httpx2
import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna.config import Settings
from gna.db import Database
from gna.delivery import appetite, retry
from gna.jobs.engine import Engine
from gna.outbox import is_new, messages
from gna.subscribers.table import subscribers
from gna.worker import provider_of, steps
from tests.conftest import settings_for
from tests.desk import Desk, Sums
from tests.factories import count, readers
from tests.running import Gna, until
from tests.servers import postfix
from tests.servers.postfix import Arrival, Postfix

REFUSED = "p7@example.org"
REFUSALS = f"check_recipient_access inline:{{ {{ {REFUSED} = 550 5.1.1 nobody of that name }} }}"
ADDRESS = re.compile(r"[\w.+-]+@example\.org")
CONNECTIONS = 10
PEOPLE, FEW = 5000, 150


@pytest.fixture
def server() -> Iterator[Postfix]:
    """A mail server that knows all but one of our readers."""
    if reason := postfix.why_missing():
        pytest.skip(reason)
    with Postfix(smtpd_recipient_restrictions=REFUSALS) as running:
        yield running


@pytest.fixture
def desk(client: TestClient, db: Database) -> Desk:
    return Desk(client, db)


def test_it_comes_back_and_nobody_is_forgotten_or_mailed_twice(
    server: Postfix, start: Callable[..., Gna], db: Database, database_url: str
) -> None:
    people = readers(db, PEOPLE)
    gna = start(DATABASE_URL=database_url, **by_smtp(server, rate=1000))
    with httpx2.Client(base_url=gna.url, timeout=30, verify=False) as client:
        desk = Desk(client, db)
        campaign = desk.writes(subject="News for {{ nickname | you }}")
        assert desk.asks(campaign, "send").status_code == 200
        until(lambda: server.count() > 300, within=30)

        server.stop()
        until(lambda: "the provider takes no mail" in gna.log.read_text(), within=10)
        assert desk.sums(campaign).remaining > 1000, "it went away too late"
        leaver, token = somebody_who_waits(db)
        assert client.post("/api/unsubscribe", params={"token": token}).status_code == 200
        server.start()

        until(lambda: desk.is_published(campaign), 60, lambda: f"{desk.sums(campaign)}")
        until(lambda: server.count() >= PEOPLE - 2 and server.is_empty(), within=20)
        assert desk.sums(campaign) == Sums(PEOPLE, sent=PEOPLE - 2, failure=1, skipped=1, remaining=0)
        [delivery] = desk.sees(campaign)["deliveries"]
        assert delivery["state"] == "sent"
        assert [reason["count"] for reason in delivery["reasons"]] == [1]
    check_arrivals(server.arrivals(), people - {leaver, REFUSED})
    check_that_nobody_is_named(db)


def test_it_stays_away_and_a_retry_reaches_only_those_who_got_nothing(
    server: Postfix, desk: Desk, db: Database, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "WAITS", (timedelta(milliseconds=10),))
    monkeypatch.setattr(appetite, "HOLDS", (0.0,))
    people = readers(db, FEW)
    with working(db, settings_for(database_url, tmp_path, **by_smtp(server, rate=FEW // 3))):
        campaign = desk.writes()
        assert desk.asks(campaign, "send").status_code == 200
        until(lambda: server.count() > FEW / 10, within=30)
        server.stop()
        until(lambda: desk.is_published(campaign), 60, lambda: f"{desk.sums(campaign)}")
        sums, [delivery] = desk.sums(campaign), desk.sees(campaign)["deliveries"]
        assert delivery["state"] == "failed"
        assert sums.agree
        assert (sums.skipped, sums.remaining) == (0, 0)
        assert sums.failure > FEW / 10, "it went away too late"
        assert delivery["error_detail"].startswith(f"{sums.failure} of {FEW} mails could not be sent: ")
        assert f"{server.host}:{server.port} cannot be reached" in delivery["error_detail"]
        assert not ADDRESS.search(delivery["error_detail"])

        server.start()
        assert desk.retries(campaign).status_code == 200
        until(lambda: desk.is_published(campaign), 60, lambda: f"{desk.sums(campaign)}")
    until(lambda: server.count() >= FEW - 1 and server.is_empty(), within=20)
    assert desk.sums(campaign) == Sums(FEW, sent=FEW - 1, failure=1, skipped=0, remaining=0)
    [delivery] = desk.sees(campaign)["deliveries"]
    assert (delivery["state"], delivery["error_detail"]) == ("sent", None)
    check_arrivals(server.arrivals(), people - {REFUSED})
    check_that_nobody_is_named(db)


@contextmanager
def working(db: Database, settings: Settings) -> Iterator[None]:
    """The background work goes on in a thread."""
    told = threading.Event()

    async def work() -> None:
        engine = Engine(db, steps(db, provider_of(settings), settings))
        await engine.start()
        await asyncio.to_thread(told.wait)
        await engine.stop()

    thread = threading.Thread(target=asyncio.run, args=(work(),))
    thread.start()
    try:
        yield
    finally:
        told.set()
        thread.join()


def by_smtp(server: Postfix, rate: int) -> dict[str, str]:
    """Settings that send so slowly that the server can go away in the middle, however fast the machine is."""
    url = f"smtp://{server.host}:{server.port}"
    return {
        "EMAIL_PROVIDER": "smtp",
        "SMTP_URL": url,
        "SMTP_CONNECTIONS": str(CONNECTIONS),
        "SEND_RATE": str(rate),
    }


def somebody_who_waits(db: Database) -> tuple[str, str]:
    """The address, and the token in the mails, of somebody whose mail was never tried."""
    s, m = subscribers.c, messages.c
    theirs = sa.select(s.email, s.unsubscribe_token).join(messages, m.subscriber_id == s.id)
    with db.read() as tx:
        found = tx.execute(theirs.where(is_new, m.attempt_count == 0, s.email != REFUSED)).first()
    assert found, "everybody's mail was tried"
    return found.email, found.unsubscribe_token


def check_arrivals(arrivals: set[Arrival], people: frozenset[str]) -> None:
    """Everybody has exactly one mail.

    A server that is ended between taking a mail and saying so leaves everybody in doubt, and gets that mail again:
    one at most for each connection, and with the same Message-ID, by which mail programs know it.
    """
    assert {mail.to for mail in arrivals} == people
    different = Counter(to for to, _ in {(mail.to, mail.message_id) for mail in arrivals})
    assert {*different.values()} == {1}
    assert len(arrivals) - len(people) <= CONNECTIONS
    assert max(Counter(mail.to for mail in arrivals).values()) <= 2


def check_that_nobody_is_named(db: Database) -> None:
    with db.read() as tx:
        assert count(tx, messages) == 0
        # Who bounced is listed for a week, without the campaign.
        tables = [name for name in sa.inspect(tx).get_table_names() if not name.startswith(("subscriber", "bounces"))]
        rows = chain.from_iterable(tx.execute(sa.text(f'SELECT * FROM "{name}"')).all() for name in tables)
        assert [row for row in rows if ADDRESS.search(str(row))] == []
