"""Delivery: mailings, the pace, dead letters, and a lane for each mailing."""

import sqlalchemy as sa
from alembic import op

from gna.db import Instant, type_json

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """From search."""
    op.add_column("messages", sa.Column("mailing_id", sa.Integer()))
    op.drop_index("idx_messages_due", "messages")
    for name, columns, rows in (
        ("idx_messages_due", ["mailing_id", "due_at"], "status IN ('pending', 'failed_transient')"),
        ("idx_messages_given_up", ["mailing_id"], "status = 'failed_permanent'"),
    ):
        op.create_index(name, "messages", columns, sqlite_where=sa.text(rows), postgresql_where=sa.text(rows))
    _mailings()
    op.create_table(
        "paces",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("tokens", sa.Float(), nullable=False),
        sa.Column("counted_at", Instant(), nullable=False),
        sa.Column("paused_until", Instant()),
        sa.PrimaryKeyConstraint("account", name="pk_paces"),
    )
    _dead_letters()


def _mailings() -> None:
    op.create_table(
        "mailings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False, server_default="en"),
        sa.Column("state", sa.Text(), nullable=False, server_default="going"),
        sa.Column("filled_to", sa.Text(), nullable=False, server_default=""),
        sa.Column("filled_at", Instant()),
        sa.Column("audience", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("sent_count", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("failed_count", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("finished_at", Instant()),
        sa.PrimaryKeyConstraint("id", name="pk_mailings"),
    )
    op.create_index("idx_mailings_state", "mailings", ["state"])


def _dead_letters() -> None:
    op.create_table(
        "dead_letters",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("payload", type_json, nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("kind", sa.Text()),
        sa.Column("message_id", sa.Text()),
        sa.Column("subscriber_id", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_dead_letters"),
        sa.ForeignKeyConstraint(
            ["subscriber_id"], ["subscribers.id"], name="fk_dead_letters_subscriber_id", ondelete="CASCADE"
        ),
    )
    for column in ("message_id", "subscriber_id"):
        op.create_index(f"idx_dead_letters_{column}", "dead_letters", [column])
