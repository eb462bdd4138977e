"""The sender: claim, compose, hand over, settle. No transaction is open while a provider is called.

One transaction settles what is known and claims what is next; meanwhile the provider is busy with what was claimed
before. Results are written in small groups, so that a killed process leaves few mails of which nobody knows whether
they left.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from sqlalchemy.engine import Connection

from gna import log
from gna.db import Database, timed
from gna.delivery import mailings, pace
from gna.delivery.appetite import Patience, Speed
from gna.delivery.claim import Claimed, Lanes, contents_of, give_back
from gna.delivery.pace import Allowance, Pace
from gna.delivery.retry import NotBegun
from gna.delivery.settle import Result, settle
from gna.delivery.sweep import JumpDetector, sweep, uptime
from gna.mail.compile import Bulk, Compiled, Mail
from gna.mail.compile import Sender as From
from gna.mail.content import Content
from gna.providers.protocol import Accepted, Outcome, Provider, RefusedForGood, TryLater, Unknown

logger = log.get(__name__)

# So many messages of their own may be claimed at a time while the mailings' are on their way, and so many in all.
OVERTAKING, MOST_OVERTAKING = 50, 500
# Results are written when there are so many of them, or when the first has waited so long.
GROUP = 250
GROUP_SECONDS = 0.02
# While mails are on their way, look this often for one that must overtake them.
LOOK_SECONDS = 0.25
# While a mailing leaves quickly, look this often for anything else: at each round would be most of the round's work.
THOROUGH_SECONDS = 0.2
# The database's thread gets Python's lock only if this one leaves it alone for a moment: uvloop gives it up after each
# callback, but takes it again before a thread that waits for it has woken up.
GIVE_WAY_EVERY, MOMENT = 24, 1e-6
COMPILED = 64
# Others take over after 15 seconds of silence; before that, a process that slept begins nothing.
LEASE_SECONDS = 10.0
NOT_BEGUN = NotBegun()


class WorkerWasStopped(Exception):
    """This process did nothing for so long that others may have taken its messages over."""


class Lease:
    """Until when this worker's claims are certainly its own; each round of the sender renews it."""

    def __init__(self) -> None:
        self.until = uptime() + LEASE_SECONDS


class Message(Mail):
    """A claimed message as a mail."""

    __slots__ = ("claimed", "lease")

    def __init__(self, compiled: Compiled, claimed: Claimed, lease: Lease) -> None:
        self.compiled = compiled
        self.claimed = claimed
        self.lease = lease
        self.id = claimed.id
        self.to = claimed.to or ""
        self.urgent = claimed.mailing is None
        self.values = claimed.slots or {
            "nickname": claimed.nickname or "",
            "email": self.to,
            "unsubscribe_token": claimed.unsubscribe_token or "",
        }

    def may_be_sent(self) -> bool:
        """Whether the lease holds: no other worker can have taken the message over."""
        return uptime() <= self.lease.until

    def pieces(self) -> list[bytes]:
        """The mail, unless another worker may be sending it by now."""
        if not self.may_be_sent():
            raise WorkerWasStopped
        return super().pieces()


class Wish(NamedTuple):
    """How many messages to claim: in all, and of mailings; `again` if there was a thorough look a moment ago."""

    limit: int
    bulk: int
    again: bool


class Round(NamedTuple):
    """What one transaction brought; `wait` says when the pace allows more."""

    claimed: list[Claimed]
    contents: dict[str, Content]
    wait: float | None


