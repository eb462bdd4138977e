"""Plain factories of the reader's side: the shortest way to an account, a mail or a subscription in a given state."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.db import Database
from gna.inbox import signs
from gna.inbox.table import accounts, attempts, folders, m, mails, o, subscriptions
from gna.inbox.ways import Source, Way
from tests.factories import NOW

SENDER = "news@shop.example"
WAY = "https://shop.example/unsubscribe?u=1"
DAY = timedelta(days=1)


def an_account(db: Database, email: str = "ana@example.org", **columns: Any) -> int:
    """A mailbox that is known; says its id."""
    values = {"email": email, "key": email.lower(), "imap_url": "imap://127.0.0.1:143?tls=none", "created_at": NOW}
    return _insert(db, accounts, values | columns)


def a_mail(
    db: Database,
    account: int,
    sender: str = SENDER,
    *,
    subject: str = "Hello",
    sent: datetime = NOW,
    folder: str = "INBOX",
    body: Sequence[Way] | None = None,
    **columns: Any,
) -> int:
    """A mail as a scan stores it; says its id. `body` are the ways out that were found in it, None if nobody looked."""
    with db.write() as tx:
        folder_id = _folder(tx, account, folder)
        newest = tx.scalar(sa.select(sa.func.max(m.uid)).where(m.folder_id == folder_id)) or 0
        values = {
            "account_id": account,
            "folder_id": folder_id,
            "uid": newest + 1,
            "message_id": f"<{folder}-{newest + 1}@{sender.rpartition('@')[2]}>",
            "sender_email": sender,
            "subject": subject,
            "date_sent": sent,
            "received_at": sent,
            "came_at": min(sent, columns.get("received_at") or sent),
            "keywords": signs.keywords_in(subject),
            "body_ways": None if body is None else [way.stored() for way in body],
            "seen_at": sent,
        }
        return _id(tx.execute(sa.insert(mails).values(values | columns)))


def a_way(url: str = WAY, method: str = "http_get", source: Source = Source.HTML, **rest: Any) -> Way:
    """A way out, judged to be safe."""
    return Way(method=method, url=url, source=source, **rest)


def a_subscription(
    db: Database, account: int, sender: str = SENDER, *, way: Way | None = None, kept: bool = False, **columns: Any
) -> int:
    """A subscription as a scan leaves it, with one way out, or none; says its id."""
    values = {
        "account_id": account,
        "sender_email": sender,
        "sender_domain": sender.rpartition("@")[2],
        "kind": "newsletter",
        "email_count": 1,
        "confidence": 17,
        "reasons": ["15: every sender starts here", "+2: 1 email"],
        "first_seen": NOW,
        "last_seen": NOW,
        "keep_subscription": kept,
        "kept_at": NOW if kept else None,
        "unsubscribe_method": way.method if way else None,
        "unsubscribe_link": way.url if way else None,
        "ways": [way.stored()] if way else [],
        "created_at": NOW,
        "updated_at": NOW,
    }
    return _insert(db, subscriptions, values | columns)


def an_unsubscribed(db: Database, account: int, sender: str = SENDER, *, at: datetime = NOW, **columns: Any) -> int:
    """A subscription that somebody has left; says its id."""
    given: dict[str, Any] = {"way": a_way(), "unsubscribe_status": "unsubscribed", "unsubscribed_at": at}
    return a_subscription(db, account, sender, **given | columns)


def an_attempt(db: Database, subscription: int, *, at: datetime = NOW, **columns: Any) -> int:
    """A try to unsubscribe that went well; says its id."""
    values = {
        "subscription_id": subscription,
        "method_used": "http_get",
        "url": WAY,
        "status": "success",
        "outcome": "page_opened",
        "response_code": 200,
        "attempted_at": at,
    }
    return _insert(db, attempts, values | columns)


def _folder(tx: Connection, account: int, name: str) -> int:
    known = tx.scalar(sa.select(o.id).where(o.account_id == account, o.name == name))
    new = sa.insert(folders).values(account_id=account, name=name, uid_validity=1)
    return known or _id(tx.execute(new))


def _insert(db: Database, table: sa.Table, values: dict[str, Any]) -> int:
    with db.write() as tx:
        return _id(tx.execute(sa.insert(table).values(values)))


def _id(done: sa.CursorResult[Any]) -> int:
    assert done.inserted_primary_key is not None
    return int(done.inserted_primary_key[0])
