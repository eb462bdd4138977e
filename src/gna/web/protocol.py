"""HTTP as uvicorn speaks it, with bounds on what one connection may cost before a request is known."""

import asyncio
import json
import math
import resource
from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

KIB = 1024
# The request line and all header lines; nginx and Apache take about as much.
HEAD_MAX = 64 * KIB
# Each header costs 170 bytes of memory, however short its line is.
HEADERS_MAX = 1000
# The parser is fed in pieces, so that one read of 256 kB cannot pass the bounds by more than this.
PIECE = 8 * KIB
# Seconds for a head, from its first byte, and for a new connection to send that byte.
HEAD_WITHIN = 15
# Seconds for a body, and the rate in bytes per second at which more of it earns more time.
BODY_WITHIN = 30
BODY_RATE = 4 * KIB
# The application answers 408 at the body's deadline. This layer closes what is left after it.
SPARE = 5
# Seconds for a client that reads nothing of its answer.
STALLED = 60
# Seconds for which a client that was refused may go on sending, so that it can read the answer.
LINGER = 10
MOST_CONNECTIONS = 1024
# The part of all connections that gives way at once: finding the slowest takes half a millisecond each time.
CLOSED_AT_ONCE = 1 / 64
# Seconds for which a connection or a request that is new gives way to no other, if there are older ones.
GRACE = 1.0

# The headers that say where a body ends.
FRAMING = (b"content-length", b"transfer-encoding")
NO_HTTP = "Invalid HTTP request received."
TOO_LARGE = f"The head of the request is larger than {HEAD_MAX // KIB} kB"
TOO_MANY = f"The request has more than {HEADERS_MAX} headers"
TOO_MUCH_FRAMING = f"More than {HEAD_MAX // KIB} kB of the request are neither head nor body"
TOO_SLOW = f"The head of the request did not come within {HEAD_WITHIN} seconds"
FULL = "Too many connections"


def body_deadline(began: float, received: int) -> float:
    """The moment by which more of a body must have come. It moves with the bytes, so that slow lines can upload."""
    return began + BODY_WITHIN + received / BODY_RATE


