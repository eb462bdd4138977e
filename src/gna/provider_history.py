"""Which providers have accepted mail of this database, so that a rehearsal cannot swallow mail to real readers."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db
from gna.db import Database, Instant, metadata, timed
from gna.errors import CannotStart, DatabaseAway
from gna.mail.compile import Mail
from gna.providers.protocol import Accepted, Outcome, Provider, Report

provider_history = sa.Table(
    "provider_history",
    metadata,
    # As EMAIL_PROVIDER names it; `mailbox` is never here, it delivers nothing.
    sa.Column("provider", sa.Text, primary_key=True),
    sa.Column("first_accepted_at", Instant, nullable=False),
)


def record(tx: Connection, provider: str, *, now: datetime) -> None:
    """Note that the provider has accepted a mail; the first time counts."""
    row = db.insert(tx, provider_history).values(provider=provider, first_accepted_at=now)
    tx.execute(row.on_conflict_do_nothing())


def why_no_rehearsal(tx: Connection) -> str | None:
    """Why EMAIL_PROVIDER=mailbox must not send for this database; None if no provider has sent for it."""
    names = tx.scalars(sa.select(provider_history.c.provider).order_by(provider_history.c.provider)).all()
    if not names:
        return None
    return (
        f"This database has sent real mail through {' and '.join(names)}: EMAIL_PROVIDER=mailbox would write "
        f"its mails into a folder and count them as sent. Set EMAIL_PROVIDER={names[0]}, "
        "or rehearse with another database: make run, or another DATABASE_URL."
    )


def refuse_rehearsal(tx: Connection) -> None:
    """Stop a process that would write mails to real readers into a folder."""
    if reason := why_no_rehearsal(tx):
        raise CannotStart(reason)


class RecordedProvider:
    """A provider whose first accepted mail is noted in the database; after that it costs nothing."""

    def __init__(self, provider: Provider, db: Database, *, name: str) -> None:
        self._provider = provider
        self._db = db
        self._name = name
        self._is_recorded = False
        self.exactly_once = provider.exactly_once

    @property
    def international(self) -> bool:
        """As the provider says."""
        return self._provider.international

    async def send(self, mails: Sequence[Mail], report: Report) -> None:
        """Hand over the mails; note it if one was accepted for the first time."""
        if self._is_recorded:
            await self._provider.send(mails, report)
            return
        is_accepted = False

        def watch(mail: Mail, outcome: Outcome) -> None:
            nonlocal is_accepted
            is_accepted = is_accepted or isinstance(outcome, Accepted)
            report(mail, outcome)

        await self._provider.send(mails, watch)
        if is_accepted:
            # A database that is away now is told after the next mails.
            with suppress(DatabaseAway):
                await self._db.run(timed(record), self._name)
                self._is_recorded = True

    def recall(self) -> Sequence[Mail]:
        """Take out what the provider has not begun."""
        return self._provider.recall()

    def share(self, workers: int) -> None:
        """Share the account with so many workers."""
        self._provider.share(workers)

    async def check(self) -> str:
        """As the provider says."""
        return await self._provider.check()

    async def close(self) -> None:
        """Close the provider."""
        await self._provider.close()
