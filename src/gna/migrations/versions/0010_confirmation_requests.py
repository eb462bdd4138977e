"""How often a confirmation mail to an address was asked for in the last hour."""

import sqlalchemy as sa
from alembic import op

from gna.db import Instant, type_json

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """From the reader's side."""
    op.create_table(
        "confirmation_requests",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("times", type_json, nullable=False),
        sa.Column("last_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_confirmation_requests"),
    )
