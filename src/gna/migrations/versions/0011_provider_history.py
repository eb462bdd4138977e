"""Which providers have accepted mail of this database."""

import sqlalchemy as sa
from alembic import op

from gna.db import Instant

revision = "0011"
down_revision = "0010"

# The `mailbox` provider has always stored the message's own id as the provider's; SMTP stores the server's queue id,
# or nothing. Mails of campaigns leave no row, so a database that sent nothing else stays unknown.
SENT_BY_SMTP = """
    INSERT INTO provider_history (provider, first_accepted_at)
    SELECT 'smtp', min(sent_at) FROM messages
     WHERE status = 'sent' AND sent_at IS NOT NULL AND (provider_message_id IS NULL OR provider_message_id <> id)
    HAVING count(*) > 0
"""


def upgrade() -> None:
    """From the reader's side."""
    op.create_table(
        "provider_history",
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("first_accepted_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("provider", name="pk_provider_history"),
    )
    op.execute(SENT_BY_SMTP)
