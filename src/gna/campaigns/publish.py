"""Publishing: send now or at a time, hold, go on, try again. Each action is one transaction.

Composing takes a while for a long text, so it is done before: `prepare`, then the transaction, which refuses if
somebody changed the campaign in between.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import outbox
from gna.campaigns.audience import Audience
from gna.campaigns.states import EDITABLE, Sending, State
from gna.campaigns.table import NOT_NOW, as_seen, d, deliveries, email_delivery, locked, move, move_delivery, touch
from gna.campaigns.writing import draft_of, future
from gna.delivery import mailings
from gna.errors import NotAllowedNow, NotFound, Refused
from gna.mail.content import Content
from gna.mail.render import Frame, Level, check, compose
from gna.outbox import Kind


@dataclass(frozen=True)
class Ready:
    """A campaign that can be sent, composed as it was when somebody looked at it."""

    campaign_id: str
    updated_at: datetime
    content: Content
    language: str


def prepare(campaign: Any, frame: Frame) -> Ready:
    """Compose a campaign; what no reader could use is refused, warnings are the publisher's to judge."""
    if campaign.state not in EDITABLE:
        raise NotAllowedNow(NOT_NOW)
    draft = draft_of(campaign._mapping, frame)
    for finding in check(draft, frame):
        if finding.level is Level.ERROR:
            raise Refused(finding.message.rstrip("."))
    return Ready(campaign.id, campaign.updated_at, compose(draft, frame), frame.language)


def send(tx: Connection, ready: Ready, *, now: datetime) -> None:
    """Publish at once, whatever the schedule said."""
    publish(tx, ready, now=now)
    touch(tx, ready.campaign_id, now=now, scheduled_at=None)


def publish(tx: Connection, ready: Ready, *, now: datetime) -> None:
    """Begin the deliveries: from here on nothing of it changes, and its people get their messages."""
    campaign = _as_it_was(tx, ready)
    outbox.keep(tx, ready.content, now=now)
    list_key = Audience.parse(campaign.audience).list_key
    mailing = mailings.begin(tx, kind=Kind.CAMPAIGN, language=ready.language, list_key=list_key, now=now)
    begun = {"started_at": now, "mailing_id": mailing, "content_hash": ready.content.hash}
    move_delivery(tx, email_delivery(tx, campaign.id).id, Sending.PENDING, Sending.SENDING, **begun)
    touch(tx, campaign.id, now=now, published_at=now, held=None)


def schedule(tx: Connection, ready: Ready, *, at: datetime | None, now: datetime) -> None:
    """Queue the campaign for `at`, or for the time that was planned. The audience is counted then, not now."""
    campaign = _as_it_was(tx, ready)
    moment = future(at or campaign.scheduled_at, now)
    if campaign.state != State.SCHEDULED:
        move(tx, campaign.id, State.SCHEDULED)
    touch(tx, campaign.id, now=now, scheduled_at=moment, held=None)


def _as_it_was(tx: Connection, ready: Ready) -> Any:
    """The campaign's row, locked, if it still says what was prepared."""
    campaign = locked(tx, ready.campaign_id)
    if campaign.state not in EDITABLE:
        raise NotAllowedNow(NOT_NOW)
    as_seen(campaign, ready.updated_at)
    return campaign


def cancel(tx: Connection, campaign_id: str, *, now: datetime) -> None:
    """Make a scheduled campaign a draft again."""
    locked(tx, campaign_id)
    move(tx, campaign_id, State.DRAFT)
    touch(tx, campaign_id, now=now, scheduled_at=None, held=None)


def pause(tx: Connection, campaign_id: str) -> None:
    """Send no more of it for now; what is on its way arrives."""
    _change_pace(tx, campaign_id, mailings.pause)


def resume(tx: Connection, campaign_id: str) -> None:
    """Go on where it was paused."""
    _change_pace(tx, campaign_id, mailings.resume)


def _change_pace(tx: Connection, campaign_id: str, verb: Any) -> None:
    locked(tx, campaign_id)
    delivery = email_delivery(tx, campaign_id)
    if delivery.state != Sending.SENDING:
        raise NotAllowedNow(NOT_NOW)
    try:
        verb(tx, delivery.mailing_id)
    except NotAllowedNow:
        raise NotAllowedNow(NOT_NOW) from None


def retry(tx: Connection, delivery_id: str, *, now: datetime) -> str:
    """Try again what a failed delivery could not send, and nothing else; says the campaign's id."""
    delivery = _delivery(tx, delivery_id)
    locked(tx, delivery.campaign_id)
    move_delivery(tx, delivery_id, Sending.FAILED, Sending.SENDING, finished_at=None, error_detail=None)
    mailings.retry(tx, delivery.mailing_id, now=now)
    return str(delivery.campaign_id)


def _delivery(tx: Connection, delivery_id: str) -> Any:
    row = tx.execute(sa.select(deliveries).where(d.id == delivery_id)).one_or_none()
    if row is None:
        raise NotFound("There is no such delivery")
    return row
