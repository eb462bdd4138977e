"""Campaigns for a real `gna worker` to send: made once, copied for each run, and counted where they arrive."""

import itertools
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import sqlalchemy as sa
from tests.running import Gna
from tests.servers import Server
from tests.servers.postgres import Postgres

from bench.newsletter import CONTENT, people
from bench.peer import Run, listener, undisturbed, watched
from bench.sinks import CSink
from gna import clock, ids, tokens
from gna.db import Database, timed
from gna.delivery import mailings
from gna.delivery.mailings import Totals
from gna.migrations import migrate
from gna.outbox import Kind
from gna.subscribers.table import subscribers

CHUNK = 5000
ACTIVATED = sa.select(subscribers.c.id).where(subscribers.c.activated_at.is_not(None))
# A sink is asked for less than a database is.
LOOK_AT_SINK, LOOK_AT_SUMS = 0.02, 0.1
# Seconds without a single mail more, and something is broken.
PATIENCE = 60


class Store(Protocol):
    """A kind of database, and where its databases are."""

    name: str

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that work for it, besides ours."""

    def empty(self) -> str:
        """The address of a new one."""

    def copy(self, url: str) -> str:
        """The address of a copy; nobody may be using the first."""

    def remove(self, url: str) -> None:
        """Make room."""


class Sqlite:
    """Files in a folder."""

    name = "SQLite"
    pids = ()

    def __init__(self, folder: Path) -> None:
        self._folder, self._numbers = folder, itertools.count()

    def empty(self) -> str:
        """The address of a new one."""
        return f"sqlite:///{self._folder / f'{next(self._numbers)}.db'}"

    def copy(self, url: str) -> str:
        """The address of a copy; nobody may be using the first."""
        copied = self.empty()
        shutil.copyfile(self._file(url), self._file(copied))
        return copied

    def remove(self, url: str) -> None:
        """Make room."""
        for file in self._folder.glob(f"{self._file(url).name}*"):
            file.unlink()

    def _file(self, url: str) -> Path:
        return Path(url.removeprefix("sqlite:///"))


class Postgresql:
    """Databases in one server, which is measured together with its processes."""

    name = "PostgreSQL"

    def __init__(self, server: Postgres) -> None:
        self._server, self._numbers = server, itertools.count()

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that work for it, besides ours."""
        return (listener(self._server.port),)

    def empty(self) -> str:
        """The address of a new one."""
        return self._server.create_database(f"send{next(self._numbers)}")

    def copy(self, url: str) -> str:
        """The address of a copy; nobody may be using the first."""
        return self._server.create_database(f"send{next(self._numbers)}", template=url.rpartition("/")[2])

    def remove(self, url: str) -> None:
        """Make room."""
        self._server.drop_database(url.rpartition("/")[2])


@dataclass(frozen=True)
class Campaign:
    """A campaign of which nothing was sent yet, in a database of its own."""

    store: Store
    url: str
    number: int
    audience: int
    # How many messages a second were made; the people were there before.
    rows_per_second: float

    @contextmanager
    def copied(self) -> Iterator["Campaign"]:
        """The same in another database, which is removed at the end."""
        url = self.store.copy(self.url)
        try:
            yield Campaign(self.store, url, self.number, self.audience, self.rows_per_second)
        finally:
            self.store.remove(url)

    def totals(self) -> Totals:
        """What became of it so far."""
        with opened(self.url) as db, db.read() as tx:
            return mailings.totals(tx, self.number)


@dataclass(frozen=True)
class Sending:
    """What a worker did: mails a second, its most memory in megabytes, and who used the machine meanwhile."""

    rate: float
    peak: float
    run: Run


@contextmanager
def opened(url: str) -> Iterator[Database]:
    """The database, closed at the end."""
    db = Database(url)
    try:
        yield db
    finally:
        assert db.close()


def made(store: Store, audience: int) -> Campaign:
    """A campaign to so many people, who are new too."""
    say(f"{store.name}: {audience:,} people and a campaign to them")
    url = store.empty()
    with opened(url) as db:
        migrate(db)
        _add_people(db, audience)
        # An import does it too.
        db.vacuum("subscribers")
        with db.write() as tx:
            number = timed(mailings.begin)(tx, kind=Kind.CAMPAIGN)
            mailings.expect(tx, number, mailings.measure(tx, ACTIVATED))
        began = time.perf_counter()
        while _fill_some(db, number):
            pass
        seconds = time.perf_counter() - began
        # PostgreSQL does it by itself some time later: then one run would have it and another would not.
        db.vacuum("messages")
        db.empty_log()
    return Campaign(store, url, number, audience, audience / seconds)


