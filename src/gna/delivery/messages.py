"""The messages of the outbox as an admin sees them: what waits, what is on its way, what was given up.

A campaign's message is here until it has left. A confirmation or another link stays for a day or less, without its
address and its words once it was sent.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock
from gna.errors import Refused
from gna.outbox import MET, Status, having, is_met, is_new, messages
from gna.subscribers.table import subscribers

# So many of the newest are shown and counted: to count a million takes a second, and nobody turns so many pages.
MOST = 10_000
# What PostgreSQL believes lags behind a campaign that was made a moment ago; it would read a million to show a few.
WALK = sa.text("; ".join(f"SET LOCAL enable_{way} = off" for way in ("seqscan", "bitmapscan", "mergejoin", "hashjoin")))
# What runs of articles and notifications will tell of theirs.
OF_RUNS = dict.fromkeys(("campaign_tag", "send_batch_id", "notification_id", "period_key"))

m, s = messages.c, subscribers.c
# A campaign's message has no address of its own; every other has, or had.
ADDRESS = sa.case((m.mailing_id.is_not(None), sa.func.coalesce(m.to_email, s.email)), else_=m.to_email)
SHOWN = (m.id, ADDRESS.label("to_email"), m.status, m.attempt_count, m.last_error, m.provider_message_id, m.sent_at)


def parse_status(text: str) -> Status | None:
    """A state to look for; None for all."""
    if not text:
        return None
    if text not in [*Status]:
        raise Refused(f"status must be one of {', '.join(Status)}")
    return Status(text)


def listed(
    tx: Connection, *, status: Status | None, run: str, page: int, per_page: int
) -> tuple[list[dict[str, Any]], int]:
    """One page of messages, newest first, and how many there are, up to MOST."""
    if run:
        return [], 0  # nothing belongs to a run yet
    if tx.dialect.name == "postgresql":
        tx.execute(WALK)
    offset = (page - 1) * per_page
    ids = tx.scalars(_newest(tx, status).limit(per_page).offset(offset)).all() if offset < MOST else []
    # Found first, so that the other columns are read of one page only.
    its = sa.outerjoin(messages, subscribers, s.id == m.subscriber_id)
    rows = tx.execute(sa.select(*SHOWN).select_from(its).where(m.id.in_(ids)).order_by(m.id.desc()))
    return [_shown(row) for row in rows], _count(tx, _being(status))


def _newest(tx: Connection, status: Status | None) -> sa.Select[tuple[str]]:
    """The ids of those in this state, which are in the order of time.

    They are walked from the newest on, unless few are in this state: among a million others those are found by an
    index of their own, and sorted. What is made an expression is what a database must not choose the other way by.
    """
    if status is Status.SENDING or (status is Status.PENDING and _count(tx, is_new) < MOST):
        return sa.select(m.id).where(_being(status)).order_by((m.id + "").desc())
    being = m.status + "" == status if status is Status.PENDING else _being(status)
    return sa.select(m.id).where(being).order_by(m.id.desc())


def _being(status: Status | None) -> sa.ColumnElement[bool]:
    """In this state, and said so that SQLite finds the index of such states."""
    if status is None:
        return sa.true()
    return sa.and_(having(status), is_met) if status in MET else having(status)


def _count(tx: Connection, condition: sa.ColumnElement[bool]) -> int:
    first = sa.select(sa.literal(1)).select_from(messages).where(condition).limit(MOST).subquery()
    return tx.scalar(sa.select(sa.func.count()).select_from(first)) or 0


def _shown(row: Any) -> dict[str, Any]:
    return {**row._mapping, "sent_at": row.sent_at and clock.iso(row.sent_at), **OF_RUNS}
