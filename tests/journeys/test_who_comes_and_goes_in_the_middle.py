"""People come and go while a campaign is being published: who has left gets nothing, who came later gets nothing."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from gna import clock, tokens
from gna.db import Database
from gna.db import now as db_now
from gna.delivery import mailings
from gna.subscribers import confirm as confirming
from gna.subscribers import lists
from gna.subscribers.confirm import Confirmed
from gna.subscribers.lists import Leaving
from gna.subscribers.table import subscribers
from gna.web.ground import Ground
from tests.conftest import settings_for, visitor
from tests.desk import Desk, Sums
from tests.factories import a_subscriber, the_subscriber

WEEKLY, SECRET = "weekly", "a secret"
# In the order of their ids, which is the order in which they get their messages.
NAMES = ("ana", "bob", "cut", "dan", "eva", "flo", "gil", "hub")
LATE = ("bob", "gil")


@pytest.fixture
def desk(db: Database, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A desk with a list of six readers, and two among them who have not confirmed yet."""
    monkeypatch.setattr(mailings, "CHUNK", 4)
    with db.write() as tx:
        people = [a_subscriber(tx, email=f"{name}@example.org", activated=True) for name in NAMES]
        lists.put(tx, {person: [WEEKLY] for person in people}, now=clock.now())
        for name in LATE:
            link = {"confirmation_token": tokens.digest(name), "confirmation_expires_at": clock.now() + timedelta(1)}
            late = sa.update(subscribers).where(subscribers.c.email == f"{name}@example.org")
            tx.execute(late.values(activated_at=None, **link))
    with visitor(Ground(settings_for(database_url, tmp_path, UNSUB_SECRET=SECRET), db)) as client:
        yield Desk(client, db)


def test_who_leaves_the_list_gets_nothing_and_is_counted_as_skipped(desk: Desk) -> None:
    campaign = half_published(desk)
    with_a_message, without = "ana@example.org", "flo@example.org"
    for leaver in (with_a_message, without):
        token = Leaving(leaver, WEEKLY).sign(SECRET)
        assert desk.client.post("/unsubscribe", params={"token": token}).status_code == 200
    desk.works()
    assert sorted(desk.got()) == ["cut@example.org", "dan@example.org", "eva@example.org", "hub@example.org"]
    assert desk.sums(campaign) == Sums(6, sent=4, failure=0, skipped=2, remaining=0)
    [delivery] = desk.sees(campaign)["deliveries"]
    assert delivery["state"] == "sent"


def test_who_unsubscribes_gets_nothing_and_is_counted_as_skipped(desk: Desk, db: Database) -> None:
    campaign = half_published(desk)
    for leaver in ("ana@example.org", "flo@example.org"):
        with db.read() as tx:
            token = the_subscriber(tx, leaver).unsubscribe_token
        assert desk.client.post("/api/unsubscribe", params={"token": token}).status_code == 200
    desk.works()
    assert sorted(desk.got()) == ["cut@example.org", "dan@example.org", "eva@example.org", "hub@example.org"]
    assert desk.sums(campaign) == Sums(6, sent=4, failure=0, skipped=2, remaining=0)


def test_who_leaves_another_list_still_gets_it(desk: Desk) -> None:
    campaign = half_published(desk)
    token = Leaving("ana@example.org", "monthly").sign(SECRET)
    assert desk.client.post("/unsubscribe", params={"token": token}).status_code == 200
    desk.works()
    assert "ana@example.org" in desk.got()
    assert desk.sums(campaign) == Sums(6, sent=6, failure=0, skipped=0, remaining=0)


def test_who_confirms_after_the_start_gets_nothing_and_is_not_counted(desk: Desk) -> None:
    campaign = half_published(desk)
    confirm(desk)
    desk.works()
    assert {"bob@example.org", "gil@example.org"}.isdisjoint(desk.got())
    assert desk.sums(campaign) == Sums(6, sent=6, failure=0, skipped=0, remaining=0)


def test_who_confirms_after_the_start_is_not_counted_before_the_count_either(desk: Desk) -> None:
    campaign = desk.writes(audience={"list": WEEKLY})
    assert desk.asks(campaign, "send").status_code == 200
    confirm(desk)
    desk.works()
    assert {"bob@example.org", "gil@example.org"}.isdisjoint(desk.got())
    assert desk.sums(campaign) == Sums(6, sent=6, failure=0, skipped=0, remaining=0)


def half_published(desk: Desk) -> dict[str, Any]:
    campaign = desk.writes(audience={"list": WEEKLY})
    assert desk.asks(campaign, "send").status_code == 200
    assert desk.publishes()
    assert (desk.sums(campaign).audience, len(desk.message_rows())) == (6, 4)
    return campaign


def confirm(desk: Desk) -> None:
    with desk.db.write() as tx:
        assert {confirming.confirm(tx, name, secret=SECRET, now=db_now(tx)) for name in LATE} == {Confirmed.SUBSCRIBED}
