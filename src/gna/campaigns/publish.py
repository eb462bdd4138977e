"""Publishing: send now or at a time, hold, go on, try again. Each action is one transaction."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import outbox
from gna.campaigns.audience import Audience
from gna.campaigns.states import EDITABLE, Sending, State
from gna.campaigns.table import NOT_NOW, d, deliveries, email_delivery, locked, move, move_delivery, touch
from gna.campaigns.writing import draft_of, future
from gna.delivery import mailings
from gna.errors import NotAllowedNow, NotFound, Refused
from gna.mail.render import Frame, Level, check, compose
from gna.outbox import Kind


def send(tx: Connection, campaign_id: str, *, frame: Frame, now: datetime) -> None:
    """Publish at once, whatever the schedule said."""
    publish(tx, locked(tx, campaign_id), frame=frame, now=now)
    touch(tx, campaign_id, now=now, scheduled_at=None)


def publish(tx: Connection, campaign: Any, *, frame: Frame, now: datetime) -> None:
    """Begin the deliveries: from here on nothing of it changes, and its people get their messages."""
    if campaign.state not in EDITABLE:
        raise NotAllowedNow(NOT_NOW)
    refuse_errors(campaign, frame)
    content = compose(draft_of(campaign._mapping, frame), frame)
    outbox.keep(tx, content, now=now)
    list_key = Audience.parse(campaign.audience).list_key
    mailing = mailings.begin(tx, kind=Kind.CAMPAIGN, language=frame.language, list_key=list_key, now=now)
    begun = {"started_at": now, "mailing_id": mailing, "content_hash": content.hash}
    move_delivery(tx, email_delivery(tx, campaign.id).id, Sending.PENDING, Sending.SENDING, **begun)
    touch(tx, campaign.id, now=now, published_at=now, held=None)


def refuse_errors(campaign: Any, frame: Frame) -> None:
    """Refuse what no reader could use; warnings are the publisher's to judge."""
    for finding in check(draft_of(campaign._mapping, frame), frame):
        if finding.level is Level.ERROR:
            raise Refused(finding.message.rstrip("."))


def schedule(tx: Connection, campaign_id: str, *, at: datetime | None, frame: Frame, now: datetime) -> None:
    """Queue the campaign for `at`, or for the time that was planned. The audience is counted then, not now."""
    campaign = locked(tx, campaign_id)
    if campaign.state != State.SCHEDULED:
        move(tx, campaign_id, State.SCHEDULED)
    refuse_errors(campaign, frame)
    moment = future(at or campaign.scheduled_at, now)
    touch(tx, campaign_id, now=now, scheduled_at=moment, held=None)


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
