"""Asking DNS for records: what is not there, what did not answer and what failed are three different things."""

import ipaddress
import re
import time
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dns.asyncresolver import Resolver
    from dns.rdata import Rdata

PORT = 53
# So long one server may think before the next is asked.
EACH = 2.0
WITH_PORT = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9.]+))(?::(?P<port>[0-9]{1,5}))?")


class Said(Enum):
    """How a question ended."""

    FOUND = "found"
    # The name or its records do not exist: DNS is sure of that.
    NOTHING = "nothing"
    # Nobody answered in time.
    SILENT = "silent"
    # Somebody answered that they could not find out.
    FAILED = "failed"


@dataclass(frozen=True)
class Answer:
    """The records at a name as text; a TXT record is joined from its strings."""

    said: Said
    texts: tuple[str, ...] = ()

    @property
    def is_sure(self) -> bool:
        """Whether DNS told what is there, or that nothing is."""
        return self.said in (Said.FOUND, Said.NOTHING)


class Asking:
    """Asks the given servers, or the system's; all questions together end within one limit."""

    def __init__(self, servers: Collection[str] = (), *, within: float = 5.0) -> None:
        self._servers = tuple(map(endpoint, servers))
        self._until = time.monotonic() + within
        self._resolver: Resolver | None = None

    async def texts(self, name: str) -> Answer:
        """The TXT records of a name; never raises."""
        return await self.records(name, "TXT")

    async def records(self, name: str, kind: str) -> Answer:
        """The records of a kind (`TXT`, `A`, `MX`) at a name; never raises."""
        # Only whoever asks carries the library.
        import dns.exception
        import dns.resolver

        left = self._until - time.monotonic()
        if left <= 0:
            return Answer(Said.SILENT)
        try:
            found = await self._asked().resolve(f"{name}.", kind, raise_on_no_answer=False, lifetime=left)
        except dns.resolver.NXDOMAIN:
            return Answer(Said.NOTHING)
        except dns.exception.Timeout:
            return Answer(Said.SILENT)
        except (dns.exception.DNSException, OSError, ValueError):
            return Answer(Said.FAILED)
        texts = tuple(_text(record) for record in found)
        return Answer(Said.FOUND, texts) if texts else Answer(Said.NOTHING)

    def _asked(self) -> "Resolver":
        from dns.asyncresolver import Resolver
        from dns.nameserver import Do53Nameserver

        if self._resolver is None:
            resolver = Resolver(configure=not self._servers)
            if self._servers:
                resolver.nameservers = [Do53Nameserver(host, port) for host, port in self._servers]
            resolver.timeout = EACH
            self._resolver = resolver
        return self._resolver


def _text(record: "Rdata") -> str:
    strings = getattr(record, "strings", None)
    return record.to_text() if strings is None else b"".join(strings).decode("utf-8", "replace")


def endpoint(server: str) -> tuple[str, int]:
    """The address and port of a server: `9.9.9.9`, `127.0.0.1:5353`, `::1`, `[::1]:5353`; raises ValueError."""
    found = WITH_PORT.fullmatch(server)
    host = (found["six"] or found["four"]) if found else server
    port = int(found["port"] or PORT) if found else PORT
    if not 0 < port < 65536:
        raise ValueError("a port")
    return str(ipaddress.ip_address(host)), port
