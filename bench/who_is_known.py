"""Whether a stranger with a stopwatch can tell which addresses are subscribed.

The attacker asks for a mail to an address (a sign-up, or a magic link), and times the answer and the next two requests:
one that reads nothing, and one that writes to the database. For one kind of address a mail leaves, for the other none,
and the work of sending it may delay those requests. An address has a few mails an hour, so a target is several
addresses of one kind: the attacker who comes back every hour.

`python -m bench.who_is_known watch` looks on for 2.5 seconds after each sign-up instead, and takes 13 minutes.
"""

import json
import math
import random
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.factories import readers
from tests.running import Gna

from bench.load import get, post_json
from bench.sinks import CSink
from gna import ids
from gna.db import Database

T = TypeVar("T")

ROUNDS = 40
LEARNT, JUDGED = 20, 80
# At most so many right: half of them is guessing.
LIMIT = 0.60
PAUSE = 0.004
WATCH_SECONDS = 2.5
WATCH_SAMPLES = 300
PROBE = get("/health")


@dataclass(frozen=True)
class Attack:
    """A request that mails one kind of address only, and how often an address may be asked about in an hour."""

    name: str
    path: str
    times: int


SIGN_UP = Attack("sign-up", "/api/subscribe", 5)
MAGIC_LINK = Attack("magic link", "/api/profile/request-link", 3)


@dataclass
class Target:
    """Addresses of one kind, and what the stopwatch said."""

    is_subscribed: bool
    addresses: Sequence[str]
    answers: list[float] = field(default_factory=list)
    reads: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Look:
    """How long each request took while the attacker looked on."""

    reads: Sequence[float]
    writes: Sequence[float]


class Attacker:
    """Two kept connections: one asks, the other is timed."""

    def __init__(self, port: int, attack: Attack) -> None:
        self._attack = attack
        self._asking = _connect(port)
        self._probing = _connect(port)
        self._visitors = 0

    def ask(self, email: str) -> float:
        """How long it takes to ask for a mail, from an IP of its own, which the proxy that we play says."""
        return _timed(self._asking, self._post(self._attack.path, email))

    def read(self) -> float:
        """How long a request takes that has nothing to do with anybody."""
        return _timed(self._probing, PROBE)

    def write(self) -> float:
        """How long a request takes that writes and mails nobody: a magic link for an address that is not known."""
        return _timed(self._probing, self._post(MAGIC_LINK.path, f"{ids.new()}@example.org"))

    def _post(self, path: str, email: str) -> bytes:
        self._visitors += 1
        high, low = divmod(self._visitors, 256)
        ip = f"10.{high // 256}.{high % 256}.{low}"
        return post_json(path, json.dumps({"email": email}).encode(), X_Forwarded_For=ip)

    def watch(self) -> "Look":
        """Read and write in turn until a mail must have left."""
        until = time.perf_counter() + WATCH_SECONDS
        reads, writes = [], []
        while time.perf_counter() < until:
            reads.append(self.read())
            writes.append(self.write())
        return Look(reads, writes)


def main() -> None:
    """Print how many of the addresses are told apart."""
    print(f"Who is known? {JUDGED} targets, {ROUNDS} rounds, the threshold is learnt from {LEARNT} others")
    for attack in (SIGN_UP, MAGIC_LINK):
        targets = _with_server(attack, _time_the_next_request)
        for probe, times_of in PROBES.items():
            right, difference = _judge(targets, times_of)
            verdict = "within" if right <= LIMIT else "OVER"
            print(
                f"  {attack.name:<12} {probe:<13} {right:4.0%} right, {verdict} {LIMIT:.0%}"
                f"   (medians differ by {difference * 1e6:+.0f} µs)",
                flush=True,
            )


def watch() -> None:
    """Print what a continuous look after each request tells, and how many would be told apart after all rounds."""
    print(f"Who is known? {WATCH_SAMPLES} looks of {WATCH_SECONDS} s, half after an address that is subscribed")
    looks = _with_server(SIGN_UP, _look_on)
    for name, measure in MEASURES.items():
        known = [measure(look) for is_subscribed, look in looks if is_subscribed]
        unknown = [measure(look) for is_subscribed, look in looks if not is_subscribed]
        area = _area(known, unknown)
        # Hanley and McNeil, for an area near one half.
        error = math.sqrt((len(known) + len(unknown) + 1) / (12 * len(known) * len(unknown)))
        least, most = sorted(_after_rounds(max(0.5, abs(area - 0.5) + 0.5 + side * error)) for side in (-2, 2))
        print(f"  {name:<24} AUC {area:.3f} ± {error:.3f}: {least:.0%} to {most:.0%} right after {ROUNDS} rounds")


