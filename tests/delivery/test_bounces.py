import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from gna import clock, outbox
from gna.db import Database, timed
from gna.delivery import bounces, dead_letters, mailings
from gna.delivery.bounces import Bounce
from gna.delivery.claim import Claimed, Lanes
from gna.delivery.pace import Pace
from gna.delivery.sender import Sender
from gna.delivery.settle import settle
from gna.errors import NotFound
from gna.mail.compile import Sender as From
from gna.outbox import Kind, messages
from gna.providers.protocol import Accepted, Outcome, RefusedForGood, TryLater, Unknown
from gna.subscribers import leave
from gna.subscribers.table import subscribers
from tests.factories import a_mailing, a_message, a_subscriber, count, the_subscriber
from tests.fakes import FakeProvider

TO = "p1@example.org"
NO_SUCH = RefusedForGood("550 5.1.1 no such user", bad_address=True)


def send(db: Database, provider: FakeProvider) -> None:
    sender = Sender(db, provider, worker="w1", sender=From("n@example.org", "https://x.example"), pace=Pace("fake"))
    asyncio.run(sender.send_due())


def refusing(*addresses: str) -> FakeProvider:
    provider = FakeProvider()
    for address in addresses:
        provider.refuses(address, permanently=True)
    return provider


def claim(db: Database) -> list[Claimed]:
    with db.write() as tx:
        return Lanes().claim(tx, worker="w1", limit=99, bulk=99, now=clock.now() + timedelta(seconds=1))


def settled(db: Database, results: Sequence[tuple[Claimed, Outcome]], worker: str = "w1") -> None:
    with db.write() as tx:
        settle(tx, results, worker=worker, now=clock.now())


def rows(db: Database) -> list[Any]:
    with db.read() as tx:
        return list(tx.execute(sa.select(outbox.bounces).order_by(outbox.bounces.c.email)).all())


def test_an_address_that_a_campaign_was_refused_at_is_a_bounce(db: Database) -> None:
    a_mailing(db, people=3)
    send(db, refusing(TO))
    [row] = rows(db)
    with db.read() as tx:
        person = the_subscriber(tx, TO)
    assert (row.email, row.reason, row.subscriber_id) == (TO, "550 no such mailbox", person.id)
    assert person.activated_at, "the person stays subscribed"


@pytest.mark.parametrize("kind", [Kind.CONFIRMATION, Kind.MAGIC_LINK])
def test_so_is_that_of_a_link(db: Database, kind: Kind) -> None:
    with db.write() as tx:
        person = a_subscriber(tx, email=TO)
        a_message(tx, to=TO, subscriber_id=person, kind=kind)
    send(db, refusing(TO))
    assert [row.subscriber_id for row in rows(db)] == [person]


def test_a_new_address_that_is_not_theirs_yet_is_no_bounce(db: Database) -> None:
    """The person can be reached where they were; and the new one may be a stranger's."""
    with db.write() as tx:
        person = a_subscriber(tx, email="old@example.org", activated=True)
        a_message(tx, to=TO, subscriber_id=person, kind=Kind.EMAIL_CHANGE)
    send(db, refusing(TO))
    assert not rows(db)


@pytest.mark.parametrize("kind", [Kind.TRIAL, Kind.NOTICE])
def test_a_mail_that_is_for_no_subscriber_is_no_bounce(db: Database, kind: Kind) -> None:
    with db.write() as tx:
        a_message(tx, to=TO, kind=kind)
    send(db, refusing(TO))
    assert not rows(db)


@pytest.mark.parametrize(
    "outcome",
    [
        Accepted(),
        RefusedForGood("554 5.7.1 spam"),
        TryLater("451 greylisted"),
        TryLater("451", away=True),
        Unknown("?"),
    ],
)
def test_whatever_is_not_the_fault_of_the_address_is_no_bounce(db: Database, outcome: Outcome) -> None:
    a_mailing(db, people=2)
    settled(db, [(one, outcome) for one in claim(db)])
    assert not rows(db)