class Sender:
    """Sends what is due in the outbox."""

    def __init__(self, db: Database, provider: Provider, *, worker: str, sender: From, pace: Pace) -> None:
        self._db = db
        self._provider = provider
        self._worker = worker
        self._from = sender
        self._pace = pace
        self._lanes = Lanes()
        self._compiled: OrderedDict[tuple[str, int | None], Compiled] = OrderedDict()
        # Handed over and not reported; reported and not written down; in a transaction that writes them down.
        self._open: dict[str, Message] = {}
        self._results: list[Result] = []
        self._being_written: list[Result] = []
        # Of these, others may have written down what became of them.
        self._doubtful: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._lease = Lease()
        self._speed = Speed()
        self._patience = Patience()
        self._jumps = JumpDetector()
        self._looked = 0.0
        self._unsure = self._stopping = self._at_the_database = False

    async def send_due(self) -> bool:
        """Send until nothing is due any more; True if there was anything."""
        anything, pauses = False, 0
        while True:
            try:
                claimed, wait = await self._round()
                pauses = 0
            except Exception:
                if not self._open and not self._results:
                    raise
                # Forgetting what became of these would send them twice: keep them, however long it takes.
                logger.exception("results cannot be written yet; keeping them in memory", messages=len(self._results))
                pauses += 1
                await asyncio.sleep(min(0.25 * 2**pauses, 10))
                continue
            anything |= claimed > 0
            if self._open or self._results:
                await self._wait_for_results()
            elif wait is not None and not self._stopping:
                await self._nap(wait)
            elif not claimed:
                break
        if anything:
            await self.finish()
        return anything

    def stop(self) -> None:
        """Begin nothing more; what was not begun is given back."""
        self._stopping = True
        self._recall()
        self._wake.set()

    def _recall(self) -> None:
        """Give back what was handed over and not begun."""
        for mail in self._provider.recall():
            if message := self._open.pop(mail.id, None):
                self._results.append((message.claimed, NOT_BEGUN))

    async def sweep(self) -> bool:
        """Take back what a dead worker left in `sending`."""
        unwritten = [claimed.id for claimed, _ in (*self._results, *self._being_written)]
        ours = [*self._open, *unwritten]
        swept = await self._db.run(timed(sweep), worker=self._worker, ours=ours, jumps=self._jumps)
        if swept.alive is not None:
            self._provider.share(swept.alive)
        if swept.taken:
            logger.warning("took back messages of a worker that died", count=swept.taken)
        return swept.taken > 0

    async def finish(self) -> bool:
        """End the mailings that are through, and forget whom they went to."""
        if not await self._db.look(mailings.ending):
            return False
        done = await self._db.run(timed(mailings.finish))
        for mailing, sums in done:
            logger.info("mailing done", mailing=mailing, sent=sums.sent, failed=sums.failed, left=sums.left)
        await self.forget()
        if done:
            # SQLite's log still says who got it.
            await asyncio.to_thread(self._db.empty_log)
        return False

    async def forget(self) -> bool:
        """Delete messages that no campaign needs any more."""
        while await self._db.run(timed(mailings.forget_some)):
            pass
        return False

    async def _round(self) -> tuple[int, float | None]:
        """Settle what is known and claim what is next; says how many were claimed, and the wait for the pace."""
        results, self._results = self._results, []
        limit, bulk = self._appetite()
        if not results and not limit:
            return 0, None
        known = {claimed.id for claimed, _ in results} | self._open.keys() if self._unsure else ()
        began = uptime()
        if began > self._lease.until:
            self._lease = Lease()  # for what is claimed from now on; what is older has lost its own
            self._doubtful |= self._open.keys() | {claimed.id for claimed, _ in results}
        try:
            # A connection that breaks in a commit does not tell whether we won the messages.
            unsure, self._unsure = self._unsure, bool(self._unsure or limit)
            wish = Wish(limit, bulk, again=bool(self._open) and began - self._looked < THOROUGH_SECONDS)
            self._at_the_database = True
            self._being_written = results
            round = await self._db.run(timed(self._transact), results, wish, known if unsure else None)
        except BaseException:
            self._results = results + self._results
            self._doubtful |= {claimed.id for claimed, _ in results}
            raise
        finally:
            self._at_the_database = False
            self._being_written = []
        self._unsure = False
        if self._doubtful:
            self._doubtful -= {claimed.id for claimed, _ in results}
        self._lease.until = began + LEASE_SECONDS
        self._looked = self._looked if wish.again else began
        self._speed.settled(len(results))
        if not wish.again and wish.limit and self._holds_what_was_paused():
            self._recall()
        _tell(results)
        if round.claimed:
            self._hand_over(round)
        return len(round.claimed), round.wait

    def _transact(
        self, tx: Connection, results: Sequence[Result], wish: Wish, known: Collection[str] | None, now: datetime
    ) -> Round:
        if known is not None:
            give_back(tx, worker=self._worker, keep=known, now=now)
        if results:
            settle(tx, results, worker=self._worker, doubtful=self._doubtful, now=now)
            # For one address, such as a greylist, only that message waits; for all of us, everybody does.
            tries = [outcome for _, outcome in results if isinstance(outcome, TryLater) and outcome.away]
            if waits := [later.after for later in tries if later.after]:
                pace.hold(tx, self._pace, max(waits), now=now)
                return Round([], {}, None)
        if not wish.limit:
            return Round([], {}, None)
        if wish.again and self._pace.rate is None:
            return self._claim(tx, wish, None, now)
        return self._claim(tx, wish, Allowance(tx, self._pace, now=now), now)

    def _claim(self, tx: Connection, wish: Wish, allowance: Allowance | None, now: datetime) -> Round:
        limit = allowance.upto(wish.limit) if allowance else wish.limit
        claimed: list[Claimed] = []
        if limit:
            claimed = self._lanes.claim(tx, worker=self._worker, limit=limit, bulk=wish.bulk, now=now, again=wish.again)
        if limit and wish.bulk and not claimed and not self._open:
            claimed = self._lanes.claim_suspect(tx, worker=self._worker, now=now)
        if allowance:
            allowance.spend(len(claimed))
        missing = {one.content_hash for one in claimed if (one.content_hash, one.mailing) not in self._compiled}
        return Round(claimed, contents_of(tx, missing), allowance.wait if allowance else None)

    def _appetite(self) -> tuple[int, int]:
        """How many messages to claim now: in all, and of mailings."""
        if self._stopping:
            return 0, 0
        bulk = self._patience.allows(self._speed.batch) if len(self._open) <= self._low_water else 0
        own = OVERTAKING if len(self._open) <= self._low_water + MOST_OVERTAKING else 0
        return max(bulk, own), bulk

    @property
    def _low_water(self) -> int:
        """With so many on their way it is time to claim more: the database answers before they have left."""
        return self._speed.batch * 2

    def _holds_what_was_paused(self) -> bool:
        """Whether a mail is on its way whose mailing does not go any more."""
        going = {None, *self._lanes.languages}
        return any(message.claimed.mailing not in going for message in self._open.values())

    def _hand_over(self, round: Round) -> None:
        mails = [mail for one in round.claimed if (mail := self._mail(one, round.contents))]
        self._open |= {mail.id: mail for mail in mails}
        task = asyncio.create_task(self._send(mails))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        while len(self._compiled) > COMPILED:
            self._compiled.popitem(last=False)

    def _mail(self, claimed: Claimed, contents: dict[str, Content]) -> Message | None:
        """One person's mail; one that cannot be built does not stop the others, and waits for whoever mends it."""
        key = (claimed.content_hash, claimed.mailing)
        compiled = self._compiled.get(key)
        if compiled is None:
            try:
                compiled = self._compiled[key] = self._compile(claimed, contents[claimed.content_hash])
            except Exception as error:
                logger.exception("content could not be compiled", message=claimed.id)
                later = TryLater(f"The mail could not be composed: {type(error).__name__}")
                self._results.append((claimed, later))
                return None
        return Message(compiled, claimed, self._lease)

    def _compile(self, claimed: Claimed, content: Content) -> Compiled:
        if claimed.mailing is None:
            return Compiled(content, self._from)
        return Compiled(content, self._from, Bulk(str(claimed.mailing), self._lanes.languages[claimed.mailing]))

    async def _send(self, mails: Sequence[Message]) -> None:
        reason = "The provider did not say what became of it"
        try:
            await self._provider.send(mails, self._report)
        except Exception as error:
            logger.exception("provider failed", messages=len(mails))
            reason = f"The provider failed: {type(error).__name__}"
        for mail in mails:
            self._report(mail, Unknown(reason))

    def _report(self, mail: Mail, outcome: Outcome) -> None:
        """The fate of a mail; only the first word counts."""
        message = self._open.pop(mail.id, None)
        if message is None:
            return
        self._results.append((message.claimed, outcome))
        if len(self._results) >= GROUP or len(self._open) in (0, self._low_water):
            self._wake.set()
        if self._at_the_database and len(self._results) % GIVE_WAY_EVERY == 0:
            time.sleep(MOMENT)
        if not isinstance(outcome, Accepted):
            if isinstance(outcome, TryLater) and outcome.away and not outcome.after:
                self._patience.lose(outcome.reason)
        elif self._patience.lost:
            self._patience.regain()

    async def _nap(self, seconds: float) -> None:
        self._wake.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)

    async def _wait_for_results(self) -> None:
        """Until there is a group of results, or enough time has passed."""
        began = time.monotonic()
        while not self._stopping or self._open:
            self._wake.clear()
            if len(self._results) >= GROUP or not self._open:
                break
            await self._nap(GROUP_SECONDS)
            if self._wake.is_set():
                break
            if self._results or time.monotonic() - began >= LOOK_SECONDS:
                break
        await asyncio.sleep(0)


def _tell(results: Sequence[Result]) -> None:
    """Tell the operator how many mails did not leave. The reasons may quote addresses: they stay in the rows."""
    failures = [outcome for _, outcome in results if not isinstance(outcome, Accepted) and outcome != NOT_BEGUN]
    if failures:
        refused = sum(isinstance(outcome, RefusedForGood) for outcome in failures)
        logger.warning("mails not sent; messages.last_error says why", later=len(failures) - refused, refused=refused)
