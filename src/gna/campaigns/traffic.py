"""What goes out: mails by the day, campaigns under way, and those that come next."""

from datetime import date, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db
from gna.campaigns import overview
from gna.campaigns.overview import LISTED, m
from gna.campaigns.states import EDITABLE, Sending, State
from gna.campaigns.table import c, campaigns, d, deliveries
from gna.delivery.mailings import KEEP_FAILED
from gna.delivery.mailings import mailings as mailing_rows

# What needs a look is named one by one, up to so many.
FEW = 5


class Sums(NamedTuple):
    """How many mails were sent, and how many could not be."""

    sent: int
    failed: int


def per_day(tx: Connection, *, since: datetime) -> dict[date, Sums]:
    """The mails of campaigns by the day, in UTC, on which they began to go out."""
    day = db.day_of(tx, d.started_at).label("day")
    sums = (sa.func.sum(m.sent_count).label("sent"), sa.func.sum(m.failed_count).label("failed"))
    its = sa.select(day, *sums).join(mailing_rows, m.id == d.mailing_id).where(d.started_at >= since).group_by(day)
    return {date.fromisoformat(row.day): Sums(int(row.sent), int(row.failed)) for row in tx.execute(its)}


def under_way(tx: Connection) -> list[dict[str, Any]]:
    """The campaigns that are going out now, with how far they are."""
    return overview.newest(tx, state=State.PUBLISHING, page=1, per_page=FEW)[0]


def coming(tx: Connection) -> list[Any]:
    """The next of those that are scheduled."""
    waits = sa.select(*LISTED).where(c.state == State.SCHEDULED, c.held.is_(None))
    return list(tx.execute(waits.order_by(c.scheduled_at, c.id).limit(FEW)).all())


def held(tx: Connection) -> list[Any]:
    """Campaigns that wait for a person, and why."""
    waits = sa.select(c.id, c.subject, c.held).where(c.state.in_(EDITABLE), c.held.is_not(None))
    return list(tx.execute(waits.order_by(c.created_at.desc()).limit(FEW)).all())


def left_over(tx: Connection, *, now: datetime) -> list[Any]:
    """Deliveries of which something can still be tried again: the campaign's id and subject, and how many mails."""
    its = sa.select(c.id, c.subject, m.retryable_count.label("number")).select_from(deliveries)
    its = its.join(mailing_rows, m.id == d.mailing_id).join(campaigns, c.id == d.campaign_id)
    failed = its.where(d.state == Sending.FAILED, m.retryable_count > 0, m.finished_at > now - KEEP_FAILED)
    return list(tx.execute(failed.order_by(m.finished_at.desc()).limit(FEW)).all())