def _add_people(db: Database, count: int) -> None:
    everybody, now = people(count), clock.now()
    while some := [_person(email, nickname) for email, nickname in itertools.islice(everybody, CHUNK)]:
        with db.write() as tx:
            tx.execute(sa.insert(subscribers), [person | {"created_at": now, "activated_at": now} for person in some])


def _person(email: str, nickname: str | None) -> dict[str, object]:
    return {"id": ids.new(), "email": email, "nickname": nickname, "unsubscribe_token": tokens.new()}


def _fill_some(db: Database, mailing: int) -> bool:
    with db.write() as tx:
        return timed(mailings.fill)(tx, mailing, CONTENT, ACTIVATED)


def sent_undisturbed(campaign: Campaign, sink: Server, mails: int, folder: Path, **settings: str) -> Sending:
    """A run that counts: one that is disturbed is repeated, with another copy."""

    def attempt() -> tuple[Sending, Run]:
        with campaign.copied() as copy:
            sending = sent(copy, sink, mails, folder, **settings)
        return sending, sending.run

    return undisturbed(attempt, f"a worker on {campaign.store.name}")


def sent(campaign: Campaign, sink: Server, mails: int, folder: Path, **settings: str) -> Sending:
    """Let a worker send so many of a campaign's mails, and measure from the first that arrived to the last."""
    with watched(listener(sink.port), *campaign.store.pids) as run, _arrivals(campaign, sink) as arrived:
        with Gna(folder, command="worker", **settings_for(campaign, sink), **settings) as worker:
            rate = _rate(arrived, mails, worker)
            peak = most_memory(worker.process.pid)
        _check(campaign, arrived.count(), mails)
    others = f"others used {run.outside:.0%} of the machine"
    say(f"  {campaign.store.name}: {mails:,} mails, {rate:,.0f} a second, peak {peak:.0f} MB; {others}")
    return Sending(rate, peak, run)


def settings_for(campaign: Campaign, sink: Server) -> dict[str, str]:
    """What a process has to know to send the campaign to the sink."""
    return {
        "DATABASE_URL": campaign.url,
        "EMAIL_PROVIDER": "smtp",
        "SMTP_URL": f"smtp://{sink.host}:{sink.port}",
    }


@dataclass(frozen=True)
class Arrivals:
    """How many mails have arrived, and how often to ask."""

    count: Callable[[], int]
    pause: float


@contextmanager
def _arrivals(campaign: Campaign, sink: Server) -> Iterator[Arrivals]:
    """By the sink's own count. Postfix's does not say; there it is how many the campaign counts as sent."""
    if isinstance(sink, CSink):
        before = sink.counted()
        yield Arrivals(lambda: sink.counted() - before, LOOK_AT_SINK)
        return
    with opened(campaign.url) as db:

        def count() -> int:
            with db.read() as tx:
                return mailings.totals(tx, campaign.number).sent

        yield Arrivals(count, LOOK_AT_SUMS)


def _rate(arrived: Arrivals, mails: int, worker: Gna) -> float:
    """Mails a second after the first, so that the start of the process does not count."""
    first, began = _next_count(arrived, 0, worker)
    count, moment = first, began
    while count < mails:
        count, moment = _next_count(arrived, count, worker)
    assert moment > began, f"all {mails:,} mails left before they could be counted; it needs more"
    return (count - first) / (moment - began)


def _next_count(arrived: Arrivals, before: int, worker: Gna) -> tuple[int, float]:
    """A higher count than before, and when that was."""
    deadline = time.monotonic() + PATIENCE
    while (count := arrived.count()) <= before:
        assert worker.process.poll() is None, f"the worker has stopped:\n{worker.log.read_text()}"
        assert time.monotonic() < deadline, f"no mail in {PATIENCE} s after {before:,}:\n{worker.log.read_text()}"
        time.sleep(arrived.pause)
    moment = time.perf_counter()
    time.sleep(arrived.pause)
    return count, moment


def _check(campaign: Campaign, arrived: int, mails: int) -> None:
    """Every mail arrived once, as far as it was to be sent at all: the worker has ended and has written it down."""
    totals = campaign.totals()
    assert totals.failed == 0, totals
    assert totals.sent == arrived >= mails, (totals, arrived, mails)
    assert mails < campaign.audience or arrived == campaign.audience, (totals, arrived)


def most_memory(pid: int) -> float:
    """The most memory that a process ever held, in megabytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6


def say(what: str) -> None:
    """Show that it goes on."""
    print(what, file=sys.stderr, flush=True)
