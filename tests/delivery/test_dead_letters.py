import asyncio
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
import sqlalchemy as sa

from gna import clock, outbox
from gna.db import Database, timed
from gna.delivery import dead_letters
from gna.delivery.pace import Pace
from gna.delivery.sender import Sender
from gna.errors import NotAllowedNow, NotFound
from gna.mail.compile import Sender as From
from gna.outbox import Kind, messages
from gna.subscribers.table import subscribers
from tests.factories import a_mailing, a_message, a_subscriber, count, the_message
from tests.fakes import FakeProvider

TO = "gone@example.org"


@pytest.fixture
def provider() -> FakeProvider:
    provider = FakeProvider()
    provider.refuses(TO, permanently=True)
    return provider


def send(db: Database, provider: FakeProvider) -> None:
    sender = Sender(db, provider, worker="w1", sender=From("n@example.org", "https://x.example"), pace=Pace("fake"))
    asyncio.run(sender.send_due())


def buried(db: Database, provider: FakeProvider) -> tuple[str, str]:
    """A person, and their dead letter."""
    with db.write() as tx:
        person = a_subscriber(tx, email=TO)
        a_message(tx, to=TO, subscriber_id=person)
    send(db, provider)
    with db.read() as tx:
        return person, tx.execute(sa.select(outbox.dead_letters.c.id)).scalar_one()


def test_what_was_refused_for_good_is_kept_with_its_reason(db: Database, provider: FakeProvider) -> None:
    buried(db, provider)
    with db.read() as tx:
        letter = tx.execute(sa.select(outbox.dead_letters)).one()
        message = tx.scalar(sa.select(messages.c.id))
    assert (letter.topic, letter.error) == ("send", "550 no such mailbox")
    assert letter.payload == {"message_id": message, "email": TO, "kind": "confirmation", "attempts": 1}


def test_it_can_be_sent_again_once(db: Database, provider: FakeProvider) -> None:
    _, letter = buried(db, provider)
    provider.takes(TO)
    with db.write() as tx:
        timed(dead_letters.replay)(tx, letter)
        assert count(tx, outbox.dead_letters) == 0
    with db.write() as tx, pytest.raises(NotFound):
        timed(dead_letters.replay)(tx, letter)
    send(db, provider)
    assert [mail.to for mail in provider.sent] == [TO]
    with db.read() as tx:
        message_id = tx.scalar(sa.select(messages.c.id))
        assert (the_message(tx, str(message_id)).status, the_message(tx, str(message_id)).attempt_count) == ("sent", 1)


def test_what_is_refused_again_is_kept_again(db: Database, provider: FakeProvider) -> None:
    _, letter = buried(db, provider)
    with db.write() as tx:
        timed(dead_letters.replay)(tx, letter)
    send(db, provider)
    with db.read() as tx:
        assert count(tx, outbox.dead_letters) == 1


def test_a_message_that_is_not_there_any_more_cannot_be_sent_again(db: Database, provider: FakeProvider) -> None:
    _, letter = buried(db, provider)
    with db.write() as tx:
        tx.execute(sa.delete(messages))
    with db.write() as tx, pytest.raises(NotAllowedNow):
        timed(dead_letters.replay)(tx, letter)


def test_it_can_be_thrown_away_once(db: Database, provider: FakeProvider) -> None:
    _, letter = buried(db, provider)
    with db.write() as tx:
        dead_letters.drop(tx, letter)
        assert (count(tx, outbox.dead_letters), count(tx, messages)) == (0, 0)
    with db.write() as tx, pytest.raises(NotFound):
        dead_letters.drop(tx, letter)


def test_a_letter_is_thrown_away_after_its_message_is(db: Database, provider: FakeProvider) -> None:
    """Another takes the message, then the letter: neither waits for the other in a circle."""
    _, letter = buried(db, provider)

    def drops() -> None:
        with db.write() as tx:
            dead_letters.drop(tx, letter)

    with ThreadPoolExecutor(1) as pool:
        with db.write() as tx:
            tx.execute(sa.update(messages).values(status="pending"))
            dropping = pool.submit(drops)
            wait([dropping], 0.5)
            tx.execute(sa.delete(outbox.dead_letters))
        with pytest.raises(NotFound):
            dropping.result(30)
    with db.read() as tx:
        assert count(tx, messages) == 1


@pytest.mark.parametrize("how", ["leaves", "asks again", "moves", "is forgotten"])
def test_a_dead_letter_goes_with_the_person_or_what_it_said(db: Database, provider: FakeProvider, how: str) -> None:
    person, _ = buried(db, provider)
    with db.write() as tx:
        if how == "leaves":
            tx.execute(sa.delete(subscribers).where(subscribers.c.id == person))
        elif how == "asks again":
            outbox.withdraw(tx, kind=Kind.CONFIRMATION, subscriber_id=person)
        elif how == "moves":
            outbox.redirect(tx, subscriber_id=person, to="new@example.org")
        else:
            outbox.forget(tx, Kind.CONFIRMATION, before=clock.now())
        assert count(tx, outbox.dead_letters) == 0
        assert TO not in repr(tx.execute(sa.text("SELECT * FROM messages")).all())


def test_a_campaign_counts_its_refusals_and_keeps_no_letter(db: Database, provider: FakeProvider) -> None:
    a_mailing(db, people=2)
    provider.refuses("p1@example.org", permanently=True)
    send(db, provider)
    with db.read() as tx:
        assert (count(tx, outbox.dead_letters), count(tx, messages)) == (0, 0)
