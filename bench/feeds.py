"""What one look at a feed of 5,000 entries costs: a process that starts, reads it, answers and ends.

The peer is the same process with nothing in it but feedparser, once as it comes and once without its sanitiser.
"""

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from json import loads
from pathlib import Path

from tests.feeds.measuring import USAGE, measured
from tests.feeds.recipes import NEW_YEAR, feed_of

from gna.feeds.entry import Document

ROUNDS = 7
ENTRIES = 5000
SECONDS_LIMIT, MEMORY_LIMIT = 1.0, 150.0
PEER = """
import io, sys, feedparser
told = feedparser.parse(io.BytesIO(sys.stdin.buffer.read()), sanitize_html={0}, resolve_relative_uris={0})
assert len(told.entries) == {1}
"""


@dataclass(frozen=True)
class Cost:
    """Seconds of CPU and megabytes at the peak, from the start of the process to its end."""

    seconds: float
    memory: float


def main() -> None:
    """Print both, beside their limits and the peers."""
    body = feed_of(ENTRIES)
    ways: dict[str, Callable[[], Cost]] = {
        "gna": lambda: _ours(body),
        "feedparser": lambda: _peer(body, sanitise=True),
        "feedparser without its sanitiser": lambda: _peer(body, sanitise=False),
    }
    # In turns, so that whatever else the machine does is in all of them.
    costs: dict[str, list[Cost]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            costs[name].append(way())
    print(f"one look at {ENTRIES:,} entries since {NEW_YEAR.year}, {len(body) / 1e6:.1f} MB, median of {ROUNDS}")
    _print(costs.pop("gna"), costs)


def _print(ours: list[Cost], peers: dict[str, list[Cost]]) -> None:
    for what, unit, limit in (("seconds", "s CPU", SECONDS_LIMIT), ("memory", "MB", MEMORY_LIMIT)):
        mine = _median(ours, what)
        verdict = "within" if mine < limit else "OVER"
        print(f"  {what:<8} {mine:7.2f} {unit:<5}  {verdict} the limit of {limit:g} {unit} ({mine / limit:.2f})")
        for name, costs in peers.items():
            theirs = _median(costs, what)
            print(f"           {mine / theirs:7.2f} times the {theirs:.2f} {unit} of {name}")
    print(f"  speed    {ENTRIES / _median(ours, 'seconds'):7,.0f} entries looked at per second of CPU")


def _median(costs: list[Cost], what: str) -> float:
    return statistics.median(cost.seconds if what == "seconds" else cost.memory for cost in costs)


def _ours(body: bytes) -> Cost:
    reading = measured(body)
    assert isinstance(reading.outcome, Document)
    assert reading.outcome.entries[0].title.startswith(f"Letter {ENTRIES - 1}")
    return Cost(reading.seconds, reading.memory / 1e6)


def _peer(body: bytes, *, sanitise: bool) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        code = PEER.format(sanitise, ENTRIES)
        command = [sys.executable, "-IS", USAGE, str(report), sys.executable, "-Ic", code]
        subprocess.run(command, input=body, check=True)
        used = loads(report.read_text())
    return Cost(used["seconds"], used["memory"] / 1e6)


if __name__ == "__main__":
    main()
