"""Which server has the mailbox, and how to get in."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from gna.config import is_loopback
from gna.errors import Refused
from gna.providers.smtp import Tls

FORM = "imap://host:port?tls=none|starttls|implicit&auth=plain|xoauth2"
# The usual mistake, and urlsplit cannot tell it from a port or a path.
ENCODE = "In a user name write @ : / ? # % as %40 %3A %2F %3F %23 %25."
LEAVE_IT_OUT = (
    "The address of the mail server must not hold a password: it is kept in the database. Leave it out; "
    "you are asked for it, or set INBOX_PASSWORD, or give --password-command"
)


class Auth(StrEnum):
    """What the secret is: a password, or an access token."""

    PLAIN = "plain"
    XOAUTH2 = "xoauth2"


Choice = TypeVar("Choice", Tls, Auth)
PORTS = {Tls.NONE: 143, Tls.STARTTLS: 143, Tls.IMPLICIT: 993}


@dataclass(frozen=True)
class Server:
    """A mail server and the way in."""

    host: str
    port: int
    tls: Tls
    user: str | None = None
    auth: Auth = Auth.PLAIN

    @property
    def is_overheard(self) -> bool:
        """Whether the password travels in the clear, and further than this machine."""
        return self.tls is Tls.NONE and not is_loopback(self.host)

    @property
    def where(self) -> str:
        """Host and port, as people write them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse(url: str) -> Server:
    """Read the address of a mailbox's server. What is wrong is said without repeating any of it.

    Without `tls` only a server on this machine is spoken to in the clear.
    """
    parts, port = _split(url)
    options = _options(parts)
    host = parts.hostname or ""
    tls = _tls(parts.scheme, host, port, options.get("tls"))
    auth = _choice(Auth, "auth", options["auth"]) if "auth" in options else Auth.PLAIN
    return Server(host, port or PORTS[tls], tls, unquote(parts.username) if parts.username else None, auth)


def _split(url: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Refused(f"The address of the mail server cannot be read. It is written: {FORM}. {ENCODE}") from None
    if parts.scheme not in ("imap", "imaps"):
        raise Refused(f"The address of the mail server must begin with imap:// or imaps://. It is written: {FORM}")
    if parts.password is not None:
        raise Refused(LEAVE_IT_OUT)
    if not parts.hostname or parts.path not in ("", "/") or parts.fragment or port == 0 or not url.isprintable():
        raise Refused(f"The address of the mail server cannot be read. It is written: {FORM}. {ENCODE}")
    return parts, port


def _options(parts: SplitResult) -> dict[str, str]:
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options = dict(pairs)
    if len(options) < len(pairs) or not options.keys() <= {"tls", "auth"}:
        raise Refused(f"The address may have tls and auth after its ?, each once, and nothing else: {FORM}")
    return options


def _tls(scheme: str, host: str, port: int | None, written: str | None) -> Tls:
    chosen = _choice(Tls, "tls", written) if written is not None else None
    if scheme == "imaps":
        if chosen not in (None, Tls.IMPLICIT):
            raise Refused("The address contradicts itself: imaps:// means tls=implicit. Write imap:// for another.")
        return Tls.IMPLICIT
    if chosen:
        return chosen
    return Tls.NONE if is_loopback(host) and port != PORTS[Tls.IMPLICIT] else Tls.IMPLICIT


def _choice(kind: type[Choice], name: str, written: str) -> Choice:
    try:
        return kind(written)
    except ValueError:
        raise Refused(f"The address has an unknown value for {name}. Allowed are: {', '.join(kind)}.") from None
