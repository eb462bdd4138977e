"""Addresses in a feed, made whole."""

import re
from urllib.parse import urljoin, urlsplit

from gna.feeds.entry import ADDRESS_MAX

# Browsers drop these wherever they stand; the others would end an attribute, or be taken for a merge field of the mail.
DROPPED = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
ESCAPED = str.maketrans({mark: f"%{ord(mark):02X}" for mark in ' "<>\\^`{|}'})


def absolute(address: object, *, base: str) -> str | None:
    """The whole http or https address, or None if it is anything else or longer than a mail can carry."""
    if not isinstance(address, str) or len(address) > ADDRESS_MAX * 2:
        return None
    try:
        whole = urljoin(base, "%20".join(DROPPED.sub("", address).split())).translate(ESCAPED)
        parts = urlsplit(whole)
        known = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        return None
    return whole if known and address.strip() and len(whole) <= ADDRESS_MAX else None
