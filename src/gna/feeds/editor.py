"""The editor's step: posts that wait become one campaign; when it is delivered, the feed's marker moves.

Everything is in rows, and each change is one transaction. A process may die anywhere: the next one goes on from there.
"""

from datetime import datetime, time
from enum import Enum
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import log
from gna.campaigns import writing
from gna.campaigns.audience import Audience, count
from gna.campaigns.publish import cancel
from gna.campaigns.states import ENDED, Sending, State
from gna.campaigns.table import campaigns, d, deliveries, move, touch
from gna.campaigns.table import locked as locked_campaign
from gna.campaigns.writing import Wish
from gna.db import Database, timed
from gna.delivery.mailings import mailings
from gna.errors import DatabaseAway
from gna.feeds import digest, memory
from gna.feeds.cadence import Cadence, Every
from gna.feeds.decide import latest
from gna.feeds.directory import open_campaign
from gna.feeds.notices import Notices
from gna.feeds.table import Mode, change, e, f, feeds, locked

logger = log.get(__name__)

AS_DRAFTS = "Campaigns of this feed wait for you as drafts, because its mode is draft."
NOBODY = (
    "Nobody is in its audience, so nobody would get it. "
    "Change the audience of this campaign and of its feed, then send or delete it."
)
REACHED_NOBODY = (
    "It could be sent to nobody at all. Mend the cause and try it again (gna campaigns retry), "
    "or let go of it (gna feed skip)."
)


class Fate(Enum):
    """What became of a feed's campaign."""

    OPEN = "open"
    DELIVERED = "delivered"
    GONE = "gone"


class Editor:
    """Makes campaigns out of what feeds brought."""

    def __init__(self, db: Database, notices: Notices) -> None:
        self._db = db
        self._notices = notices

    def work(self) -> bool:
        """Do what there is to do for every feed with posts on their way."""
        with self._db.read() as tx:
            due = timed(_due)(tx)
        for feed_id in due:
            try:
                self.tend(feed_id)
            except DatabaseAway:
                raise
            except Exception:
                # One feed whose posts cannot be put into a campaign keeps no other waiting, and is tried again.
                logger.exception("the posts of a feed could not be put into a campaign", feed=feed_id)
        return False

    def tend(self, feed_id: str) -> None:
        """Do what there is to do for one feed."""
        with self._db.write() as tx:
            timed(_tend)(tx, feed_id, notices=self._notices)


def _due(tx: Connection, *, now: datetime) -> list[str]:
    """The feeds of which something can be done; most of the time none."""
    some = sa.select(feeds).where(f.id.in_(sa.select(e.feed_id)))
    return [feed.id for feed in tx.execute(some).all() if _may_have_work(tx, feed, now)]


def _may_have_work(tx: Connection, feed: Any, now: datetime) -> bool:
    try:
        return _has_work(tx, feed, now)
    except ZoneInfoNotFoundError:
        logger.error("the time zone of a feed is not known on this machine", feed=feed.id, zone=feed.zone)
        return False


def _has_work(tx: Connection, feed: Any, now: datetime) -> bool:
    campaign_id = open_campaign(tx, feed.id)
    if campaign_id is not None:
        return _fate(tx, campaign_id) is not Fate.OPEN or _stuck(tx, campaign_id) is not None
    oldest = tx.scalar(sa.select(sa.func.min(e.found_at)).where(e.feed_id == feed.id))
    return bool(feed.active and oldest and _cadence(feed).next(oldest) <= now)


def _tend(tx: Connection, feed_id: str, *, notices: Notices, now: datetime) -> None:
    """Let go of the campaign that has ended, then make the next one if it is time."""
    feed = locked(tx, feed_id)
    campaign_id = open_campaign(tx, feed_id)
    if campaign_id is not None:
        fate = _fate(tx, campaign_id)
        if fate is Fate.OPEN:
            _tell(tx, feed, campaign_id, notices, now)
            return
        _conclude(tx, feed, campaign_id, fate)
    posts = memory.waiting(tx, feed_id)
    if feed.active and posts and _cadence(feed).next(min(post.found_at for post in posts)) <= now:
        _compose(tx, feed, posts, notices, now)


