"""One question and its answer. The name is resolved once, and only addresses that were checked are connected to."""

import asyncio
import socket
import ssl
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import Any, Self

import anyio
import h11
import httpcore2

from gna.errors import PrivateAddress, Unreachable
from gna.outside.body import CutOff, TooLarge, TooManyPieces, beginning, read
from gna.outside.place import Place
from gna.outside.public import is_link_local, is_public

CONNECT = 10.0  # seconds, for all addresses of a name together
SKIM = 5.0  # seconds, for the beginning of a body that does not matter much
ADDRESSES_TRIED = 4
LOOKUPS = 8
# Bytes: of the head of an answer, with all that comes before it; and what is heard before others get their turn.
HEAD_MAX, AT_ONCE = 128 * 1024, 16 * 1024
UNPACKED = {"", "identity"}
PACKED = {"gzip", "x-gzip"}

# Whatever a server does to us ends up as one of these.
TROUBLE = (
    httpcore2.NetworkError,
    httpcore2.TimeoutException,
    httpcore2.ProtocolError,
    h11.ProtocolError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    zlib.error,
    TooLarge,
    TooManyPieces,
    CutOff,
    OSError,
    ValueError,
)


@dataclass(frozen=True)
class Question:
    """What is asked; header names are in lower case."""

    method: str
    headers: dict[str, str]
    content: bytes | None


@dataclass(frozen=True)
class Rules:
    """What the asker permits."""

    private_hosts: frozenset[str]
    any_private: bool
    largest: int
    tls: ssl.SSLContext | None
    # Whether the beginning of the body is enough.
    skim: bool = False


