"""How many messages to claim at a time, by how quickly they leave and whether the provider can be reached."""

import time

from gna import log

logger = log.get(__name__)

BATCH, FIRST_BATCH, FEWEST = 500, 50, 10
QUICK_SECONDS, SLOW_SECONDS = 1.0, 5.0
# After the provider could not be reached, the mailings wait; one mail then tries whether it is back.
HOLDS = (1.0, 4.0, 10.0, 30.0, 60.0)


class Speed:
    """How many messages to claim at a time: many while they leave quickly, few while they do not.

    What is claimed and waits is neither sent nor there for another worker.
    """

    def __init__(self) -> None:
        self.batch = FIRST_BATCH
        self._last = 0.0

    def claimed(self, bulk: int) -> None:
        """So many of mailings were claimed now."""
        if not bulk:
            return
        now = time.monotonic()
        passed, self._last = now - self._last, now
        if bulk >= self.batch and passed < QUICK_SECONDS:
            self.batch = min(self.batch * 2, BATCH)
        elif passed > SLOW_SECONDS:
            self.batch = max(self.batch // 2, FEWEST)


class Patience:
    """What to do while the provider cannot be reached: mailings wait, and now and then one mail tries."""

    def __init__(self) -> None:
        self.lost = 0
        self._until = 0.0

    def allows(self, batch: int) -> int:
        """How many messages of mailings may be claimed."""
        if not self.lost:
            return batch
        return 1 if time.monotonic() >= self._until else 0

    def lose(self, reason: str) -> None:
        """The provider is away. Many mails say so at once, and count once."""
        if time.monotonic() < self._until:
            return
        wait = HOLDS[min(self.lost, len(HOLDS) - 1)]
        self.lost += 1
        self._until = time.monotonic() + wait
        logger.error("the provider cannot be reached", reason=reason, mailings_wait=wait)

    def regain(self) -> None:
        """It is back."""
        self.lost, self._until = 0, 0.0
        logger.info("the provider is back")
