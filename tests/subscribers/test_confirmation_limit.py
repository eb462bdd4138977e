"""At most 5 confirmation mails an hour to one address, whoever asks and wherever."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from gna import clock, tokens
from gna.db import Database
from gna.outbox import Kind, messages
from gna.subscribers import confirmation_limit
from gna.subscribers.cleanup import clean_up
from gna.subscribers.confirm import Confirmed, confirm
from gna.subscribers.confirmation_limit import spend, times_in_window
from gna.subscribers.leave import remove, unsubscribe
from gna.subscribers.profile import Updated, Wish, update
from gna.subscribers.signup import SignUp, subscribe
from gna.subscribers.table import confirmation_requests, memberships, subscribers
from tests.factories import NOW, SITE, a_subscriber, count, the_subscriber

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
ANA = "ana@example.org"


def sign_up(db: Database, email: str = ANA, *, at: timedelta = timedelta(), nickname: str | None = None) -> str | None:
    """Fill in the form; the token of the mail that leaves, or None if none does."""
    with db.write() as tx:
        subscribe(tx, SignUp.parse(email=email, nickname=nickname), site=SITE, secret=None, now=NOW + at)
    return leaves(db, Kind.CONFIRMATION)


def leaves(db: Database, kind: Kind) -> str | None:
    """Take the mail of this kind out of the outbox, as the sender would; its token."""
    with db.write() as tx:
        rows = tx.execute(sa.delete(messages).where(messages.c.kind == kind).returning(messages.c.slots)).all()
    if not rows:
        return None
    [row] = rows
    return str(row.slots["confirm_url"].partition("token=")[2])


def mails(db: Database, times: int, email: str = ANA, *, at: timedelta = timedelta()) -> int:
    """Fill in the form so many times; how many mails left."""
    return sum(sign_up(db, email, at=at) is not None for _ in range(times))


def test_the_sixth_sign_up_of_an_address_mails_nothing(db: Database) -> None:
    assert mails(db, 300) == 5


def test_an_hour_later_there_is_one_more_for_each_that_is_over(db: Database) -> None:
    assert mails(db, 2) == 2
    assert mails(db, 9, at=30 * MINUTE) == 3
    assert mails(db, 9, at=59 * MINUTE) == 0
    assert mails(db, 9, at=60 * MINUTE) == 2
    assert mails(db, 9, at=90 * MINUTE) == 3


def test_a_refused_request_does_not_prolong_the_wait(db: Database) -> None:
    assert mails(db, 5) == 5
    assert [mails(db, 3, at=minutes * MINUTE) for minutes in range(10, 60, 10)] == [0] * 5
    assert mails(db, 9, at=HOUR) == 5


def test_every_spelling_of_an_address_counts_as_one(db: Database) -> None:
    spellings = ("ana@bücher.example", "ANA@xn--bcher-kva.example", "Ana@BÜCHER.example", "ana@xn--bcher-KVA.example")
    assert sum(mails(db, 2, spelling) for spelling in spellings) == 5


def test_other_addresses_have_their_own_limit(db: Database) -> None:
    assert mails(db, 6) == 5
    assert mails(db, 6, "bo@example.org") == 5


def test_the_link_of_the_last_mail_works_after_the_sixth_request(db: Database) -> None:
    *_, last = [sign_up(db) for _ in range(5)]
    assert sign_up(db, at=MINUTE) is None
    with db.write() as tx:
        assert confirm(tx, str(last), secret=None, now=NOW + 2 * MINUTE) is Confirmed.SUBSCRIBED


def test_the_sixth_request_takes_back_no_mail_that_waits(db: Database) -> None:
    mails(db, 4)
    with db.write() as tx:
        for _ in range(3):
            subscribe(tx, SignUp(ANA), site=SITE, secret=None, now=NOW)
    assert leaves(db, Kind.CONFIRMATION)


def test_the_sixth_request_still_replaces_the_nickname_of_a_pending_person(db: Database) -> None:
    mails(db, 5)
    assert sign_up(db, nickname="Anca") is None
    with db.read() as tx:
        assert the_subscriber(tx, ANA).nickname == "Anca"


def test_somebody_who_leaves_and_comes_back_has_what_is_left_of_the_hour(db: Database) -> None:
    mails(db, 3)
    with db.write() as tx:
        unsubscribe(tx, the_subscriber(tx, ANA).unsubscribe_token, secret=None, now=NOW)
    assert mails(db, 3) == 2
    with db.write() as tx:
        remove(tx, [the_subscriber(tx, ANA).id])
    assert mails(db, 3) == 0
    with db.read() as tx:
        assert the_subscriber(tx, ANA).activated_at is None
    assert mails(db, 6, at=HOUR) == 5


def test_a_subscriber_who_left_the_general_list_is_asked_five_times_too(db: Database) -> None:
    with db.write() as tx:
        person = a_subscriber(tx, activated=True)
        left = {"subscriber_id": person, "list_key": "general", "created_at": NOW, "unsubscribed_at": NOW}
        tx.execute(sa.insert(memberships).values(left))
    assert mails(db, 6) == 5


def test_requests_count_whether_or_not_a_mail_follows(db: Database) -> None:
    """Otherwise the limit would tell who is subscribed."""
    with db.write() as tx:
        a_subscriber(tx, activated=True)
    assert mails(db, 5) == 0
    assert mails(db, 5, "stranger@example.org") == 5
    with db.read() as tx:
        rows = tx.execute(sa.select(confirmation_requests.c.times, confirmation_requests.c.last_at)).all()
    assert rows[0] == rows[1]
    assert len(rows[0].times) == 5


def test_processes_on_one_database_count_together(db: Database, database_url: str) -> None:
    """Each reads the time before it waits for the others, so their times are in no order."""
    other = Database(database_url)

    def ask(number: int) -> bool:
        with (db, other)[number % 2].write() as tx:
            return spend(tx, ANA, secret="k" * 32, now=NOW - timedelta(milliseconds=number))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(60))) == 5
    other.close()


@pytest.mark.parametrize("jump", [2 * MINUTE, 6 * HOUR, timedelta(days=30)], ids=str)
def test_a_clock_that_is_set_back_locks_an_address_for_an_hour_at_most(db: Database, jump: timedelta) -> None:
    assert mails(db, 6) == 5
    assert mails(db, 6, at=-jump) == 0
    assert mails(db, 6, at=-jump + HOUR) == 5


def test_a_clock_that_went_wrong_for_a_moment_locks_no_address_later(db: Database) -> None:
    assert mails(db, 6, at=timedelta(days=30)) == 5
    with db.write() as tx:
        clean_up(tx, now=NOW)
        assert count(tx, confirmation_requests) == 0
    assert mails(db, 6) == 5


def test_the_times_that_count() -> None:
    def shifted(*minutes: float) -> list[datetime]:
        return [NOW + minute * MINUTE for minute in minutes]

    assert times_in_window(shifted(-61, -60, -59, -1, 0), now=NOW) == shifted(-59, -1, 0)
    assert times_in_window(shifted(-1, 1, 600), now=NOW) == shifted(-1, 0, 0)
    assert times_in_window([], now=NOW) == []


def test_the_clean_up_forgets_what_is_older_than_an_hour(db: Database) -> None:
    sign_up(db)
    sign_up(db, "bo@example.org", at=MINUTE)
    with db.write() as tx:
        clean_up(tx, now=NOW + HOUR + timedelta(seconds=1))
        assert count(tx, confirmation_requests) == 1
        clean_up(tx, now=NOW + HOUR + 2 * MINUTE)
        assert count(tx, confirmation_requests) == 0


def test_the_row_holds_no_address_and_no_hash_that_can_be_guessed(db: Database) -> None:
    with db.write() as tx:
        spend(tx, ANA, secret="k" * 32, now=NOW)
        row = tx.execute(sa.select(confirmation_requests)).one()
    assert row.hash == tokens.keyed(ANA, b"k" * 32)
    assert row.times == [clock.iso(NOW)]
    assert "ana" not in str(row)


class TestChangingTheAddress:
    """The mail to a new address is one that strangers can cause too."""

    NEW = "new@example.org"

    def asks(self, db: Database, person: str = ANA, email: str = NEW) -> str | None:
        """Change the address, after a magic link; the token of the mail that leaves, or None if none does."""
        token = tokens.new()
        with db.write() as tx:
            entering = {"magic_link_token": tokens.digest(token), "magic_link_expires_at": NOW + HOUR}
            tx.execute(sa.update(subscribers).where(subscribers.c.email == person).values(entering))
            updated = update(tx, token, Wish.parse(email=email), site=SITE, secret=None, now=NOW)
        assert updated is Updated.AWAITING
        return leaves(db, Kind.EMAIL_CHANGE)

    def test_six_people_who_ask_for_one_address_mail_it_five_times(self, db: Database) -> None:
        people = [f"p{number}@example.org" for number in range(6)]
        with db.write() as tx:
            for email in people:
                a_subscriber(tx, email=email, activated=True)
        assert [self.asks(db, email) is not None for email in people] == [True] * 5 + [False]
        assert sign_up(db, self.NEW) is None

    def test_the_link_of_the_last_mail_keeps_working(self, db: Database) -> None:
        with db.write() as tx:
            a_subscriber(tx, activated=True)
        *_, last = [self.asks(db) for _ in range(5)]
        assert self.asks(db, email="New@Example.org") is None
        with db.write() as tx:
            assert confirm(tx, str(last), secret=None, now=NOW) is Confirmed.ADDRESS_CHANGED

    def test_a_link_to_one_address_never_confirms_another(self, db: Database) -> None:
        with db.write() as tx:
            a_subscriber(tx, activated=True)
        mails(db, confirmation_limit.MAILS, "full@example.org")
        with db.write() as tx:
            remove(tx, [the_subscriber(tx, "full@example.org").id])
        mistyped = self.asks(db, email="mistyped@example.org")
        assert self.asks(db, email="full@example.org") is None
        with db.write() as tx:
            assert confirm(tx, str(mistyped), secret=None, now=NOW) is Confirmed.NOT
            assert the_subscriber(tx, ANA).pending_email == "full@example.org"
