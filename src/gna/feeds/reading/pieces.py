"""What the entries of every format have in common."""

from gna.feeds.entry import Entry
from gna.feeds.reading.words import one_line

GUID_MAX = 1000


def guid_of(text: object) -> str | None:
    """The name that a feed gave an entry; a very long one is known by its fingerprint."""
    guid = one_line(text) if isinstance(text, str) else ""
    if len(guid) <= GUID_MAX:
        return guid or None
    from hashlib import sha256

    return f"sha256:{sha256(guid.encode()).hexdigest()}"


def says_anything(entry: Entry) -> bool:
    """Whether there is anything by which the entry could be known or read."""
    return bool(entry.guid or entry.link or entry.title or entry.excerpt)
