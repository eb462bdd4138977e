import asyncio
from datetime import datetime, timedelta

import pytest

from gna import clock
from gna.db import Database
from gna.delivery import mailings
from gna.delivery.claim import SUSPECT_AFTER, Claimed, Lanes
from gna.delivery.dead_letters import listed
from gna.delivery.pace import Pace
from gna.delivery.retry import LONGEST_WAIT, WAITS
from gna.delivery.sender import Sender
from gna.delivery.settle import settle
from gna.delivery.sweep import GIVEN_UP, MOST_CRASHES, JumpDetector, make_due, sweep, take_back, uptime
from gna.jobs import workers
from gna.mail.compile import Sender as From
from gna.outbox import Status
from gna.providers.protocol import Accepted, TryLater
from tests.factories import NOW, a_mailing, a_message, the_message
from tests.fakes import FakeProvider

JUMPS = [timedelta(minutes=2), timedelta(hours=6), timedelta(days=30)]
LATER = NOW + timedelta(days=1)


def test_what_a_dead_worker_left_is_taken_back_at_once(db: Database) -> None:
    with db.write() as tx:
        workers.beat(tx, "dead", now=NOW - timedelta(seconds=16))
        workers.beat(tx, "alive", now=NOW)
        lost = a_message(tx, status=Status.SENDING, claimed_by="dead", last_attempt_at=NOW)
        kept = a_message(tx, status=Status.SENDING, claimed_by="alive", last_attempt_at=NOW)
        own = a_message(tx, status=Status.SENDING, claimed_by="asker", last_attempt_at=NOW)
        assert take_back(tx, worker="asker", now=NOW) == 1
        assert (the_message(tx, lost).status, the_message(tx, lost).due_at) == ("failed_transient", NOW)
        assert the_message(tx, kept).status == the_message(tx, own).status == "sending"


def test_what_a_living_worker_forgot_is_taken_back_after_15_minutes(db: Database) -> None:
    with db.write() as tx:
        workers.beat(tx, "alive", now=NOW)
        a_message(tx, status=Status.SENDING, claimed_by="alive", last_attempt_at=NOW - timedelta(minutes=16))
        assert take_back(tx, worker="asker", now=NOW) == 1


def test_before_it_can_judge_others_a_worker_takes_back_only_from_those_that_signed_off(db: Database) -> None:
    with db.write() as tx:
        workers.beat(tx, "asker", now=NOW)
        workers.beat(tx, "silent", now=NOW - timedelta(minutes=1))
        gone = a_message(tx, status=Status.SENDING, claimed_by="signed off", last_attempt_at=NOW)
        kept = a_message(tx, status=Status.SENDING, claimed_by="silent", last_attempt_at=NOW)
        swept = sweep(tx, worker="asker", ours=[], jumps=JumpDetector(), now=NOW)
        assert (swept.taken, swept.alive) == (1, None)
        assert (the_message(tx, gone).status, the_message(tx, kept).status) == ("failed_transient", "sending")


def test_what_was_sent_and_is_not_yet_written_is_never_taken_back(db: Database) -> None:
    """Results stay in memory while a database is away, for however long; the first sweep after it comes too early."""
    long_ago = NOW - timedelta(minutes=20)
    with db.write() as tx:
        workers.beat(tx, "asker", now=NOW, alone=True)
        own = a_message(tx, status=Status.SENDING, claimed_by="asker", last_attempt_at=long_ago)
        assert sweep(tx, worker="asker", ours=[own], jumps=JumpDetector(), now=NOW).taken == 0
        assert the_message(tx, own).last_attempt_at == NOW


def test_the_sender_tells_the_sweep_of_results_that_are_not_written(db: Database) -> None:
    sender = Sender(db, FakeProvider(), worker="w1", sender=From("a@b.org", ""), pace=Pace("x"))
    long_ago = clock.now() - timedelta(minutes=20)
    with db.write() as tx:
        workers.beat(tx, "w1", now=clock.now(), alone=True)
        own = a_message(tx, status=Status.SENDING, claimed_by="w1", last_attempt_at=long_ago)
    sender._results.append((a_claim(own), TryLater("451")))
    assert asyncio.run(sender.sweep()) is False


def a_claim(message_id: str) -> Claimed:
    return Claimed(message_id, "confirmation", None, "ana@example.org", "", None, 1, None, None)


# Deaths of workers


def die_while_sending(db: Database, times: int, *, now: datetime = NOW) -> list[int]:
    """Claim all there is and die, again and again; says how many were being sent at each death."""
    being_sent = []
    for number in range(times):
        with db.write() as tx:
            lanes = Lanes()
            won = lanes.claim(tx, worker="mortal", limit=100, bulk=100, now=now + timedelta(minutes=number))
            if not won:
                won = lanes.claim_suspect(tx, worker="mortal", now=now + timedelta(minutes=number))
            being_sent.append(len(won))
            take_back(tx, worker="heir", now=now + timedelta(minutes=number))
    return being_sent


def test_an_attempt_that_died_with_its_worker_does_not_count_towards_giving_up(db: Database) -> None:
    with db.write() as tx:
        message_id = a_message(tx)
    die_while_sending(db, len(WAITS) + 1)
    with db.write() as tx:
        [message] = Lanes().claim_suspect(tx, worker="w1", now=LATER)
        assert message.attempt == 1
        settle(tx, [(message, TryLater("451 greylisted"))], worker="w1", now=LATER)
        row = the_message(tx, message_id)
    assert (row.status, row.due_at) == ("failed_transient", LATER + WAITS[0])
    assert (row.attempt_count, row.crash_count) == (len(WAITS) + 2, len(WAITS) + 1)


