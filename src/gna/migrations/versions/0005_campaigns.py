"""Campaigns and their deliveries; what a mailing must remember for them."""

import sqlalchemy as sa
from alembic import op

from gna.db import Instant, type_json

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """From delivery."""
    op.add_column("messages", sa.Column("list_key", sa.Text()))
    op.add_column("messages", sa.Column("exhausted", sa.Boolean(), nullable=False, server_default=sa.false()))
    for column in (
        sa.Column("list_key", sa.Text()),
        sa.Column("fill_until", sa.Text()),
        sa.Column("reasons", type_json),
        sa.Column("retryable_count", sa.Integer(), nullable=False, server_default="0"),
    ):
        op.add_column("mailings", column)
    _campaigns()
    _deliveries()


def _campaigns() -> None:
    op.create_table(
        "campaigns",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("body_format", sa.Text(), nullable=False, server_default="html"),
        sa.Column("body_text", sa.Text()),
        sa.Column("preheader", sa.Text()),
        sa.Column("audience", type_json, nullable=False, server_default="{}"),
        sa.Column("state", sa.Text(), nullable=False, server_default="draft"),
        sa.Column("scheduled_at", Instant()),
        sa.Column("held", sa.Text()),
        sa.Column("archived", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("updated_at", Instant(), nullable=False),
        sa.Column("published_at", Instant()),
        sa.PrimaryKeyConstraint("id", name="pk_campaigns"),
    )
    for name, columns in (
        ("newest", ["created_at", "id"]),
        ("state", ["state", "created_at", "id"]),
        ("archive", ["archived", "published_at", "id", "state"]),
    ):
        op.create_index(f"idx_campaigns_{name}", "campaigns", columns)


def _deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("campaign_id", sa.Text(), nullable=False),
        sa.Column("channel_type", sa.Text(), nullable=False, server_default="email"),
        sa.Column("state", sa.Text(), nullable=False, server_default="pending"),
        sa.Column("content_hash", sa.Text()),
        sa.Column("mailing_id", sa.Integer()),
        sa.Column("error_detail", sa.Text()),
        sa.Column("started_at", Instant()),
        sa.Column("finished_at", Instant()),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name="fk_deliveries_campaign_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["content_hash"], ["contents.hash"], name="fk_deliveries_content_hash"),
        sa.ForeignKeyConstraint(["mailing_id"], ["mailings.id"], name="fk_deliveries_mailing_id"),
    )
    op.create_index("idx_deliveries_campaign_id", "deliveries", ["campaign_id"])
    rows = sa.text("state = 'sending'")
    op.create_index("idx_deliveries_sending", "deliveries", ["mailing_id"], sqlite_where=rows, postgresql_where=rows)