def _tell(tx: Connection, feed: Any, campaign_id: str, notices: Notices, now: datetime) -> None:
    """The admin hears once of a campaign that waits for them; one that was not started becomes a draft."""
    state = locked_campaign(tx, campaign_id).state
    if (why := _stuck(tx, campaign_id)) is not None:
        if state == State.SCHEDULED:
            cancel(tx, campaign_id, now=now)
        touch(tx, campaign_id, now=now, held=why)
        notices.waits(tx, feed, campaign_id, why=why, now=now)


def _stuck(tx: Connection, campaign_id: str) -> str | None:
    """Why a campaign goes on only if a person does something, if they were not told yet."""
    its = tx.execute(sa.select(campaigns.c.state, campaigns.c.held).where(campaigns.c.id == campaign_id)).one()
    if its.state == State.SCHEDULED:
        return str(its.held) if its.held else None
    return REACHED_NOBODY if its.state == State.PUBLISHED and not its.held else None


def _conclude(tx: Connection, feed: Any, campaign_id: str, fate: Fate) -> None:
    """The marker moves to the newest post that was delivered; what somebody threw away moves nothing."""
    if fate is Fate.DELIVERED:
        its = sa.select(e.published_at, e.found_at).where(e.feed_id == feed.id, e.campaign_id == campaign_id)
        dates = [latest([post.published_at], post.found_at) for post in tx.execute(its).all()]
        newest = max((date for date in (*dates, feed.last_processed_at) if date), default=None)
        change(tx, feed.id, last_processed_at=newest)
        tx.execute(sa.update(campaigns).where(campaigns.c.id == campaign_id).values(held=None))
    memory.drop(tx, feed.id, campaign_id)
    logger.info("the campaign of a feed has ended", feed=feed.id, campaign=campaign_id, fate=fate.value)


def _compose(tx: Connection, feed: Any, posts: Any, notices: Notices, now: datetime) -> None:
    """All posts that wait become one campaign, which is sent at once or waits for a person."""
    said = digest.write(feed, posts, language=notices.site.language, now=now)
    campaign_id = writing.create(tx, Wish(said), now=now)
    memory.take(tx, posts, campaign_id)
    held = feed.held or (NOBODY if feed.audience and not count(tx, Audience.parse(feed.audience)) else None)
    if held or feed.mode == Mode.DRAFT:
        touch(tx, campaign_id, now=now, held=held)
        notices.waits(tx, feed, campaign_id, why=held or AS_DRAFTS, now=now)
        change(tx, feed.id, held=None)
    else:
        # The publisher starts it like every other whose time has come.
        move(tx, campaign_id, State.SCHEDULED, scheduled_at=now)
    logger.info("posts became a campaign", feed=feed.id, campaign=campaign_id, posts=len(posts))


def _fate(tx: Connection, campaign_id: str) -> Fate:
    its = sa.select(d.state, mailings.c.sent_count).select_from(deliveries)
    rows = tx.execute(
        its.join(mailings, mailings.c.id == d.mailing_id, isouter=True).where(d.campaign_id == campaign_id)
    )
    found = rows.all()
    if not found:
        return Fate.GONE
    if any(row.state not in ENDED for row in found):
        return Fate.OPEN
    # What could not be sent to some can be tried again with the campaign; that keeps the feed's next one not waiting.
    reached = any(row.state == Sending.SENT or row.sent_count for row in found)
    return Fate.DELIVERED if reached else Fate.OPEN


def _cadence(feed: Any) -> Cadence:
    return Cadence(Every(feed.cadence), time.fromisoformat(feed.at), feed.zone, feed.weekday, feed.monthday)
