"""The subscribers table, token by token: a test for each row of its specification."""

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna import clock, ids, tokens
from gna.db import Database
from gna.subscribers.cleanup import clean_up
from gna.subscribers.lists import Leaving
from gna.subscribers.table import subscribers
from tests.factories import NOW, a_subscriber, count, the_subscriber
from tests.seeds.reader import Reader, token_of

PAST, FUTURE = NOW - timedelta(seconds=1), NOW + timedelta(seconds=1)
COLUMNS = {
    "id": False,
    "email": False,
    "nickname": True,
    "unsubscribe_token": False,
    "created_at": False,
    "activated_at": True,
    "confirmation_token": True,
    "confirmation_expires_at": True,
    "magic_link_token": True,
    "magic_link_expires_at": True,
    "pending_email": True,
}


class TestColumns:
    """The table itself, as the database describes it."""

    @pytest.mark.parametrize(("name", "nullable"), COLUMNS.items())
    def test_column(self, db: Database, name: str, nullable: bool) -> None:
        with db.read() as tx:
            found = {column["name"]: column for column in sa.inspect(tx).get_columns("subscribers")}
        assert found[name]["nullable"] is nullable
        assert found[name]["default"] is None
        native = name.endswith("_at") and db.kind == "postgresql"
        assert str(found[name]["type"]).startswith("TIMESTAMP" if native else "TEXT")

    def test_a_plain_insert_of_these_columns_is_enough(self, db: Database, reader: Reader) -> None:
        row = {"id": ids.new(), "email": "plain@example.org", "token": tokens.new(), "now": "2026-01-02T03:04:05Z"}
        with db.write() as tx:
            tx.execute(
                sa.text(
                    "INSERT INTO subscribers (id, email, unsubscribe_token, created_at, activated_at) "
                    "VALUES (:id, :email, :token, :now, :now)"
                ),
                row,
            )
        shown = reader.client.get("/admin/api/subscribers", params={"q": "PLAIN"})
        assert shown.status_code == 403, "a crowd behind a proxy is not at this machine"
        assert reader.enters("plain@example.org")
        assert reader.client.get(f"/api/unsubscribe?token={row['token']}").status_code == 200
        assert reader.row("plain@example.org") is None

    def test_the_primary_key_is_a_uuid_of_version_7(self, reader: Reader) -> None:
        reader.subscribes()
        identifier = reader.row().id
        assert (len(identifier), identifier[14]) == (36, "7")

    def test_times_are_iso_8601_text_on_sqlite_and_native_on_postgresql(self, db: Database, reader: Reader) -> None:
        reader.subscribes()
        with db.read() as tx:
            stored = tx.execute(sa.text("SELECT created_at FROM subscribers")).scalar_one()
        if db.kind == "sqlite":
            assert stored == clock.iso(reader.row().created_at)
            assert stored.endswith("Z")
        else:
            assert stored == reader.row().created_at


class TestIndexes:
    """What is found without reading the whole table."""

    @pytest.mark.parametrize(
        ("name", "unique"),
        [
            ("idx_subscribers_email", True),
            ("idx_subscribers_unsubscribe_token", True),
            ("idx_subscribers_confirmation_token", False),
            ("idx_subscribers_magic_link_token", False),
        ],
    )
    def test_index(self, db: Database, name: str, unique: bool) -> None:
        catalog = (
            "SELECT sql FROM sqlite_master WHERE name = :name"
            if db.kind == "sqlite"
            else "SELECT indexdef FROM pg_indexes WHERE indexname = :name"
        )
        with db.read() as tx:
            definition = tx.execute(sa.text(catalog), {"name": name}).scalar_one()
        assert ("UNIQUE" in definition) is unique
        assert name.removeprefix("idx_subscribers_") in definition

    def test_primary(self, db: Database) -> None:
        with db.read() as tx:
            assert sa.inspect(tx).get_pk_constraint("subscribers")["constrained_columns"] == ["id"]

    @pytest.mark.parametrize("other", ["ana@example.org", "ANA@Example.ORG"])
    def test_email_is_unique_whatever_its_case(self, db: Database, other: str) -> None:
        with pytest.raises(sa.exc.IntegrityError), db.write() as tx:
            a_subscriber(tx, email="ana@example.org")
            a_subscriber(tx, email=other)


