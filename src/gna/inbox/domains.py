"""Whose a host is: the name that somebody registered, whatever stands before it."""

import ipaddress
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urlsplit

from gna.inbox.ways import Way

MANY = 4096


def is_own(sender_domain: str, ways: Iterable[Way]) -> bool:
    """Whether one of the ways is a web address of the sender's own."""
    own = registrable(sender_domain)
    return own is not None and any(registrable(host) == own for host in map(_host, ways) if host)


def _host(way: Way) -> str | None:
    if way.method == "invalid" or not way.url.lower().startswith(("https://", "http://")):
        return None
    try:
        return urlsplit(way.url).hostname
    except ValueError:
        return None


@lru_cache(MANY)
def registrable(host: str) -> str | None:
    """The registered domain of a host in its own letters; None for an IP address and for what belongs to all."""
    name = _written(host.strip(".").lower())
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        found = _suffixes().privatesuffix(name) if name else None
        return str(found) if found else None
    return None


def _written(name: str) -> str:
    """A name that stands in ASCII for one of other letters, with those."""
    if "xn--" not in name:
        return name
    try:
        return name.encode().decode("idna")
    except UnicodeError:
        return name


@cache
def _suffixes() -> Any:
    # Imported late: its list of some ten thousand names is needed by a scan alone.
    from publicsuffixlist import PublicSuffixList

    # Without the list's names in ASCII once more, which would take most of the time.
    return PublicSuffixList(accept_encoded_idn=False)
