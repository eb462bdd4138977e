"""Which server carries the mail, and how long we wait for it."""

import ipaddress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from gna.errors import CannotStart

FORM = "smtp://user:password@host:port?tls=none|starttls|implicit&auth=plain|login|xoauth2"
# The usual mistake, and urlsplit cannot tell it from a port or a path.
ENCODE = "In the user and the password write @ : / ? # % as %40 %3A %2F %3F %23 %25."


class Tls(StrEnum):
    """How the connection is encrypted."""

    NONE = "none"
    STARTTLS = "starttls"
    IMPLICIT = "implicit"


class Auth(StrEnum):
    """How we log in."""

    PLAIN = "plain"
    LOGIN = "login"
    XOAUTH2 = "xoauth2"


Choice = TypeVar("Choice", Tls, Auth)
PORTS = {Tls.NONE: 25, Tls.STARTTLS: 587, Tls.IMPLICIT: 465}


@dataclass(frozen=True)
class Timeouts:
    """How many seconds we wait at most: for a connection, for a reply, for the reply to a whole mail.

    `idle` is how long a connection is kept without work. `pipelining` is how long the first commands sent together
    may take: a server that loses some of them stays silent for ever. `goodbye` is how long we wait for the other's.
    """

    connect: float = 15
    reply: float = 60
    content: float = 120
    idle: float = 30
    pipelining: float = 15
    goodbye: float = 2

    @property
    def beat(self) -> float:
        """How often a connection looks at the clock."""
        return min(1, self.reply / 4, self.content / 4, self.idle / 4, self.pipelining / 4, self.goodbye / 4)


@dataclass(frozen=True)
class Server:
    """A mail server and the way in."""

    host: str
    port: int
    tls: Tls
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    auth: Auth | None = None
    # Whether a server that offers no login may go without.
    may_skip_login: bool = False

    @property
    def where(self) -> str:
        """Host and port, as people write them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse(url: str) -> Server:
    """Read SMTP_URL. What is wrong is said without repeating any of it: it may be a part of the password.

    Without `tls` only a server on this machine is spoken to in the clear, so that a password never leaves it so
    unless `tls=none` was written.
    """
    parts, port = _split(url)
    options = _options(parts)
    host = parts.hostname or ""
    tls = _tls(parts.scheme, host, port, options.get("tls"))
    user, password = _login(parts)
    auth = _choice(Auth, "auth", options["auth"]) if "auth" in options else None
    if auth and user is None:
        raise CannotStart(f"SMTP_URL names a way to log in but no user. It is written: {FORM}")
    return Server(host, port or PORTS[tls], tls, user, password, auth)


def _split(url: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise CannotStart(f"SMTP_URL cannot be read. It is written: {FORM}. {ENCODE}") from None
    if parts.scheme not in ("smtp", "smtps"):
        raise CannotStart(f"SMTP_URL must begin with smtp:// or smtps://. It is written: {FORM}")
    if not parts.hostname or parts.path not in ("", "/") or parts.fragment or port == 0:
        raise CannotStart(f"SMTP_URL cannot be read. It is written: {FORM}. {ENCODE}")
    return parts, port


def _options(parts: SplitResult) -> dict[str, str]:
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options = dict(pairs)
    if len(options) < len(pairs) or not options.keys() <= {"tls", "auth"}:
        raise CannotStart(f"SMTP_URL may have tls and auth after its ?, each once, and nothing else: {FORM}")
    return options


def _tls(scheme: str, host: str, port: int | None, written: str | None) -> Tls:
    chosen = _choice(Tls, "tls", written) if written is not None else None
    if scheme == "smtps":
        if chosen not in (None, Tls.IMPLICIT):
            raise CannotStart("SMTP_URL contradicts itself: smtps:// means tls=implicit. Write smtp:// for another.")
        return Tls.IMPLICIT
    if chosen:
        return chosen
    if port == PORTS[Tls.IMPLICIT]:
        return Tls.IMPLICIT
    return Tls.NONE if _is_this_machine(host) else Tls.STARTTLS


def _login(parts: SplitResult) -> tuple[str | None, str | None]:
    if not parts.username and not parts.password:
        return None, None
    if not parts.username or not parts.password:
        raise CannotStart(f"SMTP_URL needs a user and a password, or neither. It is written: {FORM}. {ENCODE}")
    return unquote(parts.username), unquote(parts.password)


def _choice(kind: type[Choice], name: str, written: str) -> Choice:
    try:
        return kind(written)
    except ValueError:
        allowed = ", ".join(kind)
        raise CannotStart(f"SMTP_URL has an unknown value for {name}. Allowed are: {allowed}.") from None


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
