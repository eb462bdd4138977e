import asyncio
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from email import message_from_bytes
from typing import Any

import pytest
import sqlalchemy as sa

from gna import clock
from gna.db import Database
from gna.delivery import appetite, mailings, pace
from gna.delivery import sender as sending
from gna.delivery.claim import Lanes
from gna.delivery.pace import Pace, paces
from gna.delivery.sender import Sender
from gna.delivery.settle import settle
from gna.errors import DatabaseAway
from gna.jobs import workers
from gna.mail.compile import Mail
from gna.mail.compile import Sender as From
from gna.mail.content import Content
from gna.outbox import Status, messages
from gna.providers.protocol import Accepted, Report, TryLater
from tests.factories import a_mailing, a_message, the_message
from tests.fakes import FakeProvider

FROM = From("News <news@example.org>", "https://news.example.org")


@pytest.fixture
def provider() -> FakeProvider:
    return FakeProvider()


@pytest.fixture
def sender(db: Database, provider: FakeProvider) -> Sender:
    return a_sender(db, provider)


def a_sender(db: Database, provider: Any, *, rate: float | None = None, worker: str = "w1") -> Sender:
    return Sender(db, provider, worker=worker, sender=FROM, pace=Pace("fake", rate))


def statuses(db: Database) -> dict[str, int]:
    with db.read() as tx:
        rows = tx.execute(sa.select(messages.c.status, sa.func.count()).group_by(messages.c.status))
        return {str(row[0]): int(row[1]) for row in rows}


def run(sender: Sender) -> bool:
    return asyncio.run(sender.send_due())


def test_a_waiting_message_reaches_the_provider(db: Database, sender: Sender, provider: FakeProvider) -> None:
    with db.write() as tx:
        message_id = a_message(tx)
    assert run(sender) is True
    assert run(sender) is False
    [mail] = provider.sent
    assert (mail.id, mail.to) == (message_id, "ana@example.org")
    assert message_from_bytes(mail.raw())["Message-ID"] == f"<{message_id}@example.org>"
    assert statuses(db) == {"sent": 1}


def test_each_message_gets_its_own_result(db: Database, sender: Sender, provider: FakeProvider) -> None:
    provider.refuses("gone@example.org", permanently=True)
    provider.refuses("busy@example.org", permanently=False)
    with db.write() as tx:
        for to in ("gone@example.org", "ana@example.org", "busy@example.org"):
            a_message(tx, to=to)
    run(sender)
    assert statuses(db) == {"sent": 1, "failed_permanent": 1, "failed_transient": 1}
    assert [mail.to for mail in provider.sent] == ["ana@example.org"]


def test_a_content_that_is_missing_does_not_stop_the_others(
    db: Database, sender: Sender, provider: FakeProvider
) -> None:
    with db.write() as tx:
        broken = a_message(tx, content_hash=None)
        a_message(tx)
    run(sender)
    assert len(provider.sent) == 1
    with db.read() as tx:
        row = the_message(tx, broken)
    assert (row.status, row.last_error) == ("failed_transient", "The mail could not be composed: KeyError")


def test_a_provider_that_breaks_loses_nothing(db: Database, sender: Sender, provider: FakeProvider) -> None:
    provider.breaks(ConnectionResetError())
    with db.write() as tx:
        message_id = a_message(tx)
    run(sender)
    with db.read() as tx:
        row = the_message(tx, message_id)
    assert (row.status, row.last_error) == ("failed_transient", "The provider failed: ConnectionResetError")


def test_a_provider_that_forgets_a_result_loses_nothing(
    db: Database, sender: Sender, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*_: object) -> None:
        return

    monkeypatch.setattr(provider, "send", nothing)
    with db.write() as tx:
        a_message(tx)
    run(sender)
    assert statuses(db) == {"failed_transient": 1}


def test_a_provider_that_says_it_twice_is_heard_once(db: Database, provider: FakeProvider) -> None:
    class Talkative(FakeProvider):
        async def send(self, mails: Sequence[Mail], report: Report) -> None:
            for mail in mails:
                report(mail, Accepted("first"))
                report(mail, Accepted("second"))

    with db.write() as tx:
        message_id = a_message(tx)
    run(a_sender(db, Talkative()))
    with db.read() as tx:
        assert the_message(tx, message_id).provider_message_id == "first"