def test_the_last_refusal_of_a_person_counts(db: Database) -> None:
    a_mailing(db, people=2)
    settled(db, [(one, NO_SUCH) for one in claim(db)])
    with db.write() as tx:
        tx.execute(sa.update(outbox.bounces).values(created_at=clock.now() - timedelta(days=6)))
    before = rows(db)
    a_mailing(db, people=2)
    settled(db, [(one, RefusedForGood("550 5.1.6 moved", bad_address=True)) for one in claim(db)[:1]])
    changed = [row for row in rows(db) if row not in before]
    assert len(rows(db)) == 2
    assert [row.reason for row in changed] == ["550 5.1.6 moved"]
    assert clock.now() - changed[0].created_at < timedelta(days=1)
    assert changed[0].id in {row.id for row in before}


def test_two_refusals_of_one_person_at_the_same_time_are_one_bounce(db: Database) -> None:
    a_mailing(db, people=1)
    a_mailing(db, people=1)
    claimed = claim(db)
    assert len(claimed) == 2
    settled(db, [(one, NO_SUCH) for one in claimed])
    assert len(rows(db)) == 1


def test_the_reason_names_nobody(db: Database) -> None:
    with db.write() as tx:
        person = a_subscriber(tx, email=TO, nickname="Ana")
        a_message(tx, to=TO, subscriber_id=person)
    said = f"550 5.1.1 <{TO}>: no Ana here, \0 ask bob@example.org"
    settled(db, [(one, RefusedForGood(said, bad_address=True)) for one in claim(db)])
    assert rows(db)[0].reason == "550 5.1.1 <…>: no … here,   ask …"


def test_who_left_while_their_mail_was_refused_is_not_remembered(db: Database) -> None:
    a_mailing(db, people=2)
    claimed = claim(db)
    with db.write() as tx:
        tx.execute(sa.delete(subscribers).where(subscribers.c.email == TO))
    settled(db, [(one, NO_SUCH) for one in claimed])
    assert [row.email for row in rows(db)] == ["p0@example.org"]


def test_who_moved_while_their_mail_was_refused_did_not_bounce(db: Database) -> None:
    a_mailing(db, people=1)
    claimed = claim(db)
    with db.write() as tx:
        tx.execute(sa.update(subscribers).values(email="new@example.org"))
    settled(db, [(one, NO_SUCH) for one in claimed])
    assert not rows(db)


