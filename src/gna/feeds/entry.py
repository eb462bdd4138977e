"""What a feed says, once it is read: plain text and whole addresses, nothing that is markup any more."""

from dataclasses import dataclass, field
from datetime import datetime

TITLE_MAX = 250
EXCERPT_MAX = 300
# Longer addresses are cut by mail clients, and the composer of mails would not look so far back.
ADDRESS_MAX = 1500


@dataclass(frozen=True)
class Entry:
    """One post."""

    # The name that the feed gave it, if it gave one.
    guid: str | None = None
    # Where it can be read; http or https.
    link: str | None = None
    # One line, perhaps empty.
    title: str = ""
    # How it begins, one paragraph without line ends.
    excerpt: str = ""
    # Where its picture is; http or https.
    picture: str | None = None
    # When it was published, else updated, in UTC; nothing if the feed does not say it so that it can be believed.
    published: datetime | None = None
    # The feed says the day alone, or midnight, which means the same.
    whole_day: bool = False


@dataclass(frozen=True)
class Document:
    """A whole feed as it was at one moment; its entries in the feed's own order."""

    title: str = ""
    # The website that it is about.
    site: str | None = None
    entries: tuple[Entry, ...] = field(default=())
    # Who can tell us of new entries (WebSub), and under which name it knows the feed.
    hub: str | None = None
    topic: str | None = None
