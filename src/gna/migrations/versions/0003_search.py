"""Search: needles in the order of time. And who asked for an address is found at once."""

import sqlalchemy as sa
from alembic import op

from gna.subscribers import needles

revision = "0003"
down_revision = "0002"

# What 0002 made for searching in its first form.
OLD_SQLITE = (
    "DROP TRIGGER IF EXISTS subscriber_needles_insert",
    "DROP TRIGGER IF EXISTS subscriber_needles_update",
    "DROP TRIGGER IF EXISTS subscriber_needles_delete",
    "DROP TABLE IF EXISTS subscriber_needles",
    "DROP INDEX IF EXISTS idx_subscribers_newest",
)
OLD_POSTGRESQL = (
    # Its indexes go with it.
    "ALTER TABLE subscribers DROP COLUMN IF EXISTS needle",
    "DROP INDEX IF EXISTS idx_subscribers_newest",
)


def upgrade() -> None:
    """From people."""
    tx = op.get_bind()
    for statement in OLD_SQLITE if tx.dialect.name == "sqlite" else OLD_POSTGRESQL:
        tx.exec_driver_sql(statement)
    needles.install(tx)
    asked = sa.text("pending_email IS NOT NULL")
    op.create_index(
        "idx_subscribers_pending_email",
        "subscribers",
        [sa.text("lower(pending_email)")],
        sqlite_where=asked,
        postgresql_where=asked,
    )
