import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from gna import outbox
from gna.db import Database
from gna.delivery import mailings
from gna.delivery.claim import SQLITE_DUE, Claimed, ClaimKind, Lanes
from gna.delivery.settle import Result, settle
from gna.delivery.sweep import take_back
from gna.outbox import Kind, Letter, Status, messages
from gna.providers.protocol import Accepted, Outcome, RefusedForGood, TryLater
from tests.factories import HELLO, NOW, a_message, a_subscriber, count, the_message


def claimed(db: Database, *, worker: str = "w1", now: datetime = NOW, limit: int = 200) -> list[Claimed]:
    with db.write() as tx:
        return Lanes().claim(tx, worker=worker, now=now, limit=limit, bulk=limit)


def settled(db: Database, message: Claimed, outcome: Outcome, *, worker: str = "w1") -> None:
    with db.write() as tx:
        settle(tx, [(message, outcome)], worker=worker, now=NOW)


def test_posting_the_same_key_twice_is_one_message(db: Database) -> None:
    with db.write() as tx:
        letter = Letter(kind=Kind.CONFIRMATION, key="same", to="a@b.org", content=HELLO, slots={"name": "A"})
        outbox.post(tx, letter, now=NOW)
        outbox.post(tx, letter, now=NOW)
        assert count(tx, messages) == 1


def test_the_same_content_is_stored_once(db: Database) -> None:
    with db.write() as tx:
        a_message(tx)
        a_message(tx)
        assert count(tx, outbox.contents) == 1


def test_withdrawing_takes_back_one_persons_messages_and_nobody_elses(db: Database) -> None:
    with db.write() as tx:
        person, other = a_subscriber(tx), a_subscriber(tx, email="other@example.org")
        for status in Status:
            a_message(tx, subscriber_id=person, status=status)
        kept = a_message(tx, subscriber_id=other)
        outbox.withdraw(tx, kind=Kind.CONFIRMATION, subscriber_id=person)
        assert tx.scalars(sa.select(messages.c.id)).all() == [kept]


def test_a_claim_takes_no_more_than_a_batch(db: Database) -> None:
    with db.write() as tx:
        for _ in range(5):
            a_message(tx)
    assert [len(claimed(db, limit=2)) for _ in range(4)] == [2, 2, 1, 0]


def test_claiming_counts_the_attempt_and_says_who_sends(db: Database) -> None:
    with db.write() as tx:
        message_id = a_message(tx)
    [message] = claimed(db)
    assert (message.id, message.to, message.attempt) == (message_id, "ana@example.org", 1)
    assert (message.content_hash, message.slots) == (HELLO.hash, {"name": "Ana"})
    with db.read() as tx:
        row = the_message(tx, message_id)
    assert (row.status, row.claimed_by, row.attempt_count, row.last_attempt_at) == ("sending", "w1", 1, NOW)


def test_a_message_with_an_address_of_its_own_goes_there_and_not_to_its_persons_address(db: Database) -> None:
    with db.write() as tx:
        person = a_subscriber(tx, email="old@example.org", activated=True)
        a_message(tx, to="new@example.org", subscriber_id=person)
    [message] = claimed(db)
    assert message.to == "new@example.org"


def test_what_is_claimed_is_not_claimed_again(db: Database) -> None:
    with db.write() as tx:
        a_message(tx)
    assert len(claimed(db)) == 1
    assert claimed(db, worker="w2") == []


@pytest.mark.parametrize("status", [Status.SENDING, Status.SENT, Status.FAILED_PERMANENT])
def test_only_waiting_messages_are_claimed(db: Database, status: Status) -> None:
    with db.write() as tx:
        a_message(tx, status=status)
    assert claimed(db) == []


def test_a_message_is_not_claimed_before_it_is_due(db: Database) -> None:
    with db.write() as tx:
        a_message(tx, status=Status.FAILED_TRANSIENT, due_at=NOW + timedelta(seconds=10))
    assert claimed(db, now=NOW + timedelta(seconds=9)) == []
    assert len(claimed(db, now=NOW + timedelta(seconds=10))) == 1


@pytest.mark.parametrize("jump", [timedelta(minutes=2), timedelta(hours=6), timedelta(days=30)])
def test_a_new_message_is_claimed_though_the_clock_was_set_back(db: Database, jump: timedelta) -> None:
    with db.write() as tx:
        a_message(tx)
    assert len(claimed(db, now=NOW - jump)) == 1


def test_a_retry_that_is_due_does_not_wait_for_all_new_messages(db: Database) -> None:
    with db.write() as tx:
        retry = a_message(tx, status=Status.FAILED_TRANSIENT, due_at=NOW)
        for _ in range(3):
            a_message(tx, due_at=NOW - timedelta(seconds=1))
    assert claimed(db, limit=1)[0].id == retry


