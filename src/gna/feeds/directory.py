"""The feeds that a publisher keeps: add, change, look at, let go."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from gna import clock, db, ids, log
from gna.campaigns.audience import Audience
from gna.campaigns.table import c, campaigns
from gna.errors import NotAllowedNow, Refused
from gna.feeds import cadence, digest, memory
from gna.feeds.address import parse_address
from gna.feeds.fetch import LONGEST_WAIT
from gna.feeds.table import Mode, change, e, f, feed_entries, feeds, get, locked

logger = log.get(__name__)

MOST = 100
# What an admin may say of a feed.
FIELDS = ("url", "active", "mode", "cadence", "at", "zone", "weekday", "monthday", "subject", "audience", "archived")
# What is nobody's business but ours.
HIDDEN = ("claimed_until", "etag", "last_modified", "told_at", "hub_asked_at", "hub_secret")
TAKEN = "There is a feed with this address already"
THE_SETTINGS = "It is the feed of FEED_URL; change that setting instead"


def parse(sent: Mapping[str, Any], *, new: bool = False) -> dict[str, Any]:
    """What an admin wrote, checked; what is left out stays as it is."""
    if unknown := sorted(set(sent) - set(FIELDS)):
        raise Refused(f"Unknown field: {unknown[0][:40]!a}; known are {', '.join(FIELDS)}")
    if new and sent.get("url") is None:
        raise Refused("url is required")
    return {name: READ[name](sent[name]) for name in FIELDS if name in sent}


def add(tx: Connection, wish: Mapping[str, Any], *, now: datetime) -> str:
    """A new feed, looked at as soon as possible; says its id."""
    if (tx.scalar(sa.select(sa.func.count()).select_from(feeds)) or 0) >= MOST:
        raise NotAllowedNow(f"There are {MOST} feeds already; remove one first")
    return _insert(tx, wish, now=now)


def edit(tx: Connection, feed_id: str, wish: Mapping[str, Any], *, now: datetime) -> None:
    """Change what a publisher wants of a feed. At a new address it may be another, and its first look comes first."""
    feed = locked(tx, feed_id)
    values = dict(wish)
    if "url" in wish and wish["url"] != feed.url:
        if feed.configured:
            raise NotAllowedNow(THE_SETTINGS)
        values |= _moved(now)
    if wish.get("active") and not feed.active:
        values["due_at"] = now
    if values:
        _change(tx, feed_id, values)


def remove(tx: Connection, feed_id: str) -> None:
    """Forget a feed; campaigns that it made stay."""
    if locked(tx, feed_id).configured:
        raise NotAllowedNow(THE_SETTINGS)
    tx.execute(sa.delete(feeds).where(f.id == feed_id))


def ask(tx: Connection, *, now: datetime) -> None:
    """There may be news: look at every feed as soon as possible."""
    tx.execute(sa.update(feeds).where(f.active).values(due_at=now))


def skip(tx: Connection, feed_id: str) -> None:
    """Wait no more for the feed's campaign; what is in it is not mailed again."""
    locked(tx, feed_id)
    campaign_id = open_campaign(tx, feed_id)
    if campaign_id is None:
        raise NotAllowedNow("The feed waits for no campaign")
    memory.drop(tx, feed_id, campaign_id)


def follow_setting(tx: Connection, url: str | None, *, interval: timedelta, now: datetime) -> None:
    """For a server that starts: follow what FEED_URL names, and nothing that it named before."""
    # Who looks more often from now on does not wait for what was planned before; a website's own wish is kept.
    wish = sa.and_(f.consecutive_failures > 0, f.due_at <= now + LONGEST_WAIT)
    sooner = sa.update(feeds).where(f.due_at > now + interval, sa.not_(wish))
    tx.execute(sooner.values(due_at=now + interval))
    before = tx.execute(sa.select(f.id, f.url).where(f.configured).limit(1)).one_or_none()
    if before is not None and before.url != url:
        if url is not None and tx.scalar(sa.select(f.id).where(f.url == url)) is None:
            # The same feed at another address, or another one: its first look tells. What becomes of it stays.
            change(tx, before.id, url=url, **_moved(now))
            return
        tx.execute(sa.update(feeds).where(f.configured, f.url != (url or "")).values(configured=False, active=False))
        logger.warning("FEED_URL names this feed no more, so it rests", feed=before.id)
    if url is not None:
        _follow(tx, url, now=now)


def know_setting(tx: Connection, url: str | None, *, now: datetime) -> None:
    """For a command, which may not know the settings of the server: only what no server has done yet."""
    if url is not None and tx.scalar(sa.select(f.id).where(f.configured).limit(1)) is None:
        _follow(tx, url, now=now)


