"""Forgetting in time: what nobody confirmed and what has expired."""

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import outbox
from gna.outbox import Kind
from gna.subscribers import confirmation_limit
from gna.subscribers.profile import ENTER_WITHIN
from gna.subscribers.signup import CONFIRM_WITHIN
from gna.subscribers.table import subscribers, used_tokens

# A test mail that could not be sent by then is not waited for any more, nor is a word to the admin.
TRIALS_KEPT = timedelta(days=1)
NOTICES_KEPT = timedelta(days=7)


def clean_up(tx: Connection, *, now: datetime) -> int:
    """Delete people who never confirmed and clear expired tokens; says how many people went."""
    s = subscribers.c
    gone = tx.execute(sa.delete(subscribers).where(s.activated_at.is_(None), s.confirmation_expires_at < now)).rowcount
    _clear(tx, s.confirmation_expires_at < now, "confirmation_token", "confirmation_expires_at", "pending_email")
    _clear(tx, s.magic_link_expires_at < now, "magic_link_token", "magic_link_expires_at")
    confirmation_limit.forget(tx, now=now)
    tx.execute(sa.delete(used_tokens).where(used_tokens.c.expires_at < now))
    # A link that could not be mailed in its time is dead, and the address it was for may be a stranger's.
    outbox.forget(tx, Kind.MAGIC_LINK, before=now - ENTER_WITHIN)
    outbox.forget(tx, Kind.EMAIL_CHANGE, before=now - CONFIRM_WITHIN)
    outbox.forget(tx, Kind.CONFIRMATION, before=now - CONFIRM_WITHIN)
    outbox.forget(tx, Kind.TRIAL, before=now - TRIALS_KEPT)
    outbox.forget(tx, Kind.NOTICE, before=now - NOTICES_KEPT)
    return gone


def _clear(tx: Connection, expired: sa.ColumnElement[bool], *columns: str) -> None:
    tx.execute(sa.update(subscribers).where(expired).values(dict.fromkeys(columns)))
