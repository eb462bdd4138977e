"""What one connection may cost: a real HTTP server on loopback, asked over plain sockets."""

import asyncio
import hashlib
import http.client
import json
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from bench import hostile
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from gna.cli.server import Server
from gna.web import protocol
from gna.web.edge import Edge
from gna.web.protocol import HEAD_MAX, HEADERS_MAX, HttpProtocol
from tests.running import Gna, resident, until

GET = b"GET /head HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"POST /head HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
CLOSE = b"Connection: close\r\n"
MEGABYTE = 1_000_000


@dataclass
class Echo:
    """An application that says what it got; at `/wait` it answers when it is told to, at `/flood` without end."""

    may_answer: threading.Event = field(default_factory=threading.Event)
    requests: int = 0
    received: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.requests += 1
            request = Request(scope, receive)
            answer = await self._answer(request, scope["path"])
            await answer(scope, receive, send)

    async def _answer(self, request: Request, path: str) -> Response:
        if path == "/wait":
            await asyncio.to_thread(self.may_answer.wait, 20)
        if path == "/flood":
            return PlainTextResponse(b"x" * 50 * MEGABYTE)
        if path == "/slow":
            return StreamingResponse(_slowly(), headers={"Content-Length": "1"})
        if path == "/unread":
            return PlainTextResponse("ok")
        if path == "/refuse":
            return JSONResponse({"error": "no"}, 403, {"Connection": "close"})
        digest = hashlib.sha256()
        size = 0
        async for part in request.stream():
            digest.update(part)
            size += len(part)
            self.received += len(part)
        said = {"path": request.url.path, "size": size, "sha256": digest.hexdigest()}
        return JSONResponse(said | {"headers": sorted(request.headers.keys())})


async def _slowly() -> AsyncIterator[bytes]:
    yield b"x"
    await asyncio.sleep(0.5)


@dataclass
class Running:
    """The server, and how to reach it."""

    port: int
    echo: Echo
    server: Server

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=15)

    def asks(self, sent: bytes) -> bytes:
        """All that the server answers until it closes."""
        with self.connect() as line:
            line.sendall(sent)
            return hostile.read_to_end(line)

    @property
    def held(self) -> int:
        return len(self.server.server_state.connections)

    def age(self, seconds: float) -> None:
        """Let every open connection be older."""
        for connection in list(self.server.server_state.connections):
            assert isinstance(connection, HttpProtocol)
            connection._since -= seconds


@pytest.fixture
def running() -> Iterator[Running]:
    echo = Echo()
    with serving(echo) as found:
        yield found


@contextmanager
def serving(echo: Echo) -> Iterator[Running]:
    listener = socket.create_server(("127.0.0.1", 0))
    app = Edge(echo, https=False)
    config = uvicorn.Config(
        app,
        http=HttpProtocol,
        ws="none",
        log_config=None,
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=5,
    )
    server = Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    until(lambda: server.started, 10)
    try:
        yield Running(listener.getsockname()[1], echo, server)
    finally:
        echo.may_answer.set()
        server.should_exit = True
        thread.join(10)


