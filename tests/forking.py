"""Real `gna` processes that start in 0.1 s: forks of a process that has imported everything.

Importing takes most of the CPU time of a start, and the tests start hundreds. A fork has its own
process id, environment, folder and log, is killed like any other, and shares nothing that it writes.
Some tests start the interpreter itself, where a terminal, an import or the command as a whole is the
point. So does `bench/`.
"""

import atexit
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["__main__", "tests.preloaded"])


class ForkedProcess:
    """The part of `subprocess.Popen` that the tests use."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        *,
        folder: Path,
        environ: Mapping[str, str],
        stdout: Path,
        stderr: Path,
    ) -> None:
        self._process = processes.Process(
            target=_run_module,
            args=(module, [*arguments], folder, dict(environ), stdout, stderr),
            daemon=True,
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        """Wait for the end and return the exit code."""
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL, unless it has ended."""
        self.send_signal(signal.SIGKILL)


def gna(folder: Path, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """Run `gna` in a folder, with nothing inherited but the search path."""
    inherited = {"PATH": os.environ["PATH"], "COLUMNS": "200"}
    with tempfile.TemporaryDirectory() as outputs:
        stdout = Path(outputs, "stdout")
        stderr = Path(outputs, "stderr")
        process = ForkedProcess(
            "gna",
            arguments,
            folder=folder,
            environ=inherited | environ,
            stdout=stdout,
            stderr=stderr,
        )
        try:
            code = process.wait(60)
        finally:
            process.kill()
        return subprocess.CompletedProcess(arguments, code, stdout.read_text(), stderr.read_text())


def _run_module(
    module: str,
    arguments: list[str],
    folder: Path,
    environ: dict[str, str],
    stdout: Path,
    stderr: Path,
) -> None:
    """Become what `python -m MODULE ARGUMENTS` is."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    for number, file in ((1, stdout), (2, stderr)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644), number)
    sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False, errors="backslashreplace")  # noqa: SIM115
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        # An interpreter calls them at its end; `multiprocessing` ends its processes without.
        atexit._run_exitfuncs()
