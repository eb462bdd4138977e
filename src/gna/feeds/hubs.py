"""Hubs, which tell us of new posts at once (WebSub): we ask them to, and recognise them when they do.

A hub is a bell and nothing more: what it says makes us look at the feed itself, so nothing that it sends is trusted.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self
from urllib.parse import urlencode

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import log, tokens
from gna.config import Settings
from gna.db import Database, timed
from gna.errors import NotFound, Unreachable
from gna.feeds import table
from gna.feeds.table import f
from gna.outside import ask

logger = log.get(__name__)

PATH = "/api/feed/webhook"
# What we ask for, and the most that we believe; a hub that falls silent is asked again after that.
LEASE = timedelta(days=10)
RENEW = timedelta(days=1)
# A hub that did not answer is not asked again before this.
PAUSE = timedelta(hours=12)
# Between two looks that it causes.
GAP = timedelta(seconds=20)
# Seconds: somebody may be waiting for the look that this is a part of.
WITHIN = 10
METHODS = ("sha1", "sha256", "sha384", "sha512")


def is_due(feed: Any, settings: Settings, *, now: datetime) -> bool:
    """Whether to ask the feed's hub: it must be able to reach this server, and a secret must protect the bell."""
    # Over plain http the secret would be everybody's.
    is_safe = str(feed.hub_url).startswith("https:") or settings.feeds_allow_private
    can = feed.hub_url and is_safe and settings.feed_webhook_secret and settings.platform_base_url
    ends_soon = feed.hub_until is None or feed.hub_until < now + RENEW
    return bool(can and ends_soon and (feed.hub_asked_at is None or feed.hub_asked_at < now - PAUSE))


def found(feed: Any, hub: str | None, topic: str | None) -> dict[str, Any]:
    """What changes in a feed's row when it names this hub; another one has promised us nothing yet."""
    if (hub, topic) == (feed.hub_url, feed.topic_url):
        return {}
    # When it was asked stays: a feed that names another hub every time makes us call nobody more often.
    secret = {} if hub == feed.hub_url else {"hub_secret": None}
    return {"hub_url": hub, "topic_url": topic, "hub_until": None, **secret}


async def subscribe(db: Database, feed: Any, settings: Settings) -> None:
    """Ask the hub of a feed to tell us of new posts; it will call back to make sure. Failing is no harm."""
    secret = await db.run(timed(_asked), feed.id)
    wish = {
        "hub.mode": "subscribe",
        "hub.topic": feed.topic_url or feed.url,
        "hub.callback": f"{settings.base_url}{PATH}?{urlencode({'feed': feed.id, 'token': token_of(secret)})}",
        "hub.secret": secret,
        "hub.lease_seconds": str(int(LEASE.total_seconds())),
    }
    try:
        answer = await ask(
            feed.hub_url,
            method="POST",
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            content=urlencode(wish).encode(),
            any_private=settings.feeds_allow_private,
            within=WITHIN,
        )
        logger.info("asked a hub for news", feed=feed.id, status=answer.status)
    except Unreachable as error:
        logger.warning("a hub cannot be asked for news", feed=feed.id, reason=str(error))


@dataclass(frozen=True)
class Promise:
    """The answer to a hub that calls back, and the feed that it promises to tell us of."""

    challenge: str
    feed_id: str | None
    lasts: timedelta


def confirm(tx: Connection, query: Mapping[str, str]) -> Promise:
    """What to answer a hub that verifies our request.

    Only the hub that we asked knows the token of the callback. All others get one answer, which is the same for feeds
    that we follow and feeds that we do not.
    """
    mode, topic, challenge = (query.get(f"hub.{name}", "") for name in ("mode", "topic", "challenge"))
    feed = _invited(tx, query.get("feed", ""), query.get("token", ""))
    if feed is None:
        raise NotFound("There is no such feed")
    if mode == "denied":
        logger.warning("a hub will not tell us of a feed", feed=feed.id)
        return Promise("", None, timedelta())
    is_followed = feed.active and topic in (feed.topic_url, feed.url)
    # Only we decide to leave a topic that we follow, or to follow another.
    if not challenge or mode != ("subscribe" if is_followed else "unsubscribe"):
        raise NotFound("There is no such feed")
    return Promise(challenge, feed.id if is_followed else None, _lease(query.get("hub.lease_seconds", "")))


def believe(tx: Connection, promise: Promise, *, now: datetime) -> None:
    """Remember until when a hub will tell us."""
    if promise.feed_id:
        table.change(tx, promise.feed_id, hub_until=now + promise.lasts)


def ring(tx: Connection, feed_id: str, *, now: datetime) -> None:
    """A hub tells that there is news in a feed.

    It is somebody else's: it makes us look at most every so often, and not at a website that is failing.
    """
    rung = sa.select(f.id, f.due_at, f.last_checked_at).where(f.id == feed_id, f.active, f.consecutive_failures == 0)
    feed = tx.execute(rung).one_or_none()
    if feed is not None:
        soon = max(now, feed.last_checked_at + GAP) if feed.last_checked_at else now
        table.change(tx, feed_id, due_at=min(feed.due_at, soon))


def secret_of(tx: Connection, feed_id: str) -> str | None:
    """What the hub of a feed signs with, if it was ever asked."""
    return tx.scalar(sa.select(f.hub_secret).where(f.id == feed_id))


class SignatureCheck:
    """Checks a hub's signature of a body that comes in pieces, so that the body need not be held in memory."""

    def __init__(self, method: str, given: str, secret: str) -> None:
        self._given = given
        self._mac = hmac.new(secret.encode(), digestmod=method)

    @classmethod
    def of(cls, header: str, secret: str | None) -> Self | None:
        """A check of the signature in this header; None if it cannot hold."""
        method, _, given = header.strip().lower().partition("=")
        if not secret or method not in METHODS or not given.isascii():
            return None
        return cls(method, given.strip(), secret)

    def update(self, piece: bytes) -> None:
        """Take the next piece of the body."""
        self._mac.update(piece)

    def holds(self) -> bool:
        """Whether a hub that knows the secret has sent this body."""
        return hmac.compare_digest(self._mac.hexdigest(), self._given)


def token_of(secret: str) -> str:
    """What stands in the address that the hub of a feed calls, so that nobody else can speak for it."""
    return tokens.keyed("websub callback", secret.encode())[:32]


def _invited(tx: Connection, feed_id: str, token: str) -> Any | None:
    """The feed whose hub was given this token. An unknown feed takes as long as a wrong token."""
    # PostgreSQL takes no NUL in a text.
    wanted = feed_id.replace("\0", "")
    feed = tx.execute(sa.select(f.id, f.url, f.topic_url, f.active, f.hub_secret).where(f.id == wanted)).one_or_none()
    secret = feed.hub_secret if feed is not None else None
    is_right = hmac.compare_digest(token.encode(), token_of(secret or "").encode())
    return feed if secret and is_right else None


def _lease(seconds: str) -> timedelta:
    given = timedelta(seconds=int(seconds)) if seconds.isascii() and seconds.isdigit() and len(seconds) < 9 else LEASE
    return min(given, LEASE)


def _asked(tx: Connection, feed_id: str, *, now: datetime) -> str:
    """Remember that its hub was asked; says the secret that it is given."""
    secret = secret_of(tx, feed_id) or tokens.new()
    table.change(tx, feed_id, hub_asked_at=now, hub_secret=secret)
    return secret
