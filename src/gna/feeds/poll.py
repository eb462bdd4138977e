"""Looking at feeds: those that are due, by whichever process is first, each by one at a time."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock, log
from gna.config import Settings
from gna.db import Database, timed
from gna.errors import DatabaseAway, NotAllowedNow, Refused, Unreachable
from gna.feeds import directory, hubs, memory, table
from gna.feeds.decide import decide
from gna.feeds.entry import Document
from gna.feeds.fetch import Fetched, FetchFailed, Known, fetch
from gna.feeds.notices import Notices
from gna.feeds.reader import read_apart
from gna.feeds.table import f, feeds

logger = log.get(__name__)

# Longer than fetching and reading may take; whoever holds a feed longer than this has died.
LEASE = timedelta(minutes=2)
# So many failures in a row are no accident.
FAILURES = 3
TOGETHER = 4
# How long somebody who wants a look now waits for one that is under way, and how often they try.
PATIENCE, TRY = 60, 0.2


@dataclass(frozen=True)
class Look:
    """What a look at a feed brought: its document, or nothing because it has not changed."""

    fetched: Fetched | None
    document: Document | None = None


@dataclass(frozen=True)
class Failed:
    """Why it brought nothing."""

    reason: str
    retry_after: timedelta | None = None


class Poller:
    """Looks at feeds."""

    def __init__(self, db: Database, settings: Settings) -> None:
        self._db = db
        self._settings = settings
        self._notices = Notices.of(settings)
        self._is_ready = False
        self._looks: list[asyncio.Task[bool]] = []

    async def work(self) -> bool:
        """Look at feeds that are due; True if there may be more to do at once."""
        await self.prepare()
        due = await self._db.look(timed(_due))
        self._looks = [asyncio.create_task(self._check(feed_id)) for feed_id in due[:TOGETHER]]
        for outcome in await asyncio.gather(*self._looks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
        return len(due) > TOGETHER

    def stop(self) -> None:
        """Wait for no website any more; whoever comes next looks again."""
        for look in self._looks:
            look.cancel()

    async def prepare(self) -> None:
        """Know the feed of FEED_URL."""
        if not self._is_ready:
            await self._db.run(timed(directory.follow_setting), self._settings.feed_url)
            self._is_ready = True

    async def check(self, feed_id: str) -> None:
        """Look at a feed now, because somebody wants it."""
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while not await self._check(feed_id, now=True):
            if asyncio.get_running_loop().time() > deadline:
                raise NotAllowedNow("Another look at the feed is under way; try again in a minute")
            await asyncio.sleep(TRY)

    async def _check(self, feed_id: str, *, now: bool = False) -> bool:
        """One look, unless somebody else is at it."""
        claim = timed(_claim)
        feed = await self._db.run(claim, feed_id, early=now, interval=self._settings.feed_check_interval)
        if feed is None:
            return False
        found = await self._look(feed, fresh=now)
        settle = timed(_fail if isinstance(found, Failed) else _settle)
        await self._db.run(settle, feed, found, notices=self._notices)
        if isinstance(found, Look) and found.fetched:
            await self._ask_hub(feed_id)
        return True

    async def _ask_hub(self, feed_id: str) -> None:
        feed = await self._db.look(table.get, feed_id)
        if hubs.is_due(feed, self._settings, now=clock.now()):
            await hubs.subscribe(self._db, feed, self._settings)

    async def _look(self, feed: Any, *, fresh: bool) -> Look | Failed:
        try:
            fetched = await fetch(
                feed.url,
                Known(feed.etag, feed.last_modified),
                own=feed.configured,
                any_private=self._settings.feeds_allow_private,
                contact=self._settings.base_url,
                fresh=fresh,
            )
            if fetched is None:
                return Look(None)
            kind, url = fetched.content_type, fetched.url
            return Look(fetched, await read_apart(fetched.body, content_type=kind, url=url))
        except FetchFailed as failed:
            return Failed(str(failed), failed.retry_after)
        except (Unreachable, Refused) as refused:
            return Failed(str(refused))
        except DatabaseAway:
            raise
        except Exception as error:
            # One feed that surprises us keeps no other waiting.
            logger.exception("a feed could not be looked at", feed=feed.id)
            return Failed(f"Gna itself failed ({type(error).__name__}); its log says more")


def _due(tx: Connection, *, now: datetime) -> list[str]:
    its_time = sa.and_(f.due_at <= now, f.claimed_until.is_(None))
    wanted = sa.select(f.id).where(f.active, sa.or_(its_time, f.claimed_until <= now))
    return list(tx.scalars(wanted.order_by(f.due_at)))


def _claim(tx: Connection, feed_id: str, *, early: bool, interval: timedelta, now: datetime) -> Any:
    """The feed, if this process looks at it now. The next look is planned already: who asks meanwhile gets one."""
    free = sa.or_(f.claimed_until.is_(None), f.claimed_until <= now)
    due = sa.true() if early else sa.and_(f.active, sa.or_(f.due_at <= now, f.claimed_until <= now))
    mine = sa.update(feeds).where(f.id == feed_id, free, due)
    won = tx.execute(mine.values(claimed_until=now + LEASE, due_at=now + interval).returning(*feeds.c)).one_or_none()
    if won is None and early:
        table.get(tx, feed_id)  # refuses what is no feed
    return won


def _settle(tx: Connection, claimed: Any, look: Look, *, notices: Notices, now: datetime) -> None:
    """Write down what a look brought: what is new, what is known, and that all is well; all or nothing."""
    feed = _still_mine(tx, claimed)
    if feed is None:
        return
    if look.fetched and look.document:
        found = _learn(tx, feed, look.fetched, look.document, now)
    else:
        found = {}
        logger.info("feed checked", feed=feed.id, new=0, changed=False)
    if feed.told_at:
        notices.well(tx, feed, now=now)
    well = {"last_error": None, "consecutive_failures": 0, "told_at": None}
    table.change(tx, feed.id, last_checked_at=now, claimed_until=None, **well, **found)


def _learn(tx: Connection, feed: Any, fetched: Fetched, document: Document, now: datetime) -> dict[str, Any]:
    """Remember the posts; says what changes in the feed's row."""
    verdict = decide(document, memory.recall(tx, feed, document), now=now)
    memory.learn(tx, feed.id, verdict, now=now)
    logger.info("feed checked", feed=feed.id, entries=len(document.entries), new=len(verdict.new))
    first = {"known_since": now, "last_processed_at": verdict.marker} if feed.known_since is None else {}
    return first | {
        "held": verdict.hold or feed.held,
        "title": document.title or None,
        "site_url": document.site,
        "etag": fetched.known.etag,
        "last_modified": fetched.known.last_modified,
        "moved_to": fetched.moved_to,
        "hub_url": fetched.hub or document.hub,
        "topic_url": fetched.topic or document.topic,
    }


def _fail(tx: Connection, claimed: Any, failed: Failed, *, notices: Notices, now: datetime) -> None:
    """Write down that a look failed; the admin is told once of several in a row."""
    feed = _still_mine(tx, claimed)
    if feed is None:
        return
    failures = feed.consecutive_failures + 1
    logger.warning("feed failed", feed=feed.id, reason=failed.reason, failures=failures)
    told = {}
    if failures >= FAILURES and feed.told_at is None:
        notices.failing(tx, feed, failures=failures, error=failed.reason, now=now)
        told = {"told_at": now}
    wish = now + (failed.retry_after or timedelta())
    later = {"due_at": max(feed.due_at, wish)}
    wrong = {"last_error": failed.reason, "consecutive_failures": failures}
    table.change(tx, feed.id, last_checked_at=now, claimed_until=None, **wrong, **told, **later)


def _still_mine(tx: Connection, claimed: Any) -> Any:
    """The feed's row, unless it was deleted, or somebody took over because this took too long."""
    row = tx.execute(sa.select(feeds).where(f.id == claimed.id).with_for_update()).one_or_none()
    return row if row is not None and row.claimed_until == claimed.claimed_until else None
