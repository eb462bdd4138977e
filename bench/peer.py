"""Postfix's `smtp-source`, the fastest sender that everybody can install, measured on a machine that does nothing else.

It composes nothing: one content is made before it connects and sent again and again, without pipelining.
`python -m bench.peer` measures it into both sinks.
"""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from tests.servers import HOST, Server
from tests.servers.postfix import smtp_sink

from bench.sinks import CSink

SOURCE = Path("/usr/sbin/smtp-source")
SESSIONS = (1, 2, 5, 10, 20, 50)
TRIAL_MAILS, TRIALS = 5000, 3
TRIES, PAUSE, LOOKS = 10, 2.0, 15
# More of the machine than this in other hands, and a run does not count.
OUTSIDE = 0.10
ROUNDS, MAILS, SIZE = 3, 20_000, 28_000
TICK = os.sysconf("SC_CLK_TCK")
T = TypeVar("T")


class NoRunError(Exception):
    """There was no run that counts."""


def main() -> None:
    """Print how fast it is into our sink and into Postfix's."""
    with CSink() as ours, smtp_sink() as theirs:
        sinks: dict[str, Server] = {"sink.c, 2 threads": ours, "smtp-sink": theirs}
        best = {name: best_sessions(sink.port, SIZE) for name, sink in sinks.items()}
        rates: dict[str, list[float]] = {name: [] for name in sinks}
        for name, sink in [*sinks.items()] * ROUNDS:
            rates[name].append(source_rate(sink.port, MAILS, SIZE, best[name]))
    print(f"smtp-source, mails of {SIZE:,} bytes, median of {ROUNDS} rounds of {MAILS:,}, one sink after the other")
    for name, each in rates.items():
        print(f"  {name:<20} {statistics.median(each):7,.0f} mails/s with {best[name]} connections")


def why_missing() -> str | None:
    """Return what to install before `smtp-source` can run, or None if it can."""
    return None if SOURCE.exists() else "smtp-source is not installed: apt install postfix"


def best_sessions(port: int, size: int) -> int:
    """With how many connections it is fastest."""
    rates: dict[int, list[float]] = {sessions: [] for sessions in SESSIONS}
    for _ in range(TRIALS):
        for sessions in SESSIONS:
            rates[sessions].append(source_rate(port, TRIAL_MAILS, size, sessions))
    return max(SESSIONS, key=lambda sessions: statistics.median(rates[sessions]))


def source_rate(port: int, mails: int, size: int, sessions: int) -> float:
    """Mails in a second, each of `size` bytes from 354 to the next command; a run that is disturbed is repeated."""
    payload, why = size - _around(), None
    for _ in range(TRIES):
        with watched(listener(port)) as run:
            why = _send(port, mails, payload, sessions)
        if not why and run.clean():
            return mails / run.seconds
        why = why or f"others used {run.outside:.0%} of the machine"
        print(f"  again: {why}", flush=True)
        time.sleep(PAUSE)
    raise NoRunError(f"None of {TRIES} runs of smtp-source counts. The last: {why}.")


def _send(port: int, mails: int, payload: int, sessions: int) -> str | None:
    """Run it once; return what went wrong, or None."""
    # The names go into its commands and headers: given here, the size is the same on every machine.
    names = ["-M", "bench.example", "-f", "news@bench.example", "-t", "person@bench.example"]
    numbers = ["-s", str(sessions), "-m", str(mails), "-l", str(payload)]
    # -d keeps a connection for the next mail. -4 is what the sinks listen on.
    command: list[str | Path] = [SOURCE, "-4", "-d", *names, *numbers, f"{HOST}:{port}"]
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    # It ends with the first answer that it did not hope for, so a run that ends well has sent everything.
    return None if run.returncode == 0 else f"smtp-source failed: {run.stderr.strip()}"


@cache
def _around() -> int:
    """The bytes of a mail that -l does not count: its headers and the final dot."""
    with CSink(threads=1) as sink:
        failure = _send(sink.port, 1, 1000, 1)
        assert not failure, failure
        return sink.counts().bytes - 1000


@dataclass
class Run:
    """A stretch of time, and who used the processors in it: everybody, and the processes that we know of."""

    seconds: float = 0
    everybody: float = 0
    known: float = 0

    @property
    def outside(self) -> float:
        """The share of the machine that others used."""
        return max(self.everybody - self.known, 0) / (self.seconds * (os.cpu_count() or 1))

    def clean(self) -> bool:
        """Whether others used so little of the machine that the run counts."""
        return self.outside <= OUTSIDE


@contextmanager
def watched(*pids: int) -> Iterator[Run]:
    """Watch the machine meanwhile.

    Known are `pids` with their children, which must be there before and after, this process, and its children that
    end meanwhile.
    """
    run = Run()
    everybody, known, began = _everybody(), _known(pids), time.perf_counter()
    yield run
    run.seconds = time.perf_counter() - began
    run.everybody, run.known = _everybody() - everybody, _known(pids) - known


def undisturbed(attempt: Callable[[], tuple[T, Run]], what: str) -> T:
    """What an attempt brought during which others hardly used the machine; the first of a few."""
    for _ in range(TRIES):
        result, run = attempt()
        if run.clean():
            return result
        print(f"  again: others used {run.outside:.0%} of the machine", file=sys.stderr, flush=True)
        _wait_for_quiet()
    raise NoRunError(f"None of {TRIES} runs of {what} counts: others used {run.outside:.0%} of the machine.")


def _wait_for_quiet() -> None:
    """A run costs more than a look; whoever is busy for longer than this is met again by the next run."""
    for _ in range(LOOKS):
        with watched() as look:
            time.sleep(PAUSE)
        if look.clean():
            return


def _everybody() -> float:
    """Processor seconds since the machine started; what a hypervisor took for other machines is among them."""
    names = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, names)
    return (user + nice + system + irq + softirq + steal) / TICK


def _known(pids: tuple[int, ...]) -> float:
    ours = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in ours) + sum(map(_used, pids))


def _used(pid: int) -> float:
    """Processor seconds of a process, its threads and its children: of those that have ended, and of those that live.

    A child that ends meanwhile is in the sum before and after, so the difference of two sums is right.
    """
    # Its name, in parentheses, may have spaces.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICK + sum(map(_used_if_alive, _children(pid)))


def _used_if_alive(pid: int) -> float:
    with suppress(OSError):
        return _used(pid)
    return 0


def _children(pid: int) -> list[int]:
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in files for child in file.read_text().split()]


def listener(port: int) -> int:
    """The process that listens on a port of this machine."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    # Local address, state (0A is listening) and inode.
    sockets = {f"socket:[{line[9]}]" for line in lines if line[1].endswith(f":{port:04X}") and line[3] == "0A"}
    for file in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):  # it has gone, or is somebody else's
            if str(file.readlink()) in sockets:
                return int(file.parts[2])
    raise LookupError(f"Nobody listens on port {port}, or it is somebody else's process.")


if __name__ == "__main__":
    main()
