"""Plain factories: the shortest way to a row in a given state."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock, ids, outbox, tokens
from gna.db import Database
from gna.delivery import mailings
from gna.mail.content import Content
from gna.outbox import Kind, Letter, messages
from gna.subscribers.signup import Site
from gna.subscribers.table import subscribers

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
SITE = Site(name="The Quiet Web", base_url="https://news.example.org")
NEWS = Content(subject="News for {{ nickname | you }}", html="<p>Hi {{ nickname }}</p>", text="Hi {{ nickname }}")
HELLO = Content(subject="Hello {{ name }}", html="<p>Hello {{ name }}</p>", text="Hello {{ name }}")


def a_subscriber(tx: Connection, *, email: str = "ana@example.org", activated: bool = False, **columns: Any) -> str:
    """Insert a person and return their id."""
    values = {
        "id": ids.new(),
        "email": email,
        "unsubscribe_token": tokens.new(),
        "created_at": NOW,
        "activated_at": NOW if activated else None,
        "confirmation_expires_at": None if activated else NOW + timedelta(hours=24),
    }
    tx.execute(sa.insert(subscribers).values(values | columns))
    return str((values | columns)["id"])


def readers(db: Database, people: int, *, name: str = "p", **columns: Any) -> frozenset[str]:
    """So many people who have confirmed, `p0@example.org` and so on; says their addresses."""
    now = clock.now()
    addresses = [f"{name}{number}@example.org" for number in range(people)]
    same = {"nickname": "Ana", "created_at": now, "activated_at": now, **columns}
    rows = ({"id": ids.new(), "email": to, "unsubscribe_token": tokens.new(), **same} for to in addresses)
    with db.write() as tx:
        while some := list(islice(rows, 1000)):
            tx.execute(sa.insert(subscribers), some)
    return frozenset(addresses)


def a_message(tx: Connection, *, to: str = "ana@example.org", key: str | None = None, **columns: Any) -> str:
    """Post a letter and return the message's id; `columns` put it into another state."""
    key = key or ids.new()
    letter = Letter(kind=Kind.CONFIRMATION, key=key, to=to, content=HELLO, slots={"name": "Ana"})
    outbox.post(tx, letter, now=NOW)
    message_id = tx.scalar(sa.select(messages.c.id).where(messages.c.delivery_key == key))
    if columns:
        tx.execute(sa.update(messages).where(messages.c.id == message_id).values(**columns))
    return str(message_id)


def a_mailing(db: Database, *, people: int, content: Content = NEWS) -> int:
    """A mailing to so many new activated people, filled; they are `p0@example.org` and so on, or known already."""
    now = clock.now()
    with db.write() as tx:
        for number in range(people):
            if the_subscriber(tx, f"p{number}@example.org") is None:
                a_subscriber(tx, email=f"p{number}@example.org", nickname=f"P{number}", activated=True)
        mailing = mailings.begin(tx, kind=Kind.CAMPAIGN, now=now)
        some = sa.select(subscribers.c.id).order_by(subscribers.c.id).limit(people)
        mailings.expect(tx, mailing, mailings.measure(tx, some))
        while mailings.fill(tx, mailing, content, some, now=now):
            pass
    return mailing


def the_message(tx: Connection, message_id: str) -> Any:
    """The row of a message."""
    return tx.execute(sa.select(messages).where(messages.c.id == message_id)).one()


def the_subscriber(tx: Connection, email: str) -> Any:
    """The row of a person, or None."""
    return tx.execute(sa.select(subscribers).where(sa.func.lower(subscribers.c.email) == email.lower())).one_or_none()


def count(tx: Connection, table: sa.Table) -> int:
    """How many rows there are."""
    return tx.scalar(sa.select(sa.func.count()).select_from(table)) or 0
