"""What the tests of leaving share: subscriptions with a way out, servers at its end, and a look at what was written."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from gna.config import Settings
from gna.db import Database
from gna.inbox import methods
from gna.inbox.table import attempts, subscription, t
from gna.inbox.unsubscribe import Pace, Result, unsubscribe
from gna.inbox.ways import Form, Link, Offers, Source, Way
from tests.conftest import settings_for
from tests.inbox.factories import a_subscription, an_account

PROMISE = "List-Unsubscribe=One-Click"
NO_PAUSE = timedelta()
# The header of a mail that asks to leave, all of it.
OUR_FIELDS = [
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "MIME-Version",
    "Content-Type",
    "Content-Transfer-Encoding",
]


@dataclass(frozen=True)
class Reader:
    """Somebody with a mailbox, who wants to leave what is in it."""

    db: Database
    settings: Settings
    account: int

    def subscribes(self, way: Way | None, sender: str = "news@shop.example", **columns: Any) -> int:
        """A subscription with this way out; says its id."""
        return a_subscription(self.db, self.account, sender, way=way, **columns)

    def leaves(self, subscription_id: int, *, pace: Pace | None = None, **how: Any) -> Result:
        """Try it, as the command does."""
        return asyncio.run(self.leaving(subscription_id, pace=pace, **how))

    async def leaving(self, subscription_id: int, *, pace: Pace | None = None, **how: Any) -> Result:
        """The same, for those who do more at once."""
        return await unsubscribe(self.db, self.settings, subscription_id, pace=pace or Pace(NO_PAUSE), **how)

    def row(self, subscription_id: int) -> Any:
        """The subscription as it is stored now."""
        with self.db.read() as tx:
            return subscription(tx, subscription_id)

    def tried(self, subscription_id: int) -> list[Any]:
        """The attempts, the oldest first."""
        with self.db.read() as tx:
            return list(tx.execute(sa.select(attempts).where(t.subscription_id == subscription_id).order_by(t.id)))


def a_reader(db: Database, url: str, folder: Path, *, smtp: str | None = None, **environ: str) -> Reader:
    """Somebody whose own servers are on this machine."""
    account = an_account(db, smtp_url=smtp)
    given = {"INBOX_ALLOW_PRIVATE_HOSTS": "127.0.0.1", "INBOX_PASSWORD": "secret"} | environ
    return Reader(db, settings_for(url, folder, **given), account)


def one_click(url: str) -> Way:
    """As a header offers it that keeps to RFC 8058."""
    return _best(Offers((f"<{url}>",), (PROMISE,)))


def http_post(url: str, *fields: tuple[str, str]) -> Way:
    """As a form in a mail."""
    return _best(Offers(body=(Link(url, Source.HTML, Form("post", fields)),)))


def http_get(url: str) -> Way:
    """As a link in a mail."""
    return _best(Offers(body=(Link(url, Source.HTML),)))


def email(url: str) -> Way:
    """As a link to write to."""
    return http_get(url)


def _best(offers: Offers) -> Way:
    return methods.ways(offers, allowed={"127.0.0.1"})[0]
