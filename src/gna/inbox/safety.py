"""Whether an address out of a mail may be gone to at all. Nothing here touches the network.

All domains are as good as each other; what is refused is what no honest way out looks like. Where a name leads is
looked at once more when it is connected to (`gna.outside`).
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from gna.inbox import dangers
from gna.outside.place import PORTS, Place, parse, plain_host

LONGEST = 4096
# Before a colon and without a dot: shop.example:443 is half an address, and no scheme.
SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+-]*):")
HOST = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
# The last part of a name is never a number, in whatever spelling; then it is an address: 127.1, 0x7f000001, 1.2.3.4.
NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
# Names that only a network of somebody's own knows.
PRIVATE = re.compile(
    r"(?:.*\.)?(?:local|localhost|localdomain|internal|intranet|private|lan|home|corp|onion|home\.arpa)"
)
AUTHORITY = re.compile(r"[^/?#]*//([^/?#]*)")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# How often something may be escaped over and over until we do not look any more.
DECODED = 3
NO_FIELDS: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What there is to say against an address. With an error it is not gone to, and nobody can overrule that."""

    error: str | None = None
    warnings: tuple[str, ...] = ()
    # It is no web address at all.
    malformed: bool = False

    @property
    def safe(self) -> bool:
        """Whether it may be gone to."""
        return self.error is None


class _Unsafe(Exception):
    """The sentence that says why."""


class _Malformed(_Unsafe):
    """The same, of what is no web address."""


def judge(
    url: str,
    *,
    fields: Iterable[tuple[str, str]] = NO_FIELDS,
    allowed: Collection[str] = (),
    sender: str = "",
) -> Verdict:
    """Look at a web address, and at the fields of the form that it belongs to.

    `allowed` are hosts that the rules on addresses spare; `sender` is the domain that the mail came from.
    """
    try:
        place = _read(url)
        is_allowed = bool(allowed) and place.host in _plain(allowed)
        if not is_allowed:
            check_host(place.host)
        _check_target(place, fields)
    except _Unsafe as error:
        return Verdict(str(error), malformed=isinstance(error, _Malformed))
    return Verdict(warnings=_warnings(place, sender, is_allowed=is_allowed))


def why_not_host(host: str, *, allowed: Collection[str] = ()) -> str | None:
    """Why nothing may be sent to this host, whatever it would be; None if it may."""
    try:
        name = plain_host(host)
        if not allowed or name not in _plain(allowed):
            check_host(name)
    except ValueError:
        return "The address names no host"
    except _Unsafe as error:
        return str(error)
    return None


def check_host(host: str) -> None:
    """Raise unless it is a name that the whole internet could know; the host is in its plain spelling."""
    if ":" in host or NUMBER.fullmatch(host):
        raise _Unsafe("The address is a number instead of a name, which no honest sender uses")
    if "." not in host:
        raise _Unsafe(f"{host[:80]} is no public name")
    if not HOST.fullmatch(host):
        raise _Unsafe("The address names no host")
    if PRIVATE.fullmatch(host):
        raise _Unsafe(f"{host[:80]} is a name of private networks")


def _read(url: str) -> Place:
    """The parts that would be connected to, for they are read by the same rules."""
    found = SCHEME.match(url)
    if found and found[1].lower() not in PORTS:
        raise _Malformed(f"{found[1][:20].lower()}: addresses are never opened")
    if CONTROL.search(url):
        raise _Malformed("The address must be free of control characters")
    if len(url) > LONGEST:
        raise _Unsafe(f"The address is longer than {LONGEST} characters")
    if "\\" in url:
        raise _Unsafe("The address holds a backslash, which programs read differently")
    authority = AUTHORITY.match(url)
    if authority and "@" in authority[1]:
        raise _Unsafe("The address holds a user name or password")
    if authority and "%" in authority[1]:
        raise _Malformed("The address must name its host without %")
    try:
        return parse(url.strip())
    except ValueError as error:
        raise _Malformed(f"The address must {error}") from None


def _check_target(place: Place, fields: Iterable[tuple[str, str]]) -> None:
    if shortener := dangers.shortener(place.host):
        raise _Unsafe(f"{shortener} shortens addresses and hides where they lead")
    # Nearly every address has nothing doubtful in it, and is not looked at closer.
    if dangers.HINT.search(plain(place.target).lower()):
        path, _, query = place.target.partition("?")
        _check_path(path)
        pairs = parse_qsl(query.replace(";", "&"), keep_blank_values=True)
        _check_parameters((plain(name), plain(value)) for name, value in pairs)
    _check_parameters(fields)


def _check_path(path: str) -> None:
    for segment in plain(path).replace("\\", "/").split("/"):
        if ending := dangers.download(segment):
            raise _Unsafe(f"The address leads to a download ({ending})")
        if action := dangers.action(segment):
            raise _Unsafe(f"The address looks like a dangerous action ({action})")


def _check_parameters(pairs: Iterable[tuple[str, str]]) -> None:
    for name, value in pairs:
        if found := dangers.parameter(name, value):
            raise _Unsafe(f"The address has a suspicious parameter ({found[:40]})")


def plain(text: str) -> str:
    """The text without its escapes, also those that were escaped again."""
    for _ in range(DECODED):
        if "%" not in text:
            break
        text = unquote(text)
    return text


def _warnings(place: Place, sender: str, *, is_allowed: bool) -> tuple[str, ...]:
    said = []
    if place.scheme == "http":
        said.append("The address is not encrypted (plain http); prefer HTTPS")
    if place.port not in PORTS.values() and not is_allowed:
        said.append(f"The address has an unusual port ({place.port})")
    if "xn--" in place.host:
        said += dangers.odd_letters(place.host)
    if sender and not is_allowed and not dangers.same_domain(place.host, sender):
        said.append(f"The address leads to {place.host[:80]}, not to the sender's domain {sender[:80]}")
    return tuple(said)


def _plain(hosts: Collection[str]) -> set[str]:
    """The hosts in their one spelling; what cannot be a host permits nothing."""
    names = set()
    for host in hosts:
        try:
            names.add(plain_host(host.strip().strip("[]")))
        except ValueError:
            continue
    return names
