"""`python -m tools.seeded_faults`: how many of the faults in `seeded_faults.json` the tests find.

Each fault is written into `src/`, the tests nearest to it run until one fails, and the file is
restored. What they miss is written into `src/` all at once for one run of the whole suite; a test
that fails there is printed for a person to tell which fault it found. A checkout tries one fault at
a time, so that several share the work with `--part 1/2`.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
FAULTS = Path(__file__).with_suffix(".json")
# A fault may make a test wait for ever.
TIMEOUT_SECONDS = 600


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
        """Groups of tests in the order in which they run: those of its package that import it come first."""
        module = Path(self.file).stem
        package = Path(self.file).parts[2]
        imports = re.compile(rf"gna\.{package}\b.*\b{module}\b")
        files = sorted(ROOT.glob(f"tests/{package}/**/test_*.py")) + sorted(ROOT.glob("tests/seeds/test_*.py"))
        importing = [str(file.relative_to(ROOT)) for file in files if imports.search(file.read_text())]
        others = [f"tests/{package}", "tests/seeds"]
        return [importing, others] if importing else [others]


def main() -> None:
    """Print for each fault whether a test found it, and which."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", help="Only these faults.")
    parser.add_argument("--part", default="1/1", help="Of so many parts, this one: 1/2, 2/2.")
    parser.add_argument("--workers", default="4", help="Processes that run the whole suite.")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    faults = [Fault(**fault) for fault in json.loads(FAULTS.read_text())]
    if options.ids:
        faults = [fault for fault in faults if fault.id in options.ids]
    missed = []
    mine = faults[part - 1 :: parts]
    for fault in mine:
        began = time.monotonic()
        test = _find(fault)
        seconds = time.monotonic() - began
        print(f"{fault.id:<16} {seconds:5.0f} s  {test or 'MISSED: ' + fault.what}", flush=True)
        if test is None:
            missed.append(fault)
    names = " ".join(fault.id for fault in missed) or "none"
    print(f"{len(mine) - len(missed)} of {len(mine)} found by the tests nearest to them; missed: {names}")
    if missed:
        print("With all of these at once, these tests of the whole suite fail:")
        print(*_failures_with_all(missed, options.workers), sep="\n")


def _find(fault: Fault) -> str | None:
    """The first test near the fault that fails because of it."""
    with _seeded(fault):
        for tests in fault.nearest_tests:
            if failures := _failures([*tests, "--exitfirst"], "0", TIMEOUT_SECONDS):
                return failures[0]
    return None


def _failures_with_all(faults: Sequence[Fault], workers: str) -> list[str]:
    """The tests that fail with all these faults; none means that no test finds any of them."""
    with ExitStack() as stack:
        for fault in faults:
            stack.enter_context(_seeded(fault))
        return _failures(["tests"], workers, 10 * TIMEOUT_SECONDS)


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


def _failures(arguments: Sequence[str], workers: str, timeout: float) -> list[str]:
    """What pytest names as failed."""
    distribution = ["-n", workers, "--dist", "loadfile", "--no-loadscope-reorder"]
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", *distribution, *arguments]
    try:
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return [f"{' '.join(arguments)}: not over after {timeout} s"]
    if result.returncode == 0:
        return []
    lines = result.stdout.splitlines()
    failures = [line[:150] for line in lines if line.startswith(("FAILED", "ERROR"))]
    return failures or [f"exit code {result.returncode}"]


if __name__ == "__main__":
    main()
