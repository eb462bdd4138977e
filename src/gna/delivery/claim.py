"""Taking messages out of the outbox, settling what became of them, and taking back what the dead left."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import metrics
from gna.delivery.retry import GiveUp, after_failure
from gna.jobs import workers
from gna.mail.content import Content
from gna.outbox import LINKS, WAITING, Status, contents, messages
from gna.providers.protocol import Accepted, Outcome

BATCH = 200
STUCK_AFTER = timedelta(minutes=15)


@dataclass(frozen=True)
class Claimed:
    """A message that this worker, and nobody else, is sending."""

    id: str
    kind: str
    to: str
    content: Content
    slots: dict[str, str]
    attempt: int


def claim(tx: Connection, *, worker: str, now: datetime, limit: int = BATCH) -> list[Claimed]:
    """Win the next due messages. The update counts the attempt, so a crash cannot hide one."""
    m = messages.c
    due = (
        sa.select(m.id)
        .where(m.status.in_(WAITING), m.due_at <= now)
        .order_by(m.due_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    won = tx.execute(
        sa.update(messages)
        .where(m.id.in_(due), m.status.in_(WAITING))
        .values(
            status=Status.SENDING,
            claimed_by=worker,
            attempt_count=m.attempt_count + 1,
            last_attempt_at=now,
        )
        .returning(m.id, m.kind, m.to_email, m.content_hash, m.slots, m.attempt_count)
    ).all()
    known = _contents(tx, {row.content_hash for row in won})
    return [
        Claimed(row.id, row.kind, row.to_email, known[row.content_hash], row.slots, row.attempt_count) for row in won
    ]


def settle(tx: Connection, results: Sequence[tuple[Claimed, Outcome]], *, worker: str, now: datetime) -> None:
    """Write down what the provider said of each message that is still ours; those that went well together."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for message, outcome in results:
        values = _accepted(message, outcome, now) if isinstance(outcome, Accepted) else _failed(message, outcome, now)
        groups.setdefault((message.kind, values["status"], *values), []).append({"message": message.id, **values})
    for (kind, status, *columns), rows in groups.items():
        settled = tx.execute(_settle(tuple(columns)), [{**row, "worker": worker} for row in rows])
        metrics.messages.labels(kind, status).inc(settled.rowcount)


@cache
def _settle(columns: tuple[str, ...]) -> sa.Update:
    m = messages.c
    ours = (m.id == sa.bindparam("message"), m.status == Status.SENDING, m.claimed_by == sa.bindparam("worker"))
    spent = {"attempt_count": m.attempt_count - sa.bindparam("unspent")} if "unspent" in columns else {}
    said: dict[str, Any] = {column: sa.bindparam(column) for column in columns if column != "unspent"}
    return sa.update(messages).where(*ours).values({"claimed_by": None, **said, **spent})


def give_back(tx: Connection, *, worker: str, now: datetime) -> None:
    """Undo this worker's claims; only for a worker that has handed nothing over since it made them."""
    m = messages.c
    tx.execute(
        sa.update(messages)
        .where(m.status == Status.SENDING, m.claimed_by == worker)
        .values(status=Status.FAILED_TRANSIENT, claimed_by=None, due_at=now, attempt_count=m.attempt_count - 1)
    )


def take_back(tx: Connection, *, worker: str, now: datetime) -> int:
    """Let the living send what a dead worker had claimed; says how many. Whoever asks is alive."""
    m = messages.c
    dead = sa.and_(m.claimed_by != worker, m.claimed_by.not_in(workers.alive(now=now)))
    abandoned = sa.or_(dead, m.last_attempt_at < now - STUCK_AFTER)
    return tx.execute(
        sa.update(messages)
        .where(m.status == Status.SENDING, abandoned)
        .values(
            status=Status.FAILED_TRANSIENT,
            claimed_by=None,
            due_at=now,
            last_error="The worker stopped before it knew what became of this message",
        )
    ).rowcount


def _contents(tx: Connection, hashes: set[str]) -> dict[str, Content]:
    c = contents.c
    rows = tx.execute(sa.select(c.hash, c.subject, c.html, c.text).where(c.hash.in_(hashes)))
    return {row.hash: Content(subject=row.subject, html=row.html, text=row.text) for row in rows}


def _accepted(message: Claimed, outcome: Accepted, now: datetime) -> dict[str, Any]:
    values = {
        "status": Status.SENT,
        "sent_at": now,
        "provider_message_id": outcome.provider_id,
        "last_error": None,
    }
    return values | _forgotten(message)


def _forgotten(message: Claimed) -> dict[str, Any]:
    return {"to_email": None, "content_hash": None, "slots": None} if message.kind in LINKS else {}


def _failed(message: Claimed, outcome: Any, now: datetime) -> dict[str, Any]:
    decision = after_failure(outcome, attempt=message.attempt, now=now)
    if isinstance(decision, GiveUp):
        return {"status": Status.FAILED_PERMANENT, "last_error": decision.reason} | _forgotten(message)
    values = {"status": Status.FAILED_TRANSIENT, "due_at": decision.at, "last_error": decision.reason}
    if not decision.spent:
        values["unspent"] = 1
    return values