def test_messages_that_are_often_met_by_deaths_are_sent_alone(db: Database) -> None:
    a_mailing(db, people=3)
    assert die_while_sending(db, SUSPECT_AFTER + 3) == [3] * SUSPECT_AFTER + [1, 1, 1]


def test_new_messages_do_not_wait_for_suspects(db: Database) -> None:
    with db.write() as tx:
        a_message(tx)
    die_while_sending(db, SUSPECT_AFTER)
    with db.write() as tx:
        fresh = a_message(tx, to="new@example.org")
        assert [one.id for one in Lanes().claim(tx, worker="w1", limit=9, bulk=9, now=LATER)] == [fresh]


def test_a_message_that_kills_its_workers_is_given_up_and_shown(db: Database) -> None:
    with db.write() as tx:
        message_id = a_message(tx)
    die_while_sending(db, MOST_CRASHES)
    with db.write() as tx:
        row = the_message(tx, message_id)
        assert (row.status, row.last_error, row.exhausted) == ("failed_permanent", GIVEN_UP, True)
        [letter], _ = listed(tx, page=1, per_page=10)
        assert (letter["error"], letter["payload"]["message_id"]) == (GIVEN_UP, message_id)


def test_a_campaigns_message_that_kills_its_workers_is_counted_and_can_be_tried_again(db: Database) -> None:
    mailing = a_mailing(db, people=1)
    die_while_sending(db, MOST_CRASHES)
    with db.write() as tx:
        assert mailings.totals(tx, mailing).failed == 1
        [(ended, _)] = mailings.finish(tx, now=LATER)
        assert ended == mailing
        assert mailings.retry(tx, mailing, now=LATER) == 1
        [message] = Lanes().claim(tx, worker="w1", limit=9, bulk=9, now=LATER)
        assert message.attempt == 1


def test_the_innocent_are_sent_while_the_guilty_one_is_found(db: Database) -> None:
    """One message of forty kills the worker that begins it; all others arrive."""
    a_mailing(db, people=40)
    lanes, guilty, deaths, now = Lanes(), "", 0, NOW
    for _ in range(400):
        now += timedelta(seconds=10)
        with db.write() as tx:
            won = lanes.claim(tx, worker="mortal", limit=100, bulk=100, now=now)
            won = won or lanes.claim_suspect(tx, worker="mortal", now=now)
            guilty = guilty or won[0].id
            if not won:
                break
            if guilty in [one.id for one in won]:
                deaths += 1
                take_back(tx, worker="heir", now=now)
                continue
            settle(tx, [(one, Accepted()) for one in won], worker="mortal", now=now)
    with db.read() as tx:
        row = the_message(tx, guilty)
    assert (row.status, deaths) == ("failed_permanent", MOST_CRASHES)


# Clocks that are set


@pytest.mark.parametrize("jump", JUMPS)
def test_a_retry_is_due_at_once_after_the_clock_was_set_back(db: Database, jump: timedelta) -> None:
    with db.write() as tx:
        message_id = a_message(
            tx, status=Status.FAILED_TRANSIENT, last_attempt_at=NOW, due_at=NOW + timedelta(seconds=30)
        )
        make_due(tx, clock_was_set=True, now=NOW - jump)
        assert the_message(tx, message_id).due_at == NOW - jump


def test_a_retry_waits_its_time_while_the_clock_is_right(db: Database) -> None:
    due_at = NOW + LONGEST_WAIT
    with db.write() as tx:
        message_id = a_message(tx, status=Status.FAILED_TRANSIENT, last_attempt_at=NOW, due_at=due_at)
        make_due(tx, clock_was_set=True, now=NOW)
        assert the_message(tx, message_id).due_at == due_at


def test_a_due_time_beyond_the_longest_wait_is_due(db: Database) -> None:
    beyond = NOW + LONGEST_WAIT + timedelta(seconds=1)
    mailing = a_mailing(db, people=0)
    with db.write() as tx:
        own = a_message(tx, status=Status.FAILED_TRANSIENT, due_at=beyond)
        of_many = a_message(tx, status=Status.FAILED_TRANSIENT, due_at=beyond, mailing_id=mailing)
        make_due(tx, clock_was_set=False, now=NOW)
        assert the_message(tx, own).due_at == the_message(tx, of_many).due_at == NOW


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("jump", JUMPS)
def test_a_clock_that_was_set_makes_no_worker_look_dead(db: Database, jump: timedelta, sign: int) -> None:
    after = NOW + sign * jump
    with db.write() as tx:
        for worker in ("w1", "w2"):
            workers.beat(tx, worker, now=NOW, alone=True)
        message_id = a_message(tx, status=Status.SENDING, claimed_by="w2", last_attempt_at=NOW)
        assert sweep(tx, worker="w1", ours=[], jumps=JumpDetector(), now=after).taken == 0
        workers.beat(tx, "w1", now=after)
        assert sweep(tx, worker="w1", ours=[], jumps=JumpDetector(), now=after).taken == 0
        # Its owner is alive, and says so before the others may judge it.
        sweep(tx, worker="w2", ours=[message_id], jumps=JumpDetector(), now=after)
        for number in range(6):
            for worker in ("w1", "w2"):
                workers.beat(tx, worker, now=after + number * workers.BEAT)
        swept = sweep(tx, worker="w1", ours=[], jumps=JumpDetector(), now=after + 5 * workers.BEAT)
        assert (swept.taken, swept.alive) == (0, 2)


def test_a_jump_of_the_clock_is_noticed_once() -> None:
    jumps, start = JumpDetector(), uptime()

    def now(shift: float) -> datetime:
        return NOW + timedelta(seconds=uptime() - start + shift)

    looks = [jumps.has_jumped(now(shift)) for shift in (0, 0, -3600, -3600, 0)]
    assert looks == [True, False, True, False, True]
