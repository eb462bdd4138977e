"""Hubs, which tell us of new posts at once (WebSub): we ask them to, and recognise them when they do.

A hub is a bell and nothing more: what it says makes us look at the feed itself, so nothing that it sends is trusted.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
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
# Seconds: somebody may be waiting for the look that this is a part of.
WITHIN = 10
METHODS = ("sha1", "sha256", "sha384", "sha512")


def is_due(feed: Any, settings: Settings, *, now: datetime) -> bool:
    """Whether to ask the feed's hub: it must be able to reach this server, and a secret must protect the bell."""
    can = feed.hub_url and settings.feed_webhook_secret and settings.platform_base_url
    ends_soon = feed.hub_until is None or feed.hub_until < now + RENEW
    return bool(can and ends_soon and (feed.hub_asked_at is None or feed.hub_asked_at < now - PAUSE))


def found(feed: Any, hub: str | None, topic: str | None) -> dict[str, Any]:
    """What changes in a feed's row when it names this hub; another one has promised us nothing yet."""
    if (hub, topic) == (feed.hub_url, feed.topic_url):
        return {}
    return {"hub_url": hub, "topic_url": topic, "hub_asked_at": None, "hub_until": None}


async def subscribe(db: Database, feed: Any, settings: Settings) -> None:
    """Ask the hub of a feed to tell us of new posts; it will call back to make sure. Failing is no harm."""
    secret = settings.feed_webhook_secret.get_secret_value() if settings.feed_webhook_secret else ""
    token = token_of(feed.id, secret)
    wish = {
        "hub.mode": "subscribe",
        "hub.topic": feed.topic_url or feed.url,
        "hub.callback": f"{settings.base_url}{PATH}?{urlencode({'feed': feed.id, 'token': token})}",
        "hub.secret": secret_of(feed.id, secret),
        "hub.lease_seconds": str(int(LEASE.total_seconds())),
    }
    await db.run(timed(_asked), feed.id)
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
    """The answer to a hub that calls back, and the feed that it promises to tell us of, if we asked it to."""

    challenge: str
    feed_id: str | None
    lasts: timedelta


def confirm(tx: Connection, said: Mapping[str, str], secret: str) -> Promise:
    """What to answer a hub that makes sure that we want to hear of a topic; nobody else gets an answer."""
    mode, topic, challenge = (said.get(f"hub.{name}", "") for name in ("mode", "topic", "challenge"))
    followed = tx.execute(sa.select(f.id, f.url, f.topic_url).where(f.active)).all()
    ours = [feed.id for feed in followed if topic in (feed.topic_url, feed.url)]
    # Anybody may call; only whom we asked knows the token.
    asked = next((feed_id for feed_id in ours if _is_invited(feed_id, said, secret)), None)
    if mode == "denied" and asked:
        logger.warning("a hub will not tell us of a feed", feed=asked)
        return Promise("", None, timedelta())
    # Who asks us to leave a topic that we follow is no hub of ours, and neither is who offers us another.
    if not challenge or mode != ("subscribe" if ours else "unsubscribe"):
        raise NotFound("There is no such feed")
    return Promise(challenge, asked, _lease(said.get("hub.lease_seconds", "")))


def believe(tx: Connection, promise: Promise, *, now: datetime) -> None:
    """Remember until when a hub will tell us."""
    if promise.feed_id:
        table.change(tx, promise.feed_id, hub_until=now + promise.lasts)


def speaks(said: Mapping[str, str], body: bytes, signature: str, secret: str) -> bool:
    """Whether this was sent by a hub that knows the feed's secret, or the one of the setting."""
    method, _, given = signature.strip().partition("=")
    if method.lower() not in METHODS or not given.isascii():
        return False
    keys = (secret, secret_of(said.get("feed", ""), secret))
    digests = [hmac.new(key.encode(), body, method.lower()).hexdigest() for key in keys]
    return any(hmac.compare_digest(digest, given.strip().lower()) for digest in digests)


def token_of(feed_id: str, secret: str) -> str:
    """What stands in the address that the hub of a feed calls, so that nobody else can speak for it."""
    return tokens.keyed(f"websub callback {feed_id}", secret.encode())[:32]


def secret_of(feed_id: str, secret: str) -> str:
    """What the hub of a feed signs with; a hub never learns the secret of the setting."""
    return tokens.keyed(f"websub secret {feed_id}", secret.encode())


def _is_invited(feed_id: str, said: Mapping[str, str], secret: str) -> bool:
    token = said.get("token", "")
    return said.get("feed") == feed_id and token.isascii() and hmac.compare_digest(token, token_of(feed_id, secret))


def _lease(seconds: str) -> timedelta:
    given = timedelta(seconds=int(seconds)) if seconds.isascii() and seconds.isdigit() and len(seconds) < 9 else LEASE
    return min(given, LEASE)


def _asked(tx: Connection, feed_id: str, *, now: datetime) -> None:
    table.change(tx, feed_id, hub_asked_at=now)
