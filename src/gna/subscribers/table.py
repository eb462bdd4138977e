"""The tables of people: subscribers, the lists they are on, and who must not be imported."""

import re

import sqlalchemy as sa

from gna.db import Instant, metadata, type_json

# The list of everybody who was never put on another one.
GENERAL = "general"

# What every database can keep as text: neither NUL nor half of a surrogate pair.
STORABLE = re.compile(r"[^\x00\ud800-\udfff]*")

# One row a person, with the tokens of the links that were mailed to them.
subscribers = sa.Table(
    "subscribers",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("email", sa.Text, nullable=False),
    sa.Column("nickname", sa.Text),
    sa.Column("unsubscribe_token", sa.Text, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("activated_at", Instant),
    sa.Column("confirmation_token", sa.Text),
    sa.Column("confirmation_expires_at", Instant),
    sa.Column("magic_link_token", sa.Text),
    sa.Column("magic_link_expires_at", Instant),
    sa.Column("pending_email", sa.Text),
    # Where the person lives, as Open Civic Data ids, and whatever else the publisher knows of them.
    sa.Column("ocd_ids", type_json, nullable=False, server_default="[]"),
    sa.Column("attributes", type_json, nullable=False, server_default="{}"),
    # Their lists, as filters read them: `;general;weekly;`, and nothing for the many who were never put on one.
    # `memberships` is the truth; the database itself keeps this after it, as `filing` has told it.
    sa.Column("listed", sa.Text, nullable=False, server_default="", system=True),
)
_c = subscribers.c
# Addresses are kept as typed and compared without case.
by_email = sa.Index("idx_subscribers_email", sa.func.lower(_c.email), unique=True)
sa.Index("idx_subscribers_unsubscribe_token", _c.unsubscribe_token, unique=True)
sa.Index("idx_subscribers_confirmation_token", _c.confirmation_token)
sa.Index("idx_subscribers_magic_link_token", _c.magic_link_token)
# Few ask for another address, and those who delete theirs must not wait until everybody was looked at.
_asked = _c.pending_email.is_not(None)
sa.Index("idx_subscribers_pending_email", sa.func.lower(_c.pending_email), sqlite_where=_asked)

# Confirmation tokens that did their work, for as long as they would have worked: a second click gets a friendly page.
used_tokens = sa.Table(
    "used_tokens",
    metadata,
    sa.Column("token", sa.Text, primary_key=True),
    sa.Column(
        "subscriber_id", sa.Text, sa.ForeignKey("subscribers.id", ondelete="CASCADE"), nullable=False, index=True
    ),
    sa.Column("expires_at", Instant, nullable=False),
)

# Lists that somebody was put on or has left. A person without any row is on `general`, so most people need none.
memberships = sa.Table(
    "memberships",
    metadata,
    sa.Column("subscriber_id", sa.Text, sa.ForeignKey("subscribers.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("list_key", sa.Text, primary_key=True),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("unsubscribed_at", Instant),
)
sa.Index("idx_memberships_list_key", memberships.c.list_key, memberships.c.unsubscribed_at)

# Who must not be brought back by an import: a keyed hash of the address, never the address.
suppressions = sa.Table(
    "suppressions",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
)
_left = sa.text("reason = 'unsubscribed'")
sa.Index("idx_suppressions_left", suppressions.c.created_at, sqlite_where=_left)

# How often a confirmation mail to an address was asked for in the last hour: again a keyed hash of the address.
confirmation_requests = sa.Table(
    "confirmation_requests",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    # At most five moments in ISO 8601, the oldest first.
    sa.Column("times", type_json, nullable=False),
    sa.Column("last_at", Instant, nullable=False),
)

# The key of those hashes while SECRET_KEY is not set; made at random when it is first needed.
keys = sa.Table(
    "keys",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
)
