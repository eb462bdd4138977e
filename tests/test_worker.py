import asyncio
from datetime import timedelta

from sqlalchemy.engine import Connection

from gna import clock, outbox
from gna.config import Settings
from gna.db import Database
from gna.delivery import bounces
from gna.delivery.bounces import Bounce
from gna.jobs.engine import Engine
from gna.outbox import Status, messages
from gna.subscribers.table import subscribers
from gna.subscribers.tally import days
from gna.worker import provider_of, steps
from tests.factories import a_message, a_subscriber, count


def test_the_wired_steps_send_sweep_count_and_clean_up(db: Database, settings: Settings) -> None:
    """A stranger's row for each step; what the steps leave shows that every one of them ran."""
    now = clock.now()
    with db.write() as tx:
        a_message(tx, created_at=now)
        a_message(tx, status=Status.SENDING, claimed_by="dead", last_attempt_at=now, created_at=now)
        a_subscriber(tx, confirmation_expires_at=now - timedelta(seconds=1))
        person = a_subscriber(tx, email="gone@example.org", activated=True)
        bounces.note(tx, [Bounce(person, "gone@example.org", "550")], now=now - timedelta(days=7))

    async def live() -> None:
        engine = Engine(db, steps(db, provider_of(settings), settings))
        await engine.start()
        async with asyncio.timeout(10):
            while await db.look(_unfinished):
                await asyncio.sleep(0.05)
        await engine.stop()

    asyncio.run(live())
    assert len(list(settings.mailbox_dir.glob("*.eml"))) == 2


def _unfinished(tx: Connection) -> bool:
    uncleaned = count(tx, subscribers) > 1 or count(tx, outbox.bounces) > 0
    return uncleaned or count(tx, days) == 0 or _unsent(tx)


def _unsent(tx: Connection) -> bool:
    return tx.execute(messages.select().where(messages.c.status != Status.SENT)).first() is not None
