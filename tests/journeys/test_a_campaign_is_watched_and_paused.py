"""A publisher watches a campaign go out, pauses it in the middle, and lets it go on."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from gna.cli.server import GRACE
from gna.db import Database
from gna.delivery.mailings import mailings
from tests.desk import API, Desk, Sums
from tests.factories import readers
from tests.running import Gna, until
from tests.servers.smtp import ScriptedSmtp

PEOPLE = 1500


@pytest.fixture
def server() -> Iterator[ScriptedSmtp]:
    """A mail server that thinks before each answer, so that there is a middle."""
    with ScriptedSmtp() as listening:
        listening.delays(0.02)
        yield listening


@pytest.fixture
def gna(server: ScriptedSmtp, start: Callable[..., Gna], database_url: str) -> Gna:
    return start(DATABASE_URL=database_url, EMAIL_PROVIDER="smtp", SMTP_URL=server.url)


@pytest.fixture
def desk(gna: Gna, db: Database) -> Iterator[Desk]:
    with httpx2.Client(base_url=gna.url, timeout=30, verify=False) as client:
        yield Desk(client, db)


class Watcher(threading.Thread):
    """Somebody who keeps a campaign's progress on the screen."""

    def __init__(self, gna: Gna, campaign: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self.events: list[tuple[str, dict[str, Any]]] = []
        self._url = f"{gna.url}{API}/{campaign['id']}/progress"
        self.start()

    def run(self) -> None:
        with httpx2.stream("GET", self._url, timeout=30) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            for line in answer.iter_lines():
                field, _, value = line.partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    self.events.append((name, json.loads(value)))

    def sums(self) -> list[Sums]:
        return [Sums._make(said[f"{name}_count"] for name in Sums._fields) for _, said in self.events]


def test_paused_it_stops_and_resumed_it_goes_on(desk: Desk, gna: Gna, server: ScriptedSmtp, db: Database) -> None:
    people = readers(db, PEOPLE)
    campaign = desk.writes()
    assert desk.asks(campaign, "send").status_code == 200
    watcher = Watcher(gna, campaign)
    until(lambda: len(server.received) > 100, within=20)

    assert desk.asks(campaign, "pause").json()["deliveries"][0]["paused"]
    # What was on its way still arrives, and is counted some time later.
    until(lambda: desk.sums(campaign).sent == len(server.received), within=20)
    arrived = len(server.received)
    assert 100 < arrived < PEOPLE - 100, "it was paused too late"
    time.sleep(1)
    assert len(server.received) == arrived
    sums = desk.sums(campaign)
    assert (sums.sent, sums.remaining, sums.agree) == (arrived, PEOPLE - arrived, True)

    server.delays(0)
    assert not desk.asks(campaign, "resume").json()["deliveries"][0]["paused"]
    until(lambda: desk.is_published(campaign), within=20)
    assert sorted(server.recipients) == sorted(people)
    all_sent = Sums(PEOPLE, sent=PEOPLE, failure=0, skipped=0, remaining=0)
    assert desk.sums(campaign) == all_sent

    watcher.join(5)
    assert not watcher.is_alive()
    assert [name for name, _ in watcher.events] == ["progress"] * (len(watcher.events) - 1) + ["done"]
    seen = watcher.sums()
    assert all(one.agree for one in seen)
    assert [one.sent for one in seen] == sorted(one.sent for one in seen)
    assert len({one.sent for one in seen}) > 2, "it did not show how the campaign went on"
    assert seen[-1] == all_sent


@pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
def test_somebody_who_watches_does_not_keep_the_server_from_stopping(
    desk: Desk, gna: Gna, server: ScriptedSmtp, db: Database
) -> None:
    readers(db, PEOPLE)
    campaign = desk.writes()
    assert desk.asks(campaign, "send").status_code == 200
    watcher = Watcher(gna, campaign)
    until(lambda: len(server.received) > 50 and watcher.events, within=20)
    began = time.monotonic()
    assert gna.stop() == 0
    # A server waits half a minute for an answer that does not end.
    assert time.monotonic() - began < GRACE / 2
    watcher.join(5)
    assert not watcher.is_alive()
    assert {name for name, _ in watcher.events} == {"progress"}
    [mailing] = desk.rows(mailings)
    assert mailing.sent_count == len(server.received) < PEOPLE
