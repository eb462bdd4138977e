"""Rate limits, counted in memory or in Redis: never on disk, and under a hash of the visitor or the address.

`redis_limits` counts in Redis.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gna import log, tokens

logger = log.get(__name__)

# A visitor does not wait for a Redis that hangs.
PATIENCE = 1.0
SWEEP_SECONDS = 30.0


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


class Limits:
    """Counts who asked for what. While Redis is away, each process counts by itself."""

    def __init__(self, redis_url: str | None = None, key: str = "", tick: Callable[[], float] = time.monotonic) -> None:
        self._key = key.encode()
        self._here: Counter = MemoryCounter(tick)
        self._shared: Counter | None = _redis_counter(redis_url) if redis_url else None
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


def _redis_counter(url: str) -> Counter:
    # Imported late: `limits` costs a server without Redis 1.8 MB.
    from gna.redis_limits import RedisCounter

    return RedisCounter(url)