def _follow(tx: Connection, url: str, *, now: datetime) -> None:
    # Another process may start at the same moment, and the operator's own feed has its place among any number.
    with suppress(NotAllowedNow):
        _insert(tx, {"url": url, "configured": True}, now=now)
    theirs = sa.update(feeds).where(f.url == url, ~f.configured)
    tx.execute(theirs.values(configured=True, active=True, due_at=now))


def _moved(now: datetime) -> dict[str, Any]:
    """What changes with a feed's address. Whoever looks at the old one now must not write down what is there."""
    forgotten = ("claimed_until", "known_since", "etag", "last_modified", "moved_to")
    hub = ("hub_url", "topic_url", "hub_secret", "hub_asked_at", "hub_until")
    return dict.fromkeys((*forgotten, *hub)) | {"due_at": now}


def listed(tx: Connection, *, page: int, per_page: int) -> tuple[list[dict[str, Any]], int]:
    """One page of feeds, newest first, and how many there are."""
    total = tx.scalar(sa.select(sa.func.count()).select_from(feeds)) or 0
    some = sa.select(feeds).order_by(f.created_at.desc(), f.id.desc()).limit(per_page).offset((page - 1) * per_page)
    return _shown(tx, tx.execute(some).all()), total


def show(tx: Connection, feed_id: str) -> dict[str, Any]:
    """One feed as an admin sees it."""
    return _shown(tx, [get(tx, feed_id)])[0]


def open_campaign(tx: Connection, feed_id: str) -> str | None:
    """The campaign that the feed's posts went into and that is not delivered yet."""
    taken = sa.select(e.campaign_id).where(e.feed_id == feed_id, e.campaign_id.is_not(None))
    return tx.scalar(taken.limit(1))


def _shown(tx: Connection, rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Feeds with what waits of each, and the campaign that its posts went into."""
    their = e.feed_id.in_([row.id for row in rows])
    waits = sa.select(e.feed_id, sa.func.count().label("number")).where(their, e.campaign_id.is_(None))
    waiting = {row.feed_id: row.number for row in tx.execute(waits.group_by(e.feed_id)).all()}
    taken = sa.select(
        e.feed_id, e.campaign_id, c.state.label("campaign_state"), c.held.label("campaign_held")
    ).distinct()
    joined = taken.select_from(feed_entries.outerjoin(campaigns, c.id == e.campaign_id))
    opened = {row.feed_id: row for row in tx.execute(joined.where(their, e.campaign_id.is_not(None))).all()}
    return [_seen(row) | {"waiting": waiting.get(row.id, 0)} | _campaign(opened.get(row.id)) for row in rows]


def _seen(row: Any) -> dict[str, Any]:
    return clock.in_json({name: value for name, value in row._mapping.items() if name not in HIDDEN})


def _campaign(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name, None) for name in ("campaign_id", "campaign_state", "campaign_held")}


def _insert(tx: Connection, values: Mapping[str, Any], *, now: datetime) -> str:
    """A new row, unless another has its address; the index decides, also in a race."""
    feed_id = ids.new()
    row = db.insert(tx, feeds).values(id=feed_id, due_at=now, created_at=now, **values)
    if tx.scalar(row.on_conflict_do_nothing(index_elements=["url"]).returning(f.id)) is None:
        raise NotAllowedNow(TAKEN)
    return feed_id


def _change(tx: Connection, feed_id: str, values: Mapping[str, Any]) -> None:
    try:
        with tx.begin_nested():
            change(tx, feed_id, **values)
    except IntegrityError:
        raise NotAllowedNow(TAKEN) from None


def _mode(value: object) -> str:
    if value not in [*Mode]:
        raise Refused(f"mode must be {' or '.join(Mode)}")
    return str(value)


def _flag(name: str) -> Callable[[object], bool]:
    def read(value: object) -> bool:
        if not isinstance(value, bool):
            raise Refused(f"{name} must be true or false")
        return value

    return read


def _audience(value: object) -> dict[str, Any]:
    return Audience.parse(value).shown()


READ: dict[str, Callable[[object], Any]] = {
    "url": parse_address,
    "active": _flag("active"),
    "mode": _mode,
    "cadence": cadence.parse_every,
    "at": cadence.parse_at,
    "zone": cadence.parse_zone,
    "weekday": cadence.parse_weekday,
    "monthday": cadence.parse_monthday,
    "subject": digest.parse_subject,
    "audience": _audience,
    "archived": _flag("archived"),
}
