"""Every page of the admin with a million subscribers and two thousand campaigns: how long it takes to answer.

BENCH_ROWS=100000 makes it short. The peer is /health, measured in the same run: the least that an answer takes here.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from tests.running import Gna
from tests.servers.postgres import Postgres

from bench import publication
from bench.people import EVERY, NOTES, PER_PAGE, SCARCE
from gna.db import Database
from gna.migrations import migrate

ROWS = int(os.environ.get("BENCH_ROWS", "1_000_000"))
CAMPAIGNS = 2000
ROUNDS, WARM_UP = 30, 3
LIMIT = 150.0
PEER = "/health"
HTML = {"Accept": "text/html", "Accept-Encoding": "gzip"}

MIDDLE = -(-ROWS // PER_PAGE) // 2
RARE = f"{SCARCE.lower()}{ROWS // EVERY // 2 * EVERY}@"
# Every page; `{campaign}`, `{draft}` and `{person}` stand for ids of this database.
PAGES = (
    "/admin",
    "/admin/campaigns",
    "/admin/campaigns?state=published",
    "/admin/campaigns?page=50",
    "/admin/campaigns?q=issue",
    "/admin/campaigns/{draft}",
    "/admin/campaigns/{draft}/send",
    "/admin/campaigns/{campaign}",
    "/admin/subscribers",
    f"/admin/subscribers?page={MIDDLE}",
    f"/admin/subscribers?q={RARE}",
    f"/admin/subscribers?q={SCARCE}",
    "/admin/subscribers?q=example",
    "/admin/subscribers?status=Pending",
    "/admin/subscribers?status=Activated",
    f"/admin/subscribers?status=Activated&page={MIDDLE * 9 // 10}",
    f"/admin/subscribers?q={SCARCE}&status=Pending",
    "/admin/subscribers?q=example&status=Pending",
    "/admin/subscribers?q=example&status=Activated",
    "/admin/subscribers?list=general",
    "/admin/subscribers?list=weekly",
    f"/admin/subscribers?list=weekly&page={MIDDLE // 5}",
    "/admin/subscribers?list=board",
    "/admin/subscribers?list=weekly&status=Pending",
    "/admin/subscribers?list=weekly&q=grace",
    "/admin/subscribers/{person}",
    "/admin/import",
    "/admin/bounces",
    "/admin/dead-letters",
    "/admin/feeds",
    "/admin/activity",
    "/admin/settings",
    "/admin/settings/dns",
)


@dataclass
class Readings:
    """What was measured of one page: milliseconds, and the kilobytes of an answer as it came over the wire."""

    times: list[float] = field(default_factory=list)
    size: float = 0

    @property
    def median(self) -> float:
        """The time of a common answer."""
        return statistics.median(self.times)


def main() -> None:
    """Print the measurements on both databases."""
    with tempfile.TemporaryDirectory() as folder, Postgres() as server:
        makers: dict[str, Callable[[], str]] = {
            "SQLite": lambda: f"sqlite:///{Path(folder) / 'admin.db'}",
            "PostgreSQL": lambda: server.create_database("admin"),
        }
        for name, make in makers.items():
            url = make()
            _fill(url)
            print(f"{ROWS:,} people on {name} ({NOTES[name]}); load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            with Gna(Path(folder), DATABASE_URL=url) as gna:
                _measure(gna)


def _fill(url: str) -> None:
    began = time.perf_counter()
    db = Database(url)
    migrate(db)
    publication.fill(db, people=ROWS, campaigns_=CAMPAIGNS)
    db.close()
    print(f"filled in {time.perf_counter() - began:.0f} s")


def _measure(gna: Gna) -> None:
    """Each page in turn, again and again, so that a busy moment of the machine falls on all of them."""
    with httpx2.Client(base_url=gna.url, headers=HTML, timeout=60) as client:
        names = _ids(client)
        pages = [page for page in PAGES if _is_there(client, page.format(**names))]
        readings: dict[str, Readings] = {page: Readings() for page in (PEER, *pages)}
        for round_ in range(WARM_UP + ROUNDS):
            for page, reading in readings.items():
                took, size = _ask(client, page.format(**names))
                if round_ >= WARM_UP:
                    reading.times.append(took)
                reading.size = size
    base = readings[PEER].median
    for page, reading in readings.items():
        _print(page, reading, base)


def _ids(client: httpx2.Client) -> dict[str, str]:
    """A published campaign, a draft, and a person."""

    def first(path: str, **asked: Any) -> str:
        return str(client.get(f"/admin/api/{path}", params={"per_page": 1, **asked}).json()["items"][0]["id"])

    return {
        "campaign": first("campaigns", state="published"),
        "draft": first("campaigns", state="draft"),
        "person": first("subscribers", list="board"),
    }


def _is_there(client: httpx2.Client, path: str) -> bool:
    answer = client.get(path)
    if answer.status_code == 404:
        print(f"  {path} is not there: left out")
        return False
    assert answer.status_code == 200, f"{path} answers {answer.status_code}: {answer.text}"
    return True


def _ask(client: httpx2.Client, path: str) -> tuple[float, float]:
    """Milliseconds, and the kilobytes of the answer as it came."""
    began = time.perf_counter()
    answer = client.get(path)
    took = (time.perf_counter() - began) * 1000
    assert answer.status_code == 200, f"{path} answers {answer.status_code}: {answer.text}"
    return took, answer.num_bytes_downloaded / 1000


def _print(page: str, reading: Readings, base: float) -> None:
    verdict = "within" if reading.median < LIMIT else "OVER"
    print(
        f"  {page:<52} {reading.median:6.1f} ms median, {max(reading.times):6.1f} worst  {verdict:<6} {LIMIT:g} ms"
        f" ({reading.median / LIMIT:4.2f});  {reading.median / base:5.1f} times {PEER};  {reading.size:5.1f} kB"
    )
