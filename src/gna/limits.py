"""How often somebody may ask. Counted in memory or in Redis, never on disk, and under a hash of who asked."""

import asyncio
import math
import time
from dataclasses import dataclass

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage, Storage
from limits.storage.memory import Entry
from limits.strategies import MovingWindowRateLimiter

from gna import log, tokens
from gna.errors import CannotStart

logger = log.get(__name__)

# A visitor does not wait for a Redis that hangs.
PATIENCE = 1.0
SWEEP = 30.0


@dataclass(frozen=True)
class Allowance:
    """So many times in so many seconds, in any such stretch of time."""

    name: str
    times: int
    seconds: int


@dataclass(frozen=True)
class Verdict:
    """Whether it was within the allowance, what is left of it, and in how many seconds there is more."""

    allowed: bool
    remaining: int
    reset: int


class Memory(MemoryStorage):
    """The library's storage, swept now and then: its own way starts a thread for it at almost every request."""

    def __init__(self) -> None:
        super().__init__()
        self._sweep_at = time.time() + SWEEP

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Note one more time, unless there were as many as are allowed within the last seconds."""
        now = time.time()
        if now > self._sweep_at:
            self._sweep_at = now + SWEEP
            self.events = {who: times for who, times in self.events.items() if times and times[0].expiry > now}
        times = self.events.setdefault(key, [])
        if len(times) >= limit and times[limit - amount].atime >= now - expiry:
            return False
        times[:] = [Entry(expiry)] * amount + times[: limit - amount]
        return True


class Limits:
    """Counts who asked for what. While Redis is away, each process counts by itself."""

    def __init__(self, redis_url: str | None = None, key: str = "") -> None:
        self._key = key.encode()
        self._here = MovingWindowRateLimiter(Memory())
        self._shared = MovingWindowRateLimiter(_redis(redis_url)) if redis_url else None
        self._away_until = 0.0

    async def spend(self, allowance: Allowance, who: str) -> Verdict:
        """Use up one of the times, if there is one left."""
        # No address or IP is in memory or in Redis, only a hash of it.
        who = tokens.keyed(who, self._key)
        if self._shared and time.monotonic() > self._away_until:
            try:
                return await asyncio.to_thread(_spend, self._shared, allowance, who)
            except Exception:
                self._away_until = time.monotonic() + 5 * PATIENCE
                logger.warning("redis does not answer; this process counts alone for a while", exc_info=True)
        return _spend(self._here, allowance, who)


def _spend(limiter: MovingWindowRateLimiter, allowance: Allowance, who: str) -> Verdict:
    item = RateLimitItemPerSecond(allowance.times, allowance.seconds, namespace="gna")
    allowed = limiter.hit(item, allowance.name, who)
    window = limiter.get_window_stats(item, allowance.name, who)
    return Verdict(allowed, window.remaining, max(1, math.ceil(window.reset_time - time.time())))


def _redis(url: str) -> Storage:
    # Imported late: most servers have no Redis.
    from limits.errors import ConfigurationError
    from limits.storage import RedisStorage

    if url.startswith("unix:"):
        url = f"redis+{url}"
    try:
        return RedisStorage(url, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE)
    except ConfigurationError:
        raise CannotStart("REDIS_URL is set but the client is missing: pip install 'gna[redis]'") from None