@dataclass(frozen=True)
class Reply:
    """What one server said; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Ear(httpcore2.AsyncNetworkStream):
    """A connection that hears no more than so much before the answer begins: servers may say "wait" without end."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._heard = 0
        self.has_begun = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 (the library's own)
        data = await self._stream.read(min(max_bytes, AT_ONCE), timeout)
        self._heard += len(data)
        if not self.has_begun and self._heard > HEAD_MAX:
            raise TooManyPieces
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        self._stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return self

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class Line(httpcore2.AsyncNetworkBackend):
    """Connects to a name by way of the addresses that were checked; encryption and headers still use the name."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._plain = httpcore2.AnyIOBackend()
        self._ear: Ear | None = None

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = CONNECT,  # noqa: ASYNC109 (the library's own name)
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        ips = await self._checked(host)
        patience = (timeout or CONNECT) / len(ips)
        problem: Exception | None = None
        for ip in ips:
            try:
                self._ear = Ear(await self._plain.connect_tcp(ip, port, patience, local_address, socket_options))
                return self._ear
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                problem = error
        raise problem or OSError("there is no address")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        # The library forgets a connection that is given up in the middle of the handshake.
        if self._ear:
            await self._ear.aclose()

    def begin(self) -> None:
        """The answer has begun; from now on whoever reads it counts."""
        if self._ear:
            self._ear.has_begun = True

    async def _checked(self, host: str) -> list[str]:
        loop = asyncio.get_running_loop()
        ips = await loop.run_in_executor(_lookups(), resolve, host)
        if not ips:
            raise socket.gaierror(socket.EAI_NONAME, "There is no address")
        permitted = self._rules.any_private or host in self._rules.private_hosts
        if permitted:
            # Where clouds keep the keys of a machine; no website is only there.
            ips = [ip for ip in ips if not is_link_local(ip)]
            if not ips:
                raise PrivateAddress(host)
        # One private address among public ones is refused too: it would be the one that answers, sooner or later.
        if not permitted and not all(map(is_public, ips)):
            raise PrivateAddress(host)
        return in_turn(ips)[:ADDRESSES_TRIED]


def resolve(host: str) -> list[str]:
    """The addresses of a name, the system's favourite first; odd spellings of an IP become that IP."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def in_turn(ips: list[str]) -> list[str]:
    """The system's order, but IPv4 and IPv6 in turn: where one of them does not work, all of its addresses fail."""
    same = [ip for ip in ips if (":" in ip) == (":" in ips[0])]
    other = [ip for ip in ips if ip not in same]
    return [ip for pair in zip_longest(same, other) for ip in pair if ip]


async def exchange(place: Place, question: Question, rules: Rules) -> Reply:
    """Ask one server; raises Unreachable with a sentence for the operator."""
    url = httpcore2.URL(
        scheme=place.scheme.encode(), host=place.host.encode(), port=place.port, target=place.target.encode()
    )
    tls = (rules.tls or _trust()) if place.scheme == "https" else None
    said = {"host": place.authority} | question.headers
    headers = [(_bytes(name), _bytes(value)) for name, value in said.items()]
    try:
        async with (
            Line(rules) as line,
            httpcore2.AsyncHTTPConnection(url.origin, ssl_context=tls, network_backend=line) as connection,
            connection.stream(
                question.method,
                url,
                headers=headers,
                content=question.content,
                extensions={"timeout": {"connect": CONNECT}},
            ) as response,
        ):
            line.begin()
            return await _listen(place, question, rules, response)
    except PrivateAddress:
        raise PrivateAddress(f"{place.shown} leads to a private address.") from None
    except TROUBLE as error:
        raise Unreachable(_in_our_words(error, place.shown, rules.largest)) from None


async def _listen(place: Place, question: Question, rules: Rules, response: httpcore2.Response) -> Reply:
    headers: dict[str, str] = {}
    for name, value in response.headers:
        key, said = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {said}" if key in headers else said
    # Only a success is read: the page that says "not found" may be packed oddly, or endless, and says no more.
    if not 200 <= response.status < 300 or question.method == "HEAD":
        return Reply(response.status, headers, b"")
    encoding = headers.get("content-encoding", "").strip().lower()
    if rules.skim:
        return Reply(response.status, headers, await _skimmed(response, encoding in PACKED, rules.largest))
    if encoding not in UNPACKED | PACKED:
        raise Unreachable(f"{place.shown} packs its answer in a way that was not asked for.")
    if int(headers.get("content-length", 0)) > rules.largest:
        raise TooLarge
    body = await read(response.aiter_stream(), is_packed=encoding in PACKED, largest=rules.largest)
    return Reply(response.status, headers, body)


async def _skimmed(response: httpcore2.Response, is_packed: bool, largest: int) -> bytes:
    body = b""
    if not largest:
        return body
    with suppress(TimeoutError, *TROUBLE):
        async with asyncio.timeout(SKIM):
            async for piece in beginning(response.aiter_stream(), is_packed=is_packed, largest=largest):
                body += piece
    return body[:largest]


def _in_our_words(error: Exception, host: str, largest: int) -> str:
    root = _root(error)
    if isinstance(root, ssl.SSLCertVerificationError):
        return f"The certificate of {host} is not valid: {root.verify_message.rstrip('.')}."
    if isinstance(root, ssl.SSLError):
        return f"{host} cannot be spoken to encrypted."
    if isinstance(root, socket.gaierror | UnicodeError):
        return f"The name {host} cannot be resolved."
    if isinstance(error, TooLarge):
        return f"The answer of {host} is larger than {_size(largest)}."
    if isinstance(error, TooManyPieces):
        return f"{host} sends its answer in too many pieces."
    if isinstance(error, CutOff | zlib.error):
        return f"The packed answer of {host} is damaged."
    if isinstance(error, httpcore2.ConnectError | httpcore2.ConnectTimeout):
        return f"{host} does not answer."
    if isinstance(error, httpcore2.ProtocolError | h11.ProtocolError | ValueError):
        return f"{host} does not answer as a web server should."
    return f"{host} hung up in the middle."


def _root(error: BaseException) -> BaseException:
    while error.__cause__:
        error = error.__cause__
    return error


def _size(count: int) -> str:
    return f"{count // 2**20} MB" if count >= 2**20 else f"{count} bytes"


def _bytes(value: str) -> bytes:
    # What a server told us comes back as it was; what we write ourselves is ASCII.
    return value.encode("latin-1", "replace")


@cache
def _lookups() -> ThreadPoolExecutor:
    """Threads of their own: a name server that hangs must not keep the database's work waiting."""
    return ThreadPoolExecutor(LOOKUPS, thread_name_prefix="lookup")


@cache
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()
