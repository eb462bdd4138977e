"""A mail server that does as it is told, above all what no server should."""

import asyncio
import base64
import ssl
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Self

from tests.servers import HOST, free_port

ANSWERS = {
    "BANNER": b"220 scripted ready",
    "STARTTLS": b"220 2.0.0 go",
    "AUTH": b"235 2.7.0 welcome",
    "MAIL": b"250 2.1.0 ok",
    "RCPT": b"250 2.1.5 ok",
    "DATA": b"354 go ahead",
    "CONTENT": b"250 2.0.0 Ok: queued as %d",
    "RSET": b"250 2.0.0 ok",
    "NOOP": b"250 2.0.0 ok",
    "QUIT": b"221 2.0.0 bye",
}
STALL, DROP = b"\0stall", b"\0drop"


class Received(NamedTuple):
    """A mail that the server took."""

    sender: str
    recipient: str
    options: str
    content: bytes
    connection: int


@dataclass
class Fault:
    """What is said instead of the usual answer: so often, and on a connection that has had so many mails."""

    says: bytes
    times: int | None = None
    after: int = 0
    connections: Callable[[int], bool] = field(default=lambda _: True)

    def strikes(self, client: "Client") -> bool:
        """Whether it happens now; each time is counted."""
        if client.mails < self.after or self.times == 0 or not self.connections(client.number):
            return False
        if self.times:
            self.times -= 1
        return True


