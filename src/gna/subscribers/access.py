"""Everything that is kept of one person, for whoever asks what we know of them."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock
from gna.outbox import bounces, dead_letters, messages
from gna.subscribers import directory
from gna.subscribers.table import subscribers

MESSAGES_MAX = 1000


def everything(tx: Connection, subscriber_id: str, *, now: datetime) -> dict[str, Any]:
    """The person, an address that they asked for, and mails that are kept, refused or given up; tokens are ours."""
    s, m, b, d = subscribers.c, messages.c, bounces.c, dead_letters.c
    person = directory.get(tx, subscriber_id).shown()
    asked_for = tx.scalar(sa.select(s.pending_email).where(s.id == subscriber_id))
    columns = (m.kind, m.to_email, m.status, m.created_at, m.sent_at, m.last_error)
    mails = sa.select(*columns).where(m.subscriber_id == subscriber_id).order_by(m.created_at).limit(MESSAGES_MAX)
    refusals = sa.select(b.email, b.reason, b.created_at).where(b.subscriber_id == subscriber_id)
    given_up = sa.select(d.kind, d.payload, d.error, d.created_at).where(d.subscriber_id == subscriber_id)
    return {
        **person,
        "pending_email": asked_for,
        "messages": [_shown(row) for row in tx.execute(mails)],
        "bounces": [_shown(row) for row in tx.execute(refusals)],
        "dead_letters": [_shown(row) for row in tx.execute(given_up.order_by(d.created_at).limit(MESSAGES_MAX))],
        "as_of": clock.iso(now),
    }


def _shown(row: Any) -> dict[str, Any]:
    return clock.in_json(row._asdict())
