from datetime import timedelta

import sqlalchemy as sa

from gna.db import Database
from gna.outbox import messages
from gna.subscribers.cleanup import clean_up
from gna.subscribers.table import subscribers, used_tokens
from tests.factories import NOW, a_message, a_subscriber, count, the_subscriber

PAST, FUTURE = NOW - timedelta(seconds=1), NOW + timedelta(seconds=1)


def test_people_who_never_confirmed_are_deleted_with_their_mail(db: Database) -> None:
    with db.write() as tx:
        gone = a_subscriber(tx, email="gone@example.org", confirmation_expires_at=PAST)
        a_message(tx, subscriber_id=gone)
        a_subscriber(tx, email="waits@example.org", confirmation_expires_at=FUTURE)
        a_subscriber(tx, email="stays@example.org", activated=True)
        assert clean_up(tx, now=NOW) == 1
        assert the_subscriber(tx, "gone@example.org") is None
        assert (count(tx, subscribers), count(tx, messages)) == (2, 0)


def test_an_expired_address_change_is_forgotten_and_the_person_stays(db: Database) -> None:
    with db.write() as tx:
        a_subscriber(
            tx,
            activated=True,
            confirmation_token="x",
            confirmation_expires_at=PAST,
            pending_email="new@example.org",
        )
        clean_up(tx, now=NOW)
        person = the_subscriber(tx, "ana@example.org")
    assert (person.confirmation_token, person.confirmation_expires_at, person.pending_email) == (
        None,
        None,
        None,
    )


def test_an_expired_magic_link_is_cleared(db: Database) -> None:
    with db.write() as tx:
        a_subscriber(tx, activated=True, magic_link_token="x", magic_link_expires_at=PAST)
        clean_up(tx, now=NOW)
        person = the_subscriber(tx, "ana@example.org")
    assert (person.magic_link_token, person.magic_link_expires_at) == (None, None)


def test_an_expired_used_token_is_forgotten(db: Database) -> None:
    with db.write() as tx:
        person = a_subscriber(tx, activated=True)
        tx.execute(
            sa.insert(used_tokens),
            [
                {"token": "old", "subscriber_id": person, "expires_at": PAST},
                {"token": "young", "subscriber_id": person, "expires_at": FUTURE},
            ],
        )
        clean_up(tx, now=NOW)
        assert tx.scalars(sa.select(used_tokens.c.token)).all() == ["young"]


def test_what_has_not_expired_is_kept(db: Database) -> None:
    with db.write() as tx:
        a_subscriber(
            tx, activated=True, magic_link_token="x", magic_link_expires_at=FUTURE,
            confirmation_token="y", confirmation_expires_at=FUTURE, pending_email="new@example.org",
        )  # fmt: skip
        before = the_subscriber(tx, "ana@example.org")
        assert clean_up(tx, now=NOW) == 0
        assert the_subscriber(tx, "ana@example.org") == before
