from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import sqlalchemy as sa

from gna import tokens
from gna.db import Database
from gna.errors import Refused
from gna.mail.address import Reach
from gna.outbox import messages
from gna.subscribers.confirm import Confirmed, confirm
from gna.subscribers.lists import Leaving, leave
from gna.subscribers.signup import SignUp, parse_nickname, subscribe
from gna.subscribers.table import GENERAL, subscribers
from tests.factories import NOW, SITE, a_subscriber, count, the_subscriber

LATER = NOW + timedelta(hours=1)


def sign_up(db: Database, email: str = "ana@example.org", nickname: str | None = None) -> None:
    with db.write() as tx:
        subscribe(tx, SignUp.parse(email=email, nickname=nickname), site=SITE, secret=None, now=NOW)


def mailed_token(db: Database) -> str:
    """The token in the one mail that waits in the outbox."""
    with db.read() as tx:
        slots = tx.execute(sa.select(messages.c.slots)).scalar_one()
    start, _, token = slots["confirm_url"].partition("?token=")
    assert start == "https://news.example.org/confirm"
    return str(token)


def click(db: Database, token: str, *, at: timedelta = timedelta()) -> Confirmed:
    with db.write() as tx:
        return confirm(tx, token, secret=None, now=NOW + at)


def test_a_sign_up_writes_a_pending_person_and_their_mail_together(db: Database) -> None:
    sign_up(db, nickname="Ana")
    with db.read() as tx:
        person = the_subscriber(tx, "ana@example.org")
        message = tx.execute(sa.select(messages)).one()
    assert (person.nickname, person.activated_at, person.created_at) == ("Ana", None, NOW)
    assert person.confirmation_expires_at == NOW + timedelta(hours=24)
    assert (message.to_email, message.status, message.subscriber_id) == (
        "ana@example.org",
        "pending",
        person.id,
    )


def test_a_failed_transaction_leaves_neither_person_nor_mail(db: Database) -> None:
    with pytest.raises(RuntimeError), db.write() as tx:
        subscribe(tx, SignUp.parse(email="ana@example.org"), site=SITE, secret=None, now=NOW)
        raise RuntimeError
    with db.read() as tx:
        assert (count(tx, subscribers), count(tx, messages)) == (0, 0)


def test_the_token_itself_is_not_in_the_subscribers_table(db: Database) -> None:
    sign_up(db)
    with db.read() as tx:
        stored = the_subscriber(tx, "ana@example.org").confirmation_token
    assert stored == tokens.digest(mailed_token(db))


def test_the_link_activates(db: Database) -> None:
    sign_up(db)
    assert click(db, mailed_token(db), at=timedelta(hours=1)) is Confirmed.SUBSCRIBED
    with db.read() as tx:
        person = the_subscriber(tx, "ana@example.org")
    assert person.activated_at == LATER
    assert (person.confirmation_token, person.confirmation_expires_at) == (None, None)


def test_a_second_confirm_click_changes_nothing(db: Database) -> None:
    sign_up(db)
    token = mailed_token(db)
    click(db, token)
    assert click(db, token, at=timedelta(hours=1)) is Confirmed.BEFORE
    with db.read() as tx:
        assert the_subscriber(tx, "ana@example.org").activated_at == NOW


def test_a_used_link_is_forgotten_with_its_24_hours(db: Database) -> None:
    sign_up(db)
    token = mailed_token(db)
    click(db, token)
    assert click(db, token, at=timedelta(hours=24)) is Confirmed.NOT


def test_an_expired_link_does_not_activate(db: Database) -> None:
    sign_up(db)
    assert click(db, mailed_token(db), at=timedelta(hours=24)) is Confirmed.NOT
    with db.read() as tx:
        assert the_subscriber(tx, "ana@example.org").activated_at is None


def test_an_unknown_link_does_nothing(db: Database) -> None:
    sign_up(db)
    assert click(db, tokens.new()) is Confirmed.NOT


def test_signing_up_again_replaces_the_link(db: Database) -> None:
    sign_up(db, nickname="Ana")
    first = mailed_token(db)
    sign_up(db, email="ANA@example.org")
    second = mailed_token(db)
    assert click(db, first) is Confirmed.NOT
    assert click(db, second) is Confirmed.SUBSCRIBED
    with db.read() as tx:
        assert count(tx, subscribers) == 1
        assert the_subscriber(tx, "ana@example.org").nickname == "Ana"


def test_an_address_beyond_ascii_is_one_person_in_any_case(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reach, "international", True)
    for email in ("Ünal@example.org", "ünal@example.org", "ÜNAL@EXAMPLE.org"):
        sign_up(db, email)
    with db.read() as tx:
        assert count(tx, subscribers) == 1


def test_a_new_nickname_replaces_that_of_a_pending_person(db: Database) -> None:
    sign_up(db, nickname="Ana")
    sign_up(db, nickname="Anca")
    with db.read() as tx:
        assert the_subscriber(tx, "ana@example.org").nickname == "Anca"


def test_for_a_confirmed_person_nothing_happens(db: Database) -> None:
    with db.write() as tx:
        a_subscriber(tx, activated=True)
        before = the_subscriber(tx, "ana@example.org")
    sign_up(db, email="Ana@Example.org", nickname="Eve")
    with db.read() as tx:
        assert the_subscriber(tx, "ana@example.org") == before
        assert count(tx, messages) == 0


def test_many_sign_ups_for_one_address_at_once_make_one_person_and_one_mail(db: Database) -> None:
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda _: sign_up(db), range(40)))
    with db.read() as tx:
        assert (count(tx, subscribers), count(tx, messages)) == (1, 1)
    assert click(db, mailed_token(db)) is Confirmed.SUBSCRIBED


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (None, None),
        ("", None),
        (" Ana ", "Ana"),
        ("x" * 50, "x" * 50),
        ("👩\u200d💻", "👩\u200d💻"),
        ("😀" * 50, "😀" * 50),
    ],
)
def test_a_nickname_is_trimmed_and_counted_in_code_points(typed: object, kept: str | None) -> None:
    assert parse_nickname(typed) == kept


@pytest.mark.parametrize(
    "typed", ["   ", "x" * 51, 7, ["Ana"], "A\0na", "A\nna", "\ud800", "\u200b", "\u3164", "A\u202ena"]
)
def test_other_nicknames_are_refused(typed: object) -> None:
    with pytest.raises(Refused, match="Nickname"):
        parse_nickname(typed)


def test_who_left_the_list_and_awaits_a_new_address_keeps_the_link_of_that_change(db: Database) -> None:
    with db.write() as tx:
        a_subscriber(tx, activated=True, pending_email="new@example.org", confirmation_token="of the change")
        leave(tx, Leaving("ana@example.org", GENERAL), now=NOW)
    sign_up(db)
    with db.read() as tx:
        person = the_subscriber(tx, "ana@example.org")
    assert (person.pending_email, person.confirmation_token) == ("new@example.org", "of the change")
