"""Counting: what the mails of a mailbox say is added up by sender, and written down as subscriptions."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.errors import NotFound
from gna.inbox import offered, senders, violations
from gna.inbox.offered import Offered
from gna.inbox.senders import Sender
from gna.inbox.table import Status, a, accounts, m, s, subscriptions
from gna.inbox.ways import Way

# So many uncounted mails are looked at, and so many of their senders written, at a time: memory stays the same.
ROUND, CHUNK = 50_000, 500


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
            found += count(tx, account_id, emails, now=now, allowed=allowed)
    tx.execute(sa.update(accounts).where(a.id == account_id).values(counted_to=max(counted_to, newest)))
    return found


def _senders(tx: Connection, account_id: int, start: int) -> Iterator[Sequence[str]]:
    """The senders of one round of mails, some at a time."""
    these = sa.select(m.sender_email).where(m.account_id == account_id, m.id > start, m.id <= start + ROUND)
    emails = tx.scalars(these.distinct().order_by(m.sender_email)).all()
    yield from (emails[first : first + CHUNK] for first in range(0, len(emails), CHUNK))


def count(
    tx: Connection, account_id: int, emails: Sequence[str], *, now: datetime, allowed: Collection[str]
) -> Refreshed:
    """Bring the subscriptions of these senders to what their mails say now."""
    theirs = sa.select(subscriptions).where(s.account_id == account_id, s.sender_email.in_(emails))
    # Whoever keeps or leaves one of them now comes before this or after it: what is kept is not overwritten.
    known = {row.sender_email: row for row in tx.execute(theirs.order_by(s.id).with_for_update())}
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
