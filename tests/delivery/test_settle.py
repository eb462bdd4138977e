"""What is written down of messages that are not there any more."""

from datetime import timedelta

import pytest
import sqlalchemy as sa

from gna import clock
from gna.db import Database
from gna.delivery import mailings
from gna.delivery.claim import Claimed, Lanes
from gna.delivery.mailings import Totals
from gna.delivery.settle import settle
from gna.outbox import messages
from gna.providers.protocol import Accepted, RefusedForGood
from gna.subscribers.table import subscribers
from tests.factories import a_mailing


@pytest.fixture
def claimed(db: Database) -> list[Claimed]:
    """Four messages that are being sent."""
    a_mailing(db, people=4)
    with db.write() as tx:
        return Lanes().claim(tx, worker="w1", limit=9, bulk=9, now=clock.now() + timedelta(seconds=1))


def settled(db: Database, claimed: list[Claimed], doubtful: set[str]) -> Totals:
    with db.write() as tx:
        accepted = [(one, Accepted("x")) for one in claimed]
        settle(tx, accepted, worker="w1", doubtful=doubtful, now=clock.now())
        return mailings.totals(tx, claimed[0].mailing or 0)


def test_who_left_while_their_mail_did_got_it_all_the_same(db: Database, claimed: list[Claimed]) -> None:
    with db.write() as tx:
        tx.execute(sa.delete(subscribers).where(subscribers.c.email.in_([one.to for one in claimed[:2]])))
    sums = settled(db, claimed, set())
    assert (sums.audience, sums.sent, sums.left) == (4, 4, 0)


def test_what_another_worker_may_have_counted_is_not_counted_again(db: Database, claimed: list[Claimed]) -> None:
    with db.write() as tx:
        tx.execute(sa.delete(subscribers).where(subscribers.c.email.in_([one.to for one in claimed[:2]])))
    assert settled(db, claimed, {claimed[0].id, claimed[3].id}).sent == 3


def test_what_another_worker_has_now_is_not_ours_to_count(db: Database, claimed: list[Claimed]) -> None:
    with db.write() as tx:
        tx.execute(sa.update(messages).where(messages.c.id == claimed[0].id).values(claimed_by="w2"))
    assert settled(db, claimed, set()).sent == 3
    with db.read() as tx:
        assert tx.scalars(sa.select(messages.c.id)).all() == [claimed[0].id]


def test_what_a_server_said_is_kept_without_the_person(db: Database, claimed: list[Claimed]) -> None:
    with db.write() as tx:
        refused = RefusedForGood(f"550 5.1.1 <{claimed[0].to}>: no {claimed[0].nickname} here")
        settle(tx, [(claimed[0], refused)], worker="w1", now=clock.now())
        said = tx.scalar(sa.select(messages.c.last_error).where(messages.c.id == claimed[0].id))
    assert said == "550 5.1.1 <…>: no … here"
