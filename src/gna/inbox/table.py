"""The tables of the reader's side. Of a mail only what its header says is kept, never what is in it."""

from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.db import Instant, metadata, type_json
from gna.errors import NotFound


class Status(StrEnum):
    """Whether somebody has left a subscription."""

    ACTIVE = "active"
    UNSUBSCRIBED = "unsubscribed"


def _of(table: str, column: str) -> sa.Column[Any]:
    return sa.Column(column, sa.Integer, sa.ForeignKey(f"{table}.id", ondelete="CASCADE"), nullable=False)


# Numbers instead of UUIDs: people type them (`gna inbox keep 12 15`), and nobody else ever sees them.
accounts = sa.Table(
    "inbox_accounts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("email", sa.Text, nullable=False),
    # The address in lower case: it is the same mailbox however it is written.
    sa.Column("key", sa.Text, nullable=False, unique=True),
    # The servers as URLs; a password is in neither.
    sa.Column("imap_url", sa.Text, nullable=False),
    sa.Column("smtp_url", sa.Text),
    # What prints the password, or an access token; and where we keep the password ourselves, if we do.
    sa.Column("password_command", sa.Text),
    sa.Column("kept_in", sa.Text),
    # Mails up to this one are counted in the subscriptions.
    sa.Column("counted_to", sa.Integer, nullable=False, server_default="0"),
    sa.Column("last_scan_at", Instant),
    sa.Column("created_at", Instant, nullable=False),
)
a = accounts.c

folders = sa.Table(
    "inbox_folders",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _of("inbox_accounts", "account_id"),
    sa.Column("name", sa.Text, nullable=False),
    # While the server keeps the first of these, every mail up to the second, received since the third, was seen.
    sa.Column("uid_validity", sa.BigInteger),
    sa.Column("seen_to", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("seen_since", Instant),
    sa.UniqueConstraint("account_id", "name"),
)
o = folders.c

mails = sa.Table(
    "inbox_messages",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _of("inbox_accounts", "account_id"),
    _of("inbox_folders", "folder_id"),
    sa.Column("uid", sa.BigInteger, nullable=False),
    sa.Column("message_id", sa.Text),
    # In lower case.
    sa.Column("sender_email", sa.Text, nullable=False),
    sa.Column("sender_name", sa.Text, nullable=False, server_default=""),
    sa.Column("subject", sa.Text, nullable=False, server_default=""),
    # What the sender says (the server's word, where the sender says nothing), and what the server says.
    sa.Column("date_sent", Instant, nullable=False),
    sa.Column("received_at", Instant),
    # The earlier of the two. Whatever means "newest" goes by this: a date in the future would be the newest for years.
    sa.Column("came_at", Instant, nullable=False),
    sa.Column("list_id", sa.Text),
    # The fields as they are in the header; several of one name are on lines of their own.
    sa.Column("list_unsubscribe", sa.Text),
    sa.Column("list_unsubscribe_post", sa.Text),
    # Which marketing words its subject has, and what else in the header tells its kind; see `signs`.
    sa.Column("keywords", sa.Integer, nullable=False, server_default="0"),
    sa.Column("signs", sa.Integer, nullable=False, server_default="0"),
    # Whether the same mail was seen in another folder before: it is not counted again.
    sa.Column("is_copy", sa.Boolean, nullable=False, server_default=sa.false()),
    # What its body offers, once that was read: a list of ways out, and how the header is sealed.
    sa.Column("body_ways", type_json),
    sa.Column("seal", type_json),
    sa.Column("seen_at", Instant, nullable=False),
    sa.UniqueConstraint("folder_id", "uid"),
)
m = mails.c
sa.Index("idx_inbox_messages_sender", m.account_id, m.sender_email, m.came_at)

subscriptions = sa.Table(
    "inbox_subscriptions",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _of("inbox_accounts", "account_id"),
    sa.Column("sender_email", sa.Text, nullable=False),
    sa.Column("sender_name", sa.Text, nullable=False, server_default=""),
    sa.Column("sender_domain", sa.Text, nullable=False),
    sa.Column("list_id", sa.Text),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("email_count", sa.Integer, nullable=False),
    sa.Column("confidence", sa.Integer, nullable=False),
    sa.Column("reasons", type_json, nullable=False),
    sa.Column("first_seen", Instant, nullable=False),
    sa.Column("last_seen", Instant, nullable=False),
    # The specification's: what is stored is never deleted, only marked. Nothing marks it so far: a sender that falls
    # silent may write again, one that was left is so by its status, and an account that is removed takes all with it.
    sa.Column("active", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column("keep_subscription", sa.Boolean, nullable=False, server_default=sa.false()),
    # Since when it is kept: the ways out that came later are not looked at.
    sa.Column("kept_at", Instant),
    # The way out of the newest mail that has one; all of that mail's ways, best first; and which mail that is.
    sa.Column("unsubscribe_method", sa.Text),
    sa.Column("unsubscribe_link", sa.Text),
    sa.Column("ways", type_json),
    sa.Column("way_mail_id", sa.Integer),
    sa.Column("unsubscribe_status", sa.Text, nullable=False, server_default=Status.ACTIVE),
    sa.Column("unsubscribed_at", Instant),
    sa.Column("violation_count", sa.Integer, nullable=False, server_default="0"),
    sa.Column("emails_after_unsubscribe", sa.Integer, nullable=False, server_default="0"),
    sa.Column("last_violation_at", Instant),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
    sa.UniqueConstraint("account_id", "sender_email"),
)
s = subscriptions.c
sa.Index("idx_inbox_subscriptions_last_seen", s.last_seen)

attempts = sa.Table(
    "inbox_attempts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _of("inbox_subscriptions", "subscription_id"),
    sa.Column("method_used", sa.Text, nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    # Written before anything is sent, as one that failed with an unknown outcome; changed when the answer is here.
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("response_code", sa.Integer),
    sa.Column("error_message", sa.Text),
    sa.Column("attempted_at", Instant, nullable=False),
)
t = attempts.c
sa.Index("idx_inbox_attempts_subscription_id", t.subscription_id, t.id)


def subscription(tx: Connection, subscription_id: int) -> Any:
    """One subscription as it is stored."""
    row = tx.execute(sa.select(subscriptions).where(s.id == subscription_id)).one_or_none()
    if row is None:
        raise NotFound(f"There is no subscription {subscription_id}; `gna inbox list` shows them")
    return row
