"""Scheduled campaigns start at their time: once, however many workers there are, and not when it is far too late."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from email import message_from_bytes
from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from gna import clock
from gna.db import Database
from gna.delivery.mailings import mailings
from gna.jobs.workers import workers
from tests.desk import Desk, Sums
from tests.factories import readers
from tests.running import Gna, until

WORKERS = {"sqlite": 2, "postgresql": 3}
PEOPLE = 300


@pytest.fixture
def desk(client: TestClient, db: Database) -> Desk:
    return Desk(client, db)


def test_each_campaign_starts_once_at_its_time_with_several_workers(
    desk: Desk, start: Callable[..., Gna], db: Database, database_url: str, tmp_path: Path
) -> None:
    people = readers(db, PEOPLE)
    for _ in range(WORKERS[db.kind]):
        start(command="worker", DATABASE_URL=database_url)
    until(lambda: len(desk.rows(workers)) == WORKERS[db.kind], within=30)
    written = [desk.writes(subject=f"Issue {number}") for number in range(4)]
    at = clock.iso(clock.now() + timedelta(seconds=2))
    for campaign in written:
        assert desk.asks(campaign, "schedule", scheduled_at=at).status_code == 200
    assert not desk.rows(mailings)

    until(lambda: all(map(desk.is_published, written)), 40, lambda: f"{[desk.sums(one) for one in written]}")
    assert len(desk.rows(mailings)) == len(written)
    for campaign in written:
        assert desk.sums(campaign) == Sums(PEOPLE, sent=PEOPLE, failure=0, skipped=0, remaining=0)
        [delivery] = desk.sees(campaign)["deliveries"]
        assert timedelta() <= moment(delivery["started_at"]) - moment(at) < timedelta(seconds=5)
    expected = {(to, campaign["subject"]): 1 for to in people for campaign in written}
    assert arrived(tmp_path) == Counter(expected)


def test_one_that_is_hours_late_waits_for_a_person(
    desk: Desk, start: Callable[..., Gna], db: Database, database_url: str, tmp_path: Path
) -> None:
    readers(db, 1)
    missed, late = desk.in_state("scheduled"), desk.in_state("scheduled")
    desk.changes(missed, subject="Missed")
    desk.changes(late, subject="Late")
    desk.time_comes(missed, ago=timedelta(hours=7))
    desk.time_comes(late, ago=timedelta(hours=5))
    gna = start(DATABASE_URL=database_url)
    with httpx2.Client(base_url=gna.url, timeout=30, verify=False) as client:
        there = Desk(client, db)
        until(lambda: there.is_published(late), within=20)
        until(lambda: there.sees(missed)["held"], within=20)
        assert there.sees(missed)["state"] == "scheduled"
        due = moment(there.sees(missed)["scheduled_at"])
        assert f"It was to be sent at {due:%Y-%m-%d %H:%M} UTC" in there.sees(missed)["held"]
        assert [line for line in gna.log.read_text().splitlines() if "missed" in line and "warning" in line]
        assert arrived(tmp_path) == Counter({("p0@example.org", "Late"): 1})

        answer = there.asks(missed, "send")
        assert (answer.status_code, answer.json()["held"]) == (200, None)
        until(lambda: there.is_published(missed), within=20)
    assert arrived(tmp_path) == Counter({("p0@example.org", "Late"): 1, ("p0@example.org", "Missed"): 1})


def arrived(folder: Path) -> Counter[tuple[str, str]]:
    """How often everybody got each campaign."""
    mails = (message_from_bytes(file.read_bytes()) for file in (folder / "mailbox").glob("*.eml"))
    return Counter((mail["To"], mail["Subject"]) for mail in mails)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
