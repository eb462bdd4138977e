"""The ground: subscribers, the outbox, the timetable and the workers."""

import sqlalchemy as sa
from alembic import op

from gna.db import Instant, type_json

revision = "0001"
down_revision = None


def upgrade() -> None:
    """From nothing."""
    _subscribers()
    _outbox()
    op.create_table(
        "timetable",
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("due_at", Instant(), nullable=False),
        sa.Column("claimed_by", sa.Text()),
        sa.Column("claimed_until", Instant()),
        sa.PrimaryKeyConstraint("step", name="pk_timetable"),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("started_at", Instant(), nullable=False),
        sa.Column("seen_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_workers"),
    )


def _subscribers() -> None:
    op.create_table(
        "subscribers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("nickname", sa.Text()),
        sa.Column("unsubscribe_token", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("activated_at", Instant()),
        sa.Column("confirmation_token", sa.Text()),
        sa.Column("confirmation_expires_at", Instant()),
        sa.Column("magic_link_token", sa.Text()),
        sa.Column("magic_link_expires_at", Instant()),
        sa.Column("pending_email", sa.Text()),
        sa.Column("used_token", sa.Text()),
        sa.Column("used_token_expires_at", Instant()),
        sa.PrimaryKeyConstraint("id", name="pk_subscribers"),
    )
    op.create_index("idx_subscribers_email", "subscribers", [sa.text("lower(email)")], unique=True)
    op.create_index("idx_subscribers_unsubscribe_token", "subscribers", ["unsubscribe_token"], unique=True)
    for column in ("confirmation_token", "magic_link_token", "used_token"):
        op.create_index(f"idx_subscribers_{column}", "subscribers", [column])


def _outbox() -> None:
    op.create_table(
        "contents",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("html", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_contents"),
    )
    op.create_table(
        "messages",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("delivery_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subscriber_id", sa.Text()),
        sa.Column("to_email", sa.Text()),
        sa.Column("content_hash", sa.Text()),
        sa.Column("slots", type_json),
        sa.Column("status", sa.Text(), nullable=False, server_default="pending"),
        sa.Column("due_at", Instant(), nullable=False),
        sa.Column("attempt_count", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("last_attempt_at", Instant()),
        sa.Column("last_error", sa.Text()),
        sa.Column("claimed_by", sa.Text()),
        sa.Column("provider_message_id", sa.Text()),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("sent_at", Instant()),
        sa.PrimaryKeyConstraint("id", name="pk_messages"),
        sa.UniqueConstraint("delivery_key", name="uq_messages_delivery_key"),
        sa.ForeignKeyConstraint(
            ["subscriber_id"], ["subscribers.id"], name="fk_messages_subscriber_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["content_hash"], ["contents.hash"], name="fk_messages_content_hash"),
    )
    op.create_index("idx_messages_subscriber_id", "messages", ["subscriber_id"])
    for name, column, rows in (
        ("idx_messages_due", "due_at", "status IN ('pending', 'failed_transient')"),
        ("idx_messages_sending", "claimed_by", "status = 'sending'"),
    ):
        op.create_index(name, "messages", [column], sqlite_where=sa.text(rows), postgresql_where=sa.text(rows))
