import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import product

import pytest
import sqlalchemy as sa

from gna import clock
from gna.db import Database
from gna.delivery import mailings
from gna.delivery.mailings import MOVES, State
from gna.errors import NotAllowedNow, Refused
from gna.mail.content import Content
from gna.outbox import Kind, Status, messages
from gna.subscribers import lists
from gna.subscribers.table import subscribers
from tests.factories import NEWS, NOW, a_mailing, a_subscriber, count

EVERYBODY = sa.select(subscribers.c.id).where(subscribers.c.activated_at.is_not(None))


def state_of(db: Database, mailing: int) -> State:
    with db.read() as tx:
        return mailings.totals(tx, mailing).state


def test_everybody_gets_one_message_however_often_it_is_filled(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailings, "CHUNK", 3)
    with db.write() as tx:
        for number in range(8):
            a_subscriber(tx, email=f"p{number}@example.org", activated=number != 5)
        mailing = mailings.begin(tx, kind=Kind.CAMPAIGN, now=NOW)
        mailings.expect(tx, mailing, mailings.measure(tx, EVERYBODY))
    rounds = 0
    while True:
        with db.write() as tx:
            if not mailings.fill(tx, mailing, NEWS, EVERYBODY, now=NOW):
                break
        rounds += 1
    with db.write() as tx:
        assert not mailings.fill(tx, mailing, NEWS, EVERYBODY, now=NOW)
        assert (rounds, mailings.totals(tx, mailing).audience, count(tx, messages)) == (3, 7, 7)
        row = tx.execute(sa.select(messages).limit(1)).one()
        assert (row.to_email, row.slots, row.mailing_id, row.content_hash) == (None, None, mailing, NEWS.hash)
        assert len(row.id) == 36
        assert len(set(tx.scalars(sa.select(messages.c.id)))) == 7


def test_no_row_of_a_filled_mailing_names_a_person_but_its_messages(db: Database) -> None:
    mailing = a_mailing(db, people=3)
    with db.write() as tx:
        people = tx.scalars(sa.select(subscribers.c.id)).all()
        tx.execute(sa.delete(messages))
        mailings.count(tx, mailing, sent=3)
        mailings.finish(tx, now=NOW)
        row = tx.execute(sa.select(mailings.mailings)).one()
    assert row.state == State.DONE
    assert not [person for person in people if person in repr(row)]


def test_a_mark_that_did_not_move_makes_nothing_twice(db: Database) -> None:
    with db.write() as tx:
        a_subscriber(tx, activated=True)
        mailing = mailings.begin(tx, kind=Kind.CAMPAIGN, now=NOW)
        mailings.expect(tx, mailing, mailings.measure(tx, EVERYBODY))
        mailings.fill(tx, mailing, NEWS, EVERYBODY, now=NOW)
        tx.execute(sa.update(mailings.mailings).values(filled_to=""))
        assert mailings.fill(tx, mailing, NEWS, EVERYBODY, now=NOW)
        assert (count(tx, messages), mailings.totals(tx, mailing).audience) == (1, 1)


def test_who_leaves_meanwhile_gets_nothing_and_is_left_over(db: Database) -> None:
    mailing = a_mailing(db, people=3)
    with db.write() as tx:
        tx.execute(sa.delete(subscribers).where(subscribers.c.email == "p1@example.org"))
        assert count(tx, messages) == 2
        tx.execute(sa.delete(messages))
        mailings.count(tx, mailing, sent=2)
        assert [done for done, _ in mailings.finish(tx, now=NOW)] == [mailing]
        sums = mailings.totals(tx, mailing)
    assert (sums.audience, sums.sent, sums.failed, sums.left) == (3, 2, 0, 1)


@pytest.mark.parametrize(("start", "end"), [*product(State, State)])
def test_a_mailing_moves_only_where_the_table_says(db: Database, start: State, end: State) -> None:
    """Every pair; what nobody can ask for has no verb."""
    mailing = a_mailing(db, people=1)
    with db.write() as tx:
        tx.execute(sa.update(mailings.mailings).values(state=start))
        if start != State.GOING:
            tx.execute(sa.update(messages).values(status=Status.FAILED_PERMANENT))
        else:
            tx.execute(sa.delete(messages))
        verbs = {State.PAUSED: mailings.pause, State.DONE: lambda tx, _: mailings.finish(tx, now=NOW)}
        back = mailings.resume if start == State.PAUSED else lambda tx, it: mailings.retry(tx, it, now=NOW)
        verb = verbs.get(end, back)
        try:
            verb(tx, mailing)
        except NotAllowedNow:
            assert end not in MOVES.get(start, ())
    if end in MOVES.get(start, ()):
        assert state_of(db, mailing) == end
    elif start != end:
        assert state_of(db, mailing) == start


