"""The real servers that the tests run against: private ones, on loopback, each with its files in one folder."""

import itertools
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path
from typing import Self

HOST = "127.0.0.1"
NOBODY = 65534
PATIENCE = 30  # seconds; each server starts in less than one, but a busy machine may need many


class ServerFailedError(Exception):
    """A server did not start, or did not do in time what a test waits for."""


def _ports() -> Iterator[int]:
    """Every port that this process may give to its servers, in turn and for ever.

    Each pytest worker has a range of its own: a port that one has chosen looks free to the others until its server
    listens, and a fake SMTP server that took it first was once mistaken for the Postfix that another test had started.
    """
    # Linux gives clients ports from 32768 up. Below, no client can take the port of a server that is down
    # for a moment, and none that keeps trying to reach it can end up connected to itself.
    lowest, count = 20_000, 12_000
    share = count // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    first = secrets.randbelow(share)
    for step in itertools.count(first):
        yield lowest + worker * share + step % share


_PORTS = _ports()


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    return next(port for port in _PORTS if is_free(port))


def is_free(port: int) -> bool:
    """Tell whether a server could listen on the port."""
    with socket.socket() as probe, suppress(OSError):
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
        return True
    return False


def in_wheel(name: str, path: str) -> Path:
    """Return the place of a file that an installed wheel brought, without importing its package."""
    return Path(str(distribution(name).locate_file(path)))


def wait_until(done: Callable[[], bool], what: str) -> None:
    """Return as soon as `done()` is true; fail when that takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > deadline:
            raise ServerFailedError(f"Waited {PATIENCE} s in vain until {what}.")
        time.sleep(0.01)


def _quickest_place() -> Path | None:
    # A copy of a database is some 500 new files: 15 ms in memory, and up to 400 ms on a slow disk.
    # Docker's /dev/shm has 64 MB, which one database fills: there the usual temporary folder has to do.
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2 * 1024**3 else None


class Server(ABC):
    """A server process that starts, stops and starts again on the same port and the same files."""

    host = HOST
    request = b""  # what a client has to send before the server says its greeting
    greeting = b""

    def __init__(self, parent: Path | None = None) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="gna-", dir=parent or _quickest_place()))
        self.log = self.directory / "log"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._was_up = False

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def configure(self) -> list[str | Path]:
        """Write the configuration for this port and return the command that runs in the foreground."""

    def answers(self) -> bool:
        """Tell whether a client that connects is greeted."""
        with suppress(OSError), socket.create_connection((HOST, self.port), timeout=1) as client:
            client.sendall(self.request)
            return client.recv(100).startswith(self.greeting)
        return False

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process, "the server does not run"
        return self._process.pid

    def start(self) -> None:
        """Start the server and return once it answers."""
        try:
            self._launch()
        except ServerFailedError:
            if self._was_up:  # then clients know the port, and it must stay
                raise
            self.port = free_port()
            self._launch()
        self._was_up = True

    def stop(self) -> None:
        """Ask the server to end, and wait for it."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the server at once, without a chance to tidy up."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """End the server and remove its files."""
        self.kill()
        wait_until(self._is_removed, f"{self.directory} is removed")

    def fill(self, template: str, **values: object) -> str:
        """Return a configuration with this server's place and port filled in."""
        return template.format(host=HOST, port=self.port, directory=self.directory, log=self.log, **values)

    def failure(self, what: str) -> ServerFailedError:
        """Return the error that says what went wrong, with the end of the log."""
        tail = self.log.read_text(errors="replace").splitlines()[-20:]
        return ServerFailedError("\n".join([f"{type(self).__name__} {what}. Its log ends:", *tail]))

    def _launch(self) -> None:
        command = self.configure()
        with self.log.open("ab") as log:
            # In a session of its own it does not get the Ctrl+C that ends the tests: their teardown needs it.
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + PATIENCE
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._signal(self._process, signal.SIGKILL)
                raise self.failure(f"did not start on port {self.port}")
            time.sleep(0.01)

    def _end(self, how: signal.Signals) -> None:
        if self._process:
            self._signal(self._process, how)
            # Its children die a moment after it, and until then still take new connections.
            wait_until(lambda: is_free(self.port), f"port {self.port} is free again")

    def _signal(self, process: "subprocess.Popen[bytes]", how: signal.Signals) -> None:
        process.send_signal(how)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        with suppress(ProcessLookupError):  # is raised unless something outlived the signal
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._process = None

    def _is_removed(self) -> bool:
        # A killed child of the server may still write a last file while the directory is being emptied.
        shutil.rmtree(self.directory, ignore_errors=True)
        return not self.directory.exists()
