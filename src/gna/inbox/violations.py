"""Who kept sending after somebody had left, and the mails that prove it."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock, db
from gna.db import Database
from gna.inbox.table import Status, a, accounts, attempts, folders, m, mails, o, s, subscriptions, t
from gna.subscribers.export import BOM
from gna.subscribers.formats.own import guarded

# So many of the worst are named.
WORST = 10
# So many mails of a report are read at once.
PAGE = 500
# After an unsubscribe a mail that was under way may still come; and most laws give a sender so many business days.
UNDER_WAY, BUSINESS_DAYS = timedelta(days=2), 10
# A mail of a sender that was left before it was sent.
IS_AFTER = sa.and_(
    m.account_id == s.account_id,
    m.sender_email == s.sender_email,
    m.date_sent > s.unsubscribed_at,
    ~m.is_copy,
    s.unsubscribe_status == Status.UNSUBSCRIBED,
)
IN_ORDER = (s.id, m.date_sent, m.id)
COLUMNS = (
    "account",
    "sender_email",
    "list_id",
    "subject",
    "message_id",
    "date_sent",
    "received_at",
    "folder",
    "uid",
    "unsubscribed_at",
    "method_used",
    "response_code",
    "attempted_at",
    "days_after",
    "grace",
)


class Grace(StrEnum):
    """How late a mail is. Advice only: all of them count."""

    LATE = "late"
    WITHIN_LAW = "within the grace period of most laws"
    VIOLATION = "violation"


def grace(unsubscribed_at: datetime, sent_at: datetime) -> Grace:
    """How late a mail is that was sent then."""
    if sent_at <= unsubscribed_at + UNDER_WAY:
        return Grace.LATE
    return Grace.WITHIN_LAW if sent_at <= _business_days_after(unsubscribed_at) else Grace.VIOLATION


def _business_days_after(moment: datetime) -> datetime:
    left = BUSINESS_DAYS
    while left:
        moment += timedelta(days=1)
        left -= moment.weekday() < 5
    return moment


def count(tx: Connection, account_id: int, emails: Sequence[str]) -> int:
    """Count anew what these senders sent after they were left; says how many of it were not known."""
    number, last = sa.func.count().label("number"), sa.func.max(m.date_sent).label("last")
    counted = sa.select(s.id, s.violation_count, number, last).join(mails, IS_AFTER)
    theirs = counted.where(s.account_id == account_id, s.sender_email.in_(emails))
    new = 0
    for row in tx.execute(theirs.group_by(s.id, s.violation_count)).all():
        sums = {"violation_count": row.number, "emails_after_unsubscribe": row.number, "last_violation_at": row.last}
        tx.execute(sa.update(subscriptions).where(s.id == row.id).values(sums))
        new += max(0, row.number - row.violation_count)
    return new


def total(tx: Connection) -> int:
    """How many mails were sent after an unsubscribe."""
    return int(tx.scalar(sa.select(sa.func.sum(s.emails_after_unsubscribe))) or 0)


def summary(tx: Connection, *, days: int = 7, now: datetime) -> dict[str, Any]:
    """How many senders went on and with how many mails; those of the last days, newest first, and the worst."""
    went_on = s.violation_count > 0
    senders = tx.scalar(sa.select(sa.func.count()).select_from(subscriptions).where(went_on))
    some = sa.select(subscriptions, a.email.label("account")).join(accounts).where(went_on)
    recent = some.where(s.last_violation_at >= now - timedelta(days=days))
    worst = some.order_by(s.emails_after_unsubscribe.desc(), s.last_violation_at.desc(), s.id).limit(WORST)
    return {
        "total_violations": senders,
        "total_violation_emails": total(tx),
        "recent": [_shown(row) for row in tx.execute(recent.order_by(s.last_violation_at.desc(), s.id))],
        "worst_offenders": [_shown(row) for row in tx.execute(worst)],
    }


def _shown(row: Any) -> dict[str, Any]:
    return {
        "id": row.id,
        "account": row.account,
        "sender_email": row.sender_email,
        "sender_name": row.sender_name,
        "list_id": row.list_id,
        "unsubscribed_at": clock.iso(row.unsubscribed_at),
        "last_violation_at": clock.iso(row.last_violation_at),
        "violation_count": row.violation_count,
        "emails_after_unsubscribe": row.emails_after_unsubscribe,
        **_lateness(row.unsubscribed_at, row.last_violation_at),
    }


def _lateness(unsubscribed_at: datetime, sent_at: datetime) -> dict[str, Any]:
    return {"days_after": (sent_at - unsubscribed_at).days, "grace": str(grace(unsubscribed_at, sent_at))}


def by_day(tx: Connection, *, days: int, now: datetime) -> dict[date, int]:
    """How many mails came after an unsubscribe on each of the last days, in UTC; days without any are left out."""
    day = db.day_of(tx, m.date_sent).label("day")
    since = m.date_sent > now - timedelta(days=days)
    its = sa.select(day, sa.func.count().label("number")).select_from(subscriptions.join(mails, IS_AFTER))
    return {date.fromisoformat(row.day): row.number for row in tx.execute(its.where(since).group_by(day).order_by(day))}


def evidence(db: Database) -> Iterator[dict[str, Any]]:
    """Every mail that was sent after an unsubscribe, by sender and in order.

    Each page is read by itself and goes on after the last mail of the one before: who takes it away slowly keeps no
    transaction open, and no number of mails takes memory.
    """
    rest: sa.ColumnElement[bool] = sa.true()
    while True:
        with db.read() as tx:
            rows = tx.execute(_proof().where(rest).order_by(*IN_ORDER).limit(PAGE)).all()
        yield from map(_told, rows)
        if len(rows) < PAGE:
            return
        rest = _after(rows[-1])


def _after(row: Any) -> sa.ColumnElement[bool]:
    later = sa.or_(m.date_sent > row.date_sent, sa.and_(m.date_sent == row.date_sent, m.id > row.mail_id))
    return sa.and_(s.id >= row.subscription_id, sa.or_(s.id > row.subscription_id, later))


def latest(tx: Connection, subscription_id: int, *, most: int) -> list[dict[str, Any]]:
    """The newest of them of one sender."""
    its = _proof().where(s.id == subscription_id).order_by(m.date_sent.desc(), m.id.desc())
    return [_told(row) for row in tx.execute(its.limit(most))]


def _told(row: Any) -> dict[str, Any]:
    plain = {name: row._mapping[name] for name in COLUMNS if name in row._mapping}
    # Anybody can write a date into a mail: how late it is goes by when the server had it, if that was earlier.
    return clock.in_json(plain | _lateness(row.unsubscribed_at, max(row.came_at, row.unsubscribed_at)))


def _proof() -> sa.Select[Any]:
    """Each mail with the folder that it is in, and with the attempt that went well before it."""
    last = sa.select(sa.func.max(t.id)).where(t.subscription_id == s.id, t.status == "success")
    how = sa.outerjoin(subscriptions, attempts, t.id == last.correlate(subscriptions).scalar_subquery())
    its = how.join(accounts, a.id == s.account_id).join(mails, IS_AFTER).join(folders, o.id == m.folder_id)
    columns = (
        s.id.label("subscription_id"),
        m.id.label("mail_id"),
        a.email.label("account"),
        s.sender_email,
        m.list_id,
        m.subject,
        m.message_id,
        m.date_sent,
        m.received_at,
        m.came_at,
        o.name.label("folder"),
        m.uid,
        s.unsubscribed_at,
        t.method_used,
        t.response_code,
        t.attempted_at,
    )
    return sa.select(*columns).select_from(its)


def as_csv(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The evidence as a CSV file that spreadsheets open rightly, and safely; piece by piece."""
    head = BOM + _line(COLUMNS)
    for some in _pages(rows):
        yield head + "".join(map(_cells, some))
        head = ""


def as_json(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The evidence as one JSON document, piece by piece."""
    before = '{"items": [\n'
    for some in _pages(rows):
        yield (before if some else before.rstrip()) + ",\n".join(json.dumps(row, ensure_ascii=False) for row in some)
        before = ",\n"
    yield "\n]}\n"


def _pages(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Some at a time; nothing at all is one page too."""
    left = iter(rows)
    yield list(islice(left, PAGE))
    while some := list(islice(left, PAGE)):
        yield some


def _cells(row: dict[str, Any]) -> str:
    return _line("" if row[name] is None else guarded(str(row[name])) for name in COLUMNS)


def _line(cells: Iterable[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()
