"""Subscriptions: one for each sender of a mailbox; whoever wants one keeps it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock
from gna.errors import NotFound
from gna.inbox import counting, doubts, history
from gna.inbox.detect import ADVICE, Kind
from gna.inbox.table import Status, a, accounts, attempts, m, mails, s, subscription, subscriptions, t
from gna.inbox.ways import Way

SHOWN = (
    "id",
    "sender_email",
    "sender_name",
    "sender_domain",
    "list_id",
    "kind",
    "email_count",
    "confidence",
    "reasons",
    "first_seen",
    "last_seen",
    "active",
    "keep_subscription",
    "kept_at",
    "unsubscribe_status",
    "unsubscribe_method",
    "unsubscribe_link",
    "unsubscribed_at",
    "violation_count",
    "emails_after_unsubscribe",
    "last_violation_at",
)


@dataclass(frozen=True)
class Wanted:
    """A choice of subscriptions; all of it must hold, and nothing at all means every one."""

    account: int | None = None
    kind: str | None = None
    kept: bool | None = None
    status: str | None = None
    q: str = ""
    # Only those that were left and went on.
    violating: bool = False
    newest_first: bool = False

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        """What a list is narrowed to."""
        asked: dict[str, Any] = {
            "account_id": self.account,
            "kind": self.kind,
            "keep_subscription": self.kept,
            "unsubscribe_status": self.status,
        }
        wanted: list[sa.ColumnElement[bool]] = [s[name] == value for name, value in asked.items() if value is not None]
        if self.violating:
            wanted.append(s.violation_count > 0)
        if text := self.q.strip().lower():
            looked_at = (s.sender_email, s.sender_name, s.list_id)
            wanted.append(sa.or_(*(sa.func.lower(column).contains(text, autoescape=True) for column in looked_at)))
        return wanted

    def order(self) -> tuple[sa.ColumnElement[Any], ...]:
        """The surest first, or the newest."""
        return (s.last_seen.desc(), s.id) if self.newest_first else (s.confidence.desc(), s.sender_email, s.id)


EVERY_ONE = Wanted()


def listed(tx: Connection, wanted: Wanted = EVERY_ONE, *, page: int, per_page: int) -> tuple[list[dict[str, Any]], int]:
    """One page of subscriptions, and how many there are."""
    which = wanted.conditions()
    total = tx.scalar(sa.select(sa.func.count()).select_from(subscriptions).where(*which)) or 0
    some = _with_account().where(*which).order_by(*wanted.order())
    return [shown(row) for row in tx.execute(some.limit(per_page).offset((page - 1) * per_page))], total


def find_many(tx: Connection, ids: Sequence[int]) -> list[dict[str, Any]]:
    """These subscriptions in this order; NotFound names the first that is none."""
    found = {row.id: shown(row) for row in tx.execute(_with_account().where(s.id.in_(ids)))}
    for subscription_id in ids:
        if subscription_id not in found:
            raise NotFound(f"There is no subscription {subscription_id}; `gna inbox list` shows them")
    return [found[subscription_id] for subscription_id in ids]


def show(tx: Connection, subscription_id: int, *, allowed: Collection[str] | None = None) -> dict[str, Any]:
    """One subscription with its ways out, what was offered before, and what was tried.

    The ways are judged as they were when they were found, or anew where `allowed` hosts are spared; the one that would
    be gone has every warning.
    """
    row = subscription(tx, subscription_id)
    [found] = find_many(tx, [subscription_id])
    tried = tx.execute(sa.select(attempts).where(t.subscription_id == row.id).order_by(t.id.desc()))
    seal = tx.scalar(sa.select(m.seal).where(m.id == row.way_mail_id)) if row.way_mail_id else None
    ways = [_judged(Way.restored(way), allowed) for way in row.ways or ()]
    return found | {
        "advice": ADVICE[Kind(row.kind)],
        "doubts": doubts.about(row),
        "methods": [doubts.with_seal(way, seal).shown() for way in ways],
        "seal": seal,
        "history": history.of(tx, row, allowed=allowed or ()),
        "attempts": [clock.in_json(attempt._asdict()) for attempt in tried],
    }


def _judged(way: Way, allowed: Collection[str] | None) -> Way:
    from gna.inbox import methods

    return way if allowed is None else methods.rejudged(way, allowed=allowed)


def keep(tx: Connection, ids: Sequence[int], *, now: datetime) -> int:
    """Protect these from being left; says how many were not kept before."""
    _lock(tx, ids)
    kept = sa.update(subscriptions).where(s.id.in_(ids), ~s.keep_subscription)
    return tx.execute(kept.values(keep_subscription=True, kept_at=now, updated_at=now)).rowcount


def unkeep(tx: Connection, ids: Sequence[int], *, now: datetime, allowed: Collection[str] = ()) -> int:
    """Protect these no more: the newest way out counts again, at once. Says how many were kept before."""
    _lock(tx, ids)
    theirs = sa.select(s.account_id, s.sender_email).where(s.id.in_(ids), s.keep_subscription)
    frozen = tx.execute(theirs.order_by(s.account_id, s.sender_email)).all()
    thawed = sa.update(subscriptions).where(s.id.in_(ids), s.keep_subscription)
    tx.execute(thawed.values(keep_subscription=False, kept_at=None, updated_at=now))
    for account_id, some in groupby(frozen, key=lambda row: row.account_id):
        counting.count(tx, account_id, [row.sender_email for row in some], now=now, allowed=allowed)
    return len(frozen)


def _lock(tx: Connection, ids: Sequence[int]) -> None:
    """Hold these until the end of the transaction, in the one order in which everybody takes them."""
    tx.execute(sa.select(s.id).where(s.id.in_(ids)).order_by(s.id).with_for_update())
    find_many(tx, ids)


def stats(tx: Connection) -> dict[str, int]:
    """How much there is of everything; violations are the subscriptions that were left and went on."""

    def how_many(table: sa.Table, *wanted: sa.ColumnElement[bool]) -> int:
        return tx.scalar(sa.select(sa.func.count()).select_from(table).where(*wanted)) or 0

    return {
        "accounts": how_many(accounts),
        "messages": how_many(mails),
        "subscriptions": how_many(subscriptions),
        "kept": how_many(subscriptions, s.keep_subscription),
        "unsubscribed": how_many(subscriptions, s.unsubscribe_status == Status.UNSUBSCRIBED),
        "violations": how_many(subscriptions, s.violation_count > 0),
    }


def shown(row: Any) -> dict[str, Any]:
    """A subscription as JSON has it; a row has the address of its account too."""
    return clock.in_json({"account": row.account} | {name: getattr(row, name) for name in SHOWN})


def _with_account() -> sa.Select[Any]:
    return sa.select(subscriptions, a.email.label("account")).join(accounts)
