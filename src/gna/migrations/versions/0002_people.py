"""People: places and attributes, lists, suppressions, imports."""

import sqlalchemy as sa
from alembic import op

from gna.db import Instant, type_json

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """From the ground."""
    op.add_column("subscribers", sa.Column("ocd_ids", type_json, nullable=False, server_default="[]"))
    op.add_column("subscribers", sa.Column("attributes", type_json, nullable=False, server_default="{}"))
    op.drop_index("idx_subscribers_used_token", "subscribers")
    op.drop_column("subscribers", "used_token")
    op.drop_column("subscribers", "used_token_expires_at")
    op.create_table(
        "used_tokens",
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("subscriber_id", sa.Text(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("token", name="pk_used_tokens"),
        sa.ForeignKeyConstraint(
            ["subscriber_id"], ["subscribers.id"], name="fk_used_tokens_subscriber_id", ondelete="CASCADE"
        ),
    )
    op.create_index("idx_used_tokens_subscriber_id", "used_tokens", ["subscriber_id"])
    op.create_table(
        "memberships",
        sa.Column("subscriber_id", sa.Text(), nullable=False),
        sa.Column("list_key", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("unsubscribed_at", Instant()),
        sa.PrimaryKeyConstraint("subscriber_id", "list_key", name="pk_memberships"),
        sa.ForeignKeyConstraint(
            ["subscriber_id"], ["subscribers.id"], name="fk_memberships_subscriber_id", ondelete="CASCADE"
        ),
    )
    op.create_index("idx_memberships_list_key", "memberships", ["list_key", "unsubscribed_at"])
    op.create_table(
        "suppressions",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_suppressions"),
    )
    op.create_table(
        "keys",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_keys"),
    )
    _imports()


def _imports() -> None:
    op.create_table(
        "imports",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False, server_default="waiting"),
        sa.Column("dry_run", sa.Boolean(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("read", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("position", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("format", sa.Text()),
        sa.Column("counts", type_json, nullable=False, server_default="{}"),
        sa.Column("error", sa.Text()),
        sa.Column("claimed_by", sa.Text()),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("finished_at", Instant()),
        sa.PrimaryKeyConstraint("id", name="pk_imports"),
    )
    for table, *columns in (
        ("import_chunks", sa.Column("data", sa.LargeBinary(), nullable=False)),
        (
            "import_problems",
            sa.Column("sheet", sa.Text(), nullable=False),
            sa.Column("row", sa.Integer(), nullable=False),
            sa.Column("reason", sa.Text(), nullable=False),
        ),
    ):
        op.create_table(
            table,
            sa.Column("import_id", sa.Text(), nullable=False),
            sa.Column("number", sa.Integer(), nullable=False),
            *columns,
            sa.PrimaryKeyConstraint("import_id", "number", name=f"pk_{table}"),
            sa.ForeignKeyConstraint(["import_id"], ["imports.id"], name=f"fk_{table}_import_id", ondelete="CASCADE"),
        )