class ScriptedSmtp:
    """Listens on loopback, in a thread of its own, for as long as the `with` block lasts."""

    def __init__(self, tls: ssl.SSLContext | None = None, host: str = HOST) -> None:
        self.host = host
        self.port = free_port()
        self.received: list[Received] = []
        self.commands: list[str] = []
        self.connections = 0
        self.most_at_once = 0
        # How often a client waited for an answer before it went on, over all connections.
        self.round_trips = 0
        self.extensions = ["PIPELINING", "8BITMIME", "SMTPUTF8", "SIZE 100000", "ENHANCEDSTATUSCODES"]
        self.implicit = False
        self.login: tuple[str, str] | None = None
        self.delay = 0.0
        self.in_bytes = False
        self.broken_pipelining: str | None = None
        self.breaks_only_behind_content = False
        self.speaks_before_tls = False
        self.says_nothing_to_quit = False
        self.stops_reading = False
        self.tls = tls
        self.clients: set[Client] = set()
        self._faults: dict[str, list[Fault]] = {}
        self._refused: dict[str, bytes] = {}
        self._loop = asyncio.SelectorEventLoop()
        self._listening: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.comes_back()
        return self

    def __exit__(self, *_: object) -> None:
        self.goes_away()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        """The address for SMTP_URL."""
        return f"smtp://{HOST}:{self.port}"

    @property
    def recipients(self) -> list[str]:
        """To whom the mails were that it took."""
        return [mail.recipient for mail in self.received]

    # -- How it behaves --

    def refuses(self, address: str, reply: bytes) -> None:
        """Mails to this address are not taken."""
        self._refused[address] = reply

    def takes(self, address: str) -> None:
        """Mails to this address are taken again."""
        self._refused.pop(address)

    def says(
        self,
        stage: str,
        reply: bytes,
        *,
        times: int | None = None,
        after: int = 0,
        connections: Callable[[int], bool] = lambda _: True,
    ) -> None:
        """Another answer than the usual one."""
        self._faults.setdefault(stage, []).append(Fault(reply, times, after, connections))

    def behaves(self) -> None:
        """The usual answers again, on new connections and old ones that did not stall."""
        self._faults.clear()

    def stalls_at(self, stage: str, *, times: int | None = None) -> None:
        """Silence from here on."""
        self.says(stage, STALL, times=times)

    def drops_at(self, stage: str, *, times: int | None = None, after: int = 0) -> None:
        """Hangs up instead of an answer."""
        self.says(stage, DROP, times=times, after=after)

    def drops_after_data(self, *, times: int | None = None) -> None:
        """Hangs up when it has all of a mail, and nobody knows whether it kept it."""
        self.drops_at("CONTENT", times=times)

    def says_421_after(self, mails: int) -> None:
        """Takes so many mails on a connection and no more."""
        self.says("MAIL", b"421 4.7.0 too many mails on this connection", after=mails)

    def closes_between_mails(self) -> None:
        """Hangs up after each mail."""
        self.says("CONTENT", ANSWERS["CONTENT"] + DROP)

    def breaks_pipelining(self, how: str) -> None:
        """Offers PIPELINING and cannot do it: `loses`, `503`, `hangs up` or `says more`."""
        self.broken_pipelining = how

    def delays(self, seconds: float) -> None:
        """Thinks before each answer."""
        self.delay = seconds

    def wants_login(self, user: str, password: str, ways: str = "PLAIN LOGIN") -> None:
        """Lets in one user."""
        self.login = (user, password)
        self.extensions.append(f"AUTH {ways}")

    def goes_away(self) -> None:
        """Nobody listens, and every connection is cut."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)

    def comes_back(self) -> None:
        """Listens again on the same port."""
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)

    # -- What its connections ask --

    def answer(self, stage: str, client: "Client") -> bytes:
        """What is said at this stage now."""
        for fault in self._faults.get(stage, ()):
            if fault.strikes(client):
                return fault.says
        return ANSWERS.get(stage, b"500 5.5.2 unknown command")

    def refusal(self, address: str) -> bytes | None:
        """Why this address is not taken."""
        return self._refused.get(address)

    async def _listen(self) -> None:
        tls = self.tls if self.implicit else None
        self._listening = await self._loop.create_server(lambda: Client(self), self.host, self.port, ssl=tls)

    async def _close(self) -> None:
        if self._listening:
            self._listening.close()
        for client in list(self.clients):
            client.transport.abort()
        await asyncio.sleep(0.01)  # so that each connection notices


class Client(asyncio.Protocol):
    """One connection to the scripted server."""

    transport: asyncio.Transport

    def __init__(self, server: ScriptedSmtp) -> None:
        self.server = server
        self.mails = 0
        self.number = 0
        self._input = b""
        self._stage = "COMMAND"
        self._stalled = self._is_encrypted = self._has_answered = False
        self._sender = self._recipient = self._options = ""
        self._login: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.server.connections += 1
        self.number = self.server.connections
        self.server.clients.add(self)
        self.server.most_at_once = max(self.server.most_at_once, len(self.server.clients))
        self._say(self.server.answer("BANNER", self))

    def connection_lost(self, error: Exception | None) -> None:
        self.server.clients.discard(self)

    def data_received(self, data: bytes) -> None:
        if self._has_answered:
            self.server.round_trips += 1
            self._has_answered = False
        self._input += data
        while not self._stalled and not self.transport.is_closing() and self._step():
            pass

    def _step(self) -> bool:
        """Deal with one command or one content, if it is there."""
        if self._stage == "CONTENT":
            return self._read_content()
        line, found, rest = self._input.partition(b"\r\n")
        if not found:
            return False
        self._input = rest
        breaks = self.server.broken_pipelining and not self.server.breaks_only_behind_content
        if breaks and rest and self._stage == "COMMAND":
            self._mishandle_the_rest()
        if self._stage == "LOGIN":
            self._hear_login(line.decode())
        elif not self.transport.is_closing():
            self._hear(line.decode())
        return True

    def _mishandle_the_rest(self) -> None:
        how = self.server.broken_pipelining
        if how == "loses":
            self._input = b""
        elif how == "hangs up":
            self._say(DROP)
        elif how == "503":
            commands = self._input.count(b"\r\n")
            self._input = b""
            asyncio.get_running_loop().call_soon(self._say, b"\r\n".join([b"503 5.5.1 out of order"] * commands))
        elif how == "says more":
            self._say(b"250 2.0.0 hm")

    def _hear(self, line: str) -> None:
        self.server.commands.append(line)
        verb, _, rest = line.partition(" ")
        handle = getattr(self, f"_{verb.lower()}", None)
        if handle:
            handle(rest)
        else:
            self._say(self.server.answer(verb, self))

    def _ehlo(self, _: str) -> None:
        hidden = "STARTTLS" if self._is_encrypted else ""
        lines = ["scripted", *(word for word in self.server.extensions if word != hidden)]
        usual = "".join(f"250{'-' if line != lines[-1] else ' '}{line}\r\n" for line in lines).encode()
        said = self.server.answer("EHLO", self)
        self._say(said if said != b"500 5.5.2 unknown command" else usual.removesuffix(b"\r\n"))

    def _helo(self, _: str) -> None:
        self._say(b"250 scripted")

    def _starttls(self, _: str) -> None:
        said = self.server.answer("STARTTLS", self)
        if self.server.speaks_before_tls:
            said += b"\r\n250 2.0.0 injected"
        self._say(said)
        if said.startswith(b"220") and self.server.tls:
            self._stalled = True  # what comes next is answered when it can be answered encrypted
            self._tasks.add(asyncio.get_running_loop().create_task(self._encrypt(self.server.tls)))

    async def _encrypt(self, context: ssl.SSLContext) -> None:
        try:
            loop = asyncio.get_running_loop()
            encrypted = await loop.start_tls(self.transport, self, context, server_side=True)
        except (OSError, ssl.SSLError):
            return
        if encrypted:
            self.transport, self._is_encrypted, self._stalled = encrypted, True, False
            self.data_received(b"")

    def _auth(self, rest: str) -> None:
        way, _, initial = rest.partition(" ")
        self._login = [way]
        self._stage = "LOGIN"
        if initial:
            self._hear_login(initial)
        else:
            self._say(b"334 " + base64.b64encode(b"Username:"))

    def _hear_login(self, line: str) -> None:
        self._login.append(base64.b64decode(line).decode())
        way, *said = self._login
        if way == "LOGIN" and len(said) == 1:
            self._say(b"334 " + base64.b64encode(b"Password:"))
        elif way == "XOAUTH2" and len(said) == 1 and not self._may_enter():
            self._say(b"334 " + base64.b64encode(b'{"status":"401"}'))
        else:
            self._stage = "COMMAND"
            self._say(self.server.answer("AUTH", self) if self._may_enter() else b"535 5.7.8 wrong password")

    def _may_enter(self) -> bool:
        user, password = self.server.login or ("", "")
        way, *said = self._login
        expected = {
            "PLAIN": [f"\0{user}\0{password}"],
            "LOGIN": [user, password],
            "XOAUTH2": [f"user={user}\1auth=Bearer {password}\1\1"],
        }
        return said == expected.get(way)

    def _mail(self, rest: str) -> None:
        said = self.server.answer("MAIL", self)
        address, _, self._options = rest.removeprefix("FROM:<").partition(">")
        self._recipient = ""
        self._sender = address if said.startswith(b"250") else ""
        self._say(said)

    def _rcpt(self, rest: str) -> None:
        address = rest.removeprefix("TO:<").partition(">")[0]
        said = self.server.refusal(address) or self.server.answer("RCPT", self)
        if not self._sender:
            said = b"503 5.5.1 need MAIL"
        self._recipient = address if said.startswith(b"250") else ""
        self._say(said)

    def _data(self, _: str) -> None:
        usual = b"354 go ahead" in self.server.answer("DATA-WITHOUT-RCPT", self)
        said = self.server.answer("DATA", self) if self._recipient or usual else b"554 5.5.1 no valid recipients"
        if said.startswith(b"354"):
            self._stage = "CONTENT"
        self._say(said)

    def _rset(self, _: str) -> None:
        self._sender = self._recipient = ""
        self._say(self.server.answer("RSET", self))

    def _quit(self, _: str) -> None:
        self._say(STALL if self.server.says_nothing_to_quit else ANSWERS["QUIT"] + DROP)

    def _read_content(self) -> bool:
        said = self.server.answer("MID-CONTENT", self)
        if not said.startswith(b"500 5.5.2"):
            self._say(said)
            return False
        content, found, rest = (b"\r\n" + self._input).partition(b"\r\n.\r\n")
        if not found:
            return False
        self._input, self._stage = rest, "COMMAND"
        if self.server.broken_pipelining and rest:
            self._mishandle_the_rest()
        self._take((content.removeprefix(b"\r\n") + b"\r\n").replace(b"\r\n..", b"\r\n."))
        return True

    def _take(self, content: bytes) -> None:
        said = self.server.answer("CONTENT", self)
        if said.startswith(b"250") and self._recipient:
            mail = Received(self._sender, self._recipient, self._options, content, self.number)
            self.server.received.append(mail)
        self.mails += 1
        self._sender = self._recipient = ""
        self._say(said.replace(b"%d", str(len(self.server.received)).encode()))

    def _say(self, said: bytes) -> None:
        if said.endswith(DROP):
            said = said.removesuffix(DROP)
            self._write(said + b"\r\n" if said else b"")
            self._later(self.transport.close)
        elif said == STALL:
            self._stalled = True
            if self.server.stops_reading:
                self.transport.pause_reading()
        else:
            self._write(said + b"\r\n")

    def _write(self, said: bytes) -> None:
        pieces: Iterable[bytes] = [said[i : i + 1] for i in range(len(said))] if self.server.in_bytes else [said]
        for piece in pieces:
            self._later(partial(self._send, piece))

    def _send(self, piece: bytes) -> None:
        self.transport.write(piece)
        self._has_answered = True

    def _later(self, act: Callable[[], object]) -> None:
        if self.server.delay:
            asyncio.get_running_loop().call_later(self.server.delay, act)
        else:
            act()
