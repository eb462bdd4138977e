"""The tables of feeds: what we know of each, what it has told us, and what waits to be mailed."""

from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.db import Instant, metadata, type_json
from gna.errors import NotFound
from gna.feeds.cadence import Every


class Mode(StrEnum):
    """What becomes of the campaign that new entries make."""

    SEND = "send"
    DRAFT = "draft"


feeds = sa.Table(
    "feeds",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("url", sa.Text, nullable=False, unique=True),
    # The one of FEED_URL, which is the operator's own.
    sa.Column("configured", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("active", sa.Boolean, nullable=False, server_default=sa.true()),
    # What it says of itself.
    sa.Column("title", sa.Text),
    sa.Column("site_url", sa.Text),
    # What the publisher wants of it.
    sa.Column("mode", sa.Text, nullable=False, server_default=Mode.SEND),
    sa.Column("cadence", sa.Text, nullable=False, server_default=Every.POST),
    sa.Column("at", sa.Text, nullable=False, server_default="09:00"),
    sa.Column("zone", sa.Text, nullable=False, server_default="UTC"),
    sa.Column("weekday", sa.Text, nullable=False, server_default="monday"),
    sa.Column("monthday", sa.Integer, nullable=False, server_default="1"),
    sa.Column("subject", sa.Text),
    sa.Column("audience", type_json, nullable=False, server_default="{}"),
    # Whether everybody may read its campaigns at /archive.
    sa.Column("archived", sa.Boolean, nullable=False, server_default=sa.true()),
    # The published time of the newest entry that was delivered, or was there at the first look.
    sa.Column("last_processed_at", Instant),
    sa.Column("last_checked_at", Instant),
    # The first look, which only remembers what is there.
    sa.Column("known_since", Instant),
    sa.Column("last_error", sa.Text),
    sa.Column("consecutive_failures", sa.Integer, nullable=False, server_default="0"),
    # When the admin was told that it keeps failing; they are also told when it is well again.
    sa.Column("told_at", Instant),
    # How many posts were never mailed, because they came with a date before the marker.
    sa.Column("passed_over", sa.Integer, nullable=False, server_default="0"),
    # Why the next campaign has to wait for a person.
    sa.Column("held", sa.Text),
    # Whoever looks at it looks until then; a process that died in the middle looks no more.
    sa.Column("due_at", Instant, nullable=False),
    sa.Column("claimed_until", Instant),
    # What its server wants to hear at the next look.
    sa.Column("etag", sa.Text),
    sa.Column("last_modified", sa.Text),
    sa.Column("moved_to", sa.Text),
    # Who tells us of new entries (WebSub), under which name, and until when.
    sa.Column("hub_url", sa.Text),
    sa.Column("topic_url", sa.Text),
    # With which it signs; nobody else knows it.
    sa.Column("hub_secret", sa.Text),
    sa.Column("hub_asked_at", Instant),
    sa.Column("hub_until", Instant),
    sa.Column("created_at", Instant, nullable=False),
)
f = feeds.c


def _of_feed() -> sa.Column[Any]:
    return sa.Column("feed_id", sa.Text, sa.ForeignKey("feeds.id", ondelete="CASCADE"), nullable=False)


# Every entry that was ever seen, by the names under which it would be known again; hashed, as they may be long.
feed_memory = sa.Table(
    "feed_memory",
    metadata,
    _of_feed(),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("seen_at", Instant, nullable=False),
    sa.PrimaryKeyConstraint("feed_id", "key"),
)

# New entries on their way to the readers; gone when they are delivered.
feed_entries = sa.Table(
    "feed_entries",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _of_feed(),
    # In which it is mailed; none while it waits for one. Somebody may have thrown that campaign away.
    sa.Column("campaign_id", sa.Text),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("excerpt", sa.Text, nullable=False),
    sa.Column("link", sa.Text),
    sa.Column("picture", sa.Text),
    sa.Column("published_at", Instant),
    sa.Column("found_at", Instant, nullable=False),
)
e = feed_entries.c
sa.Index("idx_feed_entries_feed_id", e.feed_id, e.id)


def get(tx: Connection, feed_id: str) -> Any:
    """One feed as it is stored."""
    return _one(tx, sa.select(feeds).where(f.id == feed_id))


def locked(tx: Connection, feed_id: str) -> Any:
    """The feed's row; until the transaction ends, nobody else changes it or its entries."""
    return _one(tx, sa.select(feeds).where(f.id == feed_id).with_for_update())


def change(tx: Connection, feed_id: str, **values: Any) -> None:
    """Change columns of a feed."""
    tx.execute(sa.update(feeds).where(f.id == feed_id).values(**values))


def _one(tx: Connection, query: sa.Select[Any]) -> Any:
    row = tx.execute(query).one_or_none()
    if row is None:
        raise NotFound("There is no such feed")
    return row
