"""Bounces: addresses that a server refused for good, for an admin to look at for a week.

A bounce takes nobody off any list: servers err, and mailboxes come back. It names the person and what the server said,
and no campaign. There is one row a person, with the last refusal: an address that is dead refuses every mail, and a
list of people to look after is of more use than a list of all that was refused to them.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock, db, ids
from gna.errors import NotFound
from gna.outbox import bounces, messages
from gna.subscribers.table import subscribers

KEPT = timedelta(days=7)
# So many are deleted in one transaction; others who write wait that long.
CHUNK = 5000
UNKNOWN = "There is no such bounce"

b, m, s = bounces.c, messages.c, subscribers.c


class Bounce(NamedTuple):
    """A person whose address was refused, and what was said, without anything of other people."""

    subscriber_id: str
    email: str
    reason: str


class Person(NamedTuple):
    """Whom a message is for, and their address now."""

    id: str
    email: str


@db.prepared
def _keep(insert: Any) -> Any:
    new = insert(bounces)
    last = {name: new.excluded[name] for name in ("email", "reason", "created_at")}
    return new.on_conflict_do_update(index_elements=["subscriber_id"], set_=last)


def people_of(tx: Connection, message_ids: Collection[str]) -> dict[str, Person]:
    """Whom these messages are for; until the transaction ends nobody of them leaves or moves.

    Asked before the messages are touched: whoever leaves takes the person first and then their messages, and two that
    begin at different ends would wait for each other.
    """
    theirs = sa.select(m.id, s.id, s.email).join(subscribers, s.id == m.subscriber_id).where(m.id.in_(message_ids))
    rows = tx.execute(theirs.order_by(s.id).with_for_update(read=True, of=subscribers)).all()
    return {message: Person(person, email) for message, person, email in rows}


def note(tx: Connection, bounced: Sequence[Bounce], *, now: datetime) -> None:
    """Write down who could not be reached, in the transaction that gives their messages up."""
    # In one order: two workers with the same two people would wait for each other.
    rows = [{"id": ids.new(), **one._asdict(), "created_at": now} for one in sorted(bounced)]
    tx.execute(_keep(tx), rows)


def listed(tx: Connection, *, page: int, per_page: int, now: datetime) -> tuple[list[dict[str, Any]], int]:
    """One page of those of the last seven days, newest first, and how many there are."""
    some = sa.select(bounces).where(_recent(now)).order_by(b.created_at.desc(), b.id.desc())
    rows = tx.execute(some.limit(per_page).offset((page - 1) * per_page)).all()
    return [{**row._mapping, "created_at": clock.iso(row.created_at)} for row in rows], count(tx, now=now)


def count(tx: Connection, *, now: datetime) -> int:
    """How many people bounced in the last seven days."""
    return tx.scalar(sa.select(sa.func.count()).select_from(bounces).where(_recent(now))) or 0


def whose(tx: Connection, bounce_ids: Collection[str]) -> list[str]:
    """The people that these are about."""
    return [*tx.scalars(sa.select(b.subscriber_id).where(b.id.in_(bounce_ids)))]


def dismiss(tx: Connection, bounce_ids: Collection[str]) -> int:
    """Somebody has seen these, and the people stay; says how many there were."""
    dismissed = tx.execute(sa.delete(bounces).where(b.id.in_(bounce_ids))).rowcount
    if not dismissed:
        raise NotFound(UNKNOWN)
    return dismissed


def forget_some(tx: Connection, *, now: datetime) -> bool:
    """Delete what is older than seven days; True if there may be more."""
    some = sa.select(b.id).where(~_recent(now)).limit(CHUNK)
    return tx.execute(sa.delete(bounces).where(b.id.in_(some))).rowcount > 0


def _recent(now: datetime) -> sa.ColumnElement[bool]:
    """Shown no longer than it may be kept, however late the clean-up is."""
    return b.created_at > now - KEPT
