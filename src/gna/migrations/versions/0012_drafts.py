"""Drafts: the Markdown behind an HTML body, and text parts that a feed wrote."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

# A feed's campaign that no author has touched since the feed wrote it.
UNTOUCHED = """UPDATE campaigns SET body_text_made = true
WHERE body_text IS NOT NULL AND updated_at = created_at
AND id IN (SELECT campaign_id FROM feed_entries WHERE campaign_id IS NOT NULL)"""


def upgrade() -> None:
    """From the reader's side."""
    op.add_column("campaigns", sa.Column("body_markdown", sa.Text()))
    op.add_column(
        "campaigns",
        sa.Column("body_text_made", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.execute(UNTOUCHED)
