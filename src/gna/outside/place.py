"""Where a request goes: an address is taken apart once, and the same parts are checked, connected to and sent."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

PORTS = {"http": 80, "https": 443}
NAME = re.compile(r"[a-z0-9._-]{1,253}")
# What a path and a query may hold as it is; a % stays, for what was escaped before stays escaped once.
AS_IT_IS = "!$%&'()*+,/:;=?@[]~"
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
SHOWN_MAX = 80


@dataclass(frozen=True)
class Place:
    """The parts of a web address that a request needs; the host is a plain name, or an IP without brackets."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """The host, and the port if it is not the usual one: what the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole address again."""
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def origin(self) -> tuple[str, str, int]:
        """Whom we talk to; what is meant for one is not told to another."""
        return self.scheme, self.host, self.port

    @property
    def shown(self) -> str:
        """The host for a sentence: it has no signs that a terminal or a page obeys, and is never long."""
        return self.host if len(self.host) <= SHOWN_MAX else f"{self.host[: SHOWN_MAX - 1]}…"


def parse(url: str) -> Place:
    """Raises ValueError, which finishes the sentence "The address must …"."""
    if CONTROL.search(url):
        raise ValueError("be free of control characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("be a whole web address") from None
    if parts.scheme not in PORTS:
        raise ValueError("start with http:// or https://")
    if "@" in parts.netloc:
        raise ValueError("not hold a user name or password")
    query = f"?{_escaped(parts.query)}" if parts.query else ""
    return Place(
        parts.scheme,
        _literal(parts.hostname or "") if parts.netloc.startswith("[") else plain_host(parts.hostname or ""),
        PORTS[parts.scheme] if port is None else port,
        (_escaped(parts.path) or "/") + query,
    )


def join(place: Place, location: str) -> Place:
    """Where a redirect leads to, from here; raises ValueError as `parse` does."""
    if not location:
        raise ValueError("be given")
    if CONTROL.search(location):  # joining would drop some of them without a word
        raise ValueError("be free of control characters")
    try:
        url = urljoin(place.url, location)
    except ValueError:
        raise ValueError("be a whole web address") from None
    return parse(url)


def plain_host(host: str) -> str:
    """The one spelling of a host: lower case, without the last dot, and as the DNS writes it."""
    if ":" in host:
        return _literal(host)
    name = (host if host.isascii() else _encoded(host)).lower().removesuffix(".")
    if not NAME.fullmatch(name):
        raise ValueError("name a host")
    return name


def _literal(host: str) -> str:
    try:
        # The part behind % names a network card of ours: nobody else can mean that.
        return str(ipaddress.IPv6Address(host.partition("%")[0] if host.isascii() else ""))
    except ValueError:
        raise ValueError("name a host") from None


def _encoded(host: str) -> str:
    import idna

    try:
        return idna.encode(host, uts46=True).decode()
    except UnicodeError:
        raise ValueError("name a host") from None


def _escaped(part: str) -> str:
    try:
        return quote(part, safe=AS_IT_IS, errors="surrogateescape")
    except UnicodeError:
        raise ValueError("be a whole web address") from None
