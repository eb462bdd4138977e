"""A database that pauses, a clock that is set and workers that die early, in the middle of a campaign."""

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gna.db import Database
from gna.jobs.workers import DEAD_AFTER
from gna.migrations import migrate
from tests import faults, few_attempts
from tests.crashes import a_campaign
from tests.faults import Server
from tests.running import Gna
from tests.servers.postgres import Postgres


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as listening:
        yield listening


def by_smtp(server: Server, database_url: str) -> dict[str, str]:
    return {
        "EMAIL_PROVIDER": "smtp",
        "SMTP_URL": server.url,
        "SMTP_CONNECTIONS": "8",
        "DATABASE_URL": database_url,
    }


def test_living_workers_do_not_declare_each_other_dead_after_the_database_paused(
    server: Server, start: Callable[..., Gna]
) -> None:
    with Postgres() as postgres:
        url = postgres.create_database("pauses")
        db = Database(url)
        migrate(db)
        server.delays(0.05)
        campaign = a_campaign(db, people=2500)
        crew = [start(command="worker", **by_smtp(server, url)) for _ in range(3)]
        faults.some_mails(server, 300, campaign.totals)
        began = time.monotonic()
        with faults.frozen(postgres):
            time.sleep(DEAD_AFTER.total_seconds() + 5)
        server.delays(0)
        ending = faults.wait_for_end(campaign, server, since=began)
        assert [gna.stop() for gna in crew] == [0, 0, 0]
        db.close()
    assert len(ending.ledger.accepted) > 300, "the pause came too late"
    assert ending.is_well, (ending.ledger.repeats, len(ending.ledger.lost), ending.sent)


@pytest.mark.parametrize("jump", ["-6 h", "+30 d"])
def test_a_clock_that_is_set_neither_holds_nor_repeats_a_campaign(
    db: Database, database_url: str, tmp_path: Path, server: Server, jump: str
) -> None:
    machine = faults.clock_of(db, tmp_path)
    server.delays(0.05)
    server.says("RCPT", b"451 4.7.1 greylisted, come back later", times=50)
    campaign = a_campaign(db, people=1200)
    with machine.worker(tmp_path, **by_smtp(server, database_url)) as worker:
        faults.some_mails(server, 200, campaign.totals)
        machine.jumps(faults.JUMPS[jump])
        server.delays(0)
        ending = faults.wait_for_end(campaign, server, since=time.monotonic())
        faults.wait_until_noticed(db, faults.JUMPS[jump])
        assert worker.stop() == 0
    assert ending.is_well, (ending.ledger.repeats, len(ending.ledger.lost), ending.sent)


def test_deaths_before_any_recipient_was_accepted_do_not_count_towards_giving_up(
    db: Database, database_url: str, tmp_path: Path, server: Server
) -> None:
    # A worker asks for MAIL when it starts, too, and would wait for that answer.
    server.stalls_at("RCPT")
    campaign = a_campaign(db, people=40)
    with few_attempts.worker(tmp_path, **by_smtp(server, database_url)) as worker:
        faults.kill_early(db, worker, kills=few_attempts.ATTEMPTS + 1)
        server.behaves()
        server.says("RCPT", b"451 4.7.1 greylisted, come back later", times=40)
        ending = faults.wait_for_end(campaign, server, since=time.monotonic())
        assert worker.stop() == 0
    assert ending.is_well, (ending.ledger.repeats, len(ending.ledger.lost), ending.failed)
    assert timedelta(seconds=ending.seconds) < timedelta(minutes=1)
