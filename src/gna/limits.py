"""Rate limits, counted in memory or in Redis: never on disk, and under a hash of the visitor or the address."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from limits import RateLimitItemPerSecond
from limits.storage import Storage
from limits.strategies import MovingWindowRateLimiter

from gna import log, tokens
from gna.errors import CannotStart

logger = log.get(__name__)

# A visitor does not wait for a Redis that hangs.
PATIENCE = 1.0
SWEEP_SECONDS = 30.0
# The clocks of two servers that share one Redis differ by less than this.
SKEW_SECONDS = 5.0


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


class Counter(Protocol):
    """Counts requests in a moving window."""

    def spend(self, allowance: Allowance, who: str) -> Verdict:
        """Use up one of the times, if there is one left."""
        ...


class MemoryCounter:
    """Counts in this process, by monotonic time: setting the clock neither locks nor frees a visitor.

    The storage of `limits` cannot do that: it reads the time of day itself.
    """

    def __init__(self, tick: Callable[[], float] = time.monotonic) -> None:
        self._tick = tick
        self._sweep_at = tick() + SWEEP_SECONDS
        # When each of the times is given back, the earliest first.
        self._expiries: dict[tuple[str, str], deque[float]] = {}

    def __len__(self) -> int:
        return len(self._expiries)

    def spend(self, allowance: Allowance, who: str) -> Verdict:
        """Use up one of the times, if there is one left."""
        now = self._tick()
        self._sweep(now)
        expiries = self._expiries.setdefault((allowance.name, who), deque())
        while expiries and expiries[0] <= now:
            expiries.popleft()
        allowed = len(expiries) < allowance.times
        if allowed:
            expiries.append(now + allowance.seconds)
        remaining = allowance.times - len(expiries)
        # Rounded first: `now + 60 - now` may be a hair more than 60.
        wait = round(expiries[0] - now, 6)
        return Verdict(allowed, remaining, max(1, math.ceil(wait)))

    def _sweep(self, now: float) -> None:
        """Forget now and then what has expired, so that memory does not grow with every visitor."""
        if now < self._sweep_at:
            return
        self._sweep_at = now + SWEEP_SECONDS
        self._expiries = {key: expiries for key, expiries in self._expiries.items() if expiries[-1] > now}


class RedisCounter:
    """Counts for all processes that share one Redis, by the time of day, the only clock that they share."""

    def __init__(self, url: str) -> None:
        self._limiter = MovingWindowRateLimiter(_redis(url))

    def spend(self, allowance: Allowance, who: str) -> Verdict:
        """Use up one of the times, if there is one left."""
        item = RateLimitItemPerSecond(allowance.times, allowance.seconds, namespace="gna")
        verdict = self._hit(item, allowance, who)
        if verdict.reset > allowance.seconds + SKEW_SECONDS:
            # Counted before the clock was set back. It would count until the clock is there again: begin anew.
            self._limiter.clear(item, allowance.name, who)
            verdict = self._hit(item, allowance, who)
        return verdict

    def _hit(self, item: RateLimitItemPerSecond, allowance: Allowance, who: str) -> Verdict:
        allowed = self._limiter.hit(item, allowance.name, who)
        window = self._limiter.get_window_stats(item, allowance.name, who)
        wait = window.reset_time - time.time()
        return Verdict(allowed, window.remaining, max(1, math.ceil(wait)))


class Limits:
    """Counts who asked for what. While Redis is away, each process counts by itself."""

    def __init__(self, redis_url: str | None = None, key: str = "", tick: Callable[[], float] = time.monotonic) -> None:
        self._key = key.encode()
        self._here: Counter = MemoryCounter(tick)
        self._shared: Counter | None = RedisCounter(redis_url) if redis_url else None
        self._away_until = 0.0

    async def spend(self, allowance: Allowance, who: str) -> Verdict:
        """Use up one of the times, if there is one left."""
        # No address or IP is in memory or in Redis, only a hash of it.
        who = tokens.keyed(who, self._key)
        if self._shared and time.monotonic() > self._away_until:
            try:
                return await asyncio.to_thread(self._shared.spend, allowance, who)
            except Exception:
                self._away_until = time.monotonic() + 5 * PATIENCE
                logger.warning("redis does not answer; this process counts alone for a while", exc_info=True)
        return self._here.spend(allowance, who)


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
