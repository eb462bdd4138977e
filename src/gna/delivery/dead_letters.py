"""Dead letters: what was refused or given up, kept so that an admin can look at it and send it again.

A campaign's messages are not here: its delivery counts them and can be tried again as a whole.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock, ids
from gna.delivery.claim import Claimed
from gna.errors import NotAllowedNow, NotFound
from gna.mail.content import filled, one_line, text_pieces
from gna.outbox import Status, contents, dead_letters, is_given_up, messages

SEND = "send"
UNKNOWN = "Dead letter not found"
# What runs of articles will tell of theirs.
OF_RUNS = dict.fromkeys(("campaign_tag", "send_batch_id"))

d, m = dead_letters.c, messages.c
SHOWN = (d.id, d.topic, d.payload, d.error, d.created_at)


def bury(tx: Connection, claimed: Claimed, reason: str, *, now: datetime) -> None:
    """Keep a message that nobody will try again by themselves."""
    row = {"id": ids.new(), "topic": SEND, "error": reason, "created_at": now, "kind": claimed.kind}
    about = {"message_id": claimed.id, "email": claimed.to, "kind": claimed.kind, "attempts": claimed.attempt}
    person = sa.select(m.subscriber_id).where(m.id == claimed.id).scalar_subquery()
    tx.execute(sa.insert(dead_letters).values(**row, message_id=claimed.id, subscriber_id=person, payload=about))


def listed(tx: Connection, *, page: int, per_page: int) -> tuple[list[dict[str, Any]], int]:
    """One page of dead letters, newest first, and how many there are."""
    # The ids are in the order of time.
    some = sa.select(*SHOWN).order_by(d.id.desc()).limit(per_page).offset((page - 1) * per_page)
    return [_shown(row) for row in tx.execute(some)], count(tx)


def count(tx: Connection) -> int:
    """How many there are."""
    return tx.scalar(sa.select(sa.func.count()).select_from(dead_letters)) or 0


def show(tx: Connection, letter_id: str) -> dict[str, Any]:
    """One dead letter, with the subject of its mail, and whether that is still there to be sent again."""
    its = sa.outerjoin(dead_letters, messages, m.id == d.message_id).outerjoin(contents)
    columns = (*SHOWN, contents.c.subject, m.slots, m.status)
    row = tx.execute(sa.select(*columns).select_from(its).where(d.id == letter_id)).one_or_none()
    if row is None:
        raise NotFound(UNKNOWN)
    subject = row.subject and one_line(filled(text_pieces(row.subject), row.slots))
    return {**_shown(row), "subject": subject, "replayable": row.status == Status.FAILED_PERMANENT}


def replay(tx: Connection, letter_id: str, *, now: datetime) -> None:
    """Send it again, with all its attempts; whoever asks twice sends once."""
    if tx.execute(sa.select(d.id).where(d.id == letter_id)).first() is None:
        raise NotFound(UNKNOWN)
    replay_all(tx, [letter_id], now=now)


def replay_all(tx: Connection, letter_ids: Collection[str], *, now: datetime) -> int:
    """Send again those of them that are still there; says how many."""
    theirs = sa.select(d.message_id).where(d.id.in_(letter_ids))
    again = tx.scalars(
        sa.update(messages)
        .where(m.id.in_(theirs), is_given_up)
        .values(status=Status.PENDING, attempt_count=0, crash_count=0, exhausted=False, due_at=now)
        .returning(m.id)
    ).all()
    if not again:
        raise NotAllowedNow("The message is not there any more, or is on its way")
    tx.execute(sa.delete(dead_letters).where(d.message_id.in_(again)))
    return len(again)


def drop(tx: Connection, letter_id: str) -> None:
    """Throw it away together with its message; nobody is told what it said."""
    # The message first: whoever leaves, or sends it again, takes the two in this order.
    its = sa.select(d.message_id).where(d.id == letter_id).scalar_subquery()
    gone = tx.execute(sa.delete(messages).where(m.id == its, is_given_up)).rowcount
    gone += tx.execute(sa.delete(dead_letters).where(d.id == letter_id)).rowcount
    if not gone:
        raise NotFound(UNKNOWN)


def _shown(row: Any) -> dict[str, Any]:
    return {
        "id": row.id,
        "topic": row.topic,
        "payload": {**OF_RUNS, **row.payload},
        "error": row.error,
        "created_at": clock.iso(row.created_at),
    }
