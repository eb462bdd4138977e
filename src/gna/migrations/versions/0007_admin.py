"""The admin: who did what, figures by the day, who bounced, uploads that wait, and how people are filed."""

import sqlalchemy as sa
from alembic import op

from gna.db import Instant, type_json
from gna.subscribers import filing, needles

revision = "0007"
down_revision = "0006"

MET = sa.text("status IN ('sent', 'failed_transient', 'failed_permanent')")


def upgrade() -> None:
    """From feeds."""
    _activity()
    _figures()
    _bounces()
    op.create_index("idx_messages_met", "messages", ["status", "id"], sqlite_where=MET, postgresql_where=MET)
    _imports()
    _filing()


def _filing() -> None:
    tx = op.get_bind()
    # Kept up row by row while people are filed, the trigrams would take longer than all the rest.
    there = "SELECT to_regclass('idx_subscribers_needle')"
    has_trigrams = tx.dialect.name == "postgresql" and tx.scalar(sa.text(there))
    if has_trigrams:
        op.execute("DROP INDEX idx_subscribers_needle")
    filing.install(tx)
    if has_trigrams:
        op.execute(needles.BY_TRIGRAM)


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


def _figures() -> None:
    op.create_table(
        "days",
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("confirmed", sa.Integer(), nullable=False),
        sa.Column("pending", sa.Integer()),
        sa.Column("joined", sa.Integer(), nullable=False),
        sa.Column("left", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("day", name="pk_days"),
    )
    for name, table, column, which in (
        ("idx_suppressions_left", "suppressions", "created_at", "reason = 'unsubscribed'"),
        ("idx_deliveries_started_at", "deliveries", "started_at", None),
    ):
        where = sa.text(which) if which else None
        op.create_index(name, table, [column], sqlite_where=where, postgresql_where=where)


def _bounces() -> None:
    op.create_table(
        "bounces",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("subscriber_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_bounces"),
        sa.UniqueConstraint("subscriber_id", name="uq_bounces_subscriber_id"),
        sa.ForeignKeyConstraint(
            ["subscriber_id"], ["subscribers.id"], name="fk_bounces_subscriber_id", ondelete="CASCADE"
        ),
    )
    op.create_index("idx_bounces_created_at", "bounces", ["created_at", "id"])


def _imports() -> None:
    op.add_column("imports", sa.Column("mapping", type_json))
    op.add_column("imports", sa.Column("trial", sa.Boolean(), nullable=False, server_default=sa.false()))
