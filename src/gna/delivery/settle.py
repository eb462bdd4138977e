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
from gna.delivery import bounces, dead_letters, mailings
from gna.delivery.bounces import Bounce, Person
from gna.delivery.claim import Claimed
from gna.delivery.retry import GiveUp, NotBegun, Retry, after_failure
from gna.mail.address import without_person
from gna.outbox import FLEETING, LINKS, Status, is_sending, messages
from gna.providers.protocol import Accepted, Failure, Outcome, RefusedForGood

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
    failures: list[tuple[Claimed, Failure | NotBegun]] = []
    for claimed, outcome in results:
        if isinstance(outcome, Accepted):
            accepted[claimed.kind, claimed.mailing].append((claimed, outcome))
        else:
            failures.append((claimed, outcome))
    failed = _failed(tx, failures, worker, now) if failures else Counter[int | None]()
    sent = Counter[int | None]()
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


def _failed(
    tx: Connection, failures: Sequence[tuple[Claimed, Failure | NotBegun]], worker: str, now: datetime
) -> Counter[int | None]:
    """Write down failures, and whose address was refused; says how many were given up, by mailing."""
    refused = [claimed.id for claimed, failure in failures if isinstance(failure, RefusedForGood)]
    people = bounces.people_of(tx, refused) if refused else {}
    given_up, bounced = Counter[int | None](), []
    for claimed, failure in failures:
        decision = _decided(claimed, failure, now)
        if not _written(tx, claimed, decision, worker) or isinstance(decision, Retry):
            continue
        given_up[claimed.mailing] += 1
        if claimed.kind not in FLEETING:
            dead_letters.bury(tx, claimed, decision.reason, now=now)
        if person := _bounced(claimed, failure, people.get(claimed.id)):
            said = decision.reason if claimed.kind in FLEETING else _without_person(decision.reason, claimed)
            bounced.append(Bounce(person.id, person.email, said))
    if bounced:
        bounces.note(tx, bounced, now=now)
    return given_up


def _decided(claimed: Claimed, failure: Failure | NotBegun, now: datetime) -> Retry | GiveUp:
    decision = after_failure(failure, kind=claimed.kind, attempt=claimed.attempt, now=now)
    # What was said of a campaign's mail is shown to others when the message is long gone.
    said = _without_person(decision.reason, claimed) if claimed.kind in FLEETING else decision.reason
    return replace(decision, reason=_storable(said) or "")


def _written(tx: Connection, claimed: Claimed, decision: Retry | GiveUp, worker: str) -> bool:
    """Whether the message was still ours to be written about."""
    values = _given_up(decision) if isinstance(decision, GiveUp) else _again(decision)
    ours = tx.execute(_update(tuple(values)), {"message": claimed.id, "worker": worker, **values}).rowcount > 0
    if ours:
        metrics.messages.labels(claimed.kind, values["status"]).inc()
    return ours


def _bounced(claimed: Claimed, failure: Failure | NotBegun, person: Person | None) -> Person | None:
    """The person whose address was refused; None if it is not to blame, or is not theirs, or not any more."""
    if person is None or not isinstance(failure, RefusedForGood) or not failure.bad_address:
        return None
    return person if (claimed.to or "").lower() == person.email.lower() else None


def _without_person(said: str, claimed: Claimed) -> str:
    return without_person(said, email=claimed.to or "", nickname=claimed.nickname)


def _given_up(decision: GiveUp) -> dict[str, Any]:
    return {
        "status": Status.FAILED_PERMANENT,
        "exhausted": decision.exhausted,
        "last_error": decision.reason,
    }


def _storable(text: str | None) -> str | None:
    """What a provider said, as every database can keep it: one that cannot be written would hold up all others."""
    return "".join(letter if letter.isprintable() else " " for letter in text) if text else text


def _again(decision: Retry) -> dict[str, Any]:
    values = {"status": Status.FAILED_TRANSIENT, "due_at": decision.at, "last_error": decision.reason}
    return values if decision.spent else {**values, "unspent": 1}


@cache
def _update(columns: tuple[str, ...]) -> sa.Update:
    m = messages.c
    ours = (m.id == sa.bindparam("message"), is_sending, m.claimed_by == sa.bindparam("worker"))
    spent = {"attempt_count": m.attempt_count - sa.bindparam("unspent")} if "unspent" in columns else {}
    said: dict[str, Any] = {column: sa.bindparam(column) for column in columns if column != "unspent"}
    return sa.update(messages).where(*ours).values({"claimed_by": None, **said, **spent})
