"""The public archive: campaigns that went out and that their publisher did not keep to the readers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.campaigns.issues import Found, place, title
from gna.campaigns.states import State
from gna.campaigns.table import c, campaigns, d, deliveries
from gna.db import Instant
from gna.delivery.mailings import mailings
from gna.errors import NotFound
from gna.mail.render import Frame

# What was published to an empty audience went out to no reader, and is no issue.
HAS_AUDIENCE = (
    sa.exists()
    .select_from(deliveries.join(mailings, mailings.c.id == d.mailing_id))
    .where(d.campaign_id == c.id, mailings.c.audience > 0)
)
# From its first mail on, since a mail says where it can be read.
IS_PUBLIC = sa.and_(
    c.archived,
    c.published_at.is_not(None),
    c.state.in_([State.PUBLISHING, State.PUBLISHED]),
    HAS_AUDIENCE,
)
NOT_THERE = "There is no such page"
NEWEST_FIRST = (c.published_at.desc(), c.id.desc())


class Neighbour(NamedTuple):
    """The issue before or after another one."""

    id: str
    title: str


class Opened(NamedTuple):
    """One issue, and where a reader may go from it."""

    found: Found
    older: Neighbour | None
    newer: Neighbour | None


def newest(tx: Connection, *, page: int, per_page: int, frame: Frame) -> tuple[list[Found], bool]:
    """One page of what everybody may read, newest first, and whether there are older ones."""
    some = sa.select(c.id, c.updated_at).where(IS_PUBLIC).order_by(*NEWEST_FIRST)
    # One more than is shown tells whether to offer another page, and nothing has to be counted.
    rows = tx.execute(some.limit(per_page + 1).offset((page - 1) * per_page)).all()
    if not rows and page > 1:
        raise NotFound(NOT_THERE)
    return _found(tx, rows[:per_page], frame), len(rows) > per_page


def get(tx: Connection, campaign_id: str, *, frame: Frame) -> Opened:
    """One that everybody may read; whether there is another, nobody learns."""
    this = sa.select(c.id, c.updated_at, c.published_at).where(IS_PUBLIC, c.id == campaign_id)
    row = tx.execute(this).one_or_none()
    if row is None:
        raise NotFound(NOT_THERE)
    when, this_one = sa.tuple_(c.published_at, c.id), sa.tuple_(sa.literal(row.published_at, Instant), row.id)
    return Opened(
        _found(tx, [row], frame)[0],
        older=_neighbour(tx, when < this_one, NEWEST_FIRST, frame),
        newer=_neighbour(tx, when > this_one, (c.published_at, c.id), frame),
    )


def _found(tx: Connection, rows: Sequence[Any], frame: Frame) -> list[Found]:
    """These campaigns; what they say is read only where nobody has asked for it before."""
    places = [place(row.id, row.updated_at, frame) for row in rows]
    unread = [its.campaign_id for its in places if its.issue is None]
    whole = {row.id: row for row in tx.execute(sa.select(campaigns).where(c.id.in_(unread)))} if unread else {}
    return [Found(its, whole.get(its.campaign_id)) for its in places]


def _neighbour(tx: Connection, beyond: Any, order: Sequence[Any], frame: Frame) -> Neighbour | None:
    nearest = sa.select(c.id, c.subject).where(IS_PUBLIC, beyond).order_by(*order).limit(1)
    row = tx.execute(nearest).one_or_none()
    return Neighbour(row.id, title(row.subject, frame)) if row else None
