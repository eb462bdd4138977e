"""How many visitors a second can sign up on SQLite, in one process, with the outbox row written in each transaction.

The peer is the least that could be called the same: a bare Starlette route that parses the JSON and makes one INSERT
into the same table, with the same durability, in a thread. Nothing is checked, limited or mailed there.
"""

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.running import Gna, until
from tests.servers import free_port

from bench.idle import answers
from bench.load import Load, post_json, press
from gna import ids

ROUNDS, REQUESTS, CONNECTIONS = 5, 3000, 16
LIMIT = 0.35
PEER = """
import sqlite3, sys, threading, uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route
from gna import clock, ids, tokens
db = sqlite3.connect(sys.argv[2], check_same_thread=False, isolation_level=None)
for pragma in ("journal_mode=WAL", "foreign_keys=ON", "synchronous=FULL", "secure_delete=ON"):
    db.execute(f"PRAGMA {pragma}")
one = threading.Lock()
SQL = "INSERT INTO subscribers (id, email, nickname, unsubscribe_token, created_at) VALUES (?, ?, ?, ?, ?)"
def insert(email, nickname):
    with one:
        db.execute(SQL, (ids.new(), email, nickname, tokens.new(), clock.iso(clock.now())))
async def subscribe(request):
    sent = await request.json()
    await run_in_threadpool(insert, sent["email"], sent.get("nickname"))
    return JSONResponse({"status": "confirmation_sent"}, 201)
async def healthz(request):
    return PlainTextResponse("ok")
routes = [Route("/healthz", healthz), Route("/api/subscribe", subscribe, methods=["POST"])]
uvicorn.run(Starlette(routes=routes), port=int(sys.argv[1]), log_level="error")
"""


def main() -> None:
    """Print requests a second, p99, and the ratio to the peer."""
    ours: dict[str, list[Load]] = {"outbox written, a worker sends": [], "sending in the same process": []}
    peers = []
    for _ in range(ROUNDS):
        for name, jobs in zip(ours, ("false", "true"), strict=True):
            with tempfile.TemporaryDirectory() as folder, _gna(Path(folder), jobs) as port:
                ours[name].append(_press(port))
        with tempfile.TemporaryDirectory() as folder, _peer(Path(folder)) as port:
            peers.append(_press(port))
    print(f"POST /api/subscribe on SQLite, one process, {CONNECTIONS} connections, new addresses, outbox included")
    print(f"median of {ROUNDS} rounds of {REQUESTS:,} requests, peer and product in turn")
    base = statistics.median(load.per_second for load in peers)
    print(f"  {'bare Starlette, one INSERT':<32} {base:7,.0f} /s   p99 {_p99(peers):6.1f} ms")
    for name, loads in ours.items():
        speed = statistics.median(load.per_second for load in loads)
        verdict = "within" if speed / base >= LIMIT else "UNDER"
        print(
            f"  {name:<32} {speed:7,.0f} /s   p99 {_p99(loads):6.1f} ms   ratio {speed / base:.2f}, {verdict} {LIMIT}"
        )


def _p99(loads: list[Load]) -> float:
    return statistics.median(load.p99 for load in loads)


def _press(port: int) -> Load:
    """Each visitor has an IP of their own, which the proxy that we play says."""
    ips = (f"10.{a}.{b}.{c}" for a, b, c in itertools.product(range(256), repeat=3))
    requests = [
        post_json(
            "/api/subscribe",
            json.dumps({"email": f"{ids.new()}@example.org", "nickname": "Ana"}).encode(),
            X_Forwarded_For=ip,
        )
        for ip in itertools.islice(ips, REQUESTS)
    ]
    press(port, requests[:200], connections=CONNECTIONS)
    load = press(port, requests[200:], connections=CONNECTIONS)
    assert load.statuses == {201}, load.statuses
    return load


@contextmanager
def _gna(folder: Path, jobs: str) -> Iterator[int]:
    with Gna(folder, DATABASE_URL="sqlite:///gna.db", TRUSTED_PROXIES="127.0.0.1", JOBS_ENABLED=jobs) as gna:
        yield gna.port


@contextmanager
def _peer(folder: Path) -> Iterator[int]:
    port = free_port()
    environ = {"DATABASE_URL": f"sqlite:///{folder / 'gna.db'}"}
    subprocess.run([sys.executable, "-m", "gna", "migrate"], env=environ, check=True, stdout=subprocess.DEVNULL)
    process = subprocess.Popen([sys.executable, "-c", PEER, str(port), str(folder / "gna.db")])
    try:
        until(lambda: answers(port), within=20)
        yield port
    finally:
        process.terminate()
        process.wait(10)
