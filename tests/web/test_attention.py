"""What needs a person is told, with where it is mended."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna import clock, ids
from gna.campaigns import writing
from gna.campaigns.table import campaigns
from gna.campaigns.writing import Wish
from gna.config import Settings
from gna.db import Database
from gna.feeds.table import feed_entries, feeds
from gna.jobs import workers
from gna.outbox import Status, dead_letters
from gna.web.attention import Need, needs
from tests.conftest import settings_for
from tests.desk import Desk
from tests.factories import a_message
from tests.inbox.factories import an_account, an_unsubscribed

NOW = clock.now()


@pytest.fixture
def well(db: Database) -> Database:
    """A database with a worker."""
    with db.write() as tx:
        workers.beat(tx, "w1", now=NOW)
    return db


def found(db: Database, settings: Settings) -> list[Need]:
    with db.read() as tx:
        return needs(tx, settings, now=NOW)


def a_feed(db: Database, **columns: Any) -> None:
    row = {"id": ids.new(), "url": "https://blog.example.org/feed", "due_at": NOW, "created_at": NOW}
    with db.write() as tx:
        tx.execute(sa.insert(feeds).values(row | columns))


def test_when_all_is_well_nothing_is_said(well: Database, settings: Settings) -> None:
    assert found(well, settings) == []


def test_without_a_worker_nothing_is_sent(db: Database, settings: Settings) -> None:
    assert [need.kind for need in found(db, settings)] == ["no_worker"]
    with db.write() as tx:
        workers.beat(tx, "dead", now=NOW - timedelta(minutes=1))
    assert [need.kind for need in found(db, settings)] == ["no_worker"]


@pytest.mark.parametrize(
    ("environ", "kinds"),
    [
        ({}, []),
        ({"DISABLE_AUTH": "false"}, ["mailbox"]),
        ({"DISABLE_AUTH": "false", "GNA_ENV": "development"}, []),
        ({"GNA_HOST": "0.0.0.0", "GNA_ENV": "development"}, ["no_sign_in"]),
    ],
)
def test_settings_that_are_for_trying_things_are_told(
    well: Database, database_url: str, tmp_path: Path, environ: dict[str, str], kinds: list[str]
) -> None:
    assert [need.kind for need in found(well, settings_for(database_url, tmp_path, **environ))] == kinds


def test_a_campaign_that_waits_for_a_person_says_why(well: Database, settings: Settings) -> None:
    with well.write() as tx:
        campaign = writing.create(tx, Wish({"subject": "Issue 1", "body": "x"}), now=NOW)
        tx.execute(sa.update(campaigns).values(held="Its time was missed."))
    [need] = found(well, settings)
    assert need == Need("held", f"/admin/campaigns/{campaign}", about="Issue 1", why="Its time was missed.")


def test_a_feed_is_told_at_the_third_failure_in_a_row(well: Database, settings: Settings) -> None:
    a_feed(well, consecutive_failures=2, last_error="The server answered 503")
    assert found(well, settings) == []
    with well.write() as tx:
        tx.execute(sa.update(feeds).values(consecutive_failures=3))
    [need] = found(well, settings)
    assert (need.kind, need.number, need.why, need.bad) == ("feed_fails", 3, "The server answered 503", True)


def test_a_feed_that_holds_its_next_campaign_is_told_and_one_that_rests_is_not(
    well: Database, settings: Settings
) -> None:
    a_feed(well, held="It has many new posts at once.", title="The blog")
    a_feed(well, url="https://other.example.org/", active=False, consecutive_failures=9)
    [need] = found(well, settings)
    assert (need.kind, need.about, need.why) == ("feed_held", "The blog", "It has many new posts at once.")


def test_dead_letters_are_counted_and_the_worst_comes_first(db: Database, settings: Settings) -> None:
    with db.write() as tx:
        for _ in range(2):
            row = {"id": ids.new(), "topic": "send", "payload": {}, "error": "x", "created_at": NOW}
            tx.execute(sa.insert(dead_letters).values(row))
    assert [(need.kind, need.number) for need in found(db, settings)] == [("no_worker", 1), ("dead_letters", 2)]


def test_a_draft_of_a_feed_waits_until_it_is_sent(well: Database, settings: Settings) -> None:
    a_feed(well, id="f1", mode="draft")
    post = {"feed_id": "f1", "title": "Rain", "excerpt": "", "found_at": NOW}
    with well.write() as tx:
        # One's own draft waits for nobody.
        writing.create(tx, Wish({"subject": "By hand", "body": "x"}), now=NOW)
        campaign = writing.create(tx, Wish({"subject": "Rain and Sun", "body": "x"}), now=NOW)
        rows = [{**post, "id": ids.new(), "campaign_id": its} for its in (campaign, campaign, None)]
        tx.execute(sa.insert(feed_entries), rows)
    assert found(well, settings) == [Need("feed_draft", f"/admin/campaigns/{campaign}", about="Rain and Sun")]
    with well.write() as tx:
        tx.execute(sa.update(campaigns).where(campaigns.c.id == campaign).values(state="scheduled"))
    assert found(well, settings) == []


def test_a_campaign_whose_mail_server_is_away_says_what_it_waits_for(
    well: Database, settings: Settings, client: TestClient
) -> None:
    desk = Desk(client, well)
    desk.has_readers("ana@example.org")
    campaign = desk.in_state("publishing")
    desk.publishes()
    assert found(well, settings) == []
    desk.provider.refuses("ana@example.org", permanently=False, away=True)
    desk.works()
    [need] = found(well, settings)
    assert (need.kind, need.about, need.href) == ("waiting", "Issue 1", f"/admin/campaigns/{campaign['id']}")
    assert need.bad
    assert need.why
    assert "ana@example.org" not in need.why


def test_a_confirmation_that_waits_for_another_try_is_told(well: Database, settings: Settings) -> None:
    with well.write() as tx:
        a_message(tx)
    assert found(well, settings) == []
    with well.write() as tx:
        later = NOW + timedelta(minutes=1)
        a_message(tx, status=Status.FAILED_TRANSIENT, last_error="451 Not now, <ana@example.org>", due_at=later)
    [need] = found(well, settings)
    assert (need.kind, need.bad, "451 Not now" in need.why) == ("letters_wait", True, True)
    assert "ana@example.org" not in need.why


def test_who_sends_on_after_one_has_unsubscribed_is_told_for_a_week(well: Database, settings: Settings) -> None:
    account = an_account(well)
    for number, ago in enumerate((1, 6, 8)):
        sums: dict[str, Any] = {
            "violation_count": 1,
            "emails_after_unsubscribe": 1,
            "last_violation_at": NOW - timedelta(days=ago),
        }
        an_unsubscribed(well, account, f"news@shop{number}.example", **sums)
    assert found(well, settings) == [Need("kept_sending", "/admin/inbox/violations", number=2)]