def test_two_workers_never_win_the_same_message(db: Database) -> None:
    with db.write() as tx:
        for _ in range(300):
            a_message(tx)
    won: dict[str, list[str]] = {"w1": [], "w2": [], "w3": []}

    def work(worker: str) -> None:
        while batch := claimed(db, worker=worker, limit=7):
            won[worker] += [message.id for message in batch]

    threads = [threading.Thread(target=work, args=(worker,)) for worker in won]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = [message for batch in won.values() for message in batch]
    assert len(everything) == len(set(everything)) == 300


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_two_busy_workers_share_a_mailing_and_win_every_message_once(db: Database) -> None:
    mailing = a_mailing_of(db, 50_000)
    won: dict[str, list[str]] = {"w1": [], "w2": []}
    together = threading.Barrier(len(won))

    def work(worker: str) -> None:
        lanes, results = Lanes(), list[Result]()
        together.wait()
        while True:
            with db.write() as tx:  # as the sender does: settle what is known, claim what is next
                settle(tx, results, worker=worker, now=NOW)
                batch = lanes.claim(tx, worker=worker, now=NOW, limit=500, bulk=500)
            if not batch:
                return
            won[worker] += [message.id for message in batch]
            results = [(message, Accepted("p-1")) for message in batch]

    with ThreadPoolExecutor() as both:
        list(both.map(work, won))
    assert sorted(won["w1"] + won["w2"]) == sorted(str(number) for number in range(50_000))
    assert min(len(ids) for ids in won.values()) > 10_000
    with db.read() as tx:
        assert count(tx, messages) == 0
        assert mailings.totals(tx, mailing).sent == 50_000


def a_mailing_of(db: Database, people: int) -> int:
    """A mailing with so many messages, made quickly: they have no content and lead to nobody."""
    make = sa.text(
        "INSERT INTO messages (id, delivery_key, kind, mailing_id, to_email, status, due_at, created_at) "
        "SELECT n, n, 'campaign', :mailing, 'ana@example.org', 'pending', :now - n * interval '1 microsecond', :now "
        "FROM generate_series(0, :people - 1) n"
    )
    with db.write() as tx:
        mailing = mailings.begin(tx, kind=Kind.CAMPAIGN, now=NOW)
        tx.execute(make, {"mailing": mailing, "now": NOW, "people": people})
    return mailing


def test_a_sent_confirmation_keeps_neither_address_nor_link(db: Database) -> None:
    with db.write() as tx:
        message_id = a_message(tx, last_error="551 ana@example.org moved")
    settled(db, claimed(db)[0], Accepted("p-1"))
    with db.read() as tx:
        row = the_message(tx, message_id)
        raw = tx.execute(sa.text("SELECT * FROM messages")).one()
    assert (row.status, row.sent_at, row.provider_message_id, row.claimed_by) == ("sent", NOW, "p-1", None)
    assert (row.to_email, row.slots, row.content_hash, row.last_error) == (None, None, None, None)
    assert "ana@" not in repr(raw)


def test_a_refused_message_is_final_and_says_why(db: Database) -> None:
    with db.write() as tx:
        message_id = a_message(tx)
    settled(db, claimed(db)[0], RefusedForGood("550 no such mailbox"))
    with db.read() as tx:
        row = the_message(tx, message_id)
    assert (row.status, row.last_error) == ("failed_permanent", "550 no such mailbox")
    assert claimed(db, now=NOW + timedelta(days=9)) == []


def test_a_message_to_try_later_is_due_after_its_wait(db: Database) -> None:
    with db.write() as tx:
        message_id = a_message(tx)
    settled(db, claimed(db)[0], TryLater("451"))
    with db.read() as tx:
        row = the_message(tx, message_id)
    assert (row.status, row.due_at, row.attempt_count) == ("failed_transient", NOW + timedelta(seconds=1), 1)


def test_waiting_as_asked_gives_the_attempt_back(db: Database) -> None:
    with db.write() as tx:
        message_id = a_message(tx)
    settled(db, claimed(db)[0], TryLater("429", after=timedelta(seconds=7), away=True))
    with db.read() as tx:
        row = the_message(tx, message_id)
    assert (row.due_at, row.attempt_count) == (NOW + timedelta(seconds=7), 0)


def test_a_result_that_comes_too_late_changes_nothing(db: Database) -> None:
    with db.write() as tx:
        message_id = a_message(tx)
    [message] = claimed(db, worker="w1")
    with db.write() as tx:
        take_back(tx, worker="w2", now=NOW)
    claimed(db, worker="w2")
    settled(db, message, RefusedForGood("late"), worker="w1")
    with db.read() as tx:
        assert (the_message(tx, message_id).status, the_message(tx, message_id).claimed_by) == (
            "sending",
            "w2",
        )


@pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
@pytest.mark.parametrize("due", ClaimKind)
def test_a_claim_reads_no_more_than_it_takes(db: Database, due: ClaimKind) -> None:
    """Sorting, or reading past messages of another status, would cost more with every message that waits."""
    statement = SQLITE_DUE.format(due=due.format(now=":now"))
    with db.read() as tx:
        values = {"mailing": 1, "now": "", "limit": 10}
        steps = [row.detail for row in tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)]
    index = "idx_messages_new" if due is ClaimKind.NEW else "idx_messages_retry"
    assert any(f"SEARCH m USING INDEX {index} (mailing_id=?" in step for step in steps)
    assert not any("TEMP B-TREE" in step for step in steps)