@cache
def connection_limit() -> int:
    """How many connections are held: half of the files, the rest is for the database, mail servers and uploads."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if files == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, files // 2)


def close_overdue(connections: Iterable[asyncio.Protocol], now: float) -> None:
    """Close every connection that has kept us waiting for too long."""
    for connection in list(connections):
        if isinstance(connection, HttpProtocol):
            connection.close_if_overdue(now)


class HttpProtocol(HttpToolsProtocol):
    """One connection. Heads, trailers and waiting times are bounded; errors have the shape of all others."""

    _socket: asyncio.Transport

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unread = b""
        # Bytes since the last head, part of a body or request was complete.
        self._pending = 0
        self._head_size = 0
        self._is_in_body = False
        self._received = 0
        self._is_reframing = False
        # What the application is answering; `cycle` is the newest request, which may wait behind it.
        self._running: RequestResponseCycle | None = None
        # When the present wait for the client began, and when it ends.
        self._since = self.loop.time()
        self._deadline = self._since + HEAD_WITHIN
        self._stalled_until = math.inf
        # Everything that comes is discarded.
        self._is_refused = False
        self._is_closing = False
        self._may_linger = True

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """If the server is full, the connections that make least progress give way to this one."""
        self._socket = transport
        super().connection_made(_Transport(self, transport))
        if len(self.connections) <= connection_limit():
            return
        others = [one for one in self.connections if isinstance(one, HttpProtocol) and one is not self]
        waiting = [one for one in others if one.is_waiting]
        count = max(1, int(connection_limit() * CLOSED_AT_ONCE))
        for slowest in sorted(waiting, key=HttpProtocol.progress)[:count]:
            slowest.abort()
        if not waiting:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, FULL)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is left to be closed."""
        self._is_closing = True
        self._unread = b""
        self.connections.discard(self)
        super().connection_lost(exc)

    @property
    def is_waiting(self) -> bool:
        """Whether the next step is the client's: to send more, or to read its answer."""
        return self._deadline < math.inf or self._is_stalled or self.timeout_keep_alive_task is not None

    @property
    def _is_answering(self) -> bool:
        """Whether the application is at work on a request of this connection."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _is_stalled(self) -> bool:
        return self._stalled_until < math.inf

    def progress(self) -> tuple[bool, bool, float, float]:
        """The order in which connections give way.

        First by age those without a request and those that do not read their answer, then bodies by their rate. A
        visitor who has just connected stays: else those would drive them out who begin to send a body at once.
        """
        age = self.loop.time() - self._since
        is_sending_a_body = self._is_in_body and not self._is_stalled
        return age < GRACE, is_sending_a_body, self._received / (age + 1), -age

    def close_if_overdue(self, now: float) -> None:
        """Close the connection if the client had its time."""
        if now > self._stalled_until or (self._is_closing and now > self._deadline):
            self.abort()
        # While the application does not read, the client cannot send.
        elif now > self._deadline and not self.flow.read_paused:
            self._time_out()

    def _time_out(self) -> None:
        if self._pending and not self._is_in_body:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, TOO_SLOW)
        else:
            self.abort()

    def abort(self) -> None:
        """Close at once, and count no longer as a connection."""
        self.connections.discard(self)
        if self._running is not None:
            # Its answer may be woken up before the connection is reported as lost, and must not write any more.
            self._running.disconnected = True
        self._socket.abort()

    def close(self) -> None:
        """Close. While a client is still sending, that would reset the connection and lose the answer: then linger."""
        if self._is_closing:
            return
        self._is_closing = True
        is_sending = self._is_refused or self._is_in_body or self._pending or self._unread
        if not is_sending or not self._may_linger or self._socket.is_closing():
            self._deadline = self.loop.time() + STALLED
            self._socket.close()
            return
        self._deadline = self.loop.time() + LINGER
        self._is_refused = True
        self._unread = b""
        self._socket.write_eof()
        self._socket.resume_reading()

    def shutdown(self) -> None:
        """The server stops: an answer under way is finished, everything else is closed without lingering."""
        self._may_linger = False
        if self._is_closing:
            self._socket.close()
        super().shutdown()

    @property
    def is_closing(self) -> bool:
        """Whether the connection takes no more requests."""
        return self._is_closing or self._socket.is_closing()

    def pause_writing(self) -> None:
        """The client does not read as fast as we answer."""
        super().pause_writing()
        self._stalled_until = self.loop.time() + STALLED

    def resume_writing(self) -> None:
        """It has read."""
        super().resume_writing()
        self._stalled_until = math.inf

    # What comes in

    def data_received(self, data: bytes) -> None:
        """Feed the parser, as long as the application keeps up."""
        if self._is_refused:
            return
        self._unread += data
        self.feed()

    def feed(self) -> None:
        """Parse what has come, piece by piece."""
        while self._unread and not self.flow.read_paused and not self.is_closing:
            piece = self._unread[:PIECE]
            self._unread = self._unread[PIECE:]
            if not self._pending and not self._is_in_body:
                self._since = self.loop.time()
            self._pending += len(piece)
            self._parse(piece)
            if self._pending > HEAD_MAX and not self._is_refused:
                self._refuse_size()
        if not self.is_closing:
            self._deadline = self._next_deadline()

    def _parse(self, piece: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            self._feed_parser(piece)
        except httptools.HttpParserError:
            self.send_400_response(NO_HTTP)

    def _feed_parser(self, piece: bytes) -> None:
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(rest=piece[upgrade.args[0] :])

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Read the body of a request that offers another protocol, as `curl --http2` and Java's client do.

        httptools takes everything behind such a head for the other protocol, and what comes later for new requests, so
        that a body could pretend to be one. A new parser is told the framing of the body, and goes on with it.
        """
        framing = [name + b": " + value for name, value in self.headers if name in FRAMING]
        self.parser = httptools.HttpRequestParser(self)
        self._is_reframing = True
        self.parser.feed_data(b"\r\n".join([b"POST / HTTP/1.1", *framing, b"", b""]))
        self._is_reframing = False
        self._unread = rest + self._unread

    def read_on(self) -> None:
        """The application wants more: first comes what was left over when reading was paused."""
        if self._unread and not self.is_closing:
            self.loop.call_soon(self.feed_and_read)
        else:
            self._socket.resume_reading()

    def feed_and_read(self) -> None:
        """Feed what was left over; then read from the socket."""
        if self.is_closing:
            return
        self.feed()
        if not self.flow.read_paused and not self._socket.is_closing():
            self._socket.resume_reading()

    def _next_deadline(self) -> float:
        if self._is_in_body:
            return body_deadline(self._since, self._received) + SPARE
        return self._since + HEAD_WITHIN if self._pending else math.inf

    # What the parser finds

    def on_message_begin(self) -> None:
        """A request begins, perhaps in the piece in which the one before it has ended."""
        if self._is_reframing:
            return
        super().on_message_begin()
        self._pending = max(self._pending, 1)
        self._head_size = 0

    def on_url(self, url: bytes) -> None:
        """Count the address."""
        if self._is_reframing:
            return
        self._head_size += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header, and ignore trailers: a proxy overwrites X-Forwarded-For in the head only."""
        if self._is_in_body:
            return
        self._head_size += len(name) + len(value) + len(": \r\n")
        if self._head_size <= HEAD_MAX and len(self.headers) <= HEADERS_MAX:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is here: start the application, or refuse."""
        self._pending = 0
        if self._is_reframing:
            return
        if self._is_answering and self.pipeline:
            # No browser and no proxy sends several requests at once, and each would cost an answer that nobody reads:
            # the one that waits already is the last (RFC 9112, section 9.3.2: the client asks again for the rest).
            # One may wait: a client has the whole answer to a HEAD before the application has ended it.
            self._refuse_silently()
            return
        if self._head_size > HEAD_MAX:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, TOO_LARGE)
            return
        if len(self.headers) > HEADERS_MAX:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, TOO_MANY)
            return
        super().on_headers_complete()
        self._is_in_body = True
        self._received = 0
        self._since = self.loop.time()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._pending = 0
        if self._is_refused:
            return
        self._received += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._pending = 0
        is_body_to_come = not self._is_reframing and self.parser.should_upgrade()
        if self._is_refused or is_body_to_come:
            return
        self._is_in_body = False
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """The wait for the next request begins.

        If the body of the answered request is still coming, no request follows: the application wants none of it, and
        parsing the rest could take as long as the client likes. A body that is coming for a waiting request is read.
        """
        if self._is_in_body and not self.pipeline:
            self.close()
            return
        if not self._pending:
            self._since = self.loop.time()
        super().on_response_complete()

    # Refusals, which the application never sees

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP at all."""
        if not self._is_refused:
            self._refuse(HTTPStatus.BAD_REQUEST, msg)

    def _refuse_size(self) -> None:
        if self._is_in_body:
            self._refuse(HTTPStatus.BAD_REQUEST, TOO_MUCH_FRAMING)
        else:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, TOO_LARGE)

    def _refuse(self, status: int, reason: str) -> None:
        """Answer without the application, and close; an answer that is under way is finished first."""
        is_answering = self._is_answering
        if is_answering and not self._is_in_body:
            self._refuse_silently()
            return
        self._is_refused = True
        self._unread = b""
        if is_answering and (self.cycle.response_started or self.pipeline):
            self.abort()
            return
        if is_answering:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if not self._is_in_body or is_answering:
            self._socket.write(_raw_answer(status, reason))
        self.close()

    def _refuse_silently(self) -> None:
        """Discard what comes from now on, and close after the last answer that is under way."""
        self._is_refused = True
        self._unread = b""
        self.cycle.keep_alive = False


def _raw_answer(status: int, reason: str) -> bytes:
    body = json.dumps({"error": reason}).encode()
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        "content-type: application/json\r\n"
        f"content-length: {len(body)}\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + body


class _Transport(asyncio.Transport):
    """What uvicorn writes to: closing and reading on are the protocol's to decide."""

    def __init__(self, protocol: HttpProtocol, socket: asyncio.Transport) -> None:
        super().__init__()
        self._protocol = protocol
        self._socket = socket
        # uvicorn calls it for every answer, so it has no detour.
        self.write = socket.write  # type: ignore[method-assign]

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._socket.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._protocol.is_closing

    def close(self) -> None:
        self._protocol.close()

    def abort(self) -> None:
        self._socket.abort()

    def pause_reading(self) -> None:
        self._socket.pause_reading()

    def resume_reading(self) -> None:
        self._protocol.read_on()
