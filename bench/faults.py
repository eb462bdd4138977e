"""What strangers, a pausing database, a clock that is set and early deaths of workers cost: memory, silence, mails.

Nothing may be lost, and nothing may come twice. BENCH_PAUSES, BENCH_PAUSE_SECONDS and BENCH_WORKERS change the pauses
of the database: `BENCH_PAUSES=3 BENCH_PAUSE_SECONDS=60 BENCH_WORKERS=3 make bench ARGS=faults`.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests import faults
from tests.crashes import a_campaign
from tests.faults import Ending, Server
from tests.running import Gna
from tests.servers import HOST
from tests.servers.postgres import Postgres

from bench import hostile
from bench.crash import Sink
from gna.db import Database
from gna.migrations import migrate

PAUSES = int(os.environ.get("BENCH_PAUSES", "5"))
PAUSE_SECONDS = float(os.environ.get("BENCH_PAUSE_SECONDS", "25"))
WORKERS = int(os.environ.get("BENCH_WORKERS", "2"))
KILLS = 12
PAUSED_PEOPLE, JUMP_PEOPLE, KILLED_PEOPLE = 20_000, 5000, 40
# Mails that have come when the fault happens.
FIRST = 500
SMTP = {"EMAIL_PROVIDER": "smtp", "SMTP_CONNECTIONS": "20", "LOG_LEVEL": "warning"}


def main() -> None:
    """Print what each fault costs."""
    hostile.run()
    _pauses()
    _jumps()
    _deaths()


def _pauses() -> None:
    print(f"PostgreSQL is stopped for {PAUSE_SECONDS:.0f} s in a campaign of {PAUSED_PEOPLE:,}, {WORKERS} workers")
    for number in range(PAUSES):
        with Postgres() as postgres, Sink() as sink, tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            url = postgres.create_database("pauses")
            db = stack.enter_context(_opened(url))
            campaign = a_campaign(db, people=PAUSED_PEOPLE)
            settings = {**SMTP, "SMTP_URL": f"smtp://{HOST}:{sink.port}", "DATABASE_URL": url}
            for _ in range(WORKERS):
                stack.enter_context(Gna(Path(folder), command="worker", **settings))
            faults.some_mails(sink, FIRST, campaign.totals)
            began = time.monotonic()
            with faults.frozen(postgres):
                time.sleep(PAUSE_SECONDS)
            _print(f"pause {number + 1}", faults.wait_for_end(campaign, sink, since=began, within=300))


def _jumps() -> None:
    print(f"the clock is set in a campaign of {JUMP_PEOPLE:,}, 1 worker; 100 mails were greylisted before")
    for kind in ("sqlite", "postgresql"):
        for name, jump in faults.JUMPS.items():
            with _database(kind) as (db, url, folder), Server() as server:
                server.delays(0.02)
                server.says("RCPT", b"451 4.7.1 greylisted, come back later", times=100)
                machine = faults.clock_of(db, folder)
                campaign = a_campaign(db, people=JUMP_PEOPLE)
                with machine.worker(folder, **SMTP, SMTP_URL=server.url, DATABASE_URL=url):
                    faults.some_mails(server, FIRST, campaign.totals)
                    machine.jumps(jump)
                    began = time.monotonic()
                    server.delays(0)
                    ending = faults.wait_for_end(campaign, server, since=began)
                    faults.wait_until_noticed(db, jump)
            _print(f"{kind}, {name}", ending)


def _deaths() -> None:
    print(f"a worker is killed {KILLS} times before its first RCPT, then {KILLED_PEOPLE} mails are greylisted once")
    for kind in ("sqlite", "postgresql"):
        with _database(kind) as (db, url, folder), Server() as server:
            server.stalls_at("MAIL")
            campaign = a_campaign(db, people=KILLED_PEOPLE)
            settings = {**SMTP, "SMTP_URL": server.url, "DATABASE_URL": url}
            with Gna(folder, command="worker", **settings) as worker:
                faults.kill_early(db, worker, kills=KILLS)
                server.behaves()
                server.says("RCPT", b"451 4.7.1 greylisted, come back later", times=KILLED_PEOPLE)
                began = time.monotonic()
                ending = faults.wait_for_end(campaign, server, since=began, within=600)
        _print(kind, ending)


@contextmanager
def _database(kind: str) -> Iterator[tuple[Database, str, Path]]:
    """A new database with its URL, and a folder for a worker."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if kind == "sqlite":
            url = f"sqlite:///{folder}/gna.db"
        else:
            url = stack.enter_context(Postgres()).create_database("faults")
        yield stack.enter_context(_opened(url)), url, folder


@contextmanager
def _opened(url: str) -> Iterator[Database]:
    db = Database(url)
    migrate(db)
    yield db
    db.close()


def _print(name: str, ending: Ending) -> None:
    ledger = ending.ledger
    counts = f"{len(ledger.people):7,} people  {len(ledger.lost):5,} lost  {ledger.repeats:5,} repeats"
    verdict = "within" if ending.is_well else "OVER"
    print(f"  {name:<22}{counts}  {ending.failed:5,} given up  {ending.seconds:6.1f} s  {verdict}", flush=True)
