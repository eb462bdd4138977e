"""What one look at a feed of 5,000 entries costs: fetched, read, decided, remembered, and its news put into a campaign.

The peer is a process with nothing in it but feedparser, once as it comes and once without its sanitiser, which only
reads the same document.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.feeds.measuring import USAGE
from tests.feeds.recipes import NEW_YEAR, feed_of
from tests.servers.web import Web

ROUNDS = 5
ENTRIES = 5000
SECONDS_LIMIT, MEMORY_LIMIT = 1.0, 150.0
FIRST, LATER = "first look", "one is new"
PEER = """
import io, sys, feedparser
told = feedparser.parse(io.BytesIO(sys.stdin.buffer.read()), sanitize_html={0}, resolve_relative_uris={0})
assert len(told.entries) == {1}
"""


@dataclass(frozen=True)
class Cost:
    """Seconds of CPU and megabytes at the peak, of all processes that take part."""

    seconds: float
    memory: float


Costs = dict[str, list[Cost]]


def main() -> None:
    """Print both, beside their limits and the peers."""
    before, after = feed_of(ENTRIES - 1), feed_of(ENTRIES)
    ways: list[Callable[[], dict[str, Cost]]] = [
        lambda: _ours(before, after),
        lambda: {"feedparser": _peer(after, sanitise=True)},
        lambda: {"feedparser without its sanitiser": _peer(after, sanitise=False)},
    ]
    # In turns, so that whatever else the machine does is in all of them.
    costs: Costs = {}
    for _ in range(ROUNDS):
        for way in ways:
            for name, cost in way().items():
                costs.setdefault(name, []).append(cost)
    print(f"one look at {ENTRIES:,} entries since {NEW_YEAR.year}, {len(after) / 1e6:.1f} MB, median of {ROUNDS}")
    ours = {name: costs.pop(name) for name in (FIRST, LATER)}
    for name in ours:
        _print(name, ours[name], costs)


def _print(name: str, ours: list[Cost], peers: Costs) -> None:
    for what, unit, limit in (("seconds", "s CPU", SECONDS_LIMIT), ("memory", "MB", MEMORY_LIMIT)):
        mine = _median(ours, what)
        verdict = "within" if mine < limit else "OVER"
        print(
            f"  {name}  {what:<8} {mine:7.2f} {unit:<5}  {verdict} the limit of {limit:g} {unit} ({mine / limit:.2f})"
        )
        for peer, costs in peers.items():
            theirs = _median(costs, what)
            print(f"                        {mine / theirs:7.2f} times the {theirs:.2f} {unit} of {peer}")
    print(f"  {name}  speed    {ENTRIES / _median(ours, 'seconds'):7,.0f} entries per second of CPU")


def _median(costs: list[Cost], what: str) -> float:
    return statistics.median(cost.seconds if what == "seconds" else cost.memory for cost in costs)


def _ours(before: bytes, after: bytes) -> dict[str, Cost]:
    """A worker that has looked at nothing yet: its first look, and the one after which a post is new."""
    with tempfile.TemporaryDirectory() as folder, Web() as web:
        url = web.serves("/feed.xml", before)
        command = [sys.executable, "-m", "bench.feed_look", url, f"sqlite:///{folder}/gna.db"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdin
            assert worker.stdout
            first = json.loads(worker.stdout.readline())
            web.serves("/feed.xml", after)
            print(file=worker.stdin, flush=True)
            later = json.loads(worker.stdout.readline())
    assert first["known_since"]
    assert not first["campaign_id"]
    assert later["campaign_id"]
    return {name: Cost(look["seconds"], look["memory"]) for name, look in ((FIRST, first), (LATER, later))}


def _peer(body: bytes, *, sanitise: bool) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        code = PEER.format(sanitise, ENTRIES)
        command = [sys.executable, "-IS", USAGE, str(report), sys.executable, "-Ic", code]
        subprocess.run(command, input=body, check=True)
        used = json.loads(report.read_text())
    return Cost(used["seconds"], used["memory"] / 1e6)


if __name__ == "__main__":
    main()
