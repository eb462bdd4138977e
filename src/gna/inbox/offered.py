"""What stored mails offer to whoever wants no more of them. Between mails recency alone decides: the newest wins."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.db import type_json
from gna.inbox.table import m, mails
from gna.inbox.ways import Offers, Way

# So many mails are read at once on the way back.
PAGE = 50
NEWEST_FIRST = (m.came_at.desc(), m.id.desc())
NOTHING = sa.literal([], type_json)


class Offered(NamedTuple):
    """The ways out of one mail, best first."""

    mail_id: int
    ways: tuple[Way, ...]


def may_offer(columns: Any = m) -> sa.ColumnElement[bool]:
    """Mails with a field or a body that may hold a way out; the field is not read for it."""
    return sa.or_(columns.list_unsubscribe.is_not(None), columns.body_ways != NOTHING)


def ways_of(mail: Any, *, allowed: Collection[str] = ()) -> tuple[Way, ...]:
    """All ways out of a mail, of its header and its body, best first; `allowed` hosts may be private."""
    from gna.inbox import methods

    field, post = _lines(mail.list_unsubscribe), _lines(mail.list_unsubscribe_post)
    domain = mail.sender_email.rpartition("@")[2]
    header = methods.ways(Offers(field, post), allowed=allowed, sender=domain) if field else ()
    if not mail.body_ways:
        return header
    every: dict[tuple[str, str], Way] = {}
    for way in (*header, *_in_body(mail.body_ways, allowed)):
        every.setdefault((way.method, way.url), way)
    return tuple(sorted(every.values(), key=methods.rank))


def _in_body(kept: Sequence[Mapping[str, Any]], allowed: Collection[str]) -> Iterator[Way]:
    """What was found when the body was read; no host was spared then."""
    from gna.inbox import methods

    for way in map(Way.restored, kept):
        yield methods.rejudged(way, allowed=allowed) if allowed else way


def newest(tx: Connection, account_id: int, sender: str, *, allowed: Collection[str] = ()) -> Offered | None:
    """The ways of the sender's newest mail that has any."""
    seen = set()
    for mail in walk(tx, account_id, sender):
        # Some senders repeat for years what leads nowhere.
        if mail.body_ways or mail.list_unsubscribe not in seen:
            seen.add(mail.list_unsubscribe)
            if ways := ways_of(mail, allowed=allowed):
                return Offered(mail.id, ways)
    return None


def walk(tx: Connection, account_id: int, sender: str, *, seen_to: datetime | None = None) -> Iterator[Any]:
    """The sender's mails that may offer something, newest first, a page at a time."""
    theirs = sa.select(mails).where(m.account_id == account_id, m.sender_email == sender, ~m.is_copy, may_offer())
    if seen_to is not None:
        theirs = theirs.where(m.seen_at <= seen_to)
    page = tx.execute(theirs.order_by(*NEWEST_FIRST).limit(PAGE)).all()
    while page:
        yield from page
        last = page[-1]
        older = sa.or_(m.came_at < last.came_at, m.id < last.id)
        page = tx.execute(theirs.where(m.came_at <= last.came_at, older).order_by(*NEWEST_FIRST).limit(PAGE)).all()


def _lines(field: str | None) -> tuple[str, ...]:
    return tuple(field.split("\n")) if field else ()
