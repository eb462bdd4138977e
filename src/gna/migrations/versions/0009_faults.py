"""Deaths of workers are counted apart from attempts, heartbeats show their gaps, and done mailings name no person."""

import sqlalchemy as sa
from alembic import op

from gna.db import Instant

revision = "0009"
down_revision = "0008"

DUE = {"idx_messages_new": "status = 'pending'", "idx_messages_retry": "status = 'failed_transient'"}


def upgrade() -> None:
    """From the inbox."""
    op.add_column("messages", sa.Column("crash_count", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("workers", sa.Column("steady_since", Instant()))
    op.drop_index("idx_messages_due", "messages")
    for name, status in DUE.items():
        rows = sa.text(status)
        op.create_index(name, "messages", ["mailing_id", "due_at"], sqlite_where=rows, postgresql_where=rows)
    op.execute("UPDATE mailings SET filled_to = '', fill_until = '' WHERE filled_at IS NOT NULL")
