"""The publisher's step, where others change things between its look and its deed."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from starlette.testclient import TestClient

from gna import clock
from gna.campaigns import finding, publish, publisher, writing
from gna.campaigns.frame import frame_of
from gna.campaigns.states import State
from gna.campaigns.table import campaigns
from gna.config import Settings
from gna.db import Database
from gna.delivery import retry
from gna.errors import NotAllowedNow
from tests.desk import Desk, Sums
from tests.factories import the_subscriber


@pytest.fixture
def desk(client: TestClient, db: Database) -> Desk:
    desk = Desk(client, db)
    desk.has_readers("ana@example.org")
    return desk


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Something happens right after the publisher has looked for what is due."""
    look = publisher._due

    def then_act(tx: Connection, **how: Any) -> publisher.Due:
        due = look(tx, **how)
        act()
        return due

    monkeypatch.setattr(publisher, "_due", then_act)


def test_a_campaign_that_was_thrown_away_at_the_last_moment_keeps_no_other_waiting(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, logged: Callable[[], str]
) -> None:
    gone, other = desk.in_state("scheduled"), desk.in_state("scheduled")
    desk.time_comes(gone)
    desk.time_comes(other)

    def throw_away() -> None:
        desk.asks(gone, "cancel")
        desk.deletes(gone)

    meanwhile(monkeypatch, throw_away)
    desk.publishes()
    assert desk.sees(other)["state"] == "publishing"
    assert "could not be composed" not in logged()


def test_a_campaign_that_was_cancelled_at_the_last_moment_is_not_sent(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = desk.in_state("scheduled")
    desk.time_comes(campaign)
    meanwhile(monkeypatch, lambda: desk.asks(campaign, "cancel"))
    desk.works()
    assert (desk.sees(campaign)["state"], desk.got()) == ("draft", [])


def test_one_that_cannot_be_filled_keeps_no_other_waiting(desk: Desk, db: Database) -> None:
    broken, other = desk.in_state("publishing"), desk.in_state("publishing")
    with db.write() as tx:
        its = campaigns.c.id == broken["id"]
        tx.execute(sa.update(campaigns).where(its).values(audience={"list": "no such key!"}))
    desk.works()
    assert (desk.sees(other)["state"], desk.got()) == ("published", ["ana@example.org"])
    assert desk.sees(broken)["state"] == "publishing"


def test_after_a_retry_it_still_says_why_the_rest_was_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "WAITS", ())
    desk.has_readers("bob@example.org", "cut@example.org")
    desk.provider.refuses("bob@example.org", permanently=True)
    desk.provider.refuses("cut@example.org", permanently=False)
    campaign = desk.sends()
    assert campaign["deliveries"][0]["state"] == "failed"
    desk.provider.takes("cut@example.org")
    desk.retries(campaign)
    desk.works()
    [delivery] = desk.sees(campaign)["deliveries"]
    assert (delivery["state"], delivery["sent_count"], delivery["failure_count"]) == ("sent", 2, 1)
    assert delivery["reasons"] == [{"reason": "550 no such mailbox", "count": 1}]


def test_who_leaves_before_a_retry_is_counted_as_skipped(
    desk: Desk, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "WAITS", ())
    desk.has_readers("bob@example.org")
    for address in ("ana@example.org", "bob@example.org"):
        desk.provider.refuses(address, permanently=False)
    campaign = desk.sends()
    assert desk.sums(campaign) == Sums(2, sent=0, failure=2, skipped=0, remaining=0)
    with db.read() as tx:
        token = the_subscriber(tx, "bob@example.org").unsubscribe_token
    desk.client.post("/api/unsubscribe", params={"token": token})
    desk.provider.takes("ana@example.org")
    desk.retries(campaign)
    desk.works()
    assert desk.got() == ["ana@example.org"]
    assert desk.sums(campaign) == Sums(2, sent=1, failure=0, skipped=1, remaining=0)


@pytest.mark.parametrize("verb", [publish.send, partial(publish.schedule, at=None)])
def test_what_was_prepared_before_somebody_saved_is_not_sent(
    desk: Desk, db: Database, settings: Settings, verb: Callable[..., None]
) -> None:
    draft = desk.writes()
    with db.read() as tx:
        ready = publish.prepare(tx.execute(sa.select(campaigns)).one(), frame_of(settings))
    assert desk.changes(draft, subject="Another").status_code == 200
    with db.write() as tx, pytest.raises(NotAllowedNow):
        verb(tx, ready, now=clock.now())
    assert desk.sees(draft)["state"] == "draft"


@pytest.mark.parametrize(("state", "total"), [(State.DRAFT, 2), (State.PUBLISHED, 1), (None, 3)])
def test_a_search_within_a_state_counts_what_it_finds(
    desk: Desk, db: Database, state: State | None, total: int
) -> None:
    published = desk.in_state("published")
    for subject in (published["subject"], published["subject"], "Rain"):
        desk.writes(subject=subject)
    with db.read() as tx:
        found = finding.find(tx, q=published["subject"], state=state, page=1, per_page=20)
    assert found.total == len(found.items) == total


def test_of_two_who_save_at_once_the_second_is_told(desk: Desk, db: Database) -> None:
    draft = desk.writes()
    with db.read() as tx:
        seen = tx.scalar(sa.select(campaigns.c.updated_at))

    def save(tx: Connection, subject: str) -> None:
        writing.change(tx, draft["id"], writing.Wish({"subject": subject}), seen=seen, now=clock.now())

    def save_later() -> None:
        with db.write() as tx:
            save(tx, "Second")

    with ThreadPoolExecutor(1) as pool:
        with db.write() as tx:
            save(tx, "First")
            second = pool.submit(save_later)
            # It waits for the first; without a lock, it would read what stood there before.
            with pytest.raises(TimeoutError):
                second.result(0.3)
        with pytest.raises(NotAllowedNow):
            second.result(20)
    assert desk.sees(draft)["subject"] == "First"
