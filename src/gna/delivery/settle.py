"""Writing down what became of messages; those that went well together."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import metrics
from gna.delivery import dead_letters, mailings
from gna.delivery.claim import Claimed
from gna.delivery.retry import GiveUp, NotBegun, Retry, after_failure
from gna.mail.address import without_person
from gna.outbox import FLEETING, LINKS, Status, is_sending, messages
from gna.providers.protocol import Accepted, Failure, Outcome

Result = tuple[Claimed, Outcome | NotBegun]
FORGOTTEN = {"to_email": None, "content_hash": None, "slots": None}

# With its plus, SQLite does not look for all that the worker has claimed.
DELETE = {
    dialect: sa.text(f"DELETE FROM messages WHERE {ids} AND status = 'sending' AND {mine} = :worker")  # noqa: S608
    for dialect, ids, mine in (
        ("sqlite", "id IN (SELECT value FROM json_each(:ids))", "+claimed_by"),
        ("postgresql", "id = ANY (:ids)", "claimed_by"),
    )
}


def settle(
    tx: Connection, results: Sequence[Result], *, worker: str, doubtful: Collection[str] = (), now: datetime
) -> None:
    """Write down what the provider said of each message that is still ours.

    A campaign's message that is gone has left with its person, who got it all the same; `doubtful` are those that
    another worker, or a transaction of which we never heard the end, may have written down already.
    """
    accepted: defaultdict[tuple[str, int | None], list[tuple[Claimed, Accepted]]] = defaultdict(list)
    sent, failed = Counter[int | None](), Counter[int | None]()
    for claimed, outcome in results:
        if isinstance(outcome, Accepted):
            accepted[claimed.kind, claimed.mailing].append((claimed, outcome))
        elif _failed(tx, claimed, outcome, worker, now):
            failed[claimed.mailing] += 1
    for (kind, mailing), group in accepted.items():
        count = _gone(tx, group, worker, doubtful) if kind in FLEETING else _sent(tx, kind, group, worker, now)
        metrics.messages.labels(kind, Status.SENT).inc(count)
        sent[mailing] += count
    # Last, and always in the same order: workers wait for each other here.
    for mailing in sorted(key for key in sent | failed if key is not None):
        mailings.count(tx, mailing, sent=sent[mailing], failed=failed[mailing])


def _gone(tx: Connection, group: Sequence[tuple[Claimed, Accepted]], worker: str, doubtful: Collection[str]) -> int:
    """Delete the rows of a campaign's mails that have left; says how many that were."""
    ids = [claimed.id for claimed, _ in group]
    unsure = [id for id in ids if id in doubtful] if doubtful else []
    sure = [id for id in ids if id not in doubtful] if unsure else ids
    count, deleted = _delete(tx, unsure, worker) if unsure else 0, _delete(tx, sure, worker)
    if deleted < len(sure):
        others = sa.select(sa.func.count()).select_from(messages).where(messages.c.id.in_(sure))
        deleted = len(sure) - (tx.scalar(others) or 0)
    return count + deleted


def _delete(tx: Connection, ids: list[str], worker: str) -> int:
    values = {"ids": json.dumps(ids) if tx.dialect.name == "sqlite" else ids, "worker": worker}
    return tx.execute(DELETE[tx.dialect.name], values).rowcount


def _sent(tx: Connection, kind: str, group: Sequence[tuple[Claimed, Accepted]], worker: str, now: datetime) -> int:
    values: dict[str, Any] = {"status": Status.SENT, "sent_at": now, "last_error": None}
    values |= FORGOTTEN if kind in LINKS else {}
    rows = [
        {"message": claimed.id, "worker": worker, **values, "provider_message_id": _storable(accepted.provider_id)}
        for claimed, accepted in group
    ]
    return tx.execute(_update((*values, "provider_message_id")), rows).rowcount


def _failed(tx: Connection, claimed: Claimed, failure: Failure | NotBegun, worker: str, now: datetime) -> bool:
    """Write down a failure; whether it was given up."""
    decision = after_failure(failure, kind=claimed.kind, attempt=claimed.attempt, now=now)
    if claimed.kind in FLEETING:
        # Its words are shown to others when the message is long gone.
        said = without_person(decision.reason, email=claimed.to or "", nickname=claimed.nickname)
        decision = replace(decision, reason=said)
    values = _given_up(decision) if isinstance(decision, GiveUp) else _again(decision)
    ours = tx.execute(_update(tuple(values)), {"message": claimed.id, "worker": worker, **values}).rowcount
    if not ours:
        return False
    metrics.messages.labels(claimed.kind, values["status"]).inc()
    if isinstance(decision, GiveUp) and claimed.kind not in FLEETING:
        dead_letters.bury(tx, claimed, _storable(decision.reason) or "", now=now)
    return isinstance(decision, GiveUp)


def _given_up(decision: GiveUp) -> dict[str, Any]:
    return {
        "status": Status.FAILED_PERMANENT,
        "exhausted": decision.exhausted,
        "last_error": _storable(decision.reason),
    }


def _storable(text: str | None) -> str | None:
    """What a provider said, as every database can keep it: one that cannot be written would hold up all others."""
    return "".join(letter if letter.isprintable() else " " for letter in text) if text else text


def _again(decision: Retry) -> dict[str, Any]:
    values = {"status": Status.FAILED_TRANSIENT, "due_at": decision.at, "last_error": _storable(decision.reason)}
    return values if decision.spent else {**values, "unspent": 1}


@cache
def _update(columns: tuple[str, ...]) -> sa.Update:
    m = messages.c
    ours = (m.id == sa.bindparam("message"), is_sending, m.claimed_by == sa.bindparam("worker"))
    spent = {"attempt_count": m.attempt_count - sa.bindparam("unspent")} if "unspent" in columns else {}
    said: dict[str, Any] = {column: sa.bindparam(column) for column in columns if column != "unspent"}
    return sa.update(messages).where(*ours).values({"claimed_by": None, **said, **spent})
