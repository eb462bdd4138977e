"""Rate limits that processes share: `limits` counts in Redis."""

import math
import time

from limits import RateLimitItemPerSecond
from limits.errors import ConfigurationError
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter

from gna.errors import CannotStart
from gna.limits import PATIENCE, Allowance, Verdict

# The clocks of two servers that share one Redis differ by less than this.
SKEW_SECONDS = 5.0


class RedisCounter:
    """Counts for all processes that share one Redis.

    The window moves with the time of day, which is the only clock that they share.
    """

    def __init__(self, url: str) -> None:
        self._limiter = MovingWindowRateLimiter(_redis(url))

    def spend(self, allowance: Allowance, who: str) -> Verdict:
        """Use up one of the times, if there is one left."""
        item = RateLimitItemPerSecond(allowance.times, allowance.seconds, namespace="gna")
        verdict = self._hit(item, allowance, who)
        if verdict.reset > allowance.seconds + SKEW_SECONDS:
            # Counted before the clock was set back, and valid until the clock is there again.
            self._limiter.clear(item, allowance.name, who)
            verdict = self._hit(item, allowance, who)
        return verdict

    def _hit(self, item: RateLimitItemPerSecond, allowance: Allowance, who: str) -> Verdict:
        allowed = self._limiter.hit(item, allowance.name, who)
        window = self._limiter.get_window_stats(item, allowance.name, who)
        wait = window.reset_time - time.time()
        return Verdict(allowed, window.remaining, max(1, math.ceil(wait)))


def _redis(url: str) -> RedisStorage:
    if url.startswith("unix:"):
        url = f"redis+{url}"
    try:
        return RedisStorage(url, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE)
    except ConfigurationError:
        raise CannotStart("REDIS_URL is set but the client is missing: pip install 'gna[redis]'") from None
