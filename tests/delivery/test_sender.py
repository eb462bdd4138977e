import asyncio
from datetime import timedelta
from email import message_from_bytes

import pytest
import sqlalchemy as sa

from gna import clock
from gna.db import Database
from gna.delivery.claim import claim, settle, take_back
from gna.delivery.sender import Sender
from gna.errors import DatabaseAway
from gna.outbox import Status, messages
from gna.providers.protocol import Outcome
from tests.factories import a_message, the_message
from tests.fakes import FakeProvider


@pytest.fixture
def provider() -> FakeProvider:
    return FakeProvider()


@pytest.fixture
def sender(db: Database, provider: FakeProvider) -> Sender:
    return Sender(db, provider, worker="w1", sender="News <news@example.org>")


def statuses(db: Database) -> dict[str, int]:
    with db.read() as tx:
        rows = tx.execute(sa.select(messages.c.status, sa.func.count()).group_by(messages.c.status))
        return {str(row[0]): int(row[1]) for row in rows}


def test_a_waiting_message_reaches_the_provider(db: Database, sender: Sender, provider: FakeProvider) -> None:
    with db.write() as tx:
        message_id = a_message(tx)
    assert asyncio.run(sender.send_due()) is True
    assert asyncio.run(sender.send_due()) is False
    [mail] = provider.sent
    assert (mail.id, mail.to) == (message_id, "ana@example.org")
    assert message_from_bytes(mail.raw)["Message-ID"] == f"<{message_id}@example.org>"
    assert statuses(db) == {"sent": 1}


def test_each_message_of_a_batch_gets_its_own_result(db: Database, sender: Sender, provider: FakeProvider) -> None:
    provider.refuses("gone@example.org", permanently=True)
    provider.refuses("busy@example.org", permanently=False)
    with db.write() as tx:
        for to in ("gone@example.org", "ana@example.org", "busy@example.org"):
            a_message(tx, to=to)
    asyncio.run(sender.send_due())
    assert statuses(db) == {"sent": 1, "failed_permanent": 1, "failed_transient": 1}
    assert [mail.to for mail in provider.sent] == ["ana@example.org"]


def test_a_mail_that_cannot_be_composed_does_not_stop_the_others(
    db: Database, sender: Sender, provider: FakeProvider
) -> None:
    with db.write() as tx:
        broken = a_message(tx, slots={})
        a_message(tx)
    asyncio.run(sender.send_due())
    assert len(provider.sent) == 1
    with db.read() as tx:
        row = the_message(tx, broken)
    assert (row.status, row.last_error) == ("failed_transient", "The mail could not be composed: KeyError")


def test_a_provider_that_breaks_loses_nothing(db: Database, sender: Sender, provider: FakeProvider) -> None:
    provider.breaks(ConnectionResetError())
    with db.write() as tx:
        message_id = a_message(tx)
    asyncio.run(sender.send_due())
    with db.read() as tx:
        row = the_message(tx, message_id)
    assert (row.status, row.last_error) == ("failed_transient", "The provider failed: ConnectionResetError")


def test_results_are_kept_until_the_database_is_back(
    db: Database, sender: Sender, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.write() as tx:
        a_message(tx)
    failures = iter([DatabaseAway("away"), DatabaseAway("away")])

    def settle_at_the_third_try(*args: object, **kwargs: object) -> None:
        for failure in failures:
            raise failure
        settle(*args, **kwargs)  # type: ignore[arg-type]

    async def no_pause(_: float) -> None:
        return

    monkeypatch.setattr("gna.delivery.sender.settle", settle_at_the_third_try)
    monkeypatch.setattr("gna.delivery.sender.asyncio.sleep", no_pause)
    asyncio.run(sender.send_due())
    assert statuses(db) == {"sent": 1}
    assert len(provider.sent) == 1


def test_a_claim_whose_answer_was_lost_is_made_again(
    db: Database, sender: Sender, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.write() as tx:
        message_id = a_message(tx)

    async def committed_but_not_told(action: object, **kwargs: object) -> None:
        with db.write() as tx:
            claim(tx, worker="w1", now=clock.now())
        raise DatabaseAway("the connection broke in the commit")

    with monkeypatch.context() as broken, pytest.raises(DatabaseAway):
        broken.setattr(db, "run", committed_but_not_told)
        asyncio.run(sender.send_due())
    assert statuses(db) == {"sending": 1}
    assert asyncio.run(sender.send_due()) is True
    with db.read() as tx:
        assert (the_message(tx, message_id).status, the_message(tx, message_id).attempt_count) == ("sent", 1)
    assert len(provider.sent) == 1


def test_a_provider_that_forgets_a_result_loses_nothing(
    db: Database, sender: Sender, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(_: object) -> list[Outcome]:
        return []

    monkeypatch.setattr(provider, "send", nothing)
    with db.write() as tx:
        a_message(tx)
    asyncio.run(sender.send_due())
    assert statuses(db) == {"failed_transient": 1}


def test_sweeping_takes_back_what_the_dead_left(db: Database, sender: Sender) -> None:
    with db.write() as tx:
        a_message(tx, status=Status.SENDING, claimed_by="dead", last_attempt_at=clock.now())
    assert asyncio.run(sender.sweep()) is True
    assert statuses(db) == {"failed_transient": 1}


def test_after_an_outage_the_living_get_time_to_say_so(
    db: Database, sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.write() as tx:
        a_message(tx, status=Status.SENDING, claimed_by="other", last_attempt_at=clock.now())

    def away(*_: object, **__: object) -> int:
        raise DatabaseAway("away")

    monkeypatch.setattr("gna.delivery.sender.take_back", away)
    with pytest.raises(DatabaseAway):
        asyncio.run(sender.sweep())
    monkeypatch.setattr("gna.delivery.sender.take_back", take_back)
    assert asyncio.run(sender.sweep()) is False
    later = clock.now() + timedelta(seconds=16)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert asyncio.run(sender.sweep()) is True
