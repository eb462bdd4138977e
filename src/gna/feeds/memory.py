"""What we remember of a feed between two looks, and what waits to be mailed."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db, ids
from gna.feeds.decide import Memory, Verdict, keyed, latest
from gna.feeds.entry import Document
from gna.feeds.table import e, feed_entries, feed_memory

m = feed_memory.c
# So many values go into one statement; SQLite knows a limit.
CHUNK = 500


def recall(tx: Connection, feed: Any, document: Document, *, now: datetime) -> Memory:
    """What we know of a feed, and of the posts in it."""
    posts = list(keyed(document))
    wanted = [key for _, keys in posts for key in keys]
    known = {
        key
        for some in _chunks(wanted)
        for key in tx.scalars(sa.select(m.key).where(m.feed_id == feed.id, m.key.in_(some)))
    }
    # At another address it may be the same feed: then something in it is known, and tells where we were.
    has_moved = feed.known_since is None and bool(known)
    seen = [entry.published for entry, keys in posts if not known.isdisjoint(keys)] if has_moved else []
    return Memory(
        since=feed.known_since or (feed.created_at if has_moved else None),
        marker=latest(seen, now) if has_moved else feed.last_processed_at,
        has_moved=has_moved,
        keys=known,
        anything=bool(known) or tx.scalar(sa.select(sa.literal(1)).where(m.feed_id == feed.id).limit(1)) is not None,
    )


def learn(tx: Connection, feed_id: str, verdict: Verdict, *, now: datetime) -> None:
    """Remember what was seen, and put what is new where it waits for its campaign."""
    if verdict.learned:
        rows = [{"feed_id": feed_id, "key": key, "seen_at": now} for key in verdict.learned]
        tx.execute(db.insert(tx, feed_memory).on_conflict_do_nothing(), rows)
    if verdict.new:
        tx.execute(
            sa.insert(feed_entries),
            [
                {
                    # Their order is that of their ids, oldest first.
                    "id": ids.new(),
                    "feed_id": feed_id,
                    "title": entry.title,
                    "excerpt": entry.excerpt,
                    "link": entry.link,
                    "picture": entry.picture,
                    "published_at": entry.published,
                    "found_at": now,
                }
                for entry in reversed(verdict.new)
            ],
        )


def waiting(tx: Connection, feed_id: str) -> Sequence[Any]:
    """The posts that no campaign has yet, newest first."""
    mine = (e.feed_id == feed_id, e.campaign_id.is_(None))
    return tx.execute(sa.select(feed_entries).where(*mine).order_by(e.id.desc())).all()


def take(tx: Connection, entries: Sequence[Any], campaign_id: str) -> None:
    """These posts are in that campaign."""
    for some in _chunks([entry.id for entry in entries]):
        tx.execute(sa.update(feed_entries).where(e.id.in_(some)).values(campaign_id=campaign_id))


def drop(tx: Connection, feed_id: str, campaign_id: str) -> None:
    """The posts of that campaign need no more care."""
    tx.execute(sa.delete(feed_entries).where(e.feed_id == feed_id, e.campaign_id == campaign_id))


def _chunks(values: Sequence[str]) -> list[Sequence[str]]:
    return [values[start : start + CHUNK] for start in range(0, len(values), CHUNK)]
