"""Leaving: everything about the person is deleted at once."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.subscribers.suppressions import Reason, suppress
from gna.subscribers.table import subscribers

s = subscribers.c


def unsubscribe(tx: Connection, token: str, *, secret: str | None, now: datetime) -> None:
    """Delete whoever holds this token, and remember by a hash that they left; an unknown token changes nothing."""
    gone = tx.scalars(sa.delete(subscribers).where(s.unsubscribe_token == token).returning(s.email)).all()
    suppress(tx, gone, secret=secret, reason=Reason.UNSUBSCRIBED, now=now)


def remove(tx: Connection, subscriber_id: str) -> bool:
    """Delete a person for an admin, who may import them again; False if there is no such person."""
    return tx.execute(sa.delete(subscribers).where(s.id == subscriber_id)).rowcount == 1
