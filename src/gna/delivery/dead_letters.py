"""Dead letters: what was refused or given up, kept so that an admin can look at it and send it again.

A campaign's messages are not here: its delivery counts them and can be tried again as a whole.
"""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import ids
from gna.delivery.claim import Claimed
from gna.errors import NotAllowedNow, NotFound
from gna.outbox import Status, dead_letters, is_given_up, messages

SEND = "send"


def bury(tx: Connection, claimed: Claimed, reason: str, *, now: datetime) -> None:
    """Keep a message that nobody will try again by themselves."""
    row = {"id": ids.new(), "topic": SEND, "error": reason, "created_at": now, "kind": claimed.kind}
    about = {"message_id": claimed.id, "email": claimed.to, "kind": claimed.kind, "attempts": claimed.attempt}
    person = sa.select(messages.c.subscriber_id).where(messages.c.id == claimed.id).scalar_subquery()
    tx.execute(sa.insert(dead_letters).values(**row, message_id=claimed.id, subscriber_id=person, payload=about))


def replay(tx: Connection, letter_id: str, *, now: datetime) -> None:
    """Send it again, with all its attempts; whoever asks twice sends once."""
    letter = tx.execute(sa.select(dead_letters).where(dead_letters.c.id == letter_id)).one_or_none()
    if letter is None:
        raise NotFound("Dead letter not found")
    m = messages.c
    again = tx.execute(
        sa.update(messages)
        .where(m.id == letter.message_id, is_given_up)
        .values(status=Status.PENDING, attempt_count=0, due_at=now)
    )
    if again.rowcount == 0:
        raise NotAllowedNow("The message is not there any more, or is on its way")
    tx.execute(sa.delete(dead_letters).where(dead_letters.c.id == letter_id))
