"""Attempts to leave. A row is there before anything is sent, so that no request is ever made without a trace."""

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.inbox.method import Outcome, What
from gna.inbox.table import Status, attempts, s, subscription, subscriptions, t

SUCCESS, FAILED = "success", "failed"
# What the row says until there is an answer, and for ever if the process dies meanwhile.
OPEN = "No answer was recorded"
# On top of the time that a request may take.
MARGIN = timedelta(minutes=1)


def failed(tx: Connection, subscription_id: int) -> int:
    """How often it was tried in vain."""
    tried = sa.select(sa.func.count()).where(t.subscription_id == subscription_id, t.status == FAILED)
    return tx.execute(tried.select_from(attempts)).scalar_one()


def locked(tx: Connection, subscription_id: int) -> Any:
    """The subscription, of which until the end of this transaction nobody else begins an attempt."""
    tx.execute(sa.select(s.id).where(s.id == subscription_id).with_for_update())
    return subscription(tx, subscription_id)


def is_open(tx: Connection, subscription_id: int, *, within: timedelta, now: datetime) -> bool:
    """Whether somebody else may be at it right now."""
    recent = t.attempted_at > now - within - MARGIN
    row = sa.select(t.id).where(t.subscription_id == subscription_id, t.error_message == OPEN, recent).limit(1)
    return tx.execute(row).first() is not None


def begin(tx: Connection, subscription_id: int, *, method_used: str, url: str, now: datetime) -> int:
    """Write down what is about to be done, as if it had failed and nobody knew how."""
    row = {
        "subscription_id": subscription_id,
        "method_used": method_used,
        "url": url,
        "status": FAILED,
        "outcome": What.UNKNOWN,
        "error_message": OPEN,
        "attempted_at": now,
    }
    attempt_id: int = tx.execute(sa.insert(attempts).values(row).returning(t.id)).scalar_one()
    return attempt_id


def settle(tx: Connection, attempt_id: int, subscription_id: int, outcome: Outcome, *, now: datetime) -> None:
    """Write down how it ended. Whoever was left is left, even if somebody wanted to keep it a moment ago."""
    said = {
        "status": SUCCESS if outcome.is_success else FAILED,
        "outcome": outcome.what,
        "response_code": outcome.code,
        "error_message": outcome.hint if outcome.is_success else outcome.message,
    }
    tx.execute(sa.update(attempts).where(t.id == attempt_id).values(said))
    if outcome.is_success:
        left = {"unsubscribed_at": now, "unsubscribe_status": Status.UNSUBSCRIBED, "updated_at": now}
        tx.execute(sa.update(subscriptions).where(s.id == subscription_id).values(left))
