"""`python -m tools.seeded_faults`: how many of the faults in `seeded_faults.json` the tests find.

Each fault is written into `src/`, the tests nearest to it run until one fails, and the file is
restored. Faults that these miss are written into `src/` all at once for one run of the whole suite.
Then each of them alone faces the tests that failed there; this is repeated while it finds any.
"""

import argparse
import json
import re
import signal
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
    def nearest_tests(self) -> list[str]:
        """The tests of its package that have its name or import it, or else all tests of its package."""
        module = Path(self.file).stem
        package = Path(self.file).parts[2]
        imports = re.compile(rf"gna\.{package}\b.*\b{module}\b")
        files = sorted(ROOT.glob(f"tests/{package}/**/test_*.py"))
        near = [file for file in files if file.stem == f"test_{module}" or imports.search(file.read_text())]
        return [str(file.relative_to(ROOT)) for file in near] or [f"tests/{package}"]


def main() -> None:
    """Print for each fault whether a test found it, and which."""
    # So that the file with the fault is restored.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", help="Only these faults.")
    parser.add_argument("--whole", action="store_true", help="Begin with the whole suite.")
    parser.add_argument("--workers", default="4", help="Processes that run the whole suite.")
    options = parser.parse_args()
    faults = [Fault(**fault) for fault in json.loads(FAULTS.read_text())]
    if unknown := set(options.ids) - {fault.id for fault in faults}:
        parser.error(f"there is no fault {', '.join(sorted(unknown))}")
    if options.ids:
        faults = [fault for fault in faults if fault.id in options.ids]
    missed = faults if options.whole else _missed_by(faults)
    while missed:
        print(f"Now the whole suite, with {len(missed)} faults at once.", flush=True)
        with ExitStack() as stack:
            for fault in missed:
                stack.enter_context(_seeded(fault))
            failing = _failures(["tests"], options.workers, 10 * TIMEOUT_SECONDS)
        print(f"{len(failing)} tests fail.", flush=True)
        still_missed = _missed_by(missed, failing) if failing else missed
        if still_missed == missed:
            break
        missed = still_missed
    names = " ".join(fault.id for fault in missed) or "none"
    print(f"{len(faults) - len(missed)} of {len(faults)} found; missed: {names}")


def _missed_by(faults: Sequence[Fault], tests: Sequence[str] = ()) -> list[Fault]:
    """Print which test, of these or the nearest, finds each fault alone; return those that none finds."""
    missed = []
    for fault in faults:
        began = time.monotonic()
        with _seeded(fault):
            found_by = _failures([*(tests or fault.nearest_tests), "--exitfirst"], "0", TIMEOUT_SECONDS)
        seconds = time.monotonic() - began
        print(f"{fault.id:<16} {seconds:5.0f} s  {found_by[0] if found_by else 'not found'}", flush=True)
        if not found_by:
            missed.append(fault)
    return missed


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
    failures = re.findall(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", result.stdout, re.MULTILINE)
    if result.returncode and not failures:
        sys.exit(f"pytest could not run:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return failures


if __name__ == "__main__":
    main()
