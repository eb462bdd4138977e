"""A DNS server that does as it is told: by UDP, and by TCP what is too long for it."""

import socket
import socketserver
import struct
import threading
from contextlib import suppress
from typing import Any, Self

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

from tests.servers import HOST, free_port

# What fits into a datagram of a client that promises nothing.
SMALL = 512


class Dns:
    """Listens on loopback, in threads of its own, for as long as the `with` block lasts."""

    def __init__(self) -> None:
        self.port = free_port()
        self.asked: list[str] = []
        self.asked_by_tcp: list[str] = []
        self._texts: dict[tuple[str, str], list[str]] = {}
        self._silent: set[str] = set()
        self._failing: set[str] = set()
        self._servers: list[socketserver.BaseServer] = []

    def __enter__(self) -> Self:
        handlers: Any = (
            (_server(socketserver.ThreadingUDPServer), _by_datagram(self)),
            (_server(socketserver.ThreadingTCPServer), _by_stream(self)),
        )
        for kind, handler in handlers:
            server = kind((HOST, self.port), handler)
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            self._servers.append(server)
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    @property
    def address(self) -> str:
        """The address for DNS_SERVERS."""
        return f"{HOST}:{self.port}"

    def says(self, name: str, kind: str, *values: str) -> None:
        """From now on the name has these records, and no others of the kind."""
        self._texts[name, kind] = [_quoted(value) if kind == "TXT" else value for value in values]

    def forgets(self, name: str) -> None:
        """The name does not exist."""
        self._texts = {key: values for key, values in self._texts.items() if key[0] != name}

    def stays_silent(self, about: str = "") -> None:
        """Nobody gets an answer any more, or none about one name."""
        self._silent.add(about)

    def fails(self, about: str = "") -> None:
        """Every answer is a SERVFAIL from now on, or that about one name."""
        self._failing.add(about)

    def answer(self, wire: bytes, *, by_tcp: bool = False) -> bytes | None:
        """What it says to a question, in bytes."""
        question = dns.message.from_wire(wire)
        name = question.question[0].name.to_text(omit_final_dot=True).lower()
        (self.asked_by_tcp if by_tcp else self.asked).append(name)
        if {"", name} & self._silent:
            return None
        answer = dns.message.make_response(question, recursion_available=True)
        if {"", name} & self._failing:
            answer.set_rcode(dns.rcode.SERVFAIL)
            return answer.to_wire()
        self._fill(answer, name, dns.rdatatype.to_text(question.question[0].rdtype))
        whole = answer.to_wire()
        if by_tcp or len(whole) <= SMALL:
            return whole
        short = dns.message.make_response(question, recursion_available=True)
        short.flags |= dns.flags.TC
        return short.to_wire()

    def _fill(self, answer: dns.message.Message, name: str, kind: str) -> None:
        # An alias is followed, as a resolver does.
        while alias := self._texts.get((name, "CNAME")):
            answer.answer.append(dns.rrset.from_text(f"{name}.", 60, "IN", "CNAME", *alias))
            name = alias[0].removesuffix(".")
        if values := self._texts.get((name, kind)):
            answer.answer.append(dns.rrset.from_text(f"{name}.", 60, "IN", kind, *values))
        elif not any(known == name for known, _ in self._texts):
            answer.set_rcode(dns.rcode.NXDOMAIN)


def _quoted(text: str) -> str:
    """A text as zone files have it: in strings of at most 255 bytes."""
    raw = text.encode()
    pieces = [raw[start : start + 255] for start in range(0, len(raw), 255)] or [b""]
    return " ".join('"' + "".join(_escaped(byte) for byte in piece) + '"' for piece in pieces)


def _escaped(byte: int) -> str:
    return chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03}"


def _server(kind: type[socketserver.BaseServer]) -> Any:
    return type(kind.__name__, (kind,), {"allow_reuse_address": True, "daemon_threads": True})


def _by_datagram(server: Dns) -> type[socketserver.BaseRequestHandler]:
    class Datagram(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            wire, sock = self.request
            said = server.answer(wire)
            if said is not None:
                sock.sendto(said, self.client_address)

    return Datagram


def _by_stream(server: Dns) -> type[socketserver.BaseRequestHandler]:
    class Stream(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            sock: socket.socket = self.request
            with suppress(OSError, struct.error):
                (length,) = struct.unpack("!H", sock.recv(2, socket.MSG_WAITALL))
                said = server.answer(sock.recv(length, socket.MSG_WAITALL), by_tcp=True)
                if said is not None:
                    sock.sendall(struct.pack("!H", len(said)) + said)

    return Stream
