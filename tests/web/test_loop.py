"""No request that anyone may send holds the event loop: a real server, and a clock in its loop."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from gna.cli.server import Server
from gna.db import Database
from gna.migrations import migrate
from gna.web.app import create_app
from gna.web.edge import MAX_ESCAPED_COOKIE, MAX_PUBLIC_BODY, MAX_TYPE, MAX_URL
from gna.web.ground import Ground
from gna.web.protocol import HEAD_MAX, HttpProtocol
from tests.conftest import settings_for
from tests.running import until

# Milliseconds of the loop's own CPU time: on a busy machine, time on the wall says nothing.
LIMIT = 100
TICK = 0.002
# Room for the other lines of the head.
VALUE = HEAD_MAX - 1000
MEGABYTE = 1024 * 1024
# At this address the application holds its loop.
SPIN = "/spin"
MULTIPART = b"multipart/form-data; boundary=b"
FORM = b"application/x-www-form-urlencoded"
JSON = b"application/json"
PART = b'--b\r\nContent-Disposition: form-data; name="email"'

# Python's decoder takes quadratic time for it.
_PUNYCODE = ("a" * 10_000 + "\U0001f600").encode("punycode") + b"a" * 54_000

HEADERS = {
    "type": b"Content-Type: multipart/form-data" + b";" * VALUE,
    "long type": b"Content-Type: multipart/form-data" + b";" * (MAX_TYPE - 30),
    "boundary": b"Content-Type: multipart/form-data; boundary=" + b"a" * VALUE,
    "languages": b"Accept-Language: " + b"en;q=0.1," * (VALUE // 9),
    "language": b"Accept-Language: en-" + b"a-" * (VALUE // 2 - 10) + b"!",
    "spaces": b"Accept-Language: en" + b" " * (VALUE - 10) + b"!",
    "octal escapes": b'Cookie: a="' + b"\\0" * (VALUE // 2 - 10) + b'"',
    "escaped quotes": b'Cookie: a="' + b'\\"' * (VALUE // 2 - 10),
    "short escapes": b'Cookie: a="' + b"\\0" * (MAX_ESCAPED_COOKIE // 2 - 10) + b'"',
    "cookies": b"Cookie: " + b"a=b; " * (VALUE // 5),
    "hops": b"X-Forwarded-For: " + b"127.0.0.1," * (VALUE // 10),
    "hops of IPv6": b"X-Forwarded-For: " + b"::1," * (VALUE // 4),
    "token": b"Cf-Access-Jwt-Assertion: " + b"a" * VALUE,
    "bearer": b"Authorization: Bearer " + b"a" * VALUE,
    "signature": b"X-Hub-Signature: sha256=" + b"f" * VALUE,
    "ranges": b"Range: bytes=" + b"0-1," * (VALUE // 4),
    "tags": b"If-None-Match: " + b'"a",' * (VALUE // 4),
    "origin": b"Origin: http://" + b"a." * (VALUE // 2),
    "id": b"X-Request-ID: " + b"a" * VALUE,
    "many": b"a: b\r\n" * 990 + b"a: b",
}
ADDRESSES = {
    "parameters": b"/subscribe?" + b"a&" * (VALUE // 2),
    "tokens": b"/confirm?" + b"token=a&" * (VALUE // 8),
    "percents": b"/confirm?token=" + b"%" * VALUE,
    "slashes": b"/" * VALUE,
    "admin": b"/admin" + b"/" * VALUE,
    "topics": b"/api/feed/webhook?" + b"hub.topic=a&" * (VALUE // 12),
    "static": b"/static/" + b"../" * (VALUE // 3),
    "archive": b"/archive/" + b"%2e" * (VALUE // 3),
}
BODIES = {
    "lists": (JSON, b"[" + b"[]," * (MEGABYTE // 3 - 10) + b"[]]"),
    "nested": (JSON, b'{"a":' * (MEGABYTE // 5)),
    "keys": (JSON, b"{" + b",".join(b'"%d":1' % number for number in range(90_000)) + b"}"),
    "digits": (JSON, b'{"email": 0.' + b"1" * 1_000_000 + b"}"),
    "nickname": (JSON, b'{"email": "a@example.org", "nickname": "a' + b" " * 1_000_000 + b'a"}'),
    "percents": (FORM, b"email=" + b"%" * 1_000_000),
    "letters": (FORM, b"email=" + b"%41" * 340_000),
    "fields": (FORM, b"a=b&" * 250_000),
    "parts": (MULTIPART, (PART + b"\r\n\r\nx\r\n") * 15_000),
    "part headers": (MULTIPART, (PART + b";" * 4000 + b"\r\n\r\nx\r\n") * 49),
    "punycode": (MULTIPART + b"; charset=punycode", PART + b"\r\n\r\n" + _PUNYCODE + b"\r\n--b--\r\n"),
    "almost boundaries": (MULTIPART, PART + b"\r\n\r\n" + b"\r\n--" * 240_000),
}


class Loop:
    """The application, and the most CPU time that its loop spent without coming back to a timer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._last = 0.0
        self.longest = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            self._last = time.thread_time()
            self._tick(asyncio.get_running_loop())
        end = time.thread_time() + (1.5 * LIMIT / 1000 if scope.get("path") == SPIN else 0)
        while time.thread_time() < end:
            pass
        await self._app(scope, receive, send)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        now = time.thread_time()
        self.longest = max(self.longest, now - self._last)
        self._last = now
        loop.call_later(TICK, self._tick, loop)


