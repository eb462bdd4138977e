"""What one hostile client costs the server before any sign-in: its memory, and how long others wait for an answer.

Each attack runs against a new `gna serve` on SQLite, whose `/health` another process asks every 5 ms.
"""

import json
import multiprocessing
import resource
import selectors
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path

from tests.running import Gna, resident

MEGABYTE = 1_000_000
MEMORY_LIMIT, SILENCE_LIMIT = 150, 0.1
HEADER_BYTES = 170 * MEGABYTE
TYPE_BYTES = 16 * MEGABYTE
TRAILER_SECONDS = 10.0
CHUNK_SECONDS = 8.0
PUNYCODE_FORMS = 20
SLOW_CONNECTIONS = 1100
SLOW_SECONDS = 8.0
HELD_CONNECTIONS = 300
UNREAD_CONNECTIONS = 500
UNREAD_REQUESTS = 40
# Between two of them: a thousand requests at once would measure how fast the server is, not whether it waits.
PAUSE = 0.001
SIGN_UPS = 30
FILES = 1024
SETTINGS = {"DATABASE_URL": "sqlite:///gna.db", "LOG_LEVEL": "error", "FEED_WEBHOOK_SECRET": "a secret"}
ASK_EVERY = 0.005
GIVE_UP = 60.0


@dataclass(frozen=True)
class Cost:
    """The server's peak memory in bytes, and the longest time in seconds in which `/health` did not answer."""

    memory: int
    silence: float
    usual_silence: float
    said: str


def run() -> None:
    """Print one line for each attack."""
    print(f"a hostile client and gna serve on SQLite ({FILES:,} files); limits {MEMORY_LIMIT} MB, {SILENCE_LIMIT:g} s")
    attacks: dict[str, Callable[[int], str]] = {
        f"{HEADER_BYTES // MEGABYTE} MB of small header lines": send_headers,
        f"trailer lines for {TRAILER_SECONDS:g} s": send_trailers,
        f"a Content-Type of {TYPE_BYTES // MEGABYTE} MB": send_content_type,
        f"chunks after the answer for {CHUNK_SECONDS:g} s": send_chunks,
        f"{PUNYCODE_FORMS} forms in punycode": send_punycode,
        f"{SLOW_CONNECTIONS:,} slow connections": connect_slowly,
        f"{HELD_CONNECTIONS:,} webhooks without an end": hold_webhooks,
        f"{UNREAD_CONNECTIONS:,} connections that do not read": read_nothing,
    }
    for name, attack in attacks.items():
        _print(name, suffer(attack))
    accepted = sign_up_with_trailers()
    verdict = "within" if accepted <= 5 else "PAST"
    print(f"  X-Forwarded-For in a trailer      {accepted} of {SIGN_UPS} sign-ups accepted, {verdict} the limit of 5")


def _print(name: str, cost: Cost) -> None:
    memory = cost.memory / MEGABYTE
    is_small = memory < MEMORY_LIMIT and cost.silence < SILENCE_LIMIT
    print(
        f"  {name:<32}  peak {memory:7,.0f} MB   silent {cost.silence * 1000:8,.0f} ms"
        f" (median answer {cost.usual_silence * 1000:.1f} ms)   {'within' if is_small else 'OVER'};  {cost.said}",
        flush=True,
    )


def suffer(attack: Callable[[int], str]) -> Cost:
    """Run one attack, given the server's port, and measure its cost."""
    with serving() as gna, watching(gna.port) as waits, peak_of(gna.process.pid) as peak:
        said = attack(gna.port)
        time.sleep(0.3)
    answers = waits()
    return Cost(peak(), max(answers), statistics.median(answers), said)


