"""Data retention and privacy: a test for each row that concerns people."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna import clock
from gna.db import Database
from gna.outbox import messages
from gna.subscribers.cleanup import clean_up
from gna.subscribers.lists import Leaving
from gna.subscribers.table import subscribers
from gna.web.app import create_app
from gna.web.ground import Ground
from tests.conftest import settings_for
from tests.factories import NOW, a_message, a_subscriber, count
from tests.seeds.reader import Reader


def everything(db: Database) -> str:
    """Every value in every column of every table, as text."""
    with db.read() as tx:
        tables = sa.inspect(tx).get_table_names()
        rows = [tx.execute(sa.text(f'SELECT * FROM "{table}"')).all() for table in tables]
    return json.dumps([[[repr(value) for value in row] for row in found] for found in rows])


class TestDataClassification:
    """What is kept, and how long."""

    def test_subscriber_email_is_deleted_on_unsubscribe(self, reader: Reader) -> None:
        person = reader.is_activated("Gone.Soon@example.org", nickname="Vanishing Vera")
        reader.asks_for_link("gone.soon@example.org")
        reader.client.post(f"/api/unsubscribe?token={person.unsubscribe_token}")
        kept = everything(reader.db).lower()
        assert "gone.soon" not in kept
        assert "vanishing" not in kept
        assert person.unsubscribe_token not in kept
        assert person.id not in kept

    def test_unsubscribe_token_is_deleted_with_the_record(self, reader: Reader) -> None:
        person = reader.is_activated()
        reader.client.get(f"/api/unsubscribe?token={person.unsubscribe_token}")
        assert person.unsubscribe_token not in everything(reader.db)

    def test_rate_limit_ip_is_never_stored(self, crowd: TestClient, db: Database) -> None:
        crowd.post("/api/subscribe", json={"email": "ana@example.org"}, headers={"X-Forwarded-For": "203.0.113.77"})
        assert "203.0.113" not in everything(db)

    def test_subscriber_nickname_is_deleted_with_the_record(self, reader: Reader) -> None:
        person = reader.is_activated(nickname="Unmistakable")
        reader.client.get(f"/api/unsubscribe?token={person.unsubscribe_token}")
        assert "nmistakable" not in everything(reader.db)

    @pytest.mark.parametrize("slot", ["confirm_url", "profile_url"])
    def test_tokens_in_links_are_stored_as_hashes_once_the_mail_has_left(self, reader: Reader, slot: str) -> None:
        reader.is_activated()
        if slot == "profile_url":
            reader.asks_for_link()
        token = reader.link(slot).partition("token=")[2]
        with reader.db.write() as tx:
            tx.execute(sa.delete(messages))
        assert token not in everything(reader.db)

    def test_pending_email_change_is_kept_until_confirmed_or_expired(self, reader: Reader) -> None:
        reader.is_activated()
        reader.updates(reader.enters(), email="someone.new@example.org")
        assert "someone.new" in everything(reader.db)
        with reader.db.write() as tx:
            clean_up(tx, now=clock.now() + timedelta(hours=25))
        assert "someone.new" not in everything(reader.db)

    def test_after_a_change_the_old_address_is_nowhere(self, reader: Reader) -> None:
        reader.is_activated("old.address@example.org")
        person = reader.row("old.address@example.org")
        with reader.db.write() as tx:
            a_message(
                tx, to="old.address@example.org", subscriber_id=person.id, kind="campaign", last_error="550 old.address"
            )
        reader.updates(reader.enters("old.address@example.org"), email="new@example.org")
        reader.client.get(reader.link("confirm_url"))
        assert "old.address" not in everything(reader.db)
        with reader.db.read() as tx:
            assert tx.scalars(sa.select(messages.c.to_email).where(messages.c.kind == "campaign")).all() == [
                "new@example.org"
            ]

    def test_unactivated_record_is_deleted_after_its_token_expires(self, db: Database) -> None:
        with db.write() as tx:
            person = a_subscriber(tx, email="never.came@example.org")
            a_message(tx, to="never.came@example.org", subscriber_id=person)
            clean_up(tx, now=NOW + timedelta(hours=24, seconds=1))
        assert "never.came" not in everything(db)


class TestSubscriberDataLifecycle:
    """Events and what they do."""

    def test_subscription_confirmed(self, reader: Reader) -> None:
        assert reader.is_activated().activated_at is not None

    def test_confirmation_token_expired(self, reader: Reader) -> None:
        reader.subscribes()
        with reader.db.write() as tx:
            clean_up(tx, now=clock.now() + timedelta(hours=25))
        assert reader.row() is None

    def test_unsubscribe_is_a_hard_delete_at_once(self, reader: Reader) -> None:
        person = reader.is_activated()
        reader.client.get(f"/api/unsubscribe?token={person.unsubscribe_token}")
        with reader.db.read() as tx:
            assert (count(tx, subscribers), count(tx, messages)) == (0, 0)

    def test_admin_removal_is_a_hard_delete_at_once(self, reader: Reader, client: TestClient) -> None:
        person = reader.is_activated("Removed@example.org")
        assert client.delete(f"/admin/api/subscribers/{person.id}").status_code == 204
        assert "emoved@" not in everything(reader.db)

    def test_resubscribe_after_deletion_creates_a_new_record(self, reader: Reader) -> None:
        before = reader.is_activated(nickname="Ana")
        reader.client.get(f"/api/unsubscribe?token={before.unsubscribe_token}")
        after = reader.is_activated()
        assert after.id != before.id
        assert after.nickname is None
        assert after.unsubscribe_token != before.unsubscribe_token


class TestRateLimitData:
    """Ephemeral, in memory or with a time to live."""

    def test_storage_is_in_memory_under_a_hash(self, client: TestClient) -> None:
        client.post("/api/subscribe", json={"email": "ana@example.org"})
        app: Any = client.app
        kept = str(app.state.ground.limits._here._expiries)
        assert len(app.state.ground.limits._here._expiries) == 1
        assert "127.0.0.1" not in kept

    def test_persistent_storage_is_not_used(self, client: TestClient, db: Database, tmp_path: Path) -> None:
        with db.read() as tx:
            before = set(sa.inspect(tx).get_table_names())
        for _ in range(6):
            client.post("/api/subscribe", json={"email": "ana@example.org"})
        with db.read() as tx:
            assert set(sa.inspect(tx).get_table_names()) == before
        assert not list(tmp_path.glob("**/*limit*"))


def test_nothing_personal_is_in_the_log(crowd: TestClient, db: Database, logged: Callable[[], str]) -> None:
    reader = Reader(crowd, db)
    person = reader.is_activated("Secret.Person@example.org", nickname="Hush Hush")
    token = reader.enters("secret.person@example.org")
    crowd.get(f"/profile?token={token}")
    reader.updates(token, nickname="Quiet Now", email="other.person@example.org")
    crowd.get(reader.link("confirm_url"))
    crowd.get("/admin/api/subscribers", params={"q": "secret.person"})
    crowd.post(f"/api/unsubscribe?token={person.unsubscribe_token}")
    written = logged().lower()
    assert "route=/api/unsubscribe" in written
    for secret in (
        "secret.person",
        "other.person",
        "hush",
        "quiet",
        token.lower(),
        person.unsubscribe_token.lower(),
        "10.0.0.",
    ):
        assert secret not in written


def test_the_counters_are_not_for_the_public(
    crowd: TestClient, client: TestClient, database_url: str, db: Database, tmp_path: Path
) -> None:
    """Whoever can watch them sees whether a mail was sent, and so whether an address is known."""
    assert crowd.get("/metrics").status_code == 404
    assert client.get("/metrics", headers={"Host": "news.example.org"}).status_code == 404
    assert client.get("/metrics").status_code == 200
    settings = settings_for(database_url, tmp_path, METRICS_ALLOW="10.9.0.0/16")
    app = create_app(Ground(settings, db))
    for peer, status in (("10.9.1.1", 200), ("10.8.1.1", 404)):
        assert TestClient(app, client=(peer, 1)).get("/metrics").status_code == status
    assert (
        TestClient(app, client=("10.9.1.1", 1)).get("/metrics", headers={"X-Forwarded-For": "8.8.8.8"}).status_code
        == 404
    )


def test_a_form_never_changes_the_name_of_a_confirmed_person(reader: Reader) -> None:
    reader.is_activated(nickname="Maria")
    token = Leaving("ana@example.org", "general").sign("a secret")
    reader.client.post(f"/unsubscribe?token={token}")
    reader.subscribes(nickname="Idiot")
    assert reader.row().nickname == "Maria"


def test_the_address_of_somebody_who_left_is_in_nobody_elses_row(reader: Reader) -> None:
    reader.is_activated("aa@example.org")
    reader.updates(reader.enters("aa@example.org"), email="later@example.org")
    person = reader.is_activated("later@example.org")
    reader.client.post(f"/api/unsubscribe?token={person.unsubscribe_token}")
    assert "later@" not in everything(reader.db)


def test_both_used_links_stay_recognisable(reader: Reader) -> None:
    reader.subscribes()
    first = reader.link("confirm_url")
    reader.client.get(first)
    reader.updates(reader.enters(), email="anca@example.org")
    second = reader.link("confirm_url")
    reader.client.get(second)
    assert [reader.client.get(link).status_code for link in (first, second)] == [200, 200]
