"""The outbox: the rows through which everything that leaves is handed to the sender.

Whoever has something to say posts it here, in the transaction of the change that caused it.
Only `delivery/` takes it out again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

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
# Something became of it at least once, and the row is still there: never so for a campaign's mail that goes well.
MET = (S.SENT, S.FAILED_TRANSIENT, S.FAILED_PERMANENT)


class Kind(StrEnum):
    """Why a message is sent; it decides what is kept of it afterwards."""

    CONFIRMATION = "confirmation"
    MAGIC_LINK = "magic_link"
    EMAIL_CHANGE = "email_change"
    CAMPAIGN = "campaign"
    TRIAL = "trial"
    NOTICE = "notice"


# Mails with a token in their link: one replaces the other, and nothing of it is kept once it has left.
LINKS = (Kind.CONFIRMATION, Kind.MAGIC_LINK, Kind.EMAIL_CHANGE)
# Mails whose rows go as soon as they have left: nothing shall tie a person to a campaign, and nobody asks for the rest.
FLEETING = (Kind.CAMPAIGN, Kind.TRIAL, Kind.NOTICE)


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
    # One of many that are sent together; a message of its own has none, and overtakes them.
    sa.Column("mailing_id", sa.Integer),
    # Said to those on a list: who leaves it does not want it any more.
    sa.Column("list_key", sa.Text),
    # Given up after too many tries, and not because somebody refused it.
    sa.Column("exhausted", sa.Boolean, nullable=False, server_default=sa.false()),
    # How many of the attempts ended with the death of the worker: the provider never answered them.
    sa.Column("crash_count", sa.Integer, nullable=False, server_default="0"),
)


def having(*statuses: Status) -> sa.ColumnElement[bool]:
    """Being in one of these states, written out: SQLite takes a partial index only for what it can read."""
    written: list[sa.ColumnElement[str]] = [sa.literal_column(f"'{status}'") for status in statuses]
    return messages.c.status == written[0] if len(written) == 1 else messages.c.status.in_(written)


is_new, is_to_be_tried_again = having(S.PENDING), having(S.FAILED_TRANSIENT)
is_sending, is_given_up, is_met = having(S.SENDING), having(S.FAILED_PERMANENT), having(*MET)
_met = ", ".join(f"'{status}'" for status in MET)
for _name, _columns, _status in (
    ("idx_messages_new", (messages.c.mailing_id, messages.c.due_at), "status = 'pending'"),
    ("idx_messages_retry", (messages.c.mailing_id, messages.c.due_at), "status = 'failed_transient'"),
    ("idx_messages_sending", (messages.c.claimed_by,), "status = 'sending'"),
    ("idx_messages_given_up", (messages.c.mailing_id,), "status = 'failed_permanent'"),
    ("idx_messages_met", (messages.c.status, messages.c.id), f"status IN ({_met})"),
):
    sa.Index(_name, *_columns, sqlite_where=sa.text(_status))

# What was given up and an admin may look at and send again.
dead_letters = sa.Table(
    "dead_letters",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("topic", sa.Text, nullable=False),
    sa.Column("payload", db.type_json, nullable=False),
    sa.Column("error", sa.Text, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("kind", sa.Text),
    sa.Column("message_id", sa.Text, index=True),
    sa.Column("subscriber_id", sa.Text, sa.ForeignKey("subscribers.id", ondelete="CASCADE"), index=True),
)

# Addresses that were refused for good, one row a person: the last time, and what was said.
bounces = sa.Table(
    "bounces",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("email", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column(
        "subscriber_id", sa.Text, sa.ForeignKey("subscribers.id", ondelete="CASCADE"), nullable=False, unique=True
    ),
)
sa.Index("idx_bounces_created_at", bounces.c.created_at, bounces.c.id)


@dataclass(frozen=True)
class Letter:
    """One mail to one person. `key` is the same for the same thing said twice, which is then said once."""

    kind: Kind
    key: str
    to: str
    content: Content
    slots: Mapping[str, str]
    subscriber_id: str | None = None


@db.prepared
def _keep_content(insert: Any) -> Any:
    return insert(contents).on_conflict_do_nothing()


@db.prepared
def _keep_message(insert: Any) -> Any:
    return insert(messages).on_conflict_do_nothing(index_elements=["delivery_key"])


_drop_message = sa.delete(messages).where(messages.c.delivery_key == sa.bindparam("key"))
_drop_dead = sa.delete(dead_letters).where(dead_letters.c.subscriber_id == sa.bindparam("key"))
_drop_kind = [
    sa.delete(table).where(table.c.subscriber_id == sa.bindparam("person"), table.c.kind == sa.bindparam("a_kind"))
    for table in (messages, dead_letters)
]


def post(tx: Connection, letter: Letter, *, now: datetime) -> None:
    """Put a letter into the outbox; the same `key` again changes nothing."""
    keep(tx, letter.content, now=now)
    tx.execute(
        _keep_message(tx),
        {
            "id": ids.new(),
            "delivery_key": letter.key,
            "kind": letter.kind,
            "subscriber_id": letter.subscriber_id,
            "to_email": letter.to,
            "content_hash": letter.content.hash,
            "slots": dict(letter.slots),
            "status": Status.PENDING,
            "due_at": now,
            "created_at": now,
        },
    )


def keep(tx: Connection, content: Content, *, now: datetime) -> None:
    """Store a content, once."""
    parts = {"subject": content.subject, "html": content.html, "text": content.text}
    tx.execute(_keep_content(tx), {"hash": content.hash, **parts, "created_at": now})


def pretend(tx: Connection, letter: Letter, *, now: datetime) -> None:
    """Do the work of posting a letter and undo it, so that the time it takes tells nobody that none was sent."""
    post(tx, letter, now=now)
    tx.execute(_drop_message, {"key": letter.key})
    tx.execute(_drop_dead, {"key": letter.key})


def redirect(tx: Connection, *, subscriber_id: str, to: str) -> None:
    """The person has a new address: what waits goes there, and the old one is nowhere any more."""
    m = messages.c
    theirs = m.subscriber_id == subscriber_id
    tx.execute(sa.delete(messages).where(theirs, m.kind.in_(LINKS)))
    # What was given up may quote the old address, in its error too; and it was the old one that bounced.
    for table in (dead_letters, bounces):
        tx.execute(sa.delete(table).where(table.c.subscriber_id == subscriber_id))
    tx.execute(sa.update(messages).where(theirs, m.to_email.is_not(None)).values(to_email=to, last_error=None))


def withdraw(tx: Connection, *, kind: Kind, subscriber_id: str) -> None:
    """Take back what this person was to be told, because something newer replaces it.

    Also what is being sent right now: if its worker dies, nobody sends the old news after the new.
    """
    for drop in _drop_kind:
        tx.execute(drop, {"person": subscriber_id, "a_kind": kind})


def leave_list(tx: Connection, *, subscriber_id: str, list_key: str) -> None:
    """Take back what this person was to be told because they were on a list."""
    m = messages.c
    tx.execute(
        sa.delete(messages).where(m.subscriber_id == subscriber_id, m.list_key == list_key, m.kind.in_(FLEETING))
    )


def forget(tx: Connection, kind: Kind, *, before: datetime) -> None:
    """Delete what was said, or was to be said, before this time."""
    for table in (messages, dead_letters):
        tx.execute(sa.delete(table).where(table.c.kind == kind, table.c.created_at < before))
