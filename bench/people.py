"""A million people: how fast they are imported, listed, searched and exported, and how much memory that takes.

BENCH_ROWS=100000 makes it short. The peers are measured in the same run: a tenth of the rows for memory, which must
not grow with the file, and the look-up of one person by id for the time of a list or a search.
"""

import csv
import itertools
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
from tests.running import INHERITED, Gna, resident
from tests.servers.postgres import Postgres

from gna import ids

ROWS = int(os.environ.get("BENCH_ROWS", "1_000_000"))
ROUNDS = 15
LIMIT = 100.0
PER_PAGE = 20
PAUSE = 0.1
IDS = 50
PEOPLE = "/admin/api/subscribers"
NOTES = {
    "SQLite": "synchronous=FULL",
    "PostgreSQL": "fsync off, its files in memory if /dev/shm has room, so commits cost less than on a real disk",
}

FIRST = ("Ana", "Ben", "Chloé", "Dmitri", "Emre", "Fatima", "Grace", "Hiro", "Ines", "Jörg", "Kofi", "Lena", "Zoë")
LAST = ("Ahmed", "Berg", "Costa", "Dubois", "Evans", "Fischer", "Garcia", "Haddad", "Ito", "Jansen", "Kim", "Lopez")
CITIES = ("Chicago", "Montréal", "São Paulo", "Berlin", "Nairobi", "Osaka")
DOMAINS = ("example.org", "mail.example.com", "post.example.net")
# One person in so many has this name, which makes a search that finds neither few nor many.
SCARCE, EVERY = "Quimby", 200