def parsed(answer: bytes) -> tuple[int, dict[str, str], Any]:
    """Status, headers and JSON of one answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, json.loads(body)


def is_refused(answer: bytes, status: int) -> bool:
    """Whether it is one proper error that says that the connection ends."""
    found, headers, body = parsed(answer)
    return (found, headers["connection"], set(body)) == (status, "close", {"error"})


class TestTheHead:
    @pytest.mark.parametrize(
        "endless",
        [
            GET + b"a: b\r\n" * 20_000,
            GET + b"a: " + b"b" * 100_000,
            GET + b"b" * 100_000,
            b"GET /" + b"x" * 100_000,
            b"\r\n" * 50_000,
            b"POST /head HTTP/1.1\r\nContent-Type: multipart/form-data" + b";" * 100_000,
        ],
        ids=["lines", "value", "name", "address", "empty lines", "type"],
    )
    def test_has_a_largest_size_and_the_answer_survives_what_is_still_sent(
        self, running: Running, endless: bytes
    ) -> None:
        with running.connect() as line:
            line.sendall(endless)
            for _ in range(50):
                line.sendall(b"c: d\r\n" * 10_000)
            assert is_refused(hostile.read_to_end(line), 431)
        assert running.echo.requests == 0

    def test_may_have_that_size_and_no_byte_more(self, running: Running) -> None:
        def filled(size: int) -> bytes:
            """A head for which address, names, values and their separators are so many bytes."""
            ours = len("/head") + len("Host: x\r\n") + len("Connection: close\r\n") + len("a: \r\n")
            return GET + CLOSE + b"a: " + b"b" * (size - ours) + b"\r\n\r\n"

        assert parsed(running.asks(filled(HEAD_MAX)))[0] == 200
        assert is_refused(running.asks(filled(HEAD_MAX + 1)), 431)

    def test_has_so_many_headers_and_no_more(self, running: Running) -> None:
        def filled(number: int) -> bytes:
            return GET + CLOSE + b"a:\r\n" * (number - 2) + b"\r\n"

        assert parsed(running.asks(filled(HEADERS_MAX)))[0] == 200
        assert is_refused(running.asks(filled(HEADERS_MAX + 1)), 431)

    def test_of_the_second_request_is_bounded_after_the_first_was_answered(self, running: Running) -> None:
        answers = running.asks(GET + b"\r\n" + GET + b"a: b\r\n" * 20_000)
        assert answers.startswith(b"HTTP/1.1 200")
        assert answers.count(b"HTTP/1.1 ") in (1, 2), "the first answer says close, or the second is the refusal"

    def test_must_come_within_its_time(self, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(protocol, "HEAD_WITHIN", 1)
        with running.connect() as line:
            began = time.monotonic()
            sender = threading.Thread(target=trickle, args=(line, GET, b"a"), daemon=True)
            sender.start()
            assert is_refused(hostile.read_to_end(line), 408)
            assert time.monotonic() - began < 4

    @pytest.mark.parametrize("said", [b"", b"\r\n"])
    def test_must_begin_within_its_time(self, running: Running, monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
        monkeypatch.setattr(protocol, "HEAD_WITHIN", 1)
        with running.connect() as line:
            sender = threading.Thread(target=trickle, args=(line, said, said), daemon=True)
            sender.start()
            line.settimeout(5)
            answer = hostile.read_to_end(line)
        assert answer == b"" or is_refused(answer, 408)

    def test_that_is_no_http_is_refused_also_behind_an_answer_under_way(self, running: Running) -> None:
        with running.connect() as line:
            line.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
            until(lambda: running.echo.requests == 1, 5)
            line.sendall(b"nonsense\r\n\r\n")
            running.echo.may_answer.set()
            status, headers, said = parsed(hostile.read_to_end(line))
        assert (status, headers["connection"], said["path"]) == (200, "close", "/wait")


class TestTrailers:
    def test_are_no_headers(self, running: Running) -> None:
        body = b"1\r\n{\r\n0\r\nX-Forwarded-For: 203.0.113.7\r\nX-Last: 1\r\n\r\n"
        with running.connect() as line:
            line.sendall(CHUNKED + body)
            first = one_answer(line)
            line.sendall(GET + CLOSE + b"\r\n")
            second = one_answer(line)
        assert first["headers"] == ["host", "transfer-encoding"]
        assert second["headers"] == ["connection", "host"]

    @pytest.mark.parametrize(
        "endless",
        [b"1\r\n{\r\n0\r\n" + b"a: b\r\n" * 20_000, b"1\r\n{\r\n0\r\na: " + b"b" * 120_000, b"1;" + b"e" * 120_000],
        ids=["lines", "value", "chunk extension"],
    )
    def test_are_bounded(self, running: Running, endless: bytes) -> None:
        with running.connect() as line:
            line.sendall(CHUNKED + endless)
            for _ in range(50):
                line.sendall(b"c" * 10_000)
            assert is_refused(hostile.read_to_end(line), 400)

    def test_a_body_of_small_chunks_is_read(self, running: Running) -> None:
        chunks = b"1;name=value\r\nx\r\n" * 50_000 + b"0\r\nX-Sum: 1\r\n\r\n"
        answer = running.asks(CHUNKED.replace(b"Host: x\r\n", b"Host: x\r\n" + CLOSE) + chunks)
        assert parsed(answer)[2]["size"] == 50_000


class TestTheBody:
    def test_comes_whole_through_the_pieces(self, running: Running) -> None:
        body = bytes(range(256)) * 4000
        head = b"POST /admin/head HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % len(body)
        said = parsed(running.asks(head + CLOSE + b"\r\n" + body))[2]
        assert (said["size"], said["sha256"]) == (len(body), hashlib.sha256(body).hexdigest())

    def test_has_a_total_time_however_often_a_byte_comes(
        self, running: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(protocol, "BODY_WITHIN", 1)
        with running.connect() as line:
            began = time.monotonic()
            head = b"POST /head HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n"
            threading.Thread(target=trickle, args=(line, head, b"x"), daemon=True).start()
            assert is_refused(hostile.read_to_end(line), 408)
            assert time.monotonic() - began < 4

    def test_has_more_time_the_more_of_it_came(self, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(protocol, "BODY_WITHIN", 0.5)
        monkeypatch.setattr(protocol, "SPARE", 0)
        monkeypatch.setattr(protocol, "BODY_RATE", 1000)
        with running.connect() as line:
            line.sendall(b"POST /head HTTP/1.1\r\nHost: x\r\nContent-Length: 8000\r\n" + CLOSE + b"\r\n")
            for _ in range(20):
                line.sendall(b"x" * 400)
                time.sleep(0.15)
            assert parsed(hostile.read_to_end(line))[2]["size"] == 8000

    def test_that_nobody_reads_has_its_time_too(self, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(protocol, "BODY_WITHIN", 0)
        monkeypatch.setattr(protocol, "SPARE", 1)
        with running.connect() as line:
            head = b"POST /flood HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n"
            threading.Thread(target=trickle, args=(line, head, b"x"), daemon=True).start()
            while line.recv(MEGABYTE):
                pass
        until(lambda: running.held == 0, 5)

    def test_too_large_is_answered_though_the_client_still_sends(self, running: Running) -> None:
        head = b"POST /head HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n"
        for start in (head, CHUNKED + b"%x\r\n" % (20 * MEGABYTE)):
            with running.connect() as line:
                line.sendall(start)
                for _ in range(20):
                    line.sendall(b"x" * MEGABYTE)
                assert is_refused(hostile.read_to_end(line), 413)

    def test_that_the_application_does_not_want_is_not_parsed_after_the_answer(self, running: Running) -> None:
        with running.connect() as line:
            line.sendall(b"POST /unread HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            until(lambda: running.echo.requests == 1, 5)
            for _ in range(100):
                line.sendall(b"1\r\nx\r\n" * 5000)
            stream = hostile.read_to_end(line)
        assert stream.startswith(b"HTTP/1.1 200")
        assert stream.count(b"HTTP/1.1 ") == 1
        until(lambda: running.held == 0, 5)

    def test_of_a_refused_request_does_not_reset_the_answer(self, running: Running) -> None:
        with running.connect() as line:
            line.sendall(b"POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n")
            for _ in range(20):
                line.sendall(b"x" * MEGABYTE)
            assert is_refused(hostile.read_to_end(line), 403)

    def test_is_asked_for_with_100_continue(self, running: Running) -> None:
        with running.connect() as line:
            expect = b"Content-Length: 2\r\nExpect: 100-continue\r\n"
            line.sendall(b"POST /head HTTP/1.1\r\nHost: x\r\n" + expect + CLOSE + b"\r\n")
            assert line.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
            line.sendall(b"{}")
            assert parsed(hostile.read_to_end(line))[2]["size"] == 2


class TestAConnection:
    def test_takes_many_requests_one_after_the_other(self, running: Running) -> None:
        body = b"x" * 30_000
        with running.connect() as line:
            for number in range(40):
                line.sendall(b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: 30000\r\n\r\n" % number + body)
                said = one_answer(line)
                assert (said["path"], said["size"]) == (f"/{number}", 30_000)

    def test_that_asks_for_many_things_at_once_gets_two_answers(self, running: Running) -> None:
        with running.connect() as line:
            line.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
            until(lambda: running.echo.requests == 1, 5)
            line.sendall(b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number for number in range(2000)))
            running.echo.may_answer.set()
            stream = hostile.read_to_end(line)
        assert re.findall(rb'"path":"([^"]*)"', stream) == [b"/wait", b"/0"]
        assert stream.lower().count(b"connection: close") == 1
        assert running.echo.requests == 2

    def test_takes_a_request_as_soon_as_the_head_of_an_answer_to_head_has_come(self, running: Running) -> None:
        with running.connect() as line:
            line.sendall(b"HEAD /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            head = http.client.HTTPResponse(line, method="HEAD")
            head.begin()
            line.sendall(GET + b"\r\n")
            assert one_answer(line)["path"] == "/head"

    def test_reads_the_body_of_a_request_that_waits_for_an_answer_to_end(self, running: Running) -> None:
        with running.connect() as line:
            line.sendall(b"HEAD /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            head = http.client.HTTPResponse(line, method="HEAD")
            head.begin()
            line.sendall(b"POST /next HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{")
            # The answer to HEAD ends 0.5 s after its head.
            time.sleep(1)
            line.sendall(b"}")
            assert one_answer(line)["size"] == 2

    @pytest.mark.parametrize("pause", [0, 0.3], ids=["in one packet", "later"])
    @pytest.mark.parametrize("chunked", [False, True])
    def test_that_offers_another_protocol_has_its_body_read_as_a_body(
        self, running: Running, pause: float, chunked: bool
    ) -> None:
        inner = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
        framing = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(inner)
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(inner), inner) if chunked else inner
        with running.connect() as line:
            offer = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
            head = b"POST /outer HTTP/1.1\r\nHost: x\r\n" + offer + framing + b"\r\n\r\n"
            if pause:
                line.sendall(head)
                time.sleep(pause)
                line.sendall(body)
            else:
                line.sendall(head + body)
            said = one_answer(line)
            assert (said["path"], said["size"]) == ("/outer", len(inner))
            line.sendall(GET + b"\r\n")
            assert one_answer(line)["path"] == "/head"
        assert running.echo.requests == 2

    def test_that_offers_another_protocol_with_a_body_of_unknown_framing_is_refused(self, running: Running) -> None:
        offer = b"Connection: Upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: gzip\r\n"
        with running.connect() as line:
            line.sendall(b"POST /head HTTP/1.1\r\nHost: x\r\n" + offer + b"\r\n")
            assert is_refused(hostile.read_to_end(line), 400)

    def test_that_offers_another_protocol_without_a_body_is_answered(self, running: Running) -> None:
        with running.connect() as line:
            for _ in range(3):
                line.sendall(GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
                assert one_answer(line)["path"] == "/head"

    def test_that_is_cut_off_while_it_reads_nothing_logs_no_error(
        self, running: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(protocol, "STALLED", 1)
        with running.connect() as line:
            line.sendall(b"GET /flood HTTP/1.1\r\nHost: x\r\n\r\n" * 40)
            until(lambda: running.held == 1, 5)
            until(lambda: running.held == 0, 8)
        assert running.echo.requests <= 2
        assert not [record for record in caplog.records if record.levelname == "ERROR"]

    def test_that_waits_gives_way_to_new_ones(self, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(protocol, "connection_limit", lambda: 20)
        with ExitStack() as open_lines:
            for number in range(60):
                line = open_lines.enter_context(running.connect())
                line.sendall(GET if number % 2 else b"POST /head HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
                if number % 10 == 0:
                    assert running.asks(GET + CLOSE + b"\r\n").startswith(b"HTTP/1.1 200")
            until(lambda: running.held <= 20, 5)

    def test_that_is_new_does_not_give_way_to_those_that_send_a_body_at_once(
        self, running: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(protocol, "connection_limit", lambda: 20)
        # No machine is so slow that the visitor is no longer new when all others have connected.
        monkeypatch.setattr(protocol, "GRACE", 60)
        body = b"POST /head HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nx"
        with ExitStack() as open_lines:
            for _ in range(20):
                open_lines.enter_context(running.connect()).sendall(body)
            until(lambda: running.echo.requests == 20, 5)
            running.age(60)
            visitor = open_lines.enter_context(running.connect())
            for _ in range(15):
                open_lines.enter_context(running.connect()).sendall(body)
            until(lambda: running.echo.requests == 20 + 15, 5)
            visitor.sendall(GET + CLOSE + b"\r\n")
            assert hostile.read_to_end(visitor).startswith(b"HTTP/1.1 200")

    def test_with_a_quick_body_outlives_the_slow_ones(self, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(protocol, "connection_limit", lambda: 10)
        upload = b"POST /admin/head HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n" + CLOSE + b"\r\n"
        with running.connect() as quick, ExitStack() as open_lines:
            before = running.echo.received
            quick.sendall(upload + b"x" * 200_000)
            until(lambda: running.echo.received == before + 200_000, 5)
            for _ in range(40):
                open_lines.enter_context(running.connect()).sendall(upload + b"x")
            quick.sendall(b"x" * 100_000)
            assert parsed(hostile.read_to_end(quick))[2]["size"] == 300_000

    def test_too_many_is_told_so_if_all_others_are_busy(
        self, running: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(protocol, "connection_limit", lambda: 2)
        with running.connect() as one, running.connect() as two:
            for line in (one, two):
                line.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"\r\n")
            until(lambda: running.echo.requests == 2, 5)
            assert is_refused(running.asks(GET + b"\r\n"), 503)
            running.echo.may_answer.set()
            assert [line.recv(12) for line in (one, two)] == [b"HTTP/1.1 200"] * 2

    def test_that_does_not_read_its_answer_gives_way_to_new_ones(
        self, running: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(protocol, "connection_limit", lambda: 5)
        with ExitStack() as open_lines:
            for number in range(5):
                line = open_lines.enter_context(running.connect())
                line.sendall(b"GET /flood HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
                until(lambda: running.echo.requests > number, 5)  # noqa: B023
            assert running.asks(GET + CLOSE + b"\r\n").startswith(b"HTTP/1.1 200")

    def test_that_reads_nothing_is_closed(self, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(protocol, "STALLED", 1)
        with running.connect() as line:
            line.sendall(b"GET /flood HTTP/1.1\r\nHost: x\r\n\r\n")
            until(lambda: running.held == 1, 5)
            until(lambda: running.held == 0, 8)

    def test_that_dawdles_does_not_hold_up_the_end_of_the_server(self) -> None:
        with ExitStack() as open_lines:
            with serving(Echo()) as running:
                for start in (
                    b"",
                    GET,
                    GET + b"a: b\r\n" * 20_000,
                    b"POST /refuse HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
                ):
                    open_lines.enter_context(running.connect()).sendall(start)
                until(lambda: running.held == 4, 5)
                time.sleep(0.3)
                began = time.monotonic()
            assert time.monotonic() - began < 3

    def test_is_counted_by_the_files_that_the_process_may_open(self) -> None:
        assert 1 <= protocol.connection_limit() <= protocol.MOST_CONNECTIONS


class TestARunningServer:
    @pytest.mark.parametrize(
        "attack",
        [
            lambda port: hostile.send_headers(port, 20 * MEGABYTE),
            lambda port: hostile.send_trailers(port, 3),
            lambda port: hostile.send_content_type(port, 4 * MEGABYTE),
        ],
        ids=["header lines", "trailer lines", "content type"],
    )
    def test_pays_little_for_a_hostile_request(self, start: Callable[..., Gna], attack: Callable[[int], str]) -> None:
        gna = start()
        before = resident(gna.process.pid)
        with hostile.peak_of(gna.process.pid) as peak:
            said = attack(gna.port)
        assert re.match(r"HTTP/1\.1 4(31|00) ", said), said
        assert peak() - before < 40 * MEGABYTE

    def test_keeps_no_body_of_a_webhook_that_never_ends(self, start: Callable[..., Gna]) -> None:
        gna = start(FEED_WEBHOOK_SECRET="a secret")
        before = resident(gna.process.pid)
        with hostile.peak_of(gna.process.pid) as peak:
            hostile.hold_webhooks(gna.port, count=100)
            assert gna.status("/healthz") == 200
        assert peak() - before < 30 * MEGABYTE, "100 MB were sent"

    def test_answers_while_more_connections_dawdle_than_it_has_files(self) -> None:
        with hostile.serving() as gna:
            said = hostile.connect_slowly(gna.port, seconds=3)
        assert "/health answers" in said

    def test_counts_sign_ups_by_the_head_alone(self, start: Callable[..., Gna]) -> None:
        gna = start(TRUSTED_PROXIES="127.0.0.1")
        statuses = [hostile.trailer_sign_up(gna.port, number).split()[1] for number in range(8)]
        assert statuses == [b"201"] * 5 + [b"429"] * 3


def trickle(line: socket.socket, start: bytes, piece: bytes) -> None:
    """Send the start, and then a piece ten times a second until the server closes."""
    try:
        line.sendall(start)
        while True:
            line.sendall(piece)
            time.sleep(0.1)
    except OSError:
        pass


def one_answer(line: socket.socket) -> Any:
    """The JSON of the next answer; nothing may follow it."""
    answer = http.client.HTTPResponse(line)
    answer.begin()
    assert answer.status == 200
    return json.loads(answer.read())