def test_nothing_that_a_reader_does_reads_the_whole_table(reader: Reader) -> None:
    """Among a million people that would take a tenth of a second, and on SQLite everybody else would wait."""
    statements: dict[str, Any] = {}

    def note(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
        if "subscribers" in statement:
            statements[statement] = parameters

    for engine in {reader.db._reader, reader.db._writer}:
        sa.event.listen(engine, "before_cursor_execute", note)
    reader.is_activated(nickname="Ana")
    reader.updates(reader.enters(), nickname="Anca", email="anca@example.org")
    reader.client.get(reader.link("confirm_url"))
    leaving = Leaving("anca@example.org", "news").sign("a secret")
    assert reader.client.post(f"/unsubscribe?token={leaving}").status_code == 200
    assert (
        reader.client.post(f"/api/unsubscribe?token={reader.row('anca@example.org').unsubscribe_token}").content == b""
    )
    for engine in {reader.db._reader, reader.db._writer}:
        sa.event.remove(engine, "before_cursor_execute", note)
    assert any(statement.startswith("DELETE FROM subscribers") for statement in statements)
    with reader.db.write() as tx:
        explain = "EXPLAIN QUERY PLAN"
        if reader.db.kind == "postgresql":
            explain = "EXPLAIN"
            tx.execute(sa.text("SET LOCAL enable_seqscan = off"))  # which it prefers for so few rows
        for statement, parameters in statements.items():
            plan = [row[-1] for row in tx.exec_driver_sql(f"{explain} {statement}", parameters)]
            assert not [step for step in plan if "SCAN subscribers" in step or "Seq Scan on subscribers" in step], plan


class TestUnifiedConfirmationToken:
    """One column, two mutually exclusive uses."""

    def test_subscription_confirmation_sets_activated_at(self, reader: Reader) -> None:
        reader.subscribes()
        reader.client.get(reader.link("confirm_url"))
        assert reader.row().activated_at is not None

    def test_email_change_confirmation_updates_email(self, reader: Reader) -> None:
        reader.is_activated()
        reader.updates(reader.enters(), email="anca@example.org")
        reader.client.get(reader.link("confirm_url"))
        assert reader.row("anca@example.org") is not None

    def test_a_pending_subscriber_cannot_start_an_email_change(self, reader: Reader) -> None:
        reader.subscribes()
        assert reader.asks_for_link().status_code == 200
        assert reader.row().magic_link_token is None

    def test_an_activated_token_without_a_pending_email_does_nothing(self, reader: Reader) -> None:
        token = tokens.new()
        with reader.db.write() as tx:
            a_subscriber(
                tx,
                activated=True,
                confirmation_token=tokens.digest(token),
                confirmation_expires_at=clock.now() + timedelta(hours=1),
            )
        assert reader.client.get(f"/confirm?token={token}").status_code == 400


class TestCreatedAtAndActivatedAt:
    """Two moments of one sign-up."""

    def test_created_at_is_the_moment_of_the_form(self, reader: Reader) -> None:
        before = clock.now()
        reader.subscribes()
        assert before - timedelta(seconds=5) <= reader.row().created_at <= clock.now() + timedelta(seconds=5)

    def test_activated_at_is_the_moment_of_the_click(self, reader: Reader) -> None:
        row = reader.is_activated()
        assert row.activated_at > row.created_at


class TestUnsubscribeToken:
    """Its life."""

    def test_created_with_the_record(self, reader: Reader) -> None:
        reader.subscribes()
        assert tokens.is_shaped(reader.row().unsubscribe_token)

    def test_validated_by_lookup(self, reader: Reader) -> None:
        person = reader.is_activated()
        assert reader.client.get(f"/api/unsubscribe?token={person.unsubscribe_token}").status_code == 200

    def test_consumed_with_the_record(self, reader: Reader) -> None:
        person = reader.is_activated()
        reader.client.get(f"/api/unsubscribe?token={person.unsubscribe_token}")
        assert reader.row() is None

    def test_never_expires_and_never_changes(self, reader: Reader) -> None:
        before = reader.is_activated()
        reader.updates(reader.enters(), nickname="Anca", email="anca@example.org")
        reader.client.get(reader.link("confirm_url"))
        with reader.db.write() as tx:
            clean_up(tx, now=clock.now() + timedelta(days=3650))
        assert reader.row("anca@example.org").unsubscribe_token == before.unsubscribe_token


class TestSubscriptionToken:
    """The confirmation token of a sign-up."""

    def test_created_with_24_hours(self, reader: Reader) -> None:
        reader.subscribes()
        row = reader.row()
        assert row.confirmation_expires_at - row.created_at == timedelta(hours=24)

    def test_reissued_on_a_repeated_pending_sign_up(self, reader: Reader) -> None:
        reader.subscribes()
        first = reader.row()
        reader.subscribes()
        second = reader.row()
        assert first.confirmation_token != second.confirmation_token
        assert second.confirmation_expires_at > first.confirmation_expires_at
        assert second.created_at == first.created_at

    def test_validated_against_its_expiry(self, reader: Reader) -> None:
        reader.subscribes()
        reader.expires("confirmation_expires_at")
        assert reader.client.get(reader.link("confirm_url")).status_code == 400

    def test_consumed(self, reader: Reader) -> None:
        row = reader.is_activated()
        assert (row.confirmation_token, row.confirmation_expires_at) == (None, None)

    def test_expired_and_cleaned_up_deletes_the_record(self, db: Database) -> None:
        with db.write() as tx:
            a_subscriber(tx, confirmation_expires_at=PAST)
            clean_up(tx, now=NOW)
            assert count(tx, subscribers) == 0


class TestEmailChangeToken:
    """The confirmation token of a change of address."""

    def test_created_with_a_pending_email(self, reader: Reader) -> None:
        reader.is_activated()
        reader.updates(reader.enters(), email="anca@example.org")
        row = reader.row()
        assert row.pending_email == "anca@example.org"
        assert row.confirmation_token == tokens.digest(token_of(reader.link("confirm_url")))

    def test_validated_against_expiry_and_taken_addresses(self, reader: Reader) -> None:
        reader.is_activated()
        reader.updates(reader.enters(), email="anca@example.org")
        with reader.db.write() as tx:
            a_subscriber(tx, email="anca@example.org")
        assert reader.client.get(reader.link("confirm_url")).status_code == 409
        reader.expires("confirmation_expires_at")
        assert reader.client.get(reader.link("confirm_url")).status_code == 400

    def test_consumed(self, reader: Reader) -> None:
        reader.is_activated()
        reader.updates(reader.enters(), email="anca@example.org")
        reader.client.get(reader.link("confirm_url"))
        row = reader.row("anca@example.org")
        assert (row.confirmation_token, row.confirmation_expires_at, row.pending_email) == (None, None, None)

    def test_expired_and_cleaned_up_keeps_the_person(self, db: Database) -> None:
        with db.write() as tx:
            a_subscriber(
                tx, activated=True, confirmation_token="x", confirmation_expires_at=PAST, pending_email="n@e.org"
            )
            clean_up(tx, now=NOW)
            row = the_subscriber(tx, "ana@example.org")
        assert (row.confirmation_token, row.confirmation_expires_at, row.pending_email) == (None, None, None)


class TestMagicLinkToken:
    """Its life."""

    def test_created_with_15_minutes(self, reader: Reader) -> None:
        reader.is_activated()
        token = reader.enters()
        row = reader.row()
        assert row.magic_link_token == tokens.digest(token)
        assert timedelta(minutes=14) < row.magic_link_expires_at - clock.now() <= timedelta(minutes=15)

    def test_reissued_on_a_repeated_request(self, reader: Reader) -> None:
        reader.is_activated()
        assert reader.enters() != reader.enters()

    def test_validated_without_being_consumed(self, reader: Reader) -> None:
        reader.is_activated()
        token = reader.enters()
        before = reader.row()
        assert reader.client.get(f"/profile?token={token}").status_code == 200
        assert reader.row() == before

    def test_consumed_by_an_update(self, reader: Reader) -> None:
        reader.is_activated()
        reader.updates(reader.enters(), nickname="Anca")
        row = reader.row()
        assert (row.magic_link_token, row.magic_link_expires_at) == (None, None)

    def test_expired_and_cleaned_up(self, db: Database) -> None:
        with db.write() as tx:
            a_subscriber(tx, activated=True, magic_link_token="x", magic_link_expires_at=PAST)
            clean_up(tx, now=NOW)
            row = the_subscriber(tx, "ana@example.org")
        assert (row.magic_link_token, row.magic_link_expires_at) == (None, None)


class TestTransitions:
    """Which columns change, and no others."""

    def changed(self, before: Any, after: Any) -> set[str]:
        """The columns that differ."""
        return {name for name in before._fields if getattr(before, name) != getattr(after, name)}

    def test_visitor_subscribes(self, reader: Reader) -> None:
        reader.subscribes(nickname="Ana")
        row = reader.row()
        filled = {name for name in COLUMNS if getattr(row, name) is not None}
        assert filled == {
            "id",
            "email",
            "nickname",
            "unsubscribe_token",
            "created_at",
            "confirmation_token",
            "confirmation_expires_at",
        }

    def test_pending_to_activated(self, reader: Reader) -> None:
        reader.subscribes()
        before = reader.row()
        reader.client.get(reader.link("confirm_url"))
        assert self.changed(before, reader.row()) == {"activated_at", "confirmation_token", "confirmation_expires_at"}

    def test_activated_requests_a_magic_link(self, reader: Reader) -> None:
        before = reader.is_activated()
        reader.enters()
        assert self.changed(before, reader.row()) == {"magic_link_token", "magic_link_expires_at"}

    def test_profile_update_of_the_nickname(self, reader: Reader) -> None:
        reader.is_activated()
        token = reader.enters()
        before = reader.row()
        reader.updates(token, nickname="Anca")
        assert self.changed(before, reader.row()) == {"nickname", "magic_link_token", "magic_link_expires_at"}

    def test_profile_update_of_the_email(self, reader: Reader) -> None:
        reader.is_activated()
        token = reader.enters()
        before = reader.row()
        reader.updates(token, email="anca@example.org")
        assert self.changed(before, reader.row()) == {
            "confirmation_token",
            "confirmation_expires_at",
            "pending_email",
            "magic_link_token",
            "magic_link_expires_at",
        }

    def test_email_change_confirmed(self, reader: Reader) -> None:
        reader.is_activated()
        reader.updates(reader.enters(), email="anca@example.org")
        before = reader.row()
        reader.client.get(reader.link("confirm_url"))
        assert self.changed(before, reader.row("anca@example.org")) == {
            "email",
            "confirmation_token",
            "confirmation_expires_at",
            "pending_email",
        }

    def test_unsubscribe_deletes_the_row(self, reader: Reader) -> None:
        person = reader.is_activated()
        reader.client.get(f"/api/unsubscribe?token={person.unsubscribe_token}")
        assert reader.row() is None

    def test_admin_remove_deletes_the_row(self, reader: Reader, client: TestClient) -> None:
        person = reader.is_activated()
        assert client.delete(f"/admin/api/subscribers/{person.id}").status_code == 204
        assert reader.row() is None


class TestCleanup:
    """The hourly job."""

    def test_expired_pending_people_are_deleted(self, db: Database) -> None:
        with db.write() as tx:
            a_subscriber(tx, email="gone@example.org", confirmation_expires_at=PAST)
            a_subscriber(tx, email="stays@example.org", confirmation_expires_at=FUTURE)
            clean_up(tx, now=NOW)
            assert the_subscriber(tx, "gone@example.org") is None
            assert the_subscriber(tx, "stays@example.org") is not None

    def test_expired_email_changes_are_cleared(self, db: Database) -> None:
        with db.write() as tx:
            a_subscriber(
                tx, activated=True, confirmation_token="x", confirmation_expires_at=FUTURE, pending_email="n@e.org"
            )
            clean_up(tx, now=NOW)
            assert the_subscriber(tx, "ana@example.org").pending_email == "n@e.org"
            clean_up(tx, now=FUTURE + timedelta(seconds=1))
            assert the_subscriber(tx, "ana@example.org").pending_email is None

    def test_expired_magic_links_are_cleared(self, db: Database) -> None:
        with db.write() as tx:
            a_subscriber(tx, activated=True, magic_link_token="x", magic_link_expires_at=FUTURE)
            clean_up(tx, now=NOW)
            assert the_subscriber(tx, "ana@example.org").magic_link_token == "x"
            clean_up(tx, now=FUTURE + timedelta(seconds=1))
            assert the_subscriber(tx, "ana@example.org").magic_link_token is None
