"""How fast a mailbox is scanned: all of it, on the same machine and over a way of 60 ms.

The peer is the standard library alone, which fetches the same fields of the same mails, and the same bodies, in
batches of the same size, and does nothing with them: no mail is read, nothing is written down.
"""

import imaplib
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from tests.inbox.post import letters
from tests.servers.distance import Distance
from tests.servers.dovecot import Dovecot

from gna import clock, config
from gna.config import Settings
from gna.db import Database
from gna.inbox import accounts, scan
from gna.inbox.sources.folder_names import ranges
from gna.inbox.sources.imap import BODY_ITEMS, HEAD_ITEMS, HEADS
from gna.inbox.table import m
from gna.migrations import migrate

MAILS, FEWER, SENDERS = 20_000, 2_000, 300
ROUNDS = 5
ONE_WAY = 0.03
LIMIT = 0.6
READER = "reader@example.org"


def main() -> None:
    """Print both ways beside the peer, and how much memory a scan takes."""
    with tempfile.TemporaryDirectory() as folder, Dovecot(Path(tempfile.gettempdir())) as dovecot:
        for name, count in (("few@example.org", FEWER), (READER, MAILS)):
            for letter in letters(count, until=clock.now(), senders=SENDERS):
                dovecot.deliver(name, letter.raw, received=letter.received, flags="S")
        print(f"a mailbox of {MAILS:,} mails of {SENDERS} senders, median of {ROUNDS}; with bodies and subscriptions")
        cache = dovecot.maildir(READER) / "dovecot.index.cache"
        with _far_away(dovecot.port) as port:
            for name, way, forget in (
                ("on loopback, a first scan", dovecot.port, cache),
                (f"over {2000 * ONE_WAY:.0f} ms, a first scan", port, cache),
                ("on loopback, all fields in the server's cache", dovecot.port, None),
            ):
                _compare(name, way, Path(folder), forget=forget)
        few, many = (_memory(dovecot.port, name, Path(folder)) for name in ("few@example.org", READER))
        print(f"memory at the peak: {few:.0f} MB for {FEWER:,} mails, {many:.0f} MB for {MAILS:,} ({many / few:.2f})")


def _compare(name: str, port: int, folder: Path, *, forget: Path | None) -> None:
    """In turns, so that whatever else the machine does is in both; the first round is not counted.

    A scan asks for each mail once, so a server has none of it at hand. Dovecot writes down which fields it was asked
    for, and answers a second time from there: `forget` is that file.
    """
    ours, theirs = [], []
    wanted: Sequence[int] = ()
    for _ in range(ROUNDS + 1):
        _forget(forget)
        seconds, wanted = _scan(port, READER, folder)
        ours.append(seconds)
        _forget(forget)
        theirs.append(_bare(port, wanted))
    mine, bare = statistics.median(ours[1:]), statistics.median(theirs[1:])
    ratio = bare / mine
    verdict = "above" if ratio >= LIMIT else "BELOW"
    print(f"{name}: {mine:.2f} s, with {len(wanted):,} bodies")
    print(f"  {MAILS / mine:8,.0f} mails/s")
    print(f"  {ratio:8.2f} times the {MAILS / bare:,.0f}/s of imaplib; {verdict} the limit of {LIMIT}")


def _forget(cache: Path | None) -> None:
    if cache:
        cache.unlink(missing_ok=True)


def _scan(port: int, reader: str, folder: Path) -> tuple[float, list[int]]:
    """Seconds of a scan into a new database, and whose bodies it read."""
    file = folder / "scan.db"
    for old in folder.glob("scan.db*"):
        old.unlink()
    db = Database(f"sqlite:///{file}")
    migrate(db)
    settings = _settings(file)
    with db.write() as tx:
        wish = accounts.Wish(reader, f"imap://127.0.0.1:{port}?tls=none")
        account = accounts.add(tx, wish, now=clock.now())
    began = time.perf_counter()
    scanned = scan.scan(db, settings, account)
    seconds = time.perf_counter() - began
    assert not scanned.errors
    with db.read() as tx:
        assert tx.scalar(sa.select(sa.func.count(m.id))) == scanned.new
        wanted = list(tx.scalars(sa.select(m.uid).where(m.body_ways.is_not(None)).order_by(m.uid)))
    db.close()
    return seconds, wanted


def _settings(file: Path) -> Settings:
    given = {"DATABASE_URL": f"sqlite:///{file}", "INBOX_PASSWORD": Dovecot.password}
    return config.load(given, dotenv=file.with_name("no.env"))


def _bare(port: int, bodies: Sequence[int]) -> float:
    """Seconds that the library takes to fetch what a scan fetches."""
    began = time.perf_counter()
    imap = imaplib.IMAP4("127.0.0.1", port)
    imap.login(READER, Dovecot.password)
    imap.select(readonly=True)
    uids = [int(uid) for uid in imap.uid("SEARCH", "ALL")[1][0].split()]
    heads = _fetch(imap, uids, HEAD_ITEMS)
    contents = _fetch(imap, bodies, BODY_ITEMS)
    imap.logout()
    assert (heads, contents) == (MAILS, len(bodies))
    return time.perf_counter() - began


def _fetch(imap: imaplib.IMAP4, uids: Sequence[int], items: str) -> int:
    came = 0
    for start in range(0, len(uids), HEADS):
        answers: list[Any] = imap.uid("FETCH", ranges(uids[start : start + HEADS]), f"({items})")[1]
        came += sum(isinstance(answer, tuple) for answer in answers)
    return came


@contextmanager
def _far_away(port: int) -> Iterator[int]:
    """The port of a server that is further away, in a process of its own so that it takes nobody's time."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(port, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


def _serve(port: int, tell: Any) -> None:
    distance = Distance(port, delay=ONE_WAY, remembers=False)
    tell.send(distance.port)
    distance.serve()


def _memory(port: int, reader: str, folder: Path) -> float:
    """Megabytes at the peak of a process that scans and does nothing else."""
    command = [sys.executable, "-m", "bench.inbox", str(port), reader, str(folder)]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(told.stdout) / 1e6


if __name__ == "__main__":
    import resource

    _scan(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
