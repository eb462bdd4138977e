"""The wiring of the background work, in one place: which steps there are and how often they run."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

from gna.config import Settings
from gna.db import Database, timed
from gna.delivery.sender import Sender
from gna.jobs.engine import Step
from gna.providers.mailbox import Mailbox
from gna.providers.protocol import Provider
from gna.subscribers import imports
from gna.subscribers.admission import Publication
from gna.subscribers.cleanup import clean_up
from gna.subscribers.imports import Importer


def provider_of(settings: Settings) -> Provider:
    """The provider that the settings name."""
    return Mailbox(settings.mailbox_dir)


def steps(db: Database, provider: Provider, settings: Settings) -> Callable[[str], Sequence[Step]]:
    """The timetable, for the worker with the given id."""

    def of(worker: str) -> Sequence[Step]:
        sender = Sender(db, provider, worker=worker, sender=settings.email_from_address)
        importer = Importer(db, worker=worker, publication=Publication.of(settings))

        async def clean() -> bool:
            await db.run(timed(clean_up))
            await db.run(timed(imports.forget))
            await asyncio.to_thread(db.empty_log)
            return False

        async def import_some() -> bool:
            return await asyncio.to_thread(importer.work)

        return (
            Step("send", sender.send_due, every=timedelta(seconds=2)),
            Step("sweep", sender.sweep, every=timedelta(seconds=5)),
            Step("import", import_some, every=timedelta(seconds=3)),
            Step("clean-up", clean, every=timedelta(hours=1), once=True, at_start=True),
        )

    return of
