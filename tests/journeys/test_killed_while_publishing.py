"""A worker is killed at each point of publishing, one after the other: everybody gets the campaign exactly once."""

import signal
from datetime import timedelta

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna import clock
from gna.campaigns.states import State
from gna.config import Settings
from gna.db import Database
from gna.delivery import mailings
from gna.jobs.workers import workers
from tests.crashes import Folder
from tests.desk import Desk, Sums
from tests.dying import CHUNK, POINTS, a_worker
from tests.factories import readers
from tests.running import until

PEOPLE = CHUNK * 3 + 7
# What was committed at each point: the state of the campaign, and of its mailing.
COMMITTED = {
    "in the transaction that starts it": (State.SCHEDULED, None),
    "before any message is made": (State.PUBLISHING, mailings.State.GOING),
    "in the transaction that makes messages": (State.PUBLISHING, mailings.State.GOING),
    "between two chunks": (State.PUBLISHING, mailings.State.GOING),
    "when everything was sent": (State.PUBLISHING, mailings.State.GOING),
    "in the transaction that ends the mailing": (State.PUBLISHING, mailings.State.GOING),
    "before the end is written down": (State.PUBLISHING, mailings.State.DONE),
    "in the transaction that writes down the end": (State.PUBLISHING, mailings.State.DONE),
}


@pytest.fixture
def desk(client: TestClient, db: Database) -> Desk:
    return Desk(client, db)


def test_everybody_gets_it_once_however_often_its_worker_is_killed(
    desk: Desk, settings: Settings, db: Database
) -> None:
    people = readers(db, PEOPLE)
    campaign = desk.in_state("scheduled")
    desk.time_comes(campaign)
    for point in POINTS:
        doomed = a_worker(settings, dies=point)
        doomed.join(30)
        assert doomed.exitcode == -signal.SIGKILL, point
        assert (desk.sees(campaign)["state"], mailing_state(desk)) == COMMITTED[point], point
        a_minute_passes(db)
    last = a_worker(settings)
    until(lambda: desk.is_published(campaign), 30, lambda: f"{desk.sums(campaign)}")
    last.terminate()
    last.join(30)
    assert last.exitcode == 0
    assert desk.sums(campaign) == Sums(PEOPLE, sent=PEOPLE, failure=0, skipped=0, remaining=0)
    assert [delivery["state"] for delivery in desk.sees(campaign)["deliveries"]] == ["sent"]
    assert desk.message_rows() == []
    # Were a message made anew, its mail would have another id, and be another file.
    arrived = [mail.to for mail in Folder(settings.mailbox_dir).accepted()]
    assert sorted(arrived) == sorted(people)


def mailing_state(desk: Desk) -> str | None:
    rows = desk.rows(mailings.mailings)
    assert len(rows) <= 1
    return rows[0].state if rows else None


def a_minute_passes(db: Database) -> None:
    """Since anybody was seen: whoever was killed is dead for everybody."""
    with db.write() as tx:
        tx.execute(sa.update(workers).values(seen_at=clock.now() - timedelta(minutes=1)))
