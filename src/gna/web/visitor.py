"""Who is at the other end: the visitor's own IP, as far as it can be believed."""

import ipaddress
from collections.abc import Iterable
from functools import cache

from starlette.requests import Request

from gna.web.ground import ground

IP = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# So many proxies in a row are believed; reading 64 kB of hops would hold the event loop for more than 100 ms.
MOST_HOPS = 32


def visitor(request: Request) -> str:
    """The name under which a visitor's requests are counted."""
    peer = _ip(request.client.host) if request.client else None
    if peer is None:
        return "unknown"
    trusted = ground(request).settings.trusted_proxies
    return _name(_rightmost(peer, _hops(request), _networks(trusted)) if trusted else peer)


def is_among(request: Request, networks: tuple[str, ...]) -> bool:
    """Whether the connection itself comes from one of these networks, and through no proxy."""
    peer = _ip(request.client.host) if request.client else None
    forwarded = "x-forwarded-for" in request.headers or "cf-connecting-ip" in request.headers
    return peer is not None and not forwarded and any(peer in network for network in _networks(networks))


@cache
def _networks(names: tuple[str, ...]) -> list[Network]:
    return [ipaddress.ip_network(name, strict=False) for name in names]


def _rightmost(peer: IP, hops: Iterable[str], trusted: Iterable[Network]) -> IP:
    """The last hop that is not one of our own proxies. What stands left of it, anybody could have written."""
    for hop in hops:
        if not any(peer in network for network in trusted):
            return peer
        further = _ip(hop)
        if further is None:
            return peer
        peer = further
    return peer


def _hops(request: Request) -> list[str]:
    """Whom the proxies say they had it from, nearest first."""
    chain = ",".join(request.headers.getlist("x-forwarded-for"))
    if chain:
        nearest = chain.rsplit(",", MOST_HOPS)[-MOST_HOPS:]
        return [hop.strip() for hop in reversed(nearest)]
    # Cloudflare's own word. It stands behind the chain, which a proxy appends to and a visitor cannot shorten.
    single = request.headers.get("cf-connecting-ip")
    return [single.strip()] if single else []


def _ip(text: str) -> IP | None:
    """An IP with or without a port; an IPv4 address in IPv6 clothes is an IPv4 address."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def _name(found: IP) -> str:
    """One household is one visitor: an IPv6 customer owns at least 2^64 addresses."""
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
