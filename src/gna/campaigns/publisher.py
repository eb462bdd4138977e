"""The publisher's step: start what is due, give people their messages, write down how deliveries ended.

It finds its rows, wins them by conditional changes, and can run in any number of processes at the same time.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import log
from gna.campaigns import overview
from gna.campaigns.audience import Audience
from gna.campaigns.publish import Ready, prepare, publish
from gna.campaigns.states import Sending, State, verdict
from gna.campaigns.table import c, campaigns, d, deliveries, is_sending, locked, move_delivery, touch
from gna.db import Database, timed
from gna.delivery import mailings
from gna.delivery.claim import contents_of
from gna.delivery.mailings import Totals
from gna.delivery.mailings import mailings as mailing_rows
from gna.errors import DatabaseAway, GnaError, NotAllowedNow, NotFound
from gna.mail.render import Frame

logger = log.get(__name__)

m = mailing_rows.c
MISSED = "It was to be sent at {at:%Y-%m-%d %H:%M} UTC, and Gna did not run then. Send it now or choose another time."
CANNOT_BE_COMPOSED = "It could not be composed at its time: {why}. Change it, then send it or choose another time."


@dataclass(frozen=True)
class Due:
    """What there is to do for the publisher."""

    starts: list[str]
    fills: list[Any]
    ends: list[str]


class Publisher:
    """Publishes what is due, step by step."""

    def __init__(self, db: Database, *, frame: Frame, stale_after: timedelta) -> None:
        self._db = db
        self._frame = frame
        self._stale_after = stale_after

    def work(self) -> bool:
        """Do one round; True if there may be more to do at once."""
        with self._db.read() as tx:
            due = timed(_due)(tx)
        for campaign_id in due.starts:
            self._start(campaign_id)
        # One chunk of each, so that a small campaign does not wait for a large one, nor a stopping process for any.
        filled = [self._fill_or_tell(delivery) for delivery in due.fills]
        for delivery_id in due.ends:
            with self._db.write() as tx:
                timed(_end)(tx, delivery_id)
        return bool(due.starts) or any(filled)

    def _start(self, campaign_id: str) -> None:
        """Publish a campaign whose time has come; one that cannot be waits for a person, and keeps no other waiting."""
        try:
            with self._db.read() as tx:
                row = overview.row(tx, campaign_id)
            ready = prepare(row, self._frame)
            with self._db.write() as tx:
                timed(_start)(tx, ready, stale_after=self._stale_after)
        except DatabaseAway:
            raise
        except (NotFound, NotAllowedNow):
            return  # another worker was faster, or somebody changed it or threw it away since we looked
        except Exception as error:
            logger.exception("a scheduled campaign could not be composed", campaign=campaign_id)
            why = str(error).rstrip(".") if isinstance(error, GnaError) else type(error).__name__
            with self._db.write() as tx:
                timed(_hold)(tx, campaign_id, CANNOT_BE_COMPOSED.format(why=why))

    def _fill_or_tell(self, delivery: Any) -> bool:
        """The same for one whose messages cannot be made: it keeps no other waiting, and is tried again."""
        try:
            return self._fill(delivery)
        except DatabaseAway:
            raise
        except Exception:
            logger.exception("messages of a delivery could not be made", delivery=delivery.id)
            return False

    def _fill(self, delivery: Any) -> bool:
        """Give the next of a delivery's people their messages; False if everybody has theirs."""
        audience = Audience.parse(delivery.audience)
        with self._db.read() as tx:
            people = audience.people(tx, confirmed_by=delivery.started_at)
            reach = mailings.measure(tx, people) if delivery.fill_until is None else None
            content = contents_of(tx, [delivery.content_hash])[delivery.content_hash]
        with self._db.write() as tx:
            if reach:
                mailings.expect(tx, delivery.mailing_id, reach)
            more = timed(mailings.fill)(tx, delivery.mailing_id, content, people)
        self._db.give_way()
        return bool(more)


def _due(tx: Connection, *, now: datetime) -> Due:
    starts = sa.select(c.id).where(c.state == State.SCHEDULED, c.scheduled_at <= now, c.held.is_(None))
    its_mailing = (m.fill_until, m.filled_at, m.state)
    under_way = sa.select(d.id, d.mailing_id, d.content_hash, d.started_at, c.audience, *its_mailing)
    going = tx.execute(
        under_way.select_from(deliveries)
        .join(campaigns, c.id == d.campaign_id)
        .join(mailing_rows, m.id == d.mailing_id)
        .where(is_sending)
    ).all()
    return Due(
        starts=list(tx.scalars(starts.order_by(c.scheduled_at, c.id))),
        fills=[row for row in going if row.filled_at is None],
        ends=[row.id for row in going if row.state == mailings.State.DONE],
    )


def _start(tx: Connection, ready: Ready, *, stale_after: timedelta, now: datetime) -> None:
    campaign_id = ready.campaign_id
    row = locked(tx, campaign_id)
    if row.state != State.SCHEDULED or row.held or row.scheduled_at > now:
        return  # another worker was faster, or somebody changed their mind
    if now - row.scheduled_at > stale_after:
        _hold(tx, campaign_id, MISSED.format(at=row.scheduled_at), now=now)
        logger.warning("a campaign's time was missed; it waits for a person", campaign=campaign_id)
        return
    publish(tx, ready, now=now)
    logger.info("scheduled campaign started", campaign=campaign_id)


def _hold(tx: Connection, campaign_id: str, why: str, *, now: datetime) -> None:
    if locked(tx, campaign_id).state == State.SCHEDULED:
        touch(tx, campaign_id, now=now, held=why)


def _end(tx: Connection, delivery_id: str, *, now: datetime) -> None:
    """Write down how a delivery ended, once."""
    locked(tx, tx.execute(sa.select(d.campaign_id).where(d.id == delivery_id)).scalar_one())
    row = tx.execute(
        sa.select(d.state, d.mailing_id, m.state.label("mailing"), m.reasons, m.retryable_count)
        .join(mailing_rows, m.id == d.mailing_id)
        .where(d.id == delivery_id)
    ).one()
    if row.state != Sending.SENDING or row.mailing != mailings.State.DONE:
        return  # another worker was faster
    sums = mailings.totals(tx, row.mailing_id)
    end = verdict(sent=sums.sent, failed=sums.failed, left_over=row.retryable_count > 0)
    detail = _why(sums, row.reasons or []) if end == Sending.FAILED else None
    move_delivery(tx, delivery_id, Sending.SENDING, end, finished_at=now, error_detail=detail)
    logger.info("delivery ended", delivery=delivery_id, state=str(end), sent=sums.sent, failed=sums.failed)


def _why(sums: Totals, reasons: list[dict[str, Any]]) -> str:
    """What an admin reads about a failed delivery."""
    what = f"{sums.failed} of {sums.audience} mails could not be sent"
    said = "; ".join(f"{reason['reason']} ({reason['count']})" for reason in reasons)
    return f"{what}: {said}" if said else what
