"""Subscriptions: one for each sender of a mailbox, added up from its mails; whoever wants one keeps it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock
from gna.errors import NotFound
from gna.inbox import history, offered, senders, violations
from gna.inbox.detect import ADVICE, Kind
from gna.inbox.offered import Offered
from gna.inbox.senders import Sender
from gna.inbox.table import Status, a, accounts, attempts, m, mails, s, subscription, subscriptions, t
from gna.inbox.ways import Way

# So many uncounted mails are looked at, and so many of their senders written, at a time: memory stays the same.
ROUND, CHUNK = 50_000, 500
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


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What was found in the mails that were not counted before."""

    new: int = 0
    violations: int = 0

    def __add__(self, other: "Refreshed") -> "Refreshed":
        return Refreshed(self.new + other.new, self.violations + other.violations)


def refresh(tx: Connection, account_id: int, *, now: datetime, allowed: Collection[str] = ()) -> Refreshed:
    """Count the mails that are not counted yet; a second time changes nothing. `allowed` hosts may be private."""
    # Whoever else counts the same mailbox waits here.
    counted_to = tx.scalar(sa.select(a.counted_to).where(a.id == account_id).with_for_update())
    if counted_to is None:
        raise NotFound("There is no such account; `gna inbox account list` shows them")
    newest = tx.scalar(sa.select(m.id).where(m.account_id == account_id).order_by(m.id.desc()).limit(1)) or 0
    found = Refreshed()
    for start in range(counted_to, newest, ROUND):
        for emails in _senders(tx, account_id, start):
            found += _count(tx, account_id, emails, now=now, allowed=allowed)
    tx.execute(sa.update(accounts).where(a.id == account_id).values(counted_to=max(counted_to, newest)))
    return found


def _senders(tx: Connection, account_id: int, start: int) -> Iterator[Sequence[str]]:
    """The senders of one round of mails, some at a time."""
    these = sa.select(m.sender_email).where(m.account_id == account_id, m.id > start, m.id <= start + ROUND)
    emails = tx.scalars(these.distinct().order_by(m.sender_email)).all()
    yield from (emails[first : first + CHUNK] for first in range(0, len(emails), CHUNK))


def _count(
    tx: Connection, account_id: int, emails: Sequence[str], *, now: datetime, allowed: Collection[str]
) -> Refreshed:
    """Bring the subscriptions of these senders to what their mails say now."""
    theirs = sa.select(subscriptions).where(s.account_id == account_id, s.sender_email.in_(emails))
    known = {row.sender_email: row for row in tx.execute(theirs)}
    found = list(senders.added_up(tx, account_id, emails))
    is_open = [sender for sender in found if not (row := known.get(sender.email)) or not row.keep_subscription]
    ways = _ways(tx, account_id, is_open, allowed)
    records = [_record(sender, known.get(sender.email), ways.get(sender.email)) for sender in found]
    new = [record for record in records if record["sender_email"] not in known]
    if new:
        same = {"account_id": account_id, "created_at": now, "updated_at": now}
        tx.execute(sa.insert(subscriptions), [record | same for record in new])
    _change(tx, [record for record in records if _differs(record, known.get(record["sender_email"]))], known, now=now)
    has_left = any(row.unsubscribe_status == Status.UNSUBSCRIBED for row in known.values())
    return Refreshed(len(new), violations.count(tx, account_id, emails) if has_left else 0)


def _ways(tx: Connection, account_id: int, found: Sequence[Sender], allowed: Collection[str]) -> dict[str, Offered]:
    """What the newest mail of each sender offers that offers anything."""
    newest = [sender.way_mail_id for sender in found if sender.way_mail_id]
    some = sa.select(m.id, m.sender_email, m.list_unsubscribe, m.list_unsubscribe_post, m.body_ways)
    ways = {}
    for mail in tx.execute(some.where(m.id.in_(newest))).all():
        # A field may be there and say nothing; an older mail may say more.
        its = offered.ways_of(mail, allowed=allowed)
        sender = mail.sender_email
        best = Offered(mail.id, its) if its else offered.newest(tx, account_id, sender, allowed=allowed)
        if best:
            ways[sender] = best
    return ways


def _record(sender: Sender, known: Any, found: Offered | None) -> dict[str, Any]:
    """What its mails say of a subscription; the way out of a kept one stays as it was."""
    if known and known.keep_subscription:
        return senders.columns(sender, [Way.restored(way) for way in known.ways or ()])
    ways = found.ways if found else ()
    mail_id = found.mail_id if found else None
    return senders.columns(sender, ways) | senders.way_out(ways) | {"way_mail_id": mail_id}


def _differs(record: dict[str, Any], known: Any) -> bool:
    return known is not None and any(getattr(known, name) != value for name, value in record.items())


def _change(tx: Connection, records: Sequence[dict[str, Any]], known: dict[str, Any], *, now: datetime) -> None:
    """Write what differs; records of kept ones have no way out in them."""
    for names, some in groupby(sorted(records, key=len), key=tuple):
        values: dict[str, Any] = {name: sa.bindparam(f"new_{name}") for name in names}
        rows = [
            {"its_id": known[record["sender_email"]].id} | {f"new_{name}": record[name] for name in names}
            for record in some
        ]
        tx.execute(
            sa.update(subscriptions).where(s.id == sa.bindparam("its_id")).values(values | {"updated_at": now}), rows
        )


