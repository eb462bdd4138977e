"""The admin: who did what."""

import sqlalchemy as sa
from alembic import op

from gna.db import Instant

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """From feeds."""
    _activity()


def _activity() -> None:
    op.create_table(
        "activity",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("verb", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False, server_default=""),
        sa.Column("target", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_activity"),
    )
    op.create_index("idx_activity_at", "activity", ["at"])
