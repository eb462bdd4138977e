"""How fast `gna serve` starts on SQLite, and how much memory it holds when nothing happens.

The peer is the least that a Python web server can be: Starlette and uvicorn with one route.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
from tests.running import Gna, resident, until
from tests.servers import free_port

ROUNDS = 5
START_LIMIT, MEMORY_LIMIT = 2.0, 90.0
SETTLED = 2.0
PEER = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
async def healthz(request):
    return PlainTextResponse("ok")
uvicorn.run(Starlette(routes=[Route("/healthz", healthz)]), port=int(sys.argv[1]), log_level="error")
"""


@dataclass(frozen=True)
class Reading:
    """Seconds from the command to the first 200, and megabytes two seconds later."""

    start: float
    memory: float


def main() -> None:
    """Print both, beside their limits and the peer."""
    first, ours, peers = [], [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            first.append(_gna(Path(folder)))
            ours.append(_gna(Path(folder)))
        peers.append(_peer())
    print(f"gna serve on SQLite, median of {ROUNDS}; the peer is a bare Starlette server, measured in between")
    for name, readings in (("new database", first), ("start again", ours)):
        _print(name, "start", "s", START_LIMIT, [r.start for r in readings], [r.start for r in peers])
        _print(name, "idle memory", "MB", MEMORY_LIMIT, [r.memory for r in readings], [r.memory for r in peers])


def _print(name: str, what: str, unit: str, limit: float, ours: list[float], peers: list[float]) -> None:
    mine, peer = statistics.median(ours), statistics.median(peers)
    verdict = "within" if mine < limit else "OVER"
    print(
        f"  {name:<13} {what:<12} {mine:6.2f} {unit:<2}  {verdict} the limit of {limit:g} {unit} ({mine / limit:.2f});"
        f"  {mine / peer:.1f} times the peer's {peer:.2f} {unit}"
    )


def _gna(folder: Path) -> Reading:
    began = time.perf_counter()
    with Gna(folder, DATABASE_URL="sqlite:///gna.db") as gna:
        start = time.perf_counter() - began
        time.sleep(SETTLED)
        return Reading(start, resident(gna.process.pid) / 1e6)


def _peer() -> Reading:
    port = free_port()
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", PEER, str(port)])
    try:
        until(lambda: answers(port), within=20)
        start = time.perf_counter() - began
        time.sleep(SETTLED)
        return Reading(start, resident(process.pid) / 1e6)
    finally:
        process.terminate()
        process.wait(10)


def answers(port: int) -> bool:
    """Whether the peer is up."""
    with suppress(httpx2.TransportError):
        return httpx2.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
    return False