def main() -> None:
    """Print the measurements of both databases."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = Path(folder)
        large, small = _file(place / "all.csv", ROWS), _file(place / "tenth.csv", ROWS // 10)
        server = stack.enter_context(Postgres())
        numbers = itertools.count()
        makers: dict[str, Callable[[], str]] = {
            "SQLite": lambda: f"sqlite:///{place / f'{next(numbers)}.db'}",
            "PostgreSQL": lambda: server.create_database(f"people{next(numbers)}"),
        }
        for name, fresh in makers.items():
            print(f"{ROWS:,} people on {name} ({NOTES[name]}); load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            _import_by_command(place, fresh, small=small, large=large)
            url = fresh()
            _import_in_background(place, url, large)
            with Gna(place, DATABASE_URL=url) as gna:
                _searches(gna)
            with Gna(place, DATABASE_URL=url) as gna:
                _export(gna)


def _file(path: Path, rows: int) -> Path:
    """People in no order, the same in every run."""
    chance = random.Random(1)
    began = datetime(2015, 1, 1, tzinfo=UTC)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("email", "nickname", "status", "activated_at", "city"))
        for number in range(rows):
            first, last = chance.choice(FIRST), SCARCE if number % EVERY == 0 else chance.choice(LAST)
            local = f"{first}.{last}".encode("ascii", "ignore").decode().lower()
            since = began + timedelta(seconds=chance.randrange(300_000_000))
            email = f"{local}{number}@{chance.choice(DOMAINS)}"
            writer.writerow((email, first, "Activated", since.isoformat(), chance.choice(CITIES)))
    return path


@dataclass
class Peak:
    """The most memory that a process held, in megabytes: in all, and without files that it sees as memory."""

    pid: int
    whole: float = 0
    own: float = 0
    over: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        """Look every 50 ms until it is over, or the process is."""
        with suppress(OSError, IndexError):
            while not self.over.wait(0.05):
                self.whole = max(self.whole, resident(self.pid) / 1e6)
                self.own = max(self.own, (resident(self.pid) - _shared(self.pid)) / 1e6)


def _shared(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[2]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def _peak(pid: int) -> Iterator[Peak]:
    peak = Peak(pid)
    watching = threading.Thread(target=peak.watch)
    watching.start()
    try:
        yield peak
    finally:
        peak.over.set()
        watching.join()


def _import_by_command(folder: Path, fresh: Callable[[], str], *, small: Path, large: Path) -> None:
    _, tenth = _command(folder, fresh(), small)
    seconds, peak = _command(folder, fresh(), large)
    print(
        f"  {'gna subscribers import':<26} {ROWS / seconds:8,.0f} rows/s   peak {peak.whole:5.0f} MB,"
        f"  {peak.whole / tenth.whole:.2f} times the {tenth.whole:.0f} MB for a tenth of the rows"
    )


def _command(folder: Path, url: str, file: Path) -> tuple[float, Peak]:
    environ = {name: os.environ[name] for name in INHERITED if name in os.environ} | {"DATABASE_URL": url}
    command = [sys.executable, "-m", "gna", "subscribers", "import", str(file)]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with _peak(process.pid) as peak:
        assert process.wait() == 0
    return time.perf_counter() - began, peak


def _import_in_background(folder: Path, url: str, file: Path) -> None:
    with Gna(folder, DATABASE_URL=url) as gna, _peak(gna.process.pid) as peak, ExitStack() as stack:
        # A client of their own for each: making one costs more than asking.
        asker, visitor = (stack.enter_context(httpx2.Client(base_url=gna.url, timeout=30)) for _ in range(2))
        health = stack.enter_context(_asked(lambda: asker.get("/healthz").is_success))
        visits = stack.enter_context(_asked(lambda: _sign_up(visitor).is_success))
        began = time.perf_counter()
        with file.open("rb") as opened:
            answer = httpx2.post(f"{gna.url}{PEOPLE}/import", files={"file": opened}, timeout=120)
        assert answer.status_code == 202, answer.text
        accepted = time.perf_counter() - began
        watched = f"{gna.url}/admin/api/imports/{answer.json()['id']}"
        while (state := httpx2.get(watched, timeout=30).json())["state"] != "done":
            assert state["state"] in ("waiting", "running"), state
            time.sleep(1)
        seconds = time.perf_counter() - began
        assert state["counts"]["new"] == ROWS, state
    print(
        f"  {'in the background':<26} {ROWS / seconds:8,.0f} rows/s   peak {peak.whole:5.0f} MB,"
        f"  {peak.own:.0f} MB of its own; 202 after {accepted:.1f} s"
    )
    for name, latencies in (("GET /healthz", health), ("POST /api/subscribe", visits)):
        print(
            f"  {f'  meanwhile {name}':<32} median {statistics.median(latencies):5.1f} ms,"
            f"  p99 {_percentile(latencies, 99):6.1f} ms,  longest {max(latencies):6.1f} ms"
        )


def _sign_up(visitor: httpx2.Client) -> httpx2.Response:
    ip = f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(256)}"
    return visitor.post("/api/subscribe", json={"email": f"{ids.new()}@example.org"}, headers={"X-Forwarded-For": ip})


@contextmanager
def _asked(ask: Callable[[], bool]) -> Iterator[list[float]]:
    """Ask once every 100 ms and note how long each answer took, in milliseconds."""
    latencies: list[float] = []
    over = threading.Event()

    def keep_asking() -> None:
        while not over.wait(PAUSE):
            latencies.append(_timed(ask))

    asking = threading.Thread(target=keep_asking)
    asking.start()
    try:
        yield latencies
    finally:
        over.set()
        asking.join()


def _timed(ask: Callable[[], bool]) -> float:
    began = time.perf_counter()
    assert ask()
    return (time.perf_counter() - began) * 1000


def _percentile(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) * percent // 100, len(values) - 1)]


def _searches(gna: Gna) -> None:
    """Each in turn, again and again, so that a busy moment of the machine falls on all of them."""
    pages = -(-ROWS // PER_PAGE)
    questions: dict[str, dict[str, Any]] = {
        "page 1": {},
        "a middle page": {"page": pages // 2},
        "three quarters through": {"page": pages * 3 // 4},
        "the last page": {"page": pages},
        "search: one person": {"q": f"quimby{ROWS // EVERY // 2 * EVERY}@"},
        f"search: 1 in {EVERY}": {"q": SCARCE},
        f"search: 1 in {EVERY}, page 50": {"q": SCARCE, "page": 50},
        "search: 1 in 13": {"q": "grace"},
        "search: 1 in 3": {"q": "mail.example"},
        "search: everybody": {"q": "example"},
        "search: two characters": {"q": "qu"},
        "search: two, everybody": {"q": "ex"},
        "search: nobody": {"q": "nobody-has-this"},
        "search: not ASCII": {"q": "ZOË"},
        "search: no ASCII": {"q": "Ö"},
    }
    with httpx2.Client(base_url=gna.url, timeout=30) as client:
        people = [person["id"] for person in client.get(PEOPLE, params={"per_page": IDS}).json()["items"]]
        looks: list[float] = []
        times: dict[str, list[float]] = {name: [] for name in questions}
        found: dict[str, int] = {}
        for round_ in range(ROUNDS):
            looks += [_ask(client, f"{PEOPLE}/{person}")[0] for person in people[round_ : round_ + 3]]
            for name, question in questions.items():
                took, answer = _ask(client, PEOPLE, **question)
                times[name].append(took)
                found[name] = answer["total"]
    base = statistics.median(looks)
    print(f"  {'one person by id':<26} {base:6.1f} ms median, {_percentile(looks, 95):6.1f} p95")
    for name, latencies in times.items():
        _print_search(name, latencies, found[name], base)


def _ask(client: httpx2.Client, path: str, **question: Any) -> tuple[float, Any]:
    """Milliseconds, and the answer."""
    began = time.perf_counter()
    answer = client.get(path, params=question)
    took = (time.perf_counter() - began) * 1000
    assert answer.is_success, answer.text
    return took, answer.json()


def _print_search(name: str, latencies: list[float], found: int, base: float) -> None:
    median = statistics.median(latencies)
    verdict = "within" if median < LIMIT else "OVER"
    print(
        f"  {name:<26} {median:6.1f} ms median, {_percentile(latencies, 95):6.1f} p95  {verdict:<6} {LIMIT:g} ms;"
        f"  {median / base:5.1f} times one person;  {found:,} found"
    )


def _export(gna: Gna) -> None:
    before = resident(gna.process.pid) / 1e6
    with _peak(gna.process.pid) as peak:
        began = time.perf_counter()
        rows = 0
        with httpx2.stream("GET", f"{gna.url}{PEOPLE}/export.csv", timeout=60) as answer:
            for piece in answer.iter_bytes():
                rows += piece.count(b"\n")
        seconds = time.perf_counter() - began
    assert rows > ROWS, rows
    print(
        f"  {'GET export.csv':<26} {ROWS / seconds:8,.0f} rows/s   {seconds:.1f} s;  peak {peak.whole:.0f} MB,"
        f"  {peak.own:.0f} MB of its own, {before:.0f} MB in all before"
    )