class Watched:
    """A running server whose loop is measured."""

    def __init__(self, port: int, loop: Loop) -> None:
        self._port = port
        self._loop = loop

    def silence(self, request: bytes) -> float:
        """The milliseconds for which the loop was held by this request; of two attempts, the better."""
        return min(self._once(request) for _ in range(2))

    def _once(self, request: bytes) -> float:
        time.sleep(4 * TICK)
        self._loop.longest = 0
        with socket.create_connection(("127.0.0.1", self._port), timeout=30) as line:
            line.sendall(request)
            assert line.recv(65_536).startswith(b"HTTP/1.1 "), request[:100]
            while line.recv(65_536):
                pass
        time.sleep(4 * TICK)
        return self._loop.longest * 1000


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("loop")
    with_all = {"FEED_WEBHOOK_SECRET": "secret", "UNSUB_SECRET": "s" * 40, "TRUSTED_PROXIES": "127.0.0.1"}
    settings = settings_for(f"sqlite:///{folder / 'gna.db'}", Path(folder), **with_all)
    db = Database(settings.database_url.get_secret_value())
    migrate(db)
    loop = Loop(create_app(Ground(settings, db)))
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(uvicorn.Config(loop, http=HttpProtocol, ws="none", log_config=None, proxy_headers=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    until(lambda: server.started, 10)
    found = Watched(listener.getsockname()[1], loop)
    # The first request of each kind loads templates and libraries.
    for path in (b"/subscribe", b"/docs", b"/admin", b"/static/app.css"):
        found.silence(_get(path, b"Accept: text/html"))
    yield found
    server.should_exit = True
    thread.join(10)
    db.close()


def _get(path: bytes, header: bytes) -> bytes:
    return b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n%s\r\n\r\n" % (path, header)


def _post(path: bytes, header: bytes, body: bytes) -> bytes:
    head = b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAccept: text/html\r\n" % path
    return head + b"Content-Length: %d\r\n%s\r\n\r\n" % (len(body), header) + body


@pytest.mark.parametrize("name", HEADERS)
def test_the_longest_header_holds_nothing(watched: Watched, name: str) -> None:
    form = b"email=ana@example.org"
    for request in (
        _get(b"/subscribe", HEADERS[name]),
        _get(b"/static/app.css", HEADERS[name]),
        _get(b"/admin", HEADERS[name]),
        _post(b"/api/subscribe", HEADERS[name], form),
        _post(b"/api/feed/webhook?feed=x", HEADERS[name], form),
    ):
        assert watched.silence(request) < LIMIT, request[:50]


@pytest.mark.parametrize("name", ADDRESSES)
def test_the_longest_address_holds_nothing(watched: Watched, name: str) -> None:
    for address in (ADDRESSES[name], ADDRESSES[name][:MAX_URL]):
        assert watched.silence(_get(address, b"Accept: text/html")) < LIMIT


@pytest.mark.parametrize("name", BODIES)
def test_the_largest_body_holds_nothing(watched: Watched, name: str) -> None:
    kind, large = BODIES[name]
    for path in (b"/api/subscribe", b"/api/profile/update", b"/api/unsubscribe?token=x"):
        for body in (large, large[:MAX_PUBLIC_BODY]):
            assert watched.silence(_post(path, b"Content-Type: " + kind, body)) < LIMIT, (path, len(body))


def test_the_clock_can_tell(watched: Watched) -> None:
    assert watched.silence(_get(SPIN.encode(), b"Accept: */*")) > LIMIT