@pytest.mark.parametrize("status", [Status.PENDING, Status.FAILED_TRANSIENT, Status.SENDING])
def test_a_mailing_is_not_done_while_a_message_is_on_its_way(db: Database, status: Status) -> None:
    a_mailing(db, people=1)
    with db.write() as tx:
        tx.execute(sa.update(messages).values(status=status))
        assert mailings.finish(tx, now=NOW) == []


def test_a_mailing_that_is_still_being_filled_is_not_done(db: Database) -> None:
    with db.write() as tx:
        mailings.begin(tx, kind=Kind.CAMPAIGN, now=NOW)
        assert mailings.finish(tx, now=NOW) == []


def test_refused_messages_go_when_something_was_sent_and_stay_a_week_when_nothing_was(db: Database) -> None:
    some, none = a_mailing(db, people=2), a_mailing(db, people=2)
    now = clock.now()
    with db.write() as tx:
        tx.execute(sa.update(messages).values(status=Status.FAILED_PERMANENT))
        mailings.count(tx, some, sent=1, failed=2)
        mailings.count(tx, none, failed=2)
        mailings.finish(tx, now=now)
        while mailings.forget_some(tx, now=now):
            pass
        assert set(tx.scalars(sa.select(messages.c.mailing_id))) == {none}
        assert not mailings.forget_some(tx, now=now + timedelta(days=6))
        assert mailings.forget_some(tx, now=now + timedelta(days=8))
        assert count(tx, messages) == 0


def test_trying_again_sends_only_what_was_given_up(db: Database) -> None:
    mailing = a_mailing(db, people=3)
    with db.write() as tx:
        tx.execute(sa.update(messages).values(status=Status.FAILED_PERMANENT, attempt_count=12))
        mailings.count(tx, mailing, failed=3)
        mailings.finish(tx, now=NOW)
        assert mailings.retry(tx, mailing, now=NOW) == 3
        assert set(tx.scalars(sa.select(messages.c.status))) == {"pending"}
        assert set(tx.scalars(sa.select(messages.c.attempt_count))) == {0}
        sums = mailings.totals(tx, mailing)
    assert (sums.state, sums.failed, sums.left) == ("going", 0, 3)


def test_a_mailing_of_which_nothing_is_left_keeps_its_sums(db: Database) -> None:
    mailing = a_mailing(db, people=3)
    with db.write() as tx:
        tx.execute(sa.delete(messages))
        mailings.count(tx, mailing, sent=2, failed=1)
        mailings.finish(tx, now=NOW)
    with pytest.raises(NotAllowedNow, match="Nothing is left"), db.write() as tx:
        mailings.retry(tx, mailing, now=NOW)
    with db.read() as tx:
        assert (mailings.totals(tx, mailing).state, mailings.totals(tx, mailing).failed) == ("done", 1)


def test_a_field_that_nobody_has_is_refused_by_name(db: Database) -> None:
    with db.write() as tx, pytest.raises(Refused, match="Unknown field: typo"):
        mailing = mailings.begin(tx, kind=Kind.CAMPAIGN, now=NOW)
        mailings.expect(tx, mailing, mailings.measure(tx, EVERYBODY))
        mailings.fill(tx, mailing, Content("x", "<p>{{ typo }}</p>", "x"), EVERYBODY, now=NOW)


def test_who_is_just_leaving_is_waited_for(db: Database) -> None:
    """One deletes, one leaves the list: neither gets a message, and nobody else loses theirs."""
    with db.write() as tx:
        people = [a_subscriber(tx, email=f"p{number}@example.org", activated=True) for number in range(5)]
        lists.put(tx, {person: ["weekly"] for person in people}, now=NOW)
        everybody = sa.select(subscribers.c.id).where(lists.on_list("weekly"))
        mailing = mailings.begin(tx, kind=Kind.CAMPAIGN, list_key="weekly", now=NOW)
        mailings.expect(tx, mailing, mailings.measure(tx, everybody))

    def fill() -> None:
        with db.write() as tx:
            mailings.fill(tx, mailing, NEWS, everybody, now=NOW)

    with ThreadPoolExecutor() as threads:
        with db.write() as tx:
            lists.leave(tx, lists.Leaving("p1@example.org", "weekly"), now=NOW)
            tx.execute(sa.delete(subscribers).where(subscribers.c.id == people[3]))
            filled = threads.submit(fill)
            time.sleep(0.3)
        filled.result(10)
    with db.read() as tx:
        assert set(tx.scalars(sa.select(messages.c.subscriber_id))) == {people[0], people[2], people[4]}
