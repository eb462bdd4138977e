"""Feeds, what was seen of them, and what waits to be mailed."""

import sqlalchemy as sa
from alembic import op

from gna.db import Instant, type_json

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """From campaigns."""
    op.create_table("feeds", *_wishes(), *_state(), sa.PrimaryKeyConstraint("id", name="pk_feeds"), _unique())
    op.create_table(
        "feed_memory",
        sa.Column("feed_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("seen_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("feed_id", "key", name="pk_feed_memory"),
        _of_feed("feed_memory"),
    )
    op.create_table(
        "feed_entries",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("feed_id", sa.Text(), nullable=False),
        sa.Column("campaign_id", sa.Text()),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("excerpt", sa.Text(), nullable=False),
        sa.Column("link", sa.Text()),
        sa.Column("picture", sa.Text()),
        sa.Column("published_at", Instant()),
        sa.Column("found_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_feed_entries"),
        _of_feed("feed_entries"),
    )
    op.create_index("idx_feed_entries_feed_id", "feed_entries", ["feed_id", "id"])


def _wishes() -> list[sa.Column[object]]:
    return [
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("configured", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("title", sa.Text()),
        sa.Column("site_url", sa.Text()),
        sa.Column("mode", sa.Text(), nullable=False, server_default="send"),
        sa.Column("cadence", sa.Text(), nullable=False, server_default="every"),
        sa.Column("at", sa.Text(), nullable=False, server_default="09:00"),
        sa.Column("zone", sa.Text(), nullable=False, server_default="UTC"),
        sa.Column("weekday", sa.Text(), nullable=False, server_default="monday"),
        sa.Column("monthday", sa.Integer(), nullable=False, server_default="1"),
        sa.Column("subject", sa.Text()),
        sa.Column("audience", type_json, nullable=False, server_default="{}"),
        sa.Column("archived", sa.Boolean(), nullable=False, server_default=sa.true()),
    ]


def _state() -> list[sa.Column[object]]:
    return [
        sa.Column("last_processed_at", Instant()),
        sa.Column("last_checked_at", Instant()),
        sa.Column("known_since", Instant()),
        sa.Column("last_error", sa.Text()),
        sa.Column("consecutive_failures", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("told_at", Instant()),
        sa.Column("passed_over", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("held", sa.Text()),
        sa.Column("due_at", Instant(), nullable=False),
        sa.Column("claimed_until", Instant()),
        sa.Column("etag", sa.Text()),
        sa.Column("last_modified", sa.Text()),
        sa.Column("moved_to", sa.Text()),
        sa.Column("hub_url", sa.Text()),
        sa.Column("topic_url", sa.Text()),
        sa.Column("hub_secret", sa.Text()),
        sa.Column("hub_asked_at", Instant()),
        sa.Column("hub_until", Instant()),
        sa.Column("created_at", Instant(), nullable=False),
    ]


def _unique() -> sa.UniqueConstraint:
    return sa.UniqueConstraint("url", name="uq_feeds_url")


def _of_feed(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name=f"fk_{table}_feed_id", ondelete="CASCADE")
