"""What every route stands on."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy.engine import Connection
from starlette.requests import Request

from gna.campaigns.frame import frame_of
from gna.config import Settings
from gna.db import Database
from gna.errors import DatabaseAway
from gna.limits import Limits
from gna.mail.render import Frame
from gna.subscribers.signup import Site
from gna.web.write_probe import WriteProbe

P = ParamSpec("P")
T = TypeVar("T")

# A visitor does not wait longer for a database that hangs.
PATIENCE = 10


def _no_engine(_: str) -> None:
    """No engine runs in this process; a worker finds the row by the clock."""


@dataclass(frozen=True)
class Ground:
    """The settings, the database and the bell of the running server."""

    settings: Settings
    db: Database
    ring: Callable[[str], None] = _no_engine
    # After a random wait, whether or not there is work: for requests that must not tell who is subscribed.
    ring_soon: Callable[[str], None] = _no_engine
    # The server was told to stop: answers that would go on for long end now.
    leaving: threading.Event = field(default_factory=threading.Event)

    @cached_property
    def site(self) -> Site:
        """The publication that this server speaks for."""
        return Site.of(self.settings)

    @cached_property
    def frame(self) -> Frame:
        """What is around every campaign."""
        return frame_of(self.settings)

    @cached_property
    def limits(self) -> Limits:
        """Who asked how often; shared by all processes that know the same Redis."""
        redis = self.settings.redis_url
        return Limits(redis.get_secret_value() if redis else None, key=self.secret or "")

    @cached_property
    def write_probe(self) -> WriteProbe:
        """Whether the database can be written; all requests share the answer."""
        return WriteProbe(self.db)

    @property
    def secret(self) -> str | None:
        """The key of the hashes that keep deleted people deleted."""
        return self.settings.hash_key

    async def run(self, action: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Change something for a visitor."""
        return await within(self.db.run(action, *args, **kwargs))

    async def look(self, action: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Look something up for a visitor."""
        return await within(self.db.look(action, *args, **kwargs))


def ground(request: Request) -> Ground:
    """The ground of this request's server."""
    found: Ground = request.app.state.ground
    return found


async def within(transaction: Awaitable[T]) -> T:
    """What a visitor waits for, as long as a visitor waits."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await transaction
    except TimeoutError:
        raise DatabaseAway(f"The database did not answer within {PATIENCE} seconds.") from None
