"""What the admin is told of feeds, by mail: once when something needs them, and once when it does not any more."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.engine import Connection

from gna import ids, log, outbox
from gna.config import Settings
from gna.kinds import NamedAddress
from gna.mail.content import letter
from gna.outbox import Kind, Letter
from gna.subscribers.signup import Site

logger = log.get(__name__)


@dataclass(frozen=True)
class Notices:
    """Posts letters to the admin, in the transaction of what they tell; without an address, the log has to do."""

    site: Site
    admin: str | None

    @classmethod
    def of(cls, settings: Settings) -> "Notices":
        """To ADMIN_EMAIL."""
        given = settings.admin_email
        return cls(Site.of(settings), NamedAddress.parse(given).address if given else None)

    def failing(self, tx: Connection, feed: Any, *, failures: int, error: str, now: datetime) -> None:
        """It failed several times in a row."""
        logger.error("a feed keeps failing", feed=feed.id, failures=failures, mailed=self.admin is not None)
        self._post(tx, "feed_failing", {"feed": feed.url, "failures": str(failures), "error": error}, now)

    def well(self, tx: Connection, feed: Any, *, now: datetime) -> None:
        """It can be read again."""
        logger.info("a feed is well again", feed=feed.id, mailed=self.admin is not None)
        self._post(tx, "feed_well", {"feed": feed.url}, now)

    def waits(self, tx: Connection, feed: Any, campaign_id: str, *, why: str, now: datetime) -> None:
        """Its campaign goes on only if a person does something, or wants to look at it first."""
        logger.warning("the campaign of a feed waits for a person", feed=feed.id, campaign=campaign_id)
        self._post(tx, "feed_waits", {"feed": feed.url, "why": why, "campaign": campaign_id}, now)

    def _post(self, tx: Connection, name: str, slots: dict[str, str], now: datetime) -> None:
        if self.admin:
            content = letter(name, self.site.language)
            slots = {"site": self.site.name, "base_url": self.site.base_url, **slots}
            outbox.post(tx, Letter(Kind.NOTICE, key=ids.new(), to=self.admin, content=content, slots=slots), now=now)
