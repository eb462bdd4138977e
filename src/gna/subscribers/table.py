"""The subscribers: one row a person, with the tokens of the links that were mailed to them."""

import sqlalchemy as sa

from gna.db import Instant, metadata

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
    # The token of the last confirmation, so that a second click gets a friendly page and changes nothing.
    sa.Column("used_token", sa.Text),
    sa.Column("used_token_expires_at", Instant),
)
_c = subscribers.c
# Addresses are kept as typed and compared without case.
by_email = sa.Index("idx_subscribers_email", sa.func.lower(_c.email), unique=True)
sa.Index("idx_subscribers_unsubscribe_token", _c.unsubscribe_token, unique=True)
sa.Index("idx_subscribers_confirmation_token", _c.confirmation_token)
sa.Index("idx_subscribers_magic_link_token", _c.magic_link_token)
sa.Index("idx_subscribers_used_token", _c.used_token)
