"""How fast campaigns leave, how much memory that takes, and what visitors notice of it.

The peer is Postfix's `smtp-source`, which sends one mail again and again: it composes nothing and keeps no record. Ours
is a real `gna worker` with a database, and 28 kB of newsletter for each person. Both send into the same sinks.
BENCH_MAILS, BENCH_ROUNDS and BENCH_LARGE make it short; BENCH_LARGE=0 leaves the large campaign out.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from tests.servers import Server
from tests.servers.postfix import smtp_sink
from tests.servers.postgres import Postgres

from bench.campaigns import Campaign, Postgresql, Sending, Sqlite, Store, made, say, sent, sent_undisturbed
from bench.newsletter import CONTENT, people
from bench.peer import NoRunError, Run, best_sessions, source_rate, undisturbed, watched
from bench.sinks import CSink
from bench.visitors import PER_SECOND, visited
from gna import ids, tokens
from gna.mail.compile import Bulk, Compiled, Mail, Sender
from gna.mail.dkim import Signer

MAILS = int(os.environ.get("BENCH_MAILS", "100_000"))
LARGE = int(os.environ.get("BENCH_LARGE", "1_000_000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
# The peer is even all the time, and Postfix's sink slows everybody down: a part of the mails tells as much.
SHORT = min(MAILS, 20_000)
PROBE = min(MAILS, 2000)

# The least that ours must reach of the peer: into our sink, and into Postfix's, which is the slower one.
SQLITE_LIMIT, POSTGRESQL_LIMIT, POSTFIX_LIMIT = 0.75, 0.5, 1.0
MEMORY_LIMIT, GROWTH_LIMIT, SLOWDOWN_LIMIT = 100.0, 1.1, 1.2
COMPOSE_LIMIT, COMPOSED = 50_000, 50_000
DELAY_MS, PIPELINING_LIMIT = 10, 3.0
# Connections, and how many mails they carry.
FAR_AWAY = {10: 3000, 50: 10_000, 100: 10_000}
P99_LIMIT, OVERTAKING_LIMIT = 250.0, 2.0
NOTES = {
    "SQLite": "synchronous=FULL",
    "PostgreSQL": "fsync off, its files in memory if /dev/shm has room",
}
FROM = Sender("The Quiet Café <news@example.org>", "https://news.example.org")


def main() -> None:
    """Print everything, each beside its limit."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        stores: list[Store] = [Sqlite(folder), Postgresql(stack.enter_context(Postgres()))]
        sqlite, postgresql = (made(store, MAILS) for store in stores)
        print(f"campaigns to {MAILS:,} people; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
        for campaign in (sqlite, postgresql):
            note = NOTES[campaign.store.name]
            print(f"  {f'made on {campaign.store.name}':<34} {campaign.rows_per_second:9,.0f} rows/s   {note}")
        parts: tuple[Callable[[], None], ...] = (
            lambda: _speed_and_memory(folder, sqlite, postgresql),
            _compose,
            lambda: _pipelining(folder, sqlite),
            lambda: _visitors(folder, sqlite),
        )
        for part in parts:
            try:
                part()
            except NoRunError as why:
                print(f"NOT MEASURED: {why}", flush=True)
    print(f"all of it took {(time.monotonic() - began) / 60:.1f} minutes")


def _speed_and_memory(folder: Path, sqlite: Campaign, postgresql: Campaign) -> None:
    _memory(folder, (sqlite.store, postgresql.store), _speeds(folder, sqlite, postgresql))


# -- How fast --


@dataclass
class Race:
    """The peer and ours into one sink."""

    title: str
    sink: Server
    mails: int
    limits: dict[str, float]
    sessions: int
    peers: list[float] = field(default_factory=list)
    ours: dict[str, list[Sending]] = field(default_factory=dict)

    def round(self, folder: Path, campaigns: Sequence[Campaign], size: int) -> None:
        """Each once, the peer first."""
        self.peers.append(source_rate(self.sink.port, SHORT, size, self.sessions))
        say(f"  smtp-source: {self.peers[-1]:,.0f} a second")
        for campaign in campaigns:
            if campaign.store.name in self.limits:
                sending = sent_undisturbed(campaign, self.sink, self.mails, folder)
                self.ours.setdefault(campaign.store.name, []).append(sending)

    def print(self) -> None:
        """The medians, and their ratios."""
        peer = statistics.median(self.peers)
        print(f"into {self.title}, {self.mails:,} mails, median of {ROUNDS}, peer and product in turn")
        print(f"  {f'smtp-source, {self.sessions} connections':<34} {peer:9,.0f} mails/s")
        for name, limit in self.limits.items():
            rate = _median_rate(self.ours[name])
            said = _at_least(rate / peer, limit)
            print(f"  {f'gna worker, {name}':<34} {rate:9,.0f} mails/s   ratio {rate / peer:.2f}, {said}", flush=True)


def _speeds(folder: Path, sqlite: Campaign, postgresql: Campaign) -> dict[str, list[Sending]]:
    """What each database brought into our own sink."""
    with CSink() as ours, smtp_sink() as theirs:
        size = _size(folder, sqlite, ours)
        limits = {"SQLite": SQLITE_LIMIT, "PostgreSQL": POSTGRESQL_LIMIT}
        races = (
            Race("sink.c", ours, MAILS, limits, best_sessions(ours.port, size)),
            Race("Postfix's smtp-sink", theirs, SHORT, {"SQLite": POSTFIX_LIMIT}, best_sessions(theirs.port, size)),
        )
        for number in range(ROUNDS):
            for race in races:
                say(f"round {number + 1} of {ROUNDS} into {race.title}")
                race.round(folder, (sqlite, postgresql), size)
    print(f"  {'size of a mail':<34} {size:9,} bytes")
    for race in races:
        race.print()
    return races[0].ours


def _size(folder: Path, campaign: Campaign, sink: CSink) -> int:
    """The bytes of a mail of ours, so that the peer's are as large."""
    before = sink.counts()
    with campaign.copied() as copy:
        sent(copy, sink, PROBE, folder)
    after = sink.counts()
    return round((after.bytes - before.bytes) / (after.mails - before.mails))


# -- How much memory --


def _memory(folder: Path, stores: Sequence[Store], small: dict[str, list[Sending]]) -> None:
    print("peak memory of the worker, and time per mail")
    for store in stores:
        peaks = [sending.peak for sending in small[store.name]]
        said = _at_most(max(peaks), MEMORY_LIMIT)
        print(f"  {f'{store.name}, {MAILS:,} people':<34} {max(peaks):9.1f} MB        {said} MB", flush=True)
        if LARGE:
            _print_large(store.name, _large(folder, store), statistics.median(peaks), _median_rate(small[store.name]))


def _large(folder: Path, store: Store) -> Sending:
    """Once, as it comes: memory does not mind who else uses the machine."""
    campaign = made(store, LARGE)
    with CSink() as sink:
        sending = sent(campaign, sink, LARGE, folder)
    store.remove(campaign.url)
    return sending


def _print_large(name: str, large: Sending, peak: float, rate: float) -> None:
    growth, slowdown = large.peak / peak, rate / large.rate
    print(f"  {f'{name}, {LARGE:,} people':<34} {large.peak:9.1f} MB        {_at_most(large.peak, MEMORY_LIMIT)} MB")
    print(f"  {'':<34} {growth:9.2f} times the memory, {_at_most(growth, GROWTH_LIMIT)}")
    disturbed = "" if large.run.clean() else f"; others used {large.run.outside:.0%} of the machine"
    print(
        f"  {'':<34} {slowdown:9.2f} times the time per mail, {_at_most(slowdown, SLOWDOWN_LIMIT)};"
        f" {large.rate:,.0f} mails/s{disturbed}",
        flush=True,
    )


# -- Composing alone --


def _compose() -> None:
    print(f"composing alone, one thread, median of {ROUNDS}")
    rate = _composing(FROM, COMPOSED)
    print(f"  {'no signature':<34} {rate:9,.0f} mails/s   {_at_least(rate, COMPOSE_LIMIT)}")
    # What a nickname becomes is kept for the next who has it, and few have one that nobody else has.
    print(f"  {'  a nickname of their own for each':<34} {_composing(FROM, COMPOSED, alike=False):9,.0f} mails/s")
    for name, key, count in (
        ("RSA-2048", rsa.generate_private_key(65537, 2048), 1000),
        ("Ed25519", Ed25519PrivateKey.generate(), 5000),
    ):
        print(f"  {f'DKIM {name}':<34} {_composing(_signed(_pem(key)), count):9,.0f} mails/s", flush=True)


def _composing(sender: Sender, count: int, *, alike: bool = True) -> float:
    """Mails a second."""
    compiled = Compiled(CONTENT, sender, Bulk("1"))
    readers = [_values(email, name, number, alike=alike) for number, (email, name) in enumerate(people(count))]
    mails = [Mail(compiled, ids.new(), values["email"], values) for values in readers]

    def attempt() -> tuple[float, Run]:
        with watched() as run:
            for mail in mails:
                mail.raw()
        return count / run.seconds, run

    return statistics.median(undisturbed(attempt, "composing") for _ in range(ROUNDS))


def _values(email: str, name: str | None, number: int, *, alike: bool) -> dict[str, str]:
    nickname = name or "" if alike else f"{name or 'Zoë'} {number}"
    return {"nickname": nickname, "email": email, "unsubscribe_token": tokens.new()}


def _signed(private_key: str) -> Sender:
    signer = Signer(domain="example.org", selector="gna", private_key=private_key)
    return Sender(FROM.written, FROM.base_url, signer)


def _pem(key: RSAPrivateKey | Ed25519PrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


# -- A server far away --


def _pipelining(folder: Path, campaign: Campaign) -> None:
    print(f"a server that answers after {DELAY_MS} ms, {campaign.store.name}, one run each")
    with CSink(delay_ms=DELAY_MS) as quick, CSink(delay_ms=DELAY_MS, pipelining=False) as slow:
        for connections, wanted in FAR_AWAY.items():
            mails = min(wanted, MAILS)
            with_it, without = (
                sent_undisturbed(campaign, sink, mails, folder, SMTP_CONNECTIONS=str(connections)).rate
                for sink in (quick, slow)
            )
            ratio = with_it / without
            print(
                f"  {f'{connections} connections, pipelined':<34} {with_it:9,.0f} mails/s   {without:,.0f} if not,"
                f" ratio {ratio:.1f}, {_at_least(ratio, PIPELINING_LIMIT)}",
                flush=True,
            )


# -- Visitors meanwhile --


def _visitors(folder: Path, campaign: Campaign) -> None:
    visits = visited(campaign, folder)
    print(
        f"visitors while the campaign leaves from the same `gna serve`, {campaign.store.name}, {PER_SECOND} of each a"
        f" second; {visits.rate:,.0f} mails/s meanwhile, from mail {visits.before:,} to {visits.after:,}"
    )
    for name, load in (("GET /healthz", visits.health), ("POST /api/subscribe", visits.sign_ups)):
        times = f"median {statistics.median(load.latencies) * 1000:.1f}, longest {max(load.latencies) * 1000:.0f}"
        said = _at_most(load.p99, P99_LIMIT)
        print(f"  {name:<34} {load.p99:9.1f} ms p99    {said} ms; {times}; {len(load.latencies)} requests")
    slowest, median = max(visits.waits), statistics.median(visits.waits)
    said = _at_most(slowest, OVERTAKING_LIMIT)
    print(
        f"  {'confirmation mail after the 201':<34} {slowest:9.2f} s slowest {said} s;"
        f" median {median:.2f}; {len(visits.waits)} mails"
    )


def _median_rate(sendings: Sequence[Sending]) -> float:
    return statistics.median(sending.rate for sending in sendings)


def _at_least(value: float, limit: float) -> str:
    return f"{'within' if value >= limit else 'UNDER'} {limit:,g}"


def _at_most(value: float, limit: float) -> str:
    return f"{'within' if value <= limit else 'OVER'} {limit:,g}"
