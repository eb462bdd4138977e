"""`python -m tools.seeded_faults`: how many of the faults in `seeded_faults.json` the tests find.

Each fault is written into `src/`, the tests run until one fails, and the file is restored. The
tests nearest to the fault run first; a fault that they miss is tried with the whole suite. Each
checkout tries one fault at a time, so several checkouts share the work with `--part 1/2`.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
FAULTS = Path(__file__).with_suffix(".json")
# A fault may make a test wait for ever.
TIMEOUT_SECONDS = 900


@dataclass(frozen=True)
class Fault:
    """A text in a source file, and the wrong text that replaces it."""

    id: str
    file: str
    old: str
    new: str
    what: str
    difficulty: str

    @property
    def nearest_tests(self) -> list[list[str]]:
        """Groups of tests in the order in which they run: the package's own, then all others."""
        package = self.file.split("/")[2]
        own = [f"tests/{package}", "tests/seeds"]
        others = ["tests", f"--ignore=tests/{package}", "--ignore=tests/seeds"]
        return [own, others]


def main() -> None:
    """Print for each fault whether a test found it, and which."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", help="Only these faults.")
    parser.add_argument("--part", default="1/1", help="Of so many parts, this one: 1/2, 2/2.")
    parser.add_argument("--workers", default="1", help="Processes that run tests.")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    faults = [Fault(**fault) for fault in json.loads(FAULTS.read_text())]
    if options.ids:
        faults = [fault for fault in faults if fault.id in options.ids]
    missed = []
    mine = faults[part - 1 :: parts]
    for fault in mine:
        began = time.monotonic()
        test = _find(fault, options.workers)
        seconds = time.monotonic() - began
        print(f"{fault.id:<16} {seconds:5.0f} s  {test or 'MISSED: ' + fault.what}", flush=True)
        if test is None:
            missed.append(fault.id)
    print(f"{len(mine) - len(missed)} of {len(mine)} found; missed: {' '.join(missed) or 'none'}")


def _find(fault: Fault, workers: str) -> str | None:
    """The first test that fails because of the fault."""
    with _seeded(fault):
        for tests in fault.nearest_tests:
            if test := _first_failure(tests, workers):
                return test
    return None


@contextmanager
def _seeded(fault: Fault) -> Iterator[None]:
    file = ROOT / fault.file
    right = file.read_text()
    if right.count(fault.old) != 1:
        sys.exit(f"{fault.id}: its text is not in {fault.file} exactly once; write the fault anew.")
    file.write_text(right.replace(fault.old, fault.new))
    try:
        yield
    finally:
        file.write_text(right)


def _first_failure(tests: Sequence[str], workers: str) -> str | None:
    distribution = ["-n", workers, "--dist", "loadfile"] if workers != "1" else []
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", *distribution, *tests]
    try:
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return f"{' '.join(tests)}: not over after {TIMEOUT_SECONDS} s"
    if result.returncode == 0:
        return None
    lines = result.stdout.splitlines()
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return failures[0][:150] if failures else f"exit code {result.returncode}"


if __name__ == "__main__":
    main()
