"""The reader's side: mailboxes, what was seen in them, subscriptions, and attempts to leave."""

import sqlalchemy as sa
from alembic import op

from gna.db import Instant, type_json

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """From the admin."""
    _accounts()
    _messages()
    _subscriptions()
    _attempts()


def _accounts() -> None:
    op.create_table(
        "inbox_accounts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("imap_url", sa.Text(), nullable=False),
        sa.Column("smtp_url", sa.Text()),
        sa.Column("password_command", sa.Text()),
        sa.Column("kept_in", sa.Text()),
        sa.Column("counted_to", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("last_scan_at", Instant()),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_inbox_accounts"),
        sa.UniqueConstraint("key", name="uq_inbox_accounts_key"),
    )
    op.create_table(
        "inbox_folders",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("uid_validity", sa.BigInteger()),
        sa.Column("seen_to", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("seen_since", Instant()),
        sa.PrimaryKeyConstraint("id", name="pk_inbox_folders"),
        sa.UniqueConstraint("account_id", "name", name="uq_inbox_folders_account_id"),
        _of("inbox_accounts", "inbox_folders", "account_id"),
    )


def _messages() -> None:
    op.create_table(
        "inbox_messages",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("folder_id", sa.Integer(), nullable=False),
        sa.Column("uid", sa.BigInteger(), nullable=False),
        sa.Column("message_id", sa.Text()),
        sa.Column("sender_email", sa.Text(), nullable=False),
        sa.Column("sender_name", sa.Text(), nullable=False, server_default=""),
        sa.Column("subject", sa.Text(), nullable=False, server_default=""),
        sa.Column("date_sent", Instant(), nullable=False),
        sa.Column("received_at", Instant()),
        sa.Column("came_at", Instant(), nullable=False),
        sa.Column("list_id", sa.Text()),
        sa.Column("list_unsubscribe", sa.Text()),
        sa.Column("list_unsubscribe_post", sa.Text()),
        sa.Column("keywords", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("signs", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("is_copy", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("body_ways", type_json),
        sa.Column("seal", type_json),
        sa.Column("seen_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_inbox_messages"),
        sa.UniqueConstraint("folder_id", "uid", name="uq_inbox_messages_folder_id"),
        _of("inbox_accounts", "inbox_messages", "account_id"),
        _of("inbox_folders", "inbox_messages", "folder_id"),
    )
    op.create_index("idx_inbox_messages_sender", "inbox_messages", ["account_id", "sender_email", "came_at"])


def _subscriptions() -> None:
    op.create_table(
        "inbox_subscriptions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("sender_email", sa.Text(), nullable=False),
        sa.Column("sender_name", sa.Text(), nullable=False, server_default=""),
        sa.Column("sender_domain", sa.Text(), nullable=False),
        sa.Column("list_id", sa.Text()),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("email_count", sa.Integer(), nullable=False),
        sa.Column("confidence", sa.Integer(), nullable=False),
        sa.Column("reasons", type_json, nullable=False),
        sa.Column("first_seen", Instant(), nullable=False),
        sa.Column("last_seen", Instant(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("keep_subscription", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("kept_at", Instant()),
        sa.Column("unsubscribe_method", sa.Text()),
        sa.Column("unsubscribe_link", sa.Text()),
        sa.Column("ways", type_json),
        sa.Column("way_mail_id", sa.Integer()),
        sa.Column("unsubscribe_status", sa.Text(), nullable=False, server_default="active"),
        sa.Column("unsubscribed_at", Instant()),
        sa.Column("violation_count", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("emails_after_unsubscribe", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("last_violation_at", Instant()),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("updated_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_inbox_subscriptions"),
        sa.UniqueConstraint("account_id", "sender_email", name="uq_inbox_subscriptions_account_id"),
        _of("inbox_accounts", "inbox_subscriptions", "account_id"),
    )
    op.create_index("idx_inbox_subscriptions_last_seen", "inbox_subscriptions", ["last_seen"])


def _attempts() -> None:
    op.create_table(
        "inbox_attempts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("subscription_id", sa.Integer(), nullable=False),
        sa.Column("method_used", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("response_code", sa.Integer()),
        sa.Column("error_message", sa.Text()),
        sa.Column("attempted_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_inbox_attempts"),
        _of("inbox_subscriptions", "inbox_attempts", "subscription_id"),
    )
    op.create_index("idx_inbox_attempts_subscription_id", "inbox_attempts", ["subscription_id", "id"])


def _of(table: str, of: str, column: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{table}.id"], name=f"fk_{of}_{column}", ondelete="CASCADE")
