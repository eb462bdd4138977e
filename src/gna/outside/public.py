"""Which IP addresses are on the public internet, whatever they are wrapped in."""

import ipaddress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

# Python's own verdicts changed between its versions, so what must never be reached is written down here as well.
NEVER_4 = [
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",  # looks public, and is the inside of Azure
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
]
GLOBAL_6 = IPv6Network("2000::/3")  # the only part of IPv6 that is given to networks
NEVER_6 = [IPv6Network(network) for network in ("2001::/23", "2001:db8::/32", "3fff::/20")]
NAT64 = IPv6Network("64:ff9b::/96")


def is_public(ip: str) -> bool:
    """Whether everybody would reach the same machine under this address; what is no address is not public."""
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return _is_public_4(address)
    wrapped = _unwrapped(address)
    return all(map(_is_public_4, wrapped)) if wrapped else _is_public_6(address)


def is_link_local(ip: str) -> bool:
    """Whether it is an address of this very cable, which is never a website's."""
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return False
    wrapped = _unwrapped(address) if isinstance(address, IPv6Address) else ()
    return address.is_link_local or any(inner.is_link_local for inner in wrapped)


def _unwrapped(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that a packet to this one would end up at; none if it is IPv6 through and through."""
    if address.scope_id:
        return ()
    if address.ipv4_mapped:
        return (address.ipv4_mapped,)
    if address in NAT64:
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    if address.sixtofour:
        return (address.sixtofour,)
    return address.teredo or ()


def _is_public_4(address: IPv4Address) -> bool:
    return address.is_global and not any(address in network for network in NEVER_4)


def _is_public_6(address: IPv6Address) -> bool:
    if address.scope_id or address not in GLOBAL_6:
        return False
    return address.is_global and not any(address in network for network in NEVER_6)
