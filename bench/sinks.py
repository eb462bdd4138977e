"""`sink.c`, an SMTP server that is never what a sender waits for; `python -m bench.sinks` checks it.

Postfix's own sink is slower, but known to everybody: `smtp_sink` in `tests/servers/postfix.py`.
"""

import atexit
import itertools
import os
import re
import resource
import shutil
import signal
import smtplib
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.servers import HOST, Server, ServerFailedError, wait_until

SOURCE = Path(__file__).with_name("sink.c")
INSTALL = "The sink has to be compiled: apt install gcc libc6-dev"
REPORT = re.compile(rb"^mails=(\d+) bytes=(\d+) connections=(\d+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Counts:
    """What a sink took since it started. `bytes` is what came between 354 and the next command, of whole mails."""

    mails: int
    bytes: int
    connections: int


class CSink(Server):
    """A sink on a port of its own. It keeps what it took only if it is asked for a `log`."""

    greeting = b"220"

    def __init__(self, *, threads: int = 2, delay_ms: int = 0, pipelining: bool = True, log: bool = False) -> None:
        super().__init__()
        self._options = [str(threads), str(delay_ms), str(int(pipelining))]
        self._mails = self.directory / "mails" if log else None
        self._one_at_a_time = threading.Lock()

    def configure(self) -> list[str | Path]:
        logged = [self._mails] if self._mails else []
        return [compiled(), str(self.port), *self._options, *logged]

    def counted(self) -> int:
        """How many mails it accepted so far: at least all those whose sender has seen the 250."""
        return self.counts().mails

    def counts(self) -> Counts:
        """What it took so far; `start` itself makes one connection."""
        with self._one_at_a_time:  # two signals at the same moment arrive as one
            before = self.log.stat().st_size
            os.kill(self.pid, signal.SIGUSR1)
            wait_until(lambda: bool(self._reports(before)), "the sink says what it took")
            return self._reports(before)[-1]

    def logged(self) -> list[tuple[str, str]]:
        """The Message-ID as written in the header, and the recipient, of every mail that it accepted."""
        assert self._mails, "this sink was not asked for a log"
        lines = self._mails.read_text("utf-8", "replace").splitlines()
        return [(message_id, to) for message_id, _, to in (line.partition(" ") for line in lines)]

    def logged_since(self, offset: int) -> bytes:
        """What was added to the log after its first bytes; the last line may not be whole yet."""
        assert self._mails, "this sink was not asked for a log"
        with self._mails.open("rb") as file:
            file.seek(offset)
            return file.read()

    def _reports(self, offset: int) -> list[Counts]:
        written = self.log.read_bytes()[offset:]
        return [Counts(*map(int, found.groups())) for found in REPORT.finditer(written)]


def why_missing() -> str | None:
    """Return what to install before a `CSink` can run, or None if it can."""
    return None if shutil.which("cc") else INSTALL


@cache
def compiled() -> Path:
    """The program, made once in a run."""
    if missing := why_missing():
        raise ServerFailedError(missing)
    folder = tempfile.mkdtemp(prefix="gna-sink-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = Path(folder) / "sink"
    run = subprocess.run(["cc", "-O2", "-pthread", SOURCE, "-o", program], capture_output=True, text=True)
    if run.returncode:
        raise ServerFailedError(f"{INSTALL}. The compiler said:\n{run.stderr}")
    return program


MAILS, CLIENTS, CROWD = 1000, 3, 1000
SPELLINGS = ("Message-ID: ", "message-id:", "MESSAGE-ID:\r\n\t")


def _check() -> None:
    """Every mail is logged once, in whatever pieces it comes, and nothing else is."""
    mails = [(f"<{number}@bench.example>", f"person{number}@example.org") for number in range(MAILS)]
    with CSink(log=True) as sink:
        with ThreadPoolExecutor(CLIENTS) as clients:
            parts = [mails[number::CLIENTS] for number in range(CLIENTS)]
            size = sum(clients.map(lambda part: _send(sink.port, part), parts))
        assert sorted(sink.logged()) == sorted(mails), "the log is not what was sent"
        assert sink.counts() == Counts(MAILS, size, CLIENTS + 1), (sink.counts(), size)
        _hang_up_midway(sink.port)
        _send_nothing(sink.port)
        _crowd(sink.port)
        assert sink.logged()[MAILS:] == [("-", "nothing@example.org"), *[("-", "crowd@example.org")] * CROWD]
        assert sink.counted() == MAILS + 1 + CROWD, sink.counts()
        files = Path(f"/proc/{sink.pid}/fd")
        wait_until(lambda: len(list(files.iterdir())) < CLIENTS + 20, "the sink closed what its clients closed")
    print(f"{MAILS:,} mails over {CLIENTS} connections and {CROWD:,} more over as many: all are in the log, once")


def _check_delay(delay_ms: int = 20, commands: int = 10) -> None:
    with CSink(delay_ms=delay_ms) as sink, smtplib.SMTP(HOST, sink.port) as client:
        began = time.perf_counter()
        for _ in range(commands):
            assert client.noop()[0] == 250
        took = (time.perf_counter() - began) * 1000 / commands
    assert took >= delay_ms, took
    print(f"an answer that has to wait {delay_ms} ms comes after {took:.1f} ms")


def _check_pipelining() -> None:
    for offered in (True, False):
        with CSink(pipelining=offered) as sink, smtplib.SMTP(HOST, sink.port) as client:
            client.ehlo()
            assert client.has_extn("pipelining") == offered
            assert client.has_extn("8bitmime")
    print("pipelining is offered, or not, as it was asked to")


def _send(port: int, mails: Sequence[tuple[str, str]]) -> int:
    """Send each content together with the commands for the next mail; return the size of all contents."""
    size = 0
    with smtplib.SMTP(HOST, port) as client:
        client.ehlo()
        assert client.has_extn("pipelining")
        assert client.has_extn("8bitmime")
        client.send(_commands(mails[0][1]))
        for number, (message_id, _) in enumerate(mails):
            assert [client.getreply()[0] for _ in range(3)] == [250, 250, 354]
            content = _content(message_id, number)
            size += len(content)
            following = b"".join(_commands(to) for _, to in mails[number + 1 : number + 2])
            _in_pieces(client, content, following, number)
            assert client.getreply()[0] == 250
    return size


def _commands(to: str) -> bytes:
    return f"MAIL FROM:<news@example.org>\r\nRCPT TO:<{to}>\r\nDATA\r\n".encode()


def _content(message_id: str, number: int) -> bytes:
    """A header in one of three spellings, a lie in the body, a line that is a stuffed dot; now and then a long mail."""
    header = f"Subject: Hello\r\n{SPELLINGS[number % len(SPELLINGS)]}{message_id}\r\n"
    body = "message-id: <wrong>\r\n..\r\n" + "Hello, hello.\r\n" * (100_000 if number == 100 else number)
    return f"{header}\r\n{body}.\r\n".encode()


def _in_pieces(client: smtplib.SMTP, content: bytes, following: bytes, number: int) -> None:
    """Cut in the header, or somewhere around the final dot, or there into single bytes."""
    cuts = [20 + number % 30] if number % 10 == 0 else [len(content) - number % 6]
    if number % 10 == 1:
        cuts = list(range(len(content) - 6, len(content)))
    assert client.sock
    # Without this the second piece waits 40 ms until the first is acknowledged.
    client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for begin, end in itertools.pairwise([0, *cuts, len(content)]):
        client.send(content[begin:end])
        time.sleep(0.001)  # or two pieces are read at once
    client.send(following)


def _hang_up_midway(port: int) -> None:
    """In the middle of a mail, and of a command."""
    for unfinished in (b"Message-ID: <half@bench.example>\r\n\r\nHal", b""):
        client = smtplib.SMTP(HOST, port)
        client.send(b"EHLO me\r\n" + (_commands("half@example.org") if unfinished else b"MAIL FR") + unfinished)
        client.close()


def _send_nothing(port: int) -> None:
    """An empty mail is a mail."""
    with smtplib.SMTP(HOST, port) as client:
        client.send(_commands("nothing@example.org"))
        assert [client.getreply()[0] for _ in range(3)] == [250, 250, 354]
        client.send(b".\r\n")
        assert client.getreply()[0] == 250


def _crowd(port: int) -> None:
    """All are connected at the same time, and each sends one mail."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, allowed))
    with ExitStack() as stack:
        clients = [stack.enter_context(smtplib.SMTP(HOST, port)) for _ in range(CROWD)]
        for client in clients:
            client.sendmail("news@example.org", "crowd@example.org", "Subject: Hello\r\n\r\nMessage-ID: <wrong>\r\n")


if __name__ == "__main__":
    _check()
    _check_delay()
    _check_pipelining()
