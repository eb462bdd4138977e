"""How many messages to claim at a time, by how quickly they leave and whether the provider can be reached."""

import time

from gna import log
from gna.mail.address import without_addresses

logger = log.get(__name__)

BATCH, FIRST_BATCH, FEWEST = 500, 50, 10
# Claim what leaves in this time; it is looked at no more often than that.
AHEAD_SECONDS, LOOK_SECONDS, IDLE_SECONDS = 0.5, 0.2, 5.0
# After the provider could not be reached, the mailings wait; one mail then tries whether it is back.
HOLDS = (1.0, 4.0, 10.0, 30.0, 60.0)


class Speed:
    """How many messages to claim at a time: many while they leave quickly, few while they do not.

    What is claimed and waits is neither sent nor there for another worker.
    """

    def __init__(self) -> None:
        self.batch = FIRST_BATCH
        self._since, self._count = time.monotonic(), 0

    def settled(self, mails: int) -> None:
        """So many have left since the last time."""
        now = time.monotonic()
        passed = now - self._since
        self._count += mails
        if passed > IDLE_SECONDS and not mails:
            self.batch = FIRST_BATCH
        elif passed < LOOK_SECONDS or not self._count:
            return
        else:
            self.batch = max(FEWEST, min(BATCH, int(self._count / passed * AHEAD_SECONDS)))
        self._since, self._count = now, 0


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
        # A server may quote whom a mail was for.
        logger.error("the provider takes no mail", reason=without_addresses(reason), mailings_wait_seconds=wait)

    def regain(self) -> None:
        """It is back."""
        self.lost, self._until = 0, 0.0
        logger.info("the provider is back")
