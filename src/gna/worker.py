"""The wiring of the background work, in one place: which steps there are and how often they run."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

from gna import activity, log
from gna.campaigns.frame import frame_of
from gna.campaigns.publisher import Publisher
from gna.config import Settings
from gna.db import Database, timed
from gna.delivery import bounces
from gna.delivery.pace import Pace
from gna.delivery.sender import Sender
from gna.errors import ProviderAway
from gna.feeds.editor import Editor
from gna.feeds.notices import Notices
from gna.feeds.poll import Poller
from gna.jobs.engine import Step
from gna.mail.address import Reach
from gna.mail.compile import Sender as From
from gna.mail.compile import Signer
from gna.provider_history import RecordedProvider
from gna.providers.mailbox import Mailbox
from gna.providers.protocol import Provider
from gna.subscribers import imports, tally
from gna.subscribers.admission import Publication
from gna.subscribers.cleanup import clean_up
from gna.subscribers.importer import Importer

logger = log.get(__name__)


def provider_of(settings: Settings) -> Provider:
    """The provider that the settings name."""
    if settings.email_provider == "smtp":
        # Imported late: whoever sends otherwise needs no part of it.
        from gna.providers.smtp import Smtp, parse

        sender = sender_of(settings).address
        return Smtp(parse(settings.smtp_address), connections=settings.smtp_connections, sender=sender)
    return Mailbox(settings.mailbox_dir)


async def meet(provider: Provider) -> None:
    """Make sure of the provider before anything else. One that is away may come back; mails wait in their rows."""
    try:
        logger.info("provider is ready", says=await provider.check())
    except ProviderAway as away:
        logger.warning("the provider does not answer yet; mails wait", reason=str(away))
    Reach.international = provider.international


def sender_of(settings: Settings) -> From:
    """Who writes the mails, and signs them if there is a key."""
    return From(settings.email_from_address, settings.base_url, _signer(settings))


def _signer(settings: Settings) -> Signer | None:
    if settings.dkim_private_key is None:
        return None
    from gna.mail.dkim import Signer as Dkim

    return Dkim(
        domain=settings.dkim_domain or From(settings.email_from_address, "").domain,
        selector=settings.dkim_selector or "",
        private_key=settings.dkim_private_key.get_secret_value(),
    )


def steps(db: Database, provider: Provider, settings: Settings) -> Callable[[str], Sequence[Step]]:
    """The timetable, for the worker with the given id."""

    frame = frame_of(settings)
    if settings.email_provider != "mailbox":
        provider = RecordedProvider(provider, db, name=settings.email_provider)

    def of(worker: str) -> Sequence[Step]:
        pace = Pace(settings.email_provider, settings.send_rate)
        sender = Sender(db, provider, worker=worker, sender=sender_of(settings), pace=pace)
        publisher = Publisher(db, frame=frame, stale_after=settings.campaign_stale_after)
        poller, editor = Poller(db, settings), Editor(db, Notices.of(settings))
        importer = Importer(db, worker=worker, publication=Publication.of(settings))

        async def sweep() -> bool:
            Reach.international = provider.international  # a server that was away at the start may have told since
            return await sender.sweep()

        async def clean() -> bool:
            await db.run(timed(clean_up))
            await db.run(timed(imports.forget))
            await db.run(timed(activity.forget))
            await sender.forget()
            while await db.run(timed(bounces.forget_some)):
                pass
            await asyncio.to_thread(db.empty_log)
            return False

        async def count() -> bool:
            # Read first: nobody who signs up shall wait until a million people are counted.
            await db.run(tally.keep, await db.look(timed(tally.count)))
            return False

        async def shorten_log() -> bool:
            if db.has_long_log:
                await asyncio.to_thread(db.shorten_log)
            return False

        async def import_some() -> bool:
            return await asyncio.to_thread(importer.work)

        async def publish() -> bool:
            return await asyncio.to_thread(publisher.work)

        async def edit() -> bool:
            return await asyncio.to_thread(editor.work)

        return (
            Step("feeds", poller.work, every=timedelta(seconds=1), stop=poller.stop),
            Step("edit", edit, every=timedelta(seconds=1)),
            Step("publish", publish, every=timedelta(seconds=1)),
            Step("send", sender.send_due, every=timedelta(seconds=1), stop=sender.stop, end=provider.close),
            Step("sweep", sweep, every=timedelta(seconds=5)),
            Step("finish", sender.finish, every=timedelta(seconds=1)),
            Step("log", shorten_log, every=timedelta(seconds=1)),
            Step("import", import_some, every=timedelta(seconds=3)),
            Step("count", count, every=timedelta(minutes=10), once=True, at_start=True),
            Step("clean-up", clean, every=timedelta(hours=1), once=True, at_start=True),
        )

    return of
