"""The sender: claim, compose, hand over, settle. No transaction is open while a provider is called."""

import asyncio
from collections.abc import Sequence

from gna import clock, log
from gna.db import Database, timed
from gna.delivery.claim import Claimed, claim, give_back, settle, take_back
from gna.errors import DatabaseAway
from gna.jobs.workers import DEAD_AFTER
from gna.mail.compose import Envelope, compose
from gna.providers.protocol import Accepted, Outcome, Outgoing, Provider, RefusedForGood, TryLater, Unknown

logger = log.get(__name__)


class Sender:
    """Sends what is due in the outbox."""

    def __init__(self, db: Database, provider: Provider, *, worker: str, sender: str) -> None:
        self._db = db
        self._provider = provider
        self._worker = worker
        self._sender = sender
        self._blind_until = clock.now()
        self._unsure = False

    async def send_due(self) -> bool:
        """One batch from claim to settlement; True if there was one."""
        if self._unsure:
            await self._db.run(timed(give_back), worker=self._worker)
        # A connection that breaks in a commit does not tell whether we won the messages.
        self._unsure = True
        batch = await self._db.run(timed(claim), worker=self._worker)
        self._unsure = False
        if not batch:
            return False
        results = await self._hand_over(batch)
        await self._settle(results)
        _report([outcome for _, outcome in results if not isinstance(outcome, Accepted)])
        return True

    async def sweep(self) -> bool:
        """Take back what a dead worker left in `sending`.

        After an outage of the database every worker looks dead for a moment, so wait until the living had
        time to say so.
        """
        now = clock.now()
        if now < self._blind_until:
            return False
        try:
            taken = await self._db.run(timed(take_back), worker=self._worker)
        except DatabaseAway:
            self._blind_until = now + DEAD_AFTER
            raise
        if taken:
            logger.warning("took back messages of a worker that died", count=taken)
        return taken > 0

    async def _hand_over(self, batch: Sequence[Claimed]) -> list[tuple[Claimed, Outcome]]:
        composed = [(message, self._compose(message)) for message in batch]
        results: list[tuple[Claimed, Outcome]] = [
            (message, mail) for message, mail in composed if isinstance(mail, TryLater)
        ]
        ready = [(message, mail) for message, mail in composed if isinstance(mail, Outgoing)]
        try:
            outcomes = await self._provider.send([mail for _, mail in ready])
            return results + [(message, outcome) for (message, _), outcome in zip(ready, outcomes, strict=True)]
        except Exception as error:
            logger.exception("provider failed", messages=len(ready))
            unknown = Unknown(f"The provider failed: {type(error).__name__}")
            return results + [(message, unknown) for message, _ in ready]

    def _compose(self, message: Claimed) -> Outgoing | TryLater:
        """One person's mail; one that cannot be built does not stop the others, and waits for whoever mends it."""
        envelope = Envelope(id=message.id, sender=self._sender, to=message.to, date=clock.now())
        try:
            return Outgoing(message.id, message.to, compose(message.content, message.slots, envelope))
        except Exception as error:
            logger.exception("mail could not be composed", message=message.id)
            return TryLater(f"The mail could not be composed: {type(error).__name__}")

    async def _settle(self, results: Sequence[tuple[Claimed, Outcome]]) -> None:
        """Write the results down, however long that takes: forgetting them would send twice."""
        pause = 0.5
        while True:
            try:
                return await self._db.run(timed(settle), results, worker=self._worker)
            except Exception:
                logger.exception("results cannot be written yet; keeping them in memory", messages=len(results))
                await asyncio.sleep(pause)
                pause = min(pause * 2, 10)


def _report(failures: Sequence[Outcome]) -> None:
    """Tell the operator how many mails did not leave. The reasons may quote addresses: they stay in the rows."""
    if failures:
        refused = sum(isinstance(outcome, RefusedForGood) for outcome in failures)
        logger.warning("mails not sent; messages.last_error says why", later=len(failures) - refused, refused=refused)
