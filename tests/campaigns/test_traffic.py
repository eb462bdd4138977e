"""What goes out, by the day, now and next."""

from datetime import timedelta

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna import clock
from gna.campaigns import traffic
from gna.campaigns.table import campaigns, deliveries
from gna.campaigns.traffic import Sums
from gna.db import Database
from gna.delivery.mailings import KEEP_FAILED, mailings
from tests.desk import Desk, in_an_hour
from tests.factories import readers


@pytest.fixture
def desk(client: TestClient, db: Database) -> Desk:
    """A publisher with three readers."""
    readers(db, 3)
    return Desk(client, db)


def test_mails_are_counted_on_the_day_on_which_they_began_to_go_out(desk: Desk) -> None:
    now = clock.now()
    desk.provider.refuses("p0@example.org", permanently=True)
    today, before = desk.sends(subject="Today"), desk.sends(subject="Three days ago")
    with desk.db.write() as tx:
        its = deliveries.c.campaign_id == before["id"]
        tx.execute(sa.update(deliveries).where(its).values(started_at=now - timedelta(days=3)))
    desk.writes(subject="Not sent")
    with desk.db.read() as tx:
        found = traffic.per_day(tx, since=now - timedelta(days=7))
        assert found == {now.date(): Sums(2, 1), (now - timedelta(days=3)).date(): Sums(2, 1)}
        assert traffic.per_day(tx, since=now - timedelta(days=1)) == {now.date(): Sums(2, 1)}
    assert desk.sees(today)["state"] == "published"


def test_what_goes_out_now_is_shown_with_how_far_it_is(desk: Desk) -> None:
    campaign = desk.writes()
    assert desk.asks(campaign, "send").is_success
    with desk.db.read() as tx:
        [shown] = traffic.under_way(tx)
    assert (shown["id"], shown["state"], shown["sent_count"]) == (campaign["id"], "publishing", 0)


def test_the_next_one_comes_first(desk: Desk) -> None:
    later, sooner, held = desk.writes(subject="Later"), desk.writes(subject="Sooner"), desk.writes(subject="Held")
    for hours, campaign in enumerate((sooner, later, held)):
        assert desk.asks(campaign, "schedule", scheduled_at=in_an_hour()).is_success
        at = clock.now() + timedelta(hours=hours + 1)
        with desk.db.write() as tx:
            tx.execute(sa.update(campaigns).where(campaigns.c.id == campaign["id"]).values(scheduled_at=at))
    with desk.db.write() as tx:
        tx.execute(sa.update(campaigns).where(campaigns.c.id == held["id"]).values(held="Its time was missed."))
        assert [row.subject for row in traffic.coming(tx)] == ["Sooner", "Later"]
        assert [(row.subject, row.held) for row in traffic.held(tx)] == [("Held", "Its time was missed.")]


def test_what_can_be_tried_again_is_left_over_as_long_as_it_is_kept(desk: Desk) -> None:
    now = clock.now()
    for number in range(3):
        desk.provider.refuses(f"p{number}@example.org", permanently=True)
    campaign = desk.sends()
    with desk.db.write() as tx:
        [row] = traffic.left_over(tx, now=now)
        assert (row.id, row.subject, row.number) == (campaign["id"], "Issue 1", 3)
        tx.execute(sa.update(mailings).values(finished_at=now - KEEP_FAILED - timedelta(seconds=1)))
        assert traffic.left_over(tx, now=now) == []
