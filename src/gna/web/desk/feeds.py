"""What an admin does with feeds."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy.engine import Connection
from starlette.requests import Request

from gna.activity import Verb
from gna.db import timed
from gna.feeds import directory
from gna.feeds.editor import Editor
from gna.feeds.notices import Notices
from gna.feeds.poll import Poller
from gna.feeds.table import get
from gna.web.desk import do
from gna.web.ground import ground


async def add(request: Request, wish: Mapping[str, Any]) -> str:
    """A new feed, looked at as soon as possible; says its id."""
    feed_id: str = await do(request, Verb.FEED_ADDED, timed(directory.add), wish, about=wish["url"], target=str)
    ground(request).ring("feeds")
    return feed_id


async def change(request: Request, feed_id: str, wish: Mapping[str, Any]) -> None:
    """Change what a publisher wants of a feed."""
    await do(request, Verb.FEED_CHANGED, timed(_change), feed_id, wish, about=str, target=feed_id)
    ground(request).ring("feeds")


async def remove(request: Request, feed_id: str) -> None:
    """Forget a feed; campaigns that it made stay."""
    await do(request, Verb.FEED_REMOVED, _remove, feed_id, about=str)


async def check(request: Request, feed_id: str) -> None:
    """Look at a feed now, and make a campaign of what is new."""
    here = ground(request)
    await Poller(here.db, here.settings).check(feed_id)
    await asyncio.to_thread(Editor(here.db, Notices.of(here.settings)).tend, feed_id)
    await do(request, Verb.FEED_CHECKED, _address, feed_id, about=str, target=feed_id)
    here.ring("publish")


async def skip(request: Request, feed_id: str) -> None:
    """Wait no more for the feed's campaign."""
    await do(request, Verb.FEED_SKIPPED, _skip, feed_id, about=str, target=feed_id)
    ground(request).ring("edit")


def _change(tx: Connection, feed_id: str, wish: Mapping[str, Any], *, now: datetime) -> str:
    directory.edit(tx, feed_id, wish, now=now)
    return _address(tx, feed_id)


def _remove(tx: Connection, feed_id: str) -> str:
    address = _address(tx, feed_id)
    directory.remove(tx, feed_id)
    return address


def _skip(tx: Connection, feed_id: str) -> str:
    directory.skip(tx, feed_id)
    return _address(tx, feed_id)


def _address(tx: Connection, feed_id: str) -> str:
    return str(get(tx, feed_id).url)
