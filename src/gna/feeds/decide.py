"""What is new in a feed. Pure: what it says and what we remember in, a verdict out.

A post is new if it was published after the newest one that was processed. That alone would be fooled by feeds
without dates, with equal or future ones, and by posts whose date was changed; so we also remember every post, and one
that is known is never new.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from gna.feeds.entry import Document, Entry

# From so many on, a feed of which half or more is new looks like a site that has moved, and not like news.
MANY = 10
# And already from so many on, if nothing is left of what we knew.
FEW = 3
HOLD = (
    "{new} of the {all} posts in the feed look new at once, as after a move of the site. "
    "Look at it, then send or delete it."
)


@dataclass(frozen=True)
class Memory:
    """What we remember of a feed."""

    # Since when it is looked at: at the first look, nothing is new.
    since: datetime | None
    # The published time of the newest post that was processed.
    marker: datetime | None
    # Those of this document's keys that are known.
    keys: Collection[str] = ()
    # Whether any post was ever seen.
    anything: bool = False
    # Whether this is the first look at another address of the same feed.
    has_moved: bool = False


@dataclass(frozen=True)
class Verdict:
    """What follows from a look at a feed."""

    # Newest first, as far as the feed says when; else in its own order.
    new: tuple[Entry, ...] = ()
    # To remember from now on.
    learned: tuple[str, ...] = ()
    # Where the marker is after a first look; later it moves with the deliveries.
    marker: datetime | None = None
    # Why a person has to look at it before it is sent.
    hold: str | None = None
    # How many were never seen before, but are dated before the marker.
    passed_over: int = 0


def decide(document: Document, memory: Memory, *, now: datetime) -> Verdict:
    """Which posts are new."""
    known, learned, new, older = set(memory.keys), list[str](), list[Entry](), list[Entry]()
    for entry, keys in keyed(document):
        if known.isdisjoint(keys):
            (new if _is_newer(entry, memory.marker, now) else older).append(entry)
            learned += keys
        else:
            # Its text may change with every look, and is needed only of what has no other name.
            learned += [key for key in keys[:-1] if key not in known]
        known.update(keys)
    if memory.since is None:
        return Verdict(learned=tuple(learned), marker=latest((entry.published for entry in document.entries), now))
    return Verdict(
        new=tuple(sorted(new, key=lambda entry: _age(entry, now))),
        learned=tuple(learned),
        hold=_hold(new, document, memory, memory.since),
        passed_over=len(older),
    )


def latest(dates: Iterable[datetime | None], now: datetime) -> datetime | None:
    """The newest date that has come already: a post from the future must not hide those that come before it."""
    return max((date for date in dates if date and date <= now), default=None)


def keyed(document: Document) -> Iterator[tuple[Entry, list[str]]]:
    """Each post with the names under which it would be known again; the last is that of its whole text."""
    # What several posts share names none of them, nor does the address of the whole site.
    links = Counter(_plain(entry.link) for entry in document.entries)
    moments = Counter(_moment(entry) for entry in document.entries)
    unclear = _given_to_several(document.entries)
    site = _plain(document.site)
    for entry in document.entries:
        link, moment = _plain(entry.link), _moment(entry)
        keys = _keys(
            entry,
            guid=entry.guid if entry.guid not in unclear else None,
            link=link if links[link] == 1 and link != site else "",
            moment=moment if moments[moment] == 1 else "",
        )
        yield entry, list(keys)


def _given_to_several(entries: Iterable[Entry]) -> set[str | None]:
    """Guids of posts that have neither place nor title and date in common: some software gives every post the same."""
    places, moments = defaultdict[str | None, set[str]](set), defaultdict[str | None, set[str]](set)
    for entry in entries:
        places[entry.guid].add(_plain(entry.link))
        moments[entry.guid].add(_moment(entry))
    return {guid for guid in places if len(places[guid]) > 1 and len(moments[guid]) > 1}


def _keys(entry: Entry, *, guid: str | None, link: str, moment: str) -> Iterator[str]:
    if guid:
        yield _key("guid", guid)
    elif link:
        yield _key("link", link)
    # The same post when the feed changes its guids, begins or ceases to have them, or moves to another address.
    if link and _said(entry):
        yield _key("words and link", _said(entry), link)
    if moment:
        yield _key("words and date", moment)
    yield _key("text", entry.title, entry.excerpt, str(entry.published), entry.guid or "", _plain(entry.link))


def _said(entry: Entry) -> str:
    """Its title; what has none begins with its text."""
    return " ".join((entry.title or entry.excerpt).lower().split())


def _moment(entry: Entry) -> str:
    return f"{entry.published.isoformat()} {_said(entry)}" if entry.published and _said(entry) else ""


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _plain(link: str | None) -> str:
    """An address without what changes when a site gets a certificate or counts its visitors."""
    if not link:
        return ""
    parts = urlsplit(link)
    query = "&".join(part for part in parts.query.split("&") if not re.match(r"utm_|source=rss", part))
    return f"{parts.netloc.lower()}{parts.path.rstrip('/')}?{query}"


def _is_newer(entry: Entry, marker: datetime | None, now: datetime) -> bool:
    """By its date, if that can be believed; one with the marker's own date is another post of the same moment."""
    # A clock that was wrong once may have left a marker that lies ahead.
    if entry.published is None or marker is None or entry.published > now or marker > now:
        return True
    return entry.published + (timedelta(days=1, microseconds=-1) if entry.whole_day else timedelta()) >= marker


def _age(entry: Entry, now: datetime) -> float:
    return 0 if entry.published is None else max(0, (now - entry.published).total_seconds())


def _hold(new: Sequence[Entry], document: Document, memory: Memory, since: datetime) -> str | None:
    """Why so many new posts are no news."""
    count, all = len(new), len(document.entries)
    is_another = memory.anything and not memory.keys
    # The feed was empty at the first look, and now it is full of posts that are older than that look.
    old = [entry for entry in new if entry.published and entry.published < since - timedelta(days=1)]
    is_restored = not memory.anything and len(old) >= FEW
    if (count >= FEW and (is_another or memory.has_moved)) or is_restored or (count >= MANY and count * 2 >= all):
        return HOLD.format(new=count, all=all)
    return None
