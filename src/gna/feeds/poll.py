"""Looking at feeds: those that are due, by whichever process is first, each by one at a time."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock, log
from gna.config import Settings
from gna.db import Database, timed
from gna.errors import DatabaseAway, NotAllowedNow, NotFound, Refused, Unreachable
from gna.feeds import directory, hubs, memory, table
from gna.feeds.decide import decide
from gna.feeds.entry import Document
from gna.feeds.fetch import LONGEST_WAIT, Fetched, FetchFailed, Known, fetch
from gna.feeds.notices import Notices
from gna.feeds.reading.reader import read_apart
from gna.feeds.table import f, feeds

logger = log.get(__name__)

# Longer than fetching and reading may take; whoever holds a feed longer than this has died.
LEASE = timedelta(seconds=90)
# So many failures in a row are no accident.
FAILURES = 3
TOGETHER = 4
# While a website keeps us waiting, so many seconds pass until others that are due are noticed.
AGAIN = 1
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
        self._stopping = False
        self._looks: dict[str, asyncio.Task[bool]] = {}

    async def work(self) -> bool:
        """Look at feeds that are due, and at those that become due meanwhile: a slow website keeps no other waiting."""
        await self.prepare()
        try:
            while await self._begin():
                await asyncio.wait(self._looks.values(), timeout=AGAIN, return_when=asyncio.FIRST_COMPLETED)
                for feed_id in [feed_id for feed_id, look in self._looks.items() if look.done()]:
                    look = self._looks.pop(feed_id)
                    if not look.cancelled():
                        look.result()
        finally:
            self._leave()
        return False

    def stop(self) -> None:
        """Wait for no website any more; whoever comes next looks again."""
        self._stopping = True
        self._leave()

    def _leave(self) -> None:
        for look in self._looks.values():
            look.cancel()

    async def _begin(self) -> bool:
        """Begin as many looks as there is room for; False if there is none under way."""
        if not self._stopping and len(self._looks) < TOGETHER:
            interval = self._settings.feed_check_interval
            every_due = await self._db.look(timed(_due), interval=interval)
            due = [feed_id for feed_id in every_due if feed_id not in self._looks]
            for feed_id in due[: TOGETHER - len(self._looks)] if not self._stopping else ():
                self._looks[feed_id] = asyncio.create_task(self._check(feed_id))
        return bool(self._looks)

    async def prepare(self) -> None:
        """Follow the feed that FEED_URL names now, and no other that it named before."""
        if not self._is_ready:
            interval = self._settings.feed_check_interval
            await self._db.run(timed(directory.follow_setting), self._settings.feed_url, interval=interval)
            self._is_ready = True

    async def check(self, feed_id: str, *, waits: Callable[[], None] = lambda: None) -> None:
        """Look at a feed now, because somebody wants it; `waits` is told if it takes a while."""
        deadline, has_told = asyncio.get_running_loop().time() + PATIENCE, False
        while not await self._check(feed_id, now=True):
            if not has_told:
                waits()
                has_told = True
            if asyncio.get_running_loop().time() > deadline:
                raise NotAllowedNow("Another look at the feed is under way; try again in a minute")
            await asyncio.sleep(TRY)

    async def _check(self, feed_id: str, *, now: bool = False) -> bool:
        """One look, unless somebody else is at it."""
        claim = timed(_claim)
        feed = await self._db.run(claim, feed_id, early=now, interval=self._settings.feed_check_interval)
        if feed is None:
            return False
        try:
            failed = await self._attempt(feed, fresh=now or self._is_early(feed))
        except asyncio.CancelledError:
            # Who comes next need not wait for somebody who has left.
            await self._db.run(timed(_release), feed)
            raise
        if failed:
            await self._db.run(timed(_fail), feed, failed, notices=self._notices)
        else:
            await self._ask_hub(feed_id)
        return True

    def _is_early(self, feed: Any) -> bool:
        """Whether somebody rang: then what caches on the way have is not good enough."""
        looked = feed.last_checked_at
        return looked is not None and clock.now() - looked < self._settings.feed_check_interval * 0.9

    async def _attempt(self, feed: Any, *, fresh: bool) -> Failed | None:
        """Look, and write down what that brought; or say why it could not be done."""
        try:
            look = await self._look(feed, fresh=fresh)
            await self._db.run(timed(_settle), feed, look, notices=self._notices)
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
        return None

    async def _look(self, feed: Any, *, fresh: bool) -> Look:
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
        archive = f"{self._settings.base_url}/archive"
        if fetched.url == f"{archive}.xml":
            raise Refused("It is the archive of Gna itself: what it mails would be news again, for ever.")
        document = await read_apart(fetched.body, content_type=fetched.content_type, url=fetched.url)
        # A website may show our archive in a feed of its own.
        others = tuple(entry for entry in document.entries if not (entry.link or "").startswith(f"{archive}/"))
        return Look(fetched, replace(document, entries=others))

    async def _ask_hub(self, feed_id: str) -> None:
        """Keep its hub, if it has one; a feed that nobody changes has one too."""
        try:
            feed = await self._db.look(table.get, feed_id)
            if hubs.is_due(feed, self._settings, now=clock.now()):
                await hubs.subscribe(self._db, feed, self._settings)
        except NotFound:
            return  # it was removed meanwhile
        except DatabaseAway:
            raise
        except Exception:
            logger.exception("the hub of a feed could not be asked", feed=feed_id)


def _due(tx: Connection, *, interval: timedelta, now: datetime) -> list[str]:
    its_time = sa.and_(_has_come(interval, now), f.claimed_until.is_(None))
    wanted = sa.select(f.id).where(f.active, sa.or_(its_time, _is_over(now)))
    return list(tx.scalars(wanted.order_by(f.due_at)))


def _has_come(interval: timedelta, now: datetime) -> sa.ColumnElement[bool]:
    """Whether a feed is due; a time beyond the longest wait was written before the clock was set back."""
    # A transaction that waited for the row has an older `now` than the one that wrote it.
    latest = now + interval + LEASE
    latest_if_asked_to_wait = now + max(interval, LONGEST_WAIT) + LEASE
    return sa.or_(
        f.due_at <= now,
        f.due_at > latest_if_asked_to_wait,
        sa.and_(f.due_at > latest, f.consecutive_failures == 0),
    )


def _is_over(now: datetime) -> sa.ColumnElement[bool]:
    """Whoever had it has died, or had a clock that was far ahead; who waited for the row has an older `now` than it."""
    return sa.or_(f.claimed_until <= now, f.claimed_until > now + 2 * LEASE)


def _claim(tx: Connection, feed_id: str, *, early: bool, interval: timedelta, now: datetime) -> Any:
    """The feed, if this process looks at it now. The next look is planned already: who asks meanwhile gets one."""
    free = sa.or_(f.claimed_until.is_(None), _is_over(now))
    due = sa.true() if early else sa.and_(f.active, sa.or_(_has_come(interval, now), _is_over(now)))
    mine = sa.update(feeds).where(f.id == feed_id, free, due)
    won = tx.execute(mine.values(claimed_until=now + LEASE, due_at=now + interval).returning(*feeds.c)).one_or_none()
    if won is None and early:
        table.get(tx, feed_id)  # refuses what is no feed
    return won


def _release(tx: Connection, claimed: Any, *, now: datetime) -> None:
    if _still_mine(tx, claimed) is not None:
        table.change(tx, claimed.id, claimed_until=None, due_at=now)


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
    remembered = memory.recall(tx, feed, document, now=now)
    verdict = decide(document, remembered, now=now)
    memory.learn(tx, feed.id, verdict, now=now)
    found = {"new": len(verdict.new), "passed_over": verdict.passed_over}
    logger.info("feed checked", feed=feed.id, entries=len(document.entries), **found)
    # At another address it may be empty for a while; then the first look is yet to come.
    is_bare = remembered.since is None and remembered.anything and not document.entries
    marker = remembered.marker if remembered.has_moved else verdict.marker
    is_first = feed.known_since is None and not is_bare
    first: dict[str, Any] = {"known_since": now, "last_processed_at": marker} if is_first else {}
    return first | {
        "held": verdict.hold or feed.held,
        "passed_over": feed.passed_over + verdict.passed_over,
        "title": document.title or None,
        "site_url": document.site,
        "etag": fetched.known.etag,
        "last_modified": fetched.known.last_modified,
        "moved_to": fetched.moved_to,
        **hubs.found(feed, fetched.hub or document.hub, fetched.topic or document.topic),
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
