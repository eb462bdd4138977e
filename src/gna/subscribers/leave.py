"""Leaving: everything about the person is deleted at once."""

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import outbox
from gna.subscribers import lists
from gna.subscribers.suppressions import Reason, suppress
from gna.subscribers.table import subscribers

s = subscribers.c


def unsubscribe(tx: Connection, token: str, *, secret: str | None, now: datetime) -> None:
    """Delete whoever holds this token, and remember by a hash that they left; an unknown token changes nothing."""
    gone = tx.scalars(sa.delete(subscribers).where(s.unsubscribe_token == token).returning(s.email)).all()
    for email in gone:
        _forget_elsewhere(tx, email)
    suppress(tx, gone, secret=secret, reason=Reason.UNSUBSCRIBED, now=now)


def remove(tx: Connection, people: Collection[str]) -> int:
    """Delete people, given by their ids, for an admin, who may import them again; says how many there were."""
    # Nobody waits in a circle: who else locks several, such as those who bounced, takes them in the same order.
    present = lists.locked(tx, people)
    gone = tx.scalars(sa.delete(subscribers).where(s.id.in_(present)).returning(s.email)).all()
    for email in gone:
        _forget_elsewhere(tx, email)
    return len(gone)


def _forget_elsewhere(tx: Connection, email: str) -> None:
    """Somebody else may have asked to change to this address, and it would stay in their row."""
    asked = sa.select(s.id).where(s.pending_email.is_not(None), sa.func.lower(s.pending_email) == email.lower())
    for person in tx.scalars(asked).all():
        outbox.withdraw(tx, kind=outbox.Kind.EMAIL_CHANGE, subscriber_id=person)
        change = sa.update(subscribers).where(s.id == person)
        tx.execute(change.values(pending_email=None, confirmation_token=None, confirmation_expires_at=None))
