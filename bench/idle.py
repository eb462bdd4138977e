"""How fast `gna serve` starts on SQLite, how much memory it holds idle, and how fast `gna` answers.

The peers are the least that such programs can be in Python: Starlette and uvicorn with one route,
and an import of Typer.
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
# Seconds and megabytes.
START_LIMIT = 1.0
MEMORY_LIMIT = 80.0
ANSWER_LIMIT = 0.25
SETTLED = 2.0
ANSWERS = ("--version", "--help")
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
    """Print each figure beside its limit and its peer."""
    _serve()
    _answer()


def _serve() -> None:
    first, again, peers = [], [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            first.append(_gna(Path(folder)))
            again.append(_gna(Path(folder)))
        peers.append(_peer())
    print(f"gna serve on SQLite, median of {ROUNDS}; the peer is a bare Starlette server")
    for name, readings in (("new database", first), ("start again", again)):
        starts = [reading.start for reading in readings]
        _print(name, "start", "s", START_LIMIT, starts, [peer.start for peer in peers])
        memory = [reading.memory for reading in readings]
        _print(name, "idle memory", "MB", MEMORY_LIMIT, memory, [peer.memory for peer in peers])


def _answer() -> None:
    print(f"gna, median of {ROUNDS}; the peer is an import of Typer")
    for argument in ANSWERS:
        ours, peers = [], []
        for _ in range(ROUNDS):
            ours.append(_seconds("-m", "gna", argument))
            peers.append(_seconds("-c", "import typer"))
        _print(f"gna {argument}", "answer", "s", ANSWER_LIMIT, ours, peers)


def _seconds(*arguments: str) -> float:
    """How long Python takes for this, from its start to its end."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def _print(name: str, what: str, unit: str, limit: float, ours: list[float], peers: list[float]) -> None:
    mine = statistics.median(ours)
    peer = statistics.median(peers)
    verdict = "within" if mine <= limit else "OVER"
    print(
        f"  {name:<13} {what:<12} {mine:6.2f} {unit:<2}"
        f"  {verdict} the limit of {limit:g} {unit} ({mine / limit:.2f});"
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
