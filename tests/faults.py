"""What goes wrong around a campaign: a database that pauses, a clock that is set, workers that die early."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa

from gna import clock
from gna.db import Database
from gna.jobs import workers
from gna.outbox import messages
from tests.crashes import MESSAGE_ID, Campaign, Ledger, Mail, Office, found
from tests.running import ForkedGna, Gna, until
from tests.servers.postgres import Postgres
from tests.servers.smtp import ScriptedSmtp

ROOT = Path(__file__).parent.parent
JUMPS = {
    "-2 min": timedelta(minutes=-2),
    "+2 min": timedelta(minutes=2),
    "-6 h": timedelta(hours=-6),
    "+6 h": timedelta(hours=6),
    "-30 d": timedelta(days=-30),
    "+30 d": timedelta(days=30),
}
# PostgreSQL looks up the name of its clock in these schemas in turn, so that ours hides its own.
SHIFTED_POSTGRES = """
CREATE SCHEMA shifted;
CREATE TABLE shifted.jump (by interval);
INSERT INTO shifted.jump VALUES ('0');
CREATE FUNCTION shifted.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
  'SELECT pg_catalog.clock_timestamp() + (SELECT by FROM shifted.jump)';
DO $$ BEGIN
  EXECUTE 'ALTER DATABASE ' || quote_ident(current_database()) || ' SET search_path = public, shifted, pg_catalog';
END $$
"""


class Server(ScriptedSmtp):
    """A scripted mail server that knows the ids of the mails it took."""

    def ids(self) -> Sequence[str]:
        """The ids in the Message-IDs of what it accepted."""
        return [mail.id for mail in self.accepted()]

    def accepted(self) -> Sequence[Mail]:
        """What it accepted."""
        return [Mail(found(MESSAGE_ID, mail.content), mail.recipient) for mail in self.received]


# A database that pauses


@contextmanager
def frozen(postgres: Postgres) -> Iterator[None]:
    """No process of the server does anything; its connections stay open."""
    processes = _family(postgres.pid)
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)


def _family(pid: int) -> list[int]:
    """A process and all that it started; parents first."""
    files = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for file in files for child in file.read_text().split()]
    return [pid, *(each for child in children for each in _family(child))]


# A clock that is set


class Clock(Protocol):
    """The clock of a machine."""

    def jumps(self, by: timedelta) -> None:
        """It is set."""

    def worker(self, folder: Path, **settings: str) -> Gna:
        """A worker that lives by it."""


class MachineClock:
    """The clock of a machine that has its database in a file."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock-shift"
        self.jumps(timedelta())

    def jumps(self, by: timedelta) -> None:
        """It is set."""
        # Replaced as a whole: a worker that looks meanwhile reads the old or the new one.
        fresh = self._file.with_suffix(".new")
        fresh.write_text(str(by.total_seconds()))
        fresh.replace(self._file)

    def worker(self, folder: Path, **settings: str) -> Gna:
        """A worker that lives by it."""
        paths = {"CLOCK_SHIFT": str(self._file), "PYTHONPATH": str(ROOT)}
        return ForkedGna(folder, command="worker", module="tests.shifted_clock", **paths, **settings)


class PostgresClock:
    """The clock of a PostgreSQL server, which all workers take their time from."""

    def __init__(self, db: Database) -> None:
        self._db = db
        with db.write() as tx:
            tx.exec_driver_sql(SHIFTED_POSTGRES)

    def jumps(self, by: timedelta) -> None:
        """It is set."""
        with self._db.write() as tx:
            tx.exec_driver_sql("UPDATE shifted.jump SET by = %(by)s", {"by": by})

    def worker(self, folder: Path, **settings: str) -> Gna:
        """A worker that lives by it."""
        return ForkedGna(folder, command="worker", **settings)


def clock_of(db: Database, folder: Path) -> Clock:
    """The clock that counts for this database; start nothing before."""
    return MachineClock(folder) if db.kind == "sqlite" else PostgresClock(db)


def wait_until_noticed(db: Database, jump: timedelta) -> None:
    """Wait for a heartbeat by the new time: without one, the clock was not set."""

    def beats_by_the_new_time() -> bool:
        with db.read() as tx:
            seen = tx.scalars(sa.select(workers.workers.c.seen_at)).all()
        return any(abs(moment - clock.now() - jump) < timedelta(minutes=1) for moment in seen)

    until(beats_by_the_new_time, 20, lambda: "no heartbeat by the new time")


# Workers that die before they said to whom they want to write


def kill_early(db: Database, gna: Gna, *, kills: int) -> None:
    """Kill a worker so often, each time after it has claimed messages anew."""
    for _ in range(kills):
        before = _claims(db)
        until(lambda: _claims(db) > before, 60, lambda: gna.log.read_text()[-2000:])  # noqa: B023
        gna.kill()
        with db.write() as tx:
            # As if it had been silent for 15 seconds; it spares each kill that wait.
            tx.execute(sa.delete(workers.workers))
        gna.again()


def _claims(db: Database) -> int:
    """How often messages were claimed, by all workers together."""
    with db.read() as tx:
        return tx.scalar(sa.select(sa.func.sum(messages.c.attempt_count))) or 0


# How it ended


@dataclass(frozen=True)
class Ending:
    """What became of a campaign: the ledger, what its sums say, and how long it took from the fault on."""

    ledger: Ledger
    sent: int
    failed: int
    seconds: float

    @property
    def is_well(self) -> bool:
        """Whether all mails came, each once, and the sums say so."""
        people = len(self.ledger.people)
        went_well = not self.ledger.lost and not self.ledger.repeats
        return went_well and (self.sent, self.failed) == (people, 0)


def wait_for_end(campaign: Campaign, office: Office, *, since: float, within: float = 120) -> Ending:
    """Wait until a campaign is done, and look at what came."""
    until(campaign.is_done, within, lambda: f"not done: {campaign.totals()}")
    seconds = time.monotonic() - since
    totals = campaign.totals()
    return Ending(Ledger(campaign.people, office.accepted(), ()), totals.sent, totals.failed, seconds)


def some_mails(office: Office, number: int, otherwise: Callable[[], Any]) -> None:
    """Wait until so many have come."""
    until(lambda: len(office.ids()) >= number, 60, lambda: f"{len(office.ids())} mails came: {otherwise()}")