@contextmanager
def serving(**environ: str) -> Iterator[Gna]:
    """A new server in a folder of its own, with the number of files that most systems give."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with tempfile.TemporaryDirectory() as folder:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, soft), hard))
        try:
            gna = Gna(Path(folder), **SETTINGS, **environ)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        with gna:
            yield gna


@contextmanager
def watching(port: int) -> Iterator[Callable[[], list[float]]]:
    """Another process asks `/health` for as long as the block lasts; how long each answer took, in seconds."""
    context = multiprocessing.get_context("spawn")
    done = context.Event()
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_ask, args=(port, done, theirs))
    process.start()
    ours.recv()
    try:
        yield lambda: list(ours.recv())
    finally:
        done.set()
    process.join(GIVE_UP + 5)


def _ask(port: int, done: Event, pipe: "multiprocessing.connection.Connection[object, object]") -> None:
    waits: list[float] = []
    pipe.send("ready")
    while not done.is_set():
        began = time.perf_counter()
        _is_healthy(port, began + GIVE_UP, done)
        waits.append(time.perf_counter() - began)
        time.sleep(ASK_EVERY)
    pipe.send(waits)


def _is_healthy(port: int, deadline: float, done: Event) -> bool:
    """Whether `/health` answers 200 before the deadline, over a new connection each time, as visitors have."""
    while time.perf_counter() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as line:
            line.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            if line.recv(4096).startswith(b"HTTP/1.1 200"):
                return True
        if done.is_set():
            return False
        time.sleep(ASK_EVERY)
    return False


@contextmanager
def peak_of(pid: int) -> Iterator[Callable[[], int]]:
    """The most memory that a process held while the block lasted, in bytes."""
    most = resident(pid)
    done = threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.01):
            most = max(most, resident(pid))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield lambda: most
    finally:
        done.set()
        thread.join()


def send_headers(port: int, size: int = HEADER_BYTES) -> str:
    """One head of many short lines."""
    lines = b"a: b\r\n" * 10_000
    return _send(port, b"GET /health HTTP/1.1\r\nHost: x\r\n", lines, size=size)


def send_trailers(port: int, seconds: float = TRAILER_SECONDS) -> str:
    """One body of one byte, and trailers without end."""
    head = b"POST /api/subscribe HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    body = b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n"
    return _send(port, head + body, b"a: b\r\n" * 10_000, seconds=seconds)


def send_content_type(port: int, size: int = TYPE_BYTES) -> str:
    """A form whose type has millions of parameters."""
    head = b"POST /api/subscribe HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Type: multipart/form-data"
    return _send(port, head, b";" * 60_000, size=size, end=b"\r\n\r\n")


def send_chunks(port: int, seconds: float = CHUNK_SECONDS) -> str:
    """A body of chunks of one byte, to an address that takes none and has answered long ago."""
    deadline = time.monotonic() + seconds
    connections = 0
    while time.monotonic() < deadline:
        connections += 1
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=GIVE_UP) as line:
            line.sendall(b"POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            while time.monotonic() < deadline:
                line.sendall(b"1\r\nx\r\n" * 10_000)
    return f"{connections} connections"


def send_punycode(port: int, count: int = PUNYCODE_FORMS) -> str:
    """Forms in a charset that Python decodes in quadratic time."""
    value = ("a" * 10_000 + "\U0001f600").encode("punycode") + b"a" * 54_000
    body = b'--b\r\nContent-Disposition: form-data; name="email"\r\n\r\n' + value + b"\r\n--b--\r\n"
    head = (
        b"POST /api/subscribe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        b"Content-Type: multipart/form-data; boundary=b; charset=punycode\r\n"
    )
    answers = set()
    for _ in range(count):
        with socket.create_connection(("127.0.0.1", port), timeout=GIVE_UP) as line:
            line.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            answers.add(read_to_end(line).split(b"\r\n")[0].decode("latin-1"))
    return " and ".join(sorted(answers))


def hold_webhooks(port: int, count: int = HELD_CONNECTIONS) -> str:
    """Bodies of almost a megabyte each, for a webhook that checks a signature of the whole."""
    size = 1024 * 1024
    head = (
        b"POST /api/feed/webhook HTTP/1.1\r\nHost: x\r\nX-Hub-Signature: sha256=00\r\nContent-Length: %d\r\n\r\n" % size
    )
    with ExitStack() as stack:
        for _ in range(count):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=GIVE_UP))
            line.sendall(head + bytes(size - 1000))
            # 100 MB a second: more would measure how fast the server reads.
            time.sleep(10 * PAUSE)
    return f"{count} connections"


def connect_slowly(port: int, count: int = SLOW_CONNECTIONS, seconds: float = SLOW_SECONDS) -> str:
    """Half of them send a head, half a body, a byte now and then."""
    body = b"POST /api/subscribe HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n"
    lines: list[socket.socket] = []
    deadline = time.monotonic() + seconds
    for number in range(count):
        with suppress(OSError):
            line = socket.create_connection(("127.0.0.1", port), timeout=1)
            line.setblocking(False)
            lines.append(line)
            line.sendall(b"GET /health HTTP/1.1\r\nX: " if number % 2 else body)
        if time.monotonic() > deadline:
            break
        time.sleep(PAUSE)
    is_healthy = _is_healthy(port, time.perf_counter() + 5, multiprocessing.Event())
    while time.monotonic() < deadline:
        for line in lines:
            with suppress(OSError):
                line.send(b"x")
        time.sleep(1)
    held = sum(not _is_over(line) for line in lines)
    for line in lines:
        line.close()
        time.sleep(PAUSE)
    return f"{held:,} still held after {seconds:g} s; /health {'answers' if is_healthy else 'IS SILENT'}"


def read_nothing(port: int, count: int = UNREAD_CONNECTIONS, seconds: float = SLOW_SECONDS) -> str:
    """Each connection sends many requests for a large page at once, and reads no answer."""
    lines: list[socket.socket] = []
    deadline = time.monotonic() + seconds
    for _ in range(count):
        with suppress(OSError):
            line = socket.create_connection(("127.0.0.1", port), timeout=1)
            lines.append(line)
            line.sendall(b"GET /docs HTTP/1.1\r\nHost: x\r\n\r\n" * UNREAD_REQUESTS)
        # As many requests a second as the other attack of many connections sends.
        time.sleep(PAUSE)
    is_healthy = _is_healthy(port, time.perf_counter() + 5, multiprocessing.Event())
    time.sleep(max(0, deadline - time.monotonic()))
    for line in lines:
        line.close()
    return f"{len(lines):,} connected; /health {'answers' if is_healthy else 'IS SILENT'}"


def _is_over(line: socket.socket) -> bool:
    try:
        return not line.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


def sign_up_with_trailers(count: int = SIGN_UPS) -> int:
    """How many sign-ups of one client are accepted if each names another IP in a trailer."""
    accepted = 0
    with serving(TRUSTED_PROXIES="127.0.0.1") as gna:
        for number in range(count):
            accepted += trailer_sign_up(gna.port, number).startswith(b"HTTP/1.1 201")
    return accepted


def trailer_sign_up(port: int, number: int) -> bytes:
    """Sign up once; the head names one IP, as a proxy would, and the trailer another. What the server answers."""
    body = json.dumps({"email": f"visitor.{number}@example.org"}).encode()
    head = (
        b"POST /api/subscribe HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
        b"X-Forwarded-For: 203.0.113.7\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    trailer = f"X-Forwarded-For: 198.51.100.{number + 1}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.sendall(head + b"%x\r\n%s\r\n0\r\n" % (len(body), body) + trailer)
        return read_to_end(line)


def read_to_end(line: socket.socket) -> bytes:
    """All that comes until the server closes."""
    return b"".join(iter(lambda: line.recv(65_536), b""))


def _send(
    port: int, start: bytes, piece: bytes, *, size: float = float("inf"), seconds: float = GIVE_UP, end: bytes = b""
) -> str:
    """Send the start and then pieces until the server closes, or size or seconds are used up; says what it answered."""
    deadline = time.monotonic() + seconds
    sent = 0
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=GIVE_UP) as line:
        with suppress(OSError), selectors.DefaultSelector() as waiting:
            waiting.register(line, selectors.EVENT_READ)
            line.sendall(start)
            while sent < size and time.monotonic() < deadline and not waiting.select(0):
                line.sendall(piece)
                sent += len(piece)
            line.sendall(end)
        line.settimeout(max(1.0, min(GIVE_UP, deadline - time.monotonic())))
        with suppress(OSError):
            answer = line.recv(4096) or b"closed"
    first = answer.split(b"\r\n")[0].decode("latin-1") or "no answer"
    return f"{first} after {sent / MEGABYTE:.1f} MB"