PROBES: dict[str, Callable[[Target], Sequence[float]]] = {
    "its answer": lambda target: target.answers,
    "then a read": lambda target: target.reads,
    "then a write": lambda target: target.writes,
}
MEASURES: dict[str, Callable[[Look], float]] = {
    "requests answered": lambda look: -len(look.writes),
    "reads, delays": lambda look: _delays(look.reads),
    "reads, slowest five": lambda look: sum(sorted(look.reads)[-5:]),
    "writes, delays": lambda look: _delays(look.writes),
    "writes, slowest five": lambda look: sum(sorted(look.writes)[-5:]),
}


def _delays(seconds: Sequence[float]) -> float:
    """How much longer the slower half took than the median."""
    median = statistics.median(seconds)
    return sum(one - median for one in seconds if one > median)


def _time_the_next_request(attacker: Attacker, attack: Attack, make: Callable[[int], list[Target]]) -> list[Target]:
    targets = make(LEARNT + JUDGED)
    for number in range(ROUNDS):
        for target in random.sample(targets, len(targets)):
            target.answers.append(attacker.ask(target.addresses[number // attack.times]))
            target.reads.append(attacker.read())
            target.writes.append(attacker.write())
            time.sleep(PAUSE)
    return targets


def _look_on(attacker: Attacker, attack: Attack, make: Callable[[int], list[Target]]) -> list[tuple[bool, Look]]:
    targets = make(2 * math.ceil(WATCH_SAMPLES / 2 / attack.times))
    looks = []
    for _ in range(attack.times):
        for target in random.sample(targets, len(targets)):
            attacker.ask(target.addresses[0])
            looks.append((target.is_subscribed, attacker.watch()))
    return looks


def _with_server(attack: Attack, measure: Callable[[Attacker, Attack, Callable[[int], list[Target]]], T]) -> T:
    """Measure on a server of its own, which sends to a sink."""
    with tempfile.TemporaryDirectory() as folder, CSink() as sink:
        settings = {"EMAIL_PROVIDER": "smtp", "SMTP_URL": f"smtp://127.0.0.1:{sink.port}"}
        with Gna(Path(folder), DATABASE_URL="sqlite:///gna.db", **settings) as gna:
            database = Database(f"sqlite:///{folder}/gna.db")

            def make(count: int) -> list[Target]:
                return _targets(database, count, math.ceil(ROUNDS / attack.times))

            attacker = Attacker(gna.port, attack)
            for _ in range(50):
                attacker.ask(f"{ids.new()}@example.org")
                attacker.read()
            try:
                return measure(attacker, attack, make)
            finally:
                database.close()


def _targets(database: Database, count: int, addresses: int) -> list[Target]:
    """Half of them subscribed, in no order."""
    subscribed = sorted(readers(database, count // 2 * addresses, name=ids.new()))
    strangers = [f"{ids.new()}@example.org" for _ in subscribed]
    targets = [
        Target(is_subscribed, everybody[start : start + addresses])
        for is_subscribed, everybody in ((True, subscribed), (False, strangers))
        for start in range(0, len(everybody), addresses)
    ]
    random.shuffle(targets)
    return targets


def _judge(targets: Sequence[Target], times_of: Callable[[Target], Sequence[float]]) -> tuple[float, float]:
    """The share of right guesses, and by how much strangers take longer."""
    known = [statistics.median(times_of(target)) for target in targets if target.is_subscribed]
    unknown = [statistics.median(times_of(target)) for target in targets if not target.is_subscribed]
    some = LEARNT // 2
    typical_known = statistics.median(known[:some])
    typical_unknown = statistics.median(unknown[:some])
    threshold = (typical_known + typical_unknown) / 2
    right_if_known_is_slower = sum(one > threshold for one in known[some:]) + sum(
        one <= threshold for one in unknown[some:]
    )
    judged = len(known[some:]) + len(unknown[some:])
    right = right_if_known_is_slower if typical_known > typical_unknown else judged - right_if_known_is_slower
    return right / judged, statistics.median(unknown) - statistics.median(known)


def _area(known: Sequence[float], unknown: Sequence[float]) -> float:
    """How often a stranger's value is the larger of two: 0.5 tells nothing."""
    wins = sum((other > one) + (other == one) / 2 for one in known for other in unknown)
    return wins / len(known) / len(unknown)


def _after_rounds(area: float) -> float:
    """The share of right guesses from the mean of all rounds, if values are spread normally."""
    normal = statistics.NormalDist()
    distance = math.sqrt(2) * normal.inv_cdf(min(max(area, 1e-6), 1 - 1e-6))
    return normal.cdf(abs(distance) * math.sqrt(ROUNDS) / 2)


def _connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _timed(connection: socket.socket, request: bytes) -> float:
    began = time.perf_counter()
    _exchange(connection, request)
    return time.perf_counter() - began


def _exchange(connection: socket.socket, request: bytes) -> None:
    """Wait for the whole answer."""
    connection.sendall(request)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536)
    head, _, body = answer.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)
    assert head[9:11] == b"20", head


if __name__ == "__main__":
    watch() if "watch" in sys.argv else main()
