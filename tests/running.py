"""A real `gna serve` or `gna worker` in a process of its own."""

import ipaddress
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

from tests import asking
from tests.forking import ForkedProcess
from tests.servers import free_port

INHERITED = ("PATH", "HOME", "LANG")


class Gna:
    """A running product in a folder of its own, stopped at the end of the block."""

    def __init__(self, folder: Path, *, command: str = "serve", module: str = "gna", **environ: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / f"{command}-{self.port}.log"
        self._module = module
        self._arguments = [command, "--port", str(self.port)] if command == "serve" else [command]
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        # Tests speak for a proxy, so that each visitor can have an IP of their own.
        ours = {"DISABLE_AUTH": "true", "TRUSTED_PROXIES": "127.0.0.1", "PYTHONUNBUFFERED": "1"}
        self._environ = inherited | ours | environ
        self._visitors = count(1)
        self.process = self._spawn()

    def _spawn(self) -> "subprocess.Popen[bytes] | ForkedProcess":
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", self._module, *self._arguments],
                cwd=self.folder,
                env=self._environ,
                stdout=log,
                stderr=log,
            )

    def __enter__(self) -> Self:
        if self._arguments[0] == "serve":
            self.wait_until_healthy()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def wait_until_healthy(self, within: float = 20) -> None:
        """Wait for the first 200 of /healthz."""
        until(lambda: self.status("/healthz") == 200, within, lambda: f"not healthy:\n{self.log.read_text()}")

    def status(self, path: str) -> int:
        """The status of a GET, 0 if nobody answers."""
        try:
            return asking.get(self.url + path, timeout=15).status_code
        except httpx2.TransportError:
            if self.process.poll() is not None:
                raise AssertionError(f"gna has stopped:\n{self.log.read_text()}") from None
            return 0

    def stop(self) -> int:
        """SIGTERM, and its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(40)

    def kill(self) -> None:
        """SIGKILL: no time for anything."""
        self.process.kill()
        self.process.wait(10)

    def again(self) -> Self:
        """Start anew in the same folder, with the same settings."""
        self.process = self._spawn()
        return self.__enter__()

    def subscribe(self, email: str) -> httpx2.Response:
        """A visitor signs up, from an IP of their own."""
        ip = str(ipaddress.ip_address("10.0.0.0") + next(self._visitors))
        return asking.post(
            f"{self.url}/api/subscribe", json={"email": email}, headers={"X-Forwarded-For": ip}, timeout=30
        )


class ForkedGna(Gna):
    """The same, started by a fork, which takes a tenth of the CPU time."""

    def _spawn(self) -> ForkedProcess:
        return ForkedProcess(
            self._module,
            self._arguments,
            folder=self.folder,
            environ=self._environ,
            stdout=self.log,
            stderr=self.log,
        )


def until(holds: Callable[[], object], within: float, otherwise: Callable[[], str] = lambda: "it never held") -> None:
    """Wait until something holds, or fail with what `otherwise` says."""
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.05)


def resident(pid: int) -> int:
    """The resident memory of a process in bytes; Linux only."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