def test_who_leaves_while_it_is_written_down_waits_and_is_forgotten(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither waits for the other in a circle."""
    a_mailing(db, people=2)
    claimed = claim(db)
    usual = bounces.note

    def leaves() -> None:
        with db.write() as tx:
            tx.execute(sa.delete(subscribers).where(subscribers.c.email == TO))

    leaving = threading.Thread(target=leaves)

    def in_the_middle(*args: Any, **kwargs: Any) -> None:
        leaving.start()
        leaving.join(0.5)
        usual(*args, **kwargs)

    monkeypatch.setattr(bounces, "note", in_the_middle)
    settled(db, [(one, NO_SUCH) for one in claimed])
    leaving.join(30)
    assert [row.email for row in rows(db)] == ["p0@example.org"]


def test_two_workers_who_are_refused_at_the_same_people_do_not_wait_in_a_circle(db: Database) -> None:
    with db.write() as tx:
        people = sorted(a_subscriber(tx, email=email) for email in ("a@example.org", "b@example.org"))
    first, second = (Bounce(person, f"{at}@example.org", "550 no such mailbox") for at, person in enumerate(people))

    def notes() -> None:
        with db.write() as tx:
            bounces.note(tx, [second, first], now=clock.now())

    with ThreadPoolExecutor(1) as pool:
        with db.write() as tx:
            bounces.note(tx, [first], now=clock.now())
            other = pool.submit(notes)
            wait([other], 0.5)
            bounces.note(tx, [second], now=clock.now())
        other.result(30)
    assert len(rows(db)) == 2


def test_what_another_worker_has_now_is_not_ours_to_tell(db: Database) -> None:
    a_mailing(db, people=1)
    settled(db, [(one, NO_SUCH) for one in claim(db)], worker="w2")
    assert not rows(db)


def test_a_transaction_that_was_undone_leaves_no_bounce(db: Database) -> None:
    mailing = a_mailing(db, people=2)
    claimed = claim(db)
    with db.write() as tx:
        settle(tx, [(one, NO_SUCH) for one in claimed], worker="w1", now=clock.now())
        assert count(tx, outbox.bounces) == 2
        tx.rollback()
    with db.read() as tx:
        assert (count(tx, outbox.bounces), mailings.totals(tx, mailing).failed) == (0, 0)
    settled(db, [(one, NO_SUCH) for one in claimed])
    with db.read() as tx:
        assert (count(tx, outbox.bounces), mailings.totals(tx, mailing).failed) == (2, 2)


@pytest.mark.parametrize("how", ["leaves", "moves"])
def test_a_bounce_goes_with_the_person_or_their_address(db: Database, how: str) -> None:
    a_mailing(db, people=2)
    send(db, refusing(TO, "p0@example.org"))
    with db.write() as tx:
        person = the_subscriber(tx, TO)
        if how == "leaves":
            leave.unsubscribe(tx, person.unsubscribe_token, secret=None, now=clock.now())
        else:
            outbox.redirect(tx, subscriber_id=person.id, to="new@example.org")
    assert [row.email for row in rows(db)] == ["p0@example.org"]


def test_they_are_listed_newest_first_for_seven_days(db: Database) -> None:
    a_mailing(db, people=4)
    send(db, refusing(*(f"p{number}@example.org" for number in range(4))))
    with db.write() as tx:
        for days, email in ((1, "p2"), (6, "p0"), (7, "p3"), (2, "p1")):
            late = clock.now() - timedelta(days=days)
            one = outbox.bounces.c.email == f"{email}@example.org"
            tx.execute(sa.update(outbox.bounces).where(one).values(created_at=late))
        found, total = timed(bounces.listed)(tx, page=1, per_page=2)
        rest, _ = timed(bounces.listed)(tx, page=2, per_page=2)
        assert (total, timed(bounces.count)(tx)) == (3, 3)
        assert [one["email"][:2] for one in found + rest] == ["p2", "p1", "p0"]


def test_after_seven_days_they_are_deleted(db: Database) -> None:
    a_mailing(db, people=2)
    send(db, refusing(TO, "p0@example.org"))
    with db.write() as tx:
        old = clock.now() - timedelta(days=7)
        tx.execute(sa.update(outbox.bounces).where(outbox.bounces.c.email == TO).values(created_at=old))
        while timed(bounces.forget_some)(tx):
            pass
    assert [row.email for row in rows(db)] == ["p0@example.org"]


def test_one_can_be_dismissed_and_the_person_stays(db: Database) -> None:
    a_mailing(db, people=2)
    send(db, refusing(TO))
    with db.write() as tx:
        [bounce] = timed(bounces.listed)(tx, page=1, per_page=9)[0]
        assert bounces.whose(tx, [bounce["id"], "unknown"]) == [the_subscriber(tx, TO).id]
        assert bounces.dismiss(tx, [bounce["id"], "unknown"]) == 1
        assert the_subscriber(tx, TO)
        with pytest.raises(NotFound):
            bounces.dismiss(tx, [bounce["id"]])


def test_a_link_that_bounced_is_a_dead_letter_too(db: Database) -> None:
    with db.write() as tx:
        person = a_subscriber(tx, email=TO)
        a_message(tx, to=TO, subscriber_id=person)
    send(db, refusing(TO))
    with db.read() as tx:
        assert (dead_letters.count(tx), timed(bounces.count)(tx), count(tx, messages)) == (1, 1, 1)