def test_results_are_kept_until_the_database_is_back(
    db: Database, sender: Sender, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.write() as tx:
        a_message(tx)
    failures = iter([DatabaseAway("away"), DatabaseAway("away")])

    def settle_at_the_third_try(*args: Any, **kwargs: Any) -> None:
        for failure in failures:
            raise failure
        settle(*args, **kwargs)

    monkeypatch.setattr(sending, "settle", settle_at_the_third_try)
    run(sender)
    assert statuses(db) == {"sent": 1}
    assert len(provider.sent) == 1


def test_a_claim_whose_answer_was_lost_is_made_again(
    db: Database, sender: Sender, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.write() as tx:
        message_id = a_message(tx)

    async def committed_but_not_told(action: object, *_: object, **__: object) -> None:
        with db.write() as tx:
            Lanes().claim(tx, worker="w1", limit=50, bulk=50, now=clock.now())
        raise DatabaseAway("the connection broke in the commit")

    with monkeypatch.context() as broken, pytest.raises(DatabaseAway):
        broken.setattr(db, "run", committed_but_not_told)
        run(sender)
    assert statuses(db) == {"sending": 1}
    assert run(sender) is True
    with db.read() as tx:
        assert (the_message(tx, message_id).status, the_message(tx, message_id).attempt_count) == ("sent", 1)
    assert len(provider.sent) == 1


def test_results_whose_commit_was_not_acknowledged_are_counted_once(
    db: Database, sender: Sender, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailing = a_mailing(db, people=30)
    transact = db.run
    lost: list[int] = []

    async def committed_but_not_told(action: Any, *args: Any) -> Any:
        answer = await transact(action, *args)
        results = args[0] if args else None
        if results and not lost:
            lost.append(len(results))
            raise DatabaseAway("the connection broke in the commit")
        return answer

    monkeypatch.setattr(db, "run", committed_but_not_told)
    run(sender)
    with db.read() as tx:
        sums = mailings.totals(tx, mailing)
    assert lost
    assert (sums.state, sums.audience, sums.sent, sums.failed, sums.left) == ("done", 30, 30, 0, 0)
    assert len(provider.sent) == 30


def test_a_mailing_goes_out_whole_and_leaves_only_its_sums(
    db: Database, sender: Sender, provider: FakeProvider
) -> None:
    mailing = a_mailing(db, people=1200)
    provider.refuses("p7@example.org", permanently=True)
    run(sender)
    assert len({mail.to for mail in provider.sent}) == len(provider.sent) == 1199
    with db.read() as tx:
        sums = mailings.totals(tx, mailing)
    assert (sums.state, sums.audience, sums.sent, sums.failed, sums.left) == ("done", 1200, 1199, 1, 0)
    assert statuses(db) == {}
    mail = message_from_bytes(provider.sent[0].raw())
    assert mail["Feedback-ID"] == f"{mailing}:gna:bulk:example.org"
    assert mail["List-Unsubscribe"].startswith("<https://news.example.org/api/unsubscribe?token=")


def test_a_paused_mailing_waits_and_others_do_not(db: Database, sender: Sender, provider: FakeProvider) -> None:
    paused, going = a_mailing(db, people=5), a_mailing(db, people=5)
    with db.write() as tx:
        mailings.pause(tx, paused)
    run(sender)
    with db.write() as tx:
        assert mailings.totals(tx, paused).sent == 0
        assert mailings.totals(tx, going).sent == 5
        mailings.resume(tx, paused)
    run(sender)
    with db.read() as tx:
        assert (mailings.totals(tx, paused).sent, mailings.totals(tx, paused).state) == (5, "done")


class Slow(FakeProvider):
    """Takes its time for each mail, urgent ones first, and notes when each left."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._waiting: list[tuple[Mail, Report]] = []
        self.shares: list[int] = []

    async def send(self, mails: Sequence[Mail], report: Report) -> None:
        mine = [(mail, report) for mail in mails]
        self._waiting += mine
        while any(entry in self._waiting for entry in mine):
            entry = min(self._waiting, key=lambda entry: not entry[0].urgent)
            self._waiting.remove(entry)
            await asyncio.sleep(self._seconds)
            self.sent.append(entry[0])
            entry[1](entry[0], Accepted())

    def recall(self) -> Sequence[Mail]:
        recalled = [mail for mail, _ in self._waiting]
        self._waiting.clear()
        return recalled

    def share(self, workers: int) -> None:
        self.shares.append(workers)


def test_a_message_of_its_own_overtakes_a_mailing(db: Database) -> None:
    a_mailing(db, people=40)
    provider = Slow(0.02)
    sender = a_sender(db, provider)

    async def story() -> None:
        task = asyncio.create_task(sender.send_due())
        while len(provider.sent) < 3:
            await asyncio.sleep(0.01)
        await db.run(lambda tx: a_message(tx, to="urgent@example.org"))
        await task

    asyncio.run(story())
    place = [mail.to for mail in provider.sent].index("urgent@example.org")
    assert place < 30
    assert len(provider.sent) == 41


def test_a_sender_that_stops_gives_back_what_was_not_begun(db: Database) -> None:
    mailing = a_mailing(db, people=40)
    provider = Slow(0.02)
    sender = a_sender(db, provider)

    async def story() -> None:
        task = asyncio.create_task(sender.send_due())
        while len(provider.sent) < 3:
            await asyncio.sleep(0.01)
        sender.stop()
        await task

    asyncio.run(story())
    left = len(provider.sent)
    assert left < 10
    assert statuses(db) == {"failed_transient": 40 - left}
    with db.read() as tx:
        assert mailings.totals(tx, mailing).sent == left
        assert set(tx.scalars(sa.select(messages.c.attempt_count))) == {0}


def test_a_process_that_slept_begins_nothing_that_others_may_have_taken_over(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "LEASE_SECONDS", 0.5)
    a_mailing(db, people=1)
    seen: list[object] = []

    class Sleepy(FakeProvider):
        async def send(self, mails: Sequence[Mail], report: Report) -> None:
            time.sleep(0.6)  # noqa: ASYNC251  (as SIGSTOP does: the whole process sleeps)
            for mail in mails:
                with pytest.raises(sending.WorkerWasStopped):
                    mail.raw()
                seen.append(mail)
                report(mail, Accepted())

    run(a_sender(db, Sleepy()))
    assert len(seen) == 1


def test_what_was_claimed_before_a_long_sleep_is_not_begun_after_it(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "LEASE_SECONDS", 0.4)
    a_mailing(db, people=1)
    begun: list[bool] = []

    class Waiting(FakeProvider):
        async def send(self, mails: Sequence[Mail], report: Report) -> None:
            time.sleep(0.5)  # noqa: ASYNC251
            await asyncio.sleep(1)  # meanwhile the sender has its rounds again
            for mail in mails:
                with pytest.raises(sending.WorkerWasStopped):
                    mail.raw()
                begun.append(False)
                report(mail, Accepted())

    run(a_sender(db, Waiting()))
    assert begun == [False]


def test_while_the_provider_is_away_a_mailing_waits_and_one_mail_tries(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appetite, "HOLDS", (0.2, 0.2))
    a_mailing(db, people=400)
    provider = FakeProvider()
    for number in range(400):
        provider.refuses(f"p{number}@example.org", permanently=False, away=True)
    sender = a_sender(db, provider)
    run(sender)
    tried = statuses(db)["failed_transient"]
    assert tried <= appetite.FIRST_BATCH
    time.sleep(0.25)
    run(sender)
    with db.read() as tx:
        assert tx.scalar(sa.select(sa.func.sum(messages.c.attempt_count))) == tried + 1
    provider._refused.clear()
    time.sleep(0.25)
    run(sender)
    assert len(provider.sent) >= 400 - tried - 1


def test_a_message_of_its_own_is_tried_though_the_provider_is_away(db: Database, sender: Sender) -> None:
    sender._patience.lose("it is away")
    with db.write() as tx:
        a_message(tx)
    run(sender)
    assert statuses(db) == {"sent": 1}


def test_all_workers_together_keep_the_pace(db: Database) -> None:
    a_mailing(db, people=90)
    provider = FakeProvider()

    async def story() -> float:
        began = time.monotonic()
        await asyncio.gather(*(a_sender(db, provider, rate=60, worker=worker).send_due() for worker in ("w1", "w2")))
        return time.monotonic() - began

    seconds = asyncio.run(story())
    assert len(provider.sent) == 90
    assert seconds > (90 - 60 / 20) / 60


def test_a_provider_that_asks_to_wait_is_left_alone_by_everybody(db: Database, provider: FakeProvider) -> None:
    provider.refuses("busy@example.org", permanently=False, after=timedelta(seconds=1), away=True)
    with db.write() as tx:
        busy = a_message(tx, to="busy@example.org")
    run(a_sender(db, provider))
    with db.write() as tx:
        assert the_message(tx, busy).attempt_count == 0
        a_message(tx)
    assert run(a_sender(db, provider, worker="w2")) is False
    assert provider.sent == []
    time.sleep(1.1)
    run(a_sender(db, provider, worker="w2"))
    assert [mail.to for mail in provider.sent] == ["ana@example.org"]


def test_a_greylisted_address_makes_nobody_else_wait(db: Database, sender: Sender, provider: FakeProvider) -> None:
    provider.refuses("grey@example.org", permanently=False, after=timedelta(minutes=5))
    with db.write() as tx:
        a_message(tx, to="grey@example.org")
    run(sender)
    with db.write() as tx:
        a_message(tx)
    run(sender)
    assert statuses(db) == {"sent": 1, "failed_transient": 1}


def test_a_longer_wait_is_not_shortened(db: Database) -> None:
    now = clock.now()
    with db.write() as tx:
        pace.hold(tx, Pace("fake"), timedelta(minutes=5), now=now)
        pace.hold(tx, Pace("fake"), timedelta(minutes=1), now=now)
        assert tx.scalar(sa.select(paces.c.paused_until)) == now + timedelta(minutes=5)


def test_sweeping_takes_back_what_the_dead_left(db: Database, sender: Sender) -> None:
    with db.write() as tx:
        workers.beat(tx, "w1", now=clock.now(), alone=True)
        a_message(tx, status=Status.SENDING, claimed_by="dead", last_attempt_at=clock.now())
    assert asyncio.run(sender.sweep()) is True
    assert statuses(db) == {"failed_transient": 1}


def test_sweeping_tells_the_provider_how_many_share_it(db: Database) -> None:
    provider = Slow(0)
    with db.write() as tx:
        for worker in ("w1", "w2", "w3"):
            workers.beat(tx, worker, now=clock.now(), alone=True)
    asyncio.run(a_sender(db, provider).sweep())
    assert provider.shares == [3]


def test_after_a_pause_of_the_database_the_living_get_time_to_say_so(db: Database, sender: Sender) -> None:
    before = clock.now() - timedelta(seconds=25)
    with db.write() as tx:
        workers.beat(tx, "w1", now=before, alone=True)
        workers.beat(tx, "other", now=before)
        a_message(tx, status=Status.SENDING, claimed_by="other", last_attempt_at=before)
    assert asyncio.run(sender.sweep()) is False
    with db.write() as tx:
        workers.beat(tx, "w1", now=clock.now())
    assert asyncio.run(sender.sweep()) is False
    assert statuses(db) == {"sending": 1}


def test_as_many_are_claimed_as_leave_in_half_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    speed = appetite.Speed()
    for mails, batch in ((100_000, appetite.BATCH), (100, 50), (30, 15), (1, appetite.FEWEST), (0, appetite.FEWEST)):
        now += 1
        speed.settled(mails)
        assert speed.batch == batch
    now += 60
    speed.settled(0)
    assert speed.batch == appetite.FIRST_BATCH


def test_a_paused_mailing_stops_also_what_was_handed_over(db: Database) -> None:
    mailing = a_mailing(db, people=40)
    provider = Slow(0.05)
    sender = a_sender(db, provider)

    async def story() -> int:
        task = asyncio.create_task(sender.send_due())
        while len(provider.sent) < 3:
            await asyncio.sleep(0.01)
        await db.run(lambda tx: mailings.pause(tx, mailing))
        await task
        return len(provider.sent)

    assert asyncio.run(story()) < 25
    with db.read() as tx:
        sums = mailings.totals(tx, mailing)
    assert (sums.state, sums.sent, sums.left) == ("paused", len(provider.sent), 40 - len(provider.sent))


def test_what_no_database_can_keep_is_kept_without_it(db: Database) -> None:
    class Odd(FakeProvider):
        async def send(self, mails: Sequence[Mail], report: Report) -> None:
            for mail in mails:
                report(mail, Accepted("AB\0C") if mail.to.startswith("ana") else TryLater("no\0\ud800"))

    with db.write() as tx:
        fine, bad = a_message(tx), a_message(tx, to="bob@example.org")
    run(a_sender(db, Odd()))
    with db.read() as tx:
        assert the_message(tx, fine).provider_message_id == "AB C"
        assert the_message(tx, bad).last_error == "no  "


def test_more_contents_than_are_kept_compiled_reach_everybody(
    db: Database, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "COMPILED", 2)
    with db.write() as tx:
        a_message(tx)
    sender = a_sender(db, provider)
    run(sender)
    for number in range(6):
        a_mailing(db, people=2, content=Content(f"{number}", "<p>x</p>", "x"))
    with db.write() as tx:
        a_message(tx)
    run(sender)
    assert len(provider.sent) == 14
    assert len(sender._compiled) == 2


def test_a_clock_that_was_set_makes_nobody_look_dead(
    db: Database, sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.write() as tx:
        workers.beat(tx, "other", now=clock.now())
        a_message(tx, status=Status.SENDING, claimed_by="other", last_attempt_at=clock.now())
    later = clock.now() + timedelta(seconds=30)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert asyncio.run(sender.sweep()) is False
    assert statuses(db) == {"sending": 1}


def test_mailings_take_turns(db: Database, provider: FakeProvider) -> None:
    first, second = a_mailing(db, people=300), a_mailing(db, people=10)
    lanes = Lanes()
    with db.write() as tx:
        won = [lanes.claim(tx, worker="w1", limit=50, bulk=50, now=later()) for _ in range(3)]
    assert {one.mailing for batch in won for one in batch} == {first, second}


def later() -> datetime:
    return clock.now() + timedelta(seconds=1)