def listed(
    tx: Connection,
    *,
    account: int | str | None = None,
    kind: str | None = None,
    kept: bool | None = None,
    status: str | None = None,
    q: str = "",
    violating: bool = False,
    newest_first: bool = False,
    page: int,
    per_page: int,
) -> tuple[list[dict[str, Any]], int]:
    """One page of subscriptions, the surest or the newest first, and how many there are."""
    wanted = _wanted(account=account, kind=kind, kept=kept, status=status, q=q)
    if violating:
        wanted.append(s.violation_count > 0)
    order = (s.last_seen.desc(),) if newest_first else (s.confidence.desc(), s.sender_email)
    total = tx.scalar(sa.select(sa.func.count()).select_from(subscriptions.join(accounts)).where(*wanted)) or 0
    some = _with_account().where(*wanted).order_by(*order, s.id)
    return [shown(row) for row in tx.execute(some.limit(per_page).offset((page - 1) * per_page))], total


def _wanted(*, account: int | str | None, kind: str | None, kept: bool | None, status: str | None, q: str) -> list[Any]:
    """What a list is narrowed to; a mailbox is named by its number or its address."""
    wanted: list[Any] = []
    if account is not None:
        wanted.append(s.account_id == account if isinstance(account, int) else a.key == account.lower())
    if kind:
        wanted.append(s.kind == kind)
    if kept is not None:
        wanted.append(s.keep_subscription == kept)
    if status:
        wanted.append(s.unsubscribe_status == status)
    if text := q.strip().lower():
        looked_at = (s.sender_email, s.sender_name, s.list_id)
        wanted.append(sa.or_(*(sa.func.lower(column).contains(text, autoescape=True) for column in looked_at)))
    return wanted


def find_many(tx: Connection, ids: Sequence[int]) -> list[dict[str, Any]]:
    """These subscriptions in this order; NotFound names the first that is none."""
    found = {row.id: shown(row) for row in tx.execute(_with_account().where(s.id.in_(ids)))}
    for subscription_id in ids:
        if subscription_id not in found:
            raise NotFound(f"There is no subscription {subscription_id}; `gna inbox list` shows them")
    return [found[subscription_id] for subscription_id in ids]


def show(tx: Connection, subscription_id: int, *, allowed: Collection[str] | None = None) -> dict[str, Any]:
    """One subscription with its ways out, what was offered before, and what was tried.

    The ways are judged as they were when they were found, or anew where `allowed` hosts are spared.
    """
    row = subscription(tx, subscription_id)
    [found] = find_many(tx, [subscription_id])
    tried = tx.execute(sa.select(attempts).where(t.subscription_id == row.id).order_by(t.id.desc()))
    return found | {
        "advice": ADVICE[Kind(row.kind)],
        "methods": [_judged(Way.restored(way), allowed).shown() for way in row.ways or ()],
        "seal": tx.scalar(sa.select(m.seal).where(m.id == row.way_mail_id)) if row.way_mail_id else None,
        "history": history.of(tx, row),
        "attempts": [_in_json(attempt._asdict()) for attempt in tried],
    }


def _judged(way: Way, allowed: Collection[str] | None) -> Way:
    from gna.inbox import methods

    return way if allowed is None else methods.rejudged(way, allowed=allowed)


def keep(tx: Connection, ids: Sequence[int], *, now: datetime) -> int:
    """Protect these from being left; says how many were not kept before."""
    find_many(tx, ids)
    kept = sa.update(subscriptions).where(s.id.in_(ids), ~s.keep_subscription)
    return tx.execute(kept.values(keep_subscription=True, kept_at=now, updated_at=now)).rowcount


def unkeep(tx: Connection, ids: Sequence[int], *, now: datetime, allowed: Collection[str] = ()) -> int:
    """Protect these no more: the newest way out counts again, at once. Says how many were kept before."""
    find_many(tx, ids)
    theirs = sa.select(s.account_id, s.sender_email).where(s.id.in_(ids), s.keep_subscription)
    frozen = tx.execute(theirs.order_by(s.account_id, s.sender_email)).all()
    thawed = sa.update(subscriptions).where(s.id.in_(ids), s.keep_subscription)
    tx.execute(thawed.values(keep_subscription=False, kept_at=None, updated_at=now))
    for account_id, some in groupby(frozen, key=lambda row: row.account_id):
        _count(tx, account_id, [row.sender_email for row in some], now=now, allowed=allowed)
    return len(frozen)


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
    return _in_json({"account": row.account} | {name: getattr(row, name) for name in SHOWN})


def _with_account() -> sa.Select[Any]:
    return sa.select(subscriptions, a.email.label("account")).join(accounts)


def _in_json(values: dict[str, Any]) -> dict[str, Any]:
    return {name: clock.iso(value) if isinstance(value, datetime) else value for name, value in values.items()}
