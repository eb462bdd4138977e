"""The outbox: the rows through which everything that leaves is handed to the sender.

Whoever has something to say posts it here, in the transaction of the change that caused it.
Only `delivery/` takes it out again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db, ids
from gna.db import Instant, metadata
from gna.mail.content import Content


class Status(StrEnum):
    """Where a message is between us and its reader."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    FAILED_TRANSIENT = "failed_transient"
    FAILED_PERMANENT = "failed_permanent"


S = Status
MOVES = {
    S.PENDING: {S.SENDING},
    S.SENDING: {S.SENT, S.FAILED_TRANSIENT, S.FAILED_PERMANENT},
    S.FAILED_TRANSIENT: {S.SENDING},
}
WAITING = (S.PENDING, S.FAILED_TRANSIENT)


class Kind(StrEnum):
    """Why a message is sent; it decides what is kept of it afterwards."""

    CONFIRMATION = "confirmation"


contents = sa.Table(
    "contents",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("html", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
)

messages = sa.Table(
    "messages",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("delivery_key", sa.Text, nullable=False, unique=True),
    sa.Column("kind", sa.Text, nullable=False),
    # When a person is deleted, what was still to be said to them goes too.
    sa.Column("subscriber_id", sa.Text, sa.ForeignKey("subscribers.id", ondelete="CASCADE"), index=True),
    sa.Column("to_email", sa.Text),
    sa.Column("content_hash", sa.Text, sa.ForeignKey("contents.hash")),
    sa.Column("slots", db.type_json),
    sa.Column("status", sa.Text, nullable=False, server_default=Status.PENDING),
    sa.Column("due_at", Instant, nullable=False),
    sa.Column("attempt_count", sa.Integer, nullable=False, server_default="0"),
    sa.Column("last_attempt_at", Instant),
    sa.Column("last_error", sa.Text),
    sa.Column("claimed_by", sa.Text),
    sa.Column("provider_message_id", sa.Text),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("sent_at", Instant),
)
_waiting = sa.text("status IN ('pending', 'failed_transient')")
_sending = sa.text("status = 'sending'")
sa.Index("idx_messages_due", messages.c.due_at, sqlite_where=_waiting, postgresql_where=_waiting)
sa.Index("idx_messages_sending", messages.c.claimed_by, sqlite_where=_sending, postgresql_where=_sending)


@dataclass(frozen=True)
class Letter:
    """One mail to one person. `key` is the same for the same thing said twice, which is then said once."""

    kind: Kind
    key: str
    to: str
    content: Content
    slots: Mapping[str, str]
    subscriber_id: str | None = None


def post(tx: Connection, letter: Letter, *, now: datetime) -> None:
    """Put a letter into the outbox; the same `key` again changes nothing."""
    content = letter.content
    tx.execute(
        db.insert(tx, contents)
        .values(hash=content.hash, subject=content.subject, html=content.html, text=content.text, created_at=now)
        .on_conflict_do_nothing()
    )
    tx.execute(
        db.insert(tx, messages)
        .values(
            id=ids.new(),
            delivery_key=letter.key,
            kind=letter.kind,
            subscriber_id=letter.subscriber_id,
            to_email=letter.to,
            content_hash=content.hash,
            slots=dict(letter.slots),
            status=Status.PENDING,
            due_at=now,
            created_at=now,
        )
        .on_conflict_do_nothing(index_elements=["delivery_key"])
    )


def withdraw(tx: Connection, *, kind: Kind, subscriber_id: str) -> None:
    """Take back what this person was to be told, because something newer replaces it.

    Also what is being sent right now: if its worker dies, nobody sends the old news after the new.
    """
    m = messages.c
    tx.execute(sa.delete(messages).where(m.subscriber_id == subscriber_id, m.kind == kind))
