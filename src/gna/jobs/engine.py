"""The embedded engine: rings the steps of this process, by the clock and by the bell.

A step finds its due rows, claims them, does them, and says whether there was anything. It may run twice,
at the same time, in any number of processes. A step that fails is logged, counted and tried again, and
the others do not notice.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from gna import ids, log, metrics
from gna.db import Database, timed
from gna.errors import GnaError
from gna.jobs import timetable, workers

logger = log.get(__name__)

LOOK = timedelta(seconds=30)
LONGEST_PAUSE = timedelta(seconds=60)
DRAIN = timedelta(seconds=20)
FAREWELL = timedelta(seconds=3)
# How long `ring_soon` waits, in seconds: at least, and at most.
SOON = (0.2, 2.0)
# The pause of a step that every process runs is multiplied by a random factor, on average 1.
UNEVEN = (0.5, 1.5)
# The operating system's randomness, which an observer of earlier waits cannot predict.
_random = random.SystemRandom()


@dataclass(frozen=True)
class Step:
    """A function to call again and again. True means that there was work, so it is called again at once."""

    name: str
    work: Callable[[], Awaitable[bool]]
    every: timedelta
    # Done by one process at a time, each period once; else every process does it, and the rows decide.
    once: bool = False
    # A `once` step that also runs when a process starts.
    at_start: bool = False
    # Called when the process stops, for a step whose work goes on as long as there is any.
    stop: Callable[[], None] | None = None
    # Called when no step runs any more.
    end: Callable[[], Awaitable[None]] | None = None


class Engine:
    """The steps of one process."""

    def __init__(
        self, db: Database, steps: Callable[[str], Sequence[Step]], *, soon: tuple[float, float] = SOON
    ) -> None:
        self.worker = ids.new()
        self._db = db
        self._steps = list(steps(self.worker))
        self._bells = {step.name: asyncio.Event() for step in self._steps}
        self._soon = soon
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._stopping = False
        self._heart: asyncio.Task[None] | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin to run every step."""
        await asyncio.to_thread(self._arrive)
        self._heart = asyncio.create_task(self._live())
        self._tasks = [asyncio.create_task(self._keep(step), name=step.name) for step in self._steps]
        logger.info("worker started", steps=[step.name for step in self._steps])

    def ring(self, name: str) -> None:
        """There may be something to do for this step; call from the event loop."""
        self._bells[name].set()

    def ring_soon(self, name: str) -> None:
        """Ring for this step after a random wait, once for all calls meanwhile; call from the event loop.

        For work that a stranger causes and must not be able to time: the request after it would be slower.
        """
        if name not in self._timers:
            wait = _random.uniform(*self._soon)
            self._timers[name] = asyncio.get_running_loop().call_later(wait, self._ring_late, name)

    def _ring_late(self, name: str) -> None:
        del self._timers[name]
        self.ring(name)

    async def stop(self) -> None:
        """Let what is running finish, start nothing new."""
        self._stopping = True
        for timer in self._timers.values():
            timer.cancel()
        for bell in self._bells.values():
            bell.set()
        for step in self._steps:
            if step.stop:
                step.stop()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=DRAIN.total_seconds())
            if self._heart:
                self._heart.cancel()  # not before: others would take over what is still being finished
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
            if late:
                logger.warning("steps did not finish in time", steps=[task.get_name() for task in late])
                return  # what they left behind is taken back when the heartbeat has been missed
        for step in self._steps:
            if step.end:
                await step.end()
        try:
            await asyncio.wait_for(self._db.run(workers.leave, self.worker), FAREWELL.total_seconds())
        except Exception:
            logger.warning("could not sign off; the missed heartbeat will tell", exc_info=True)
        logger.info("worker stopped")

    def _arrive(self) -> None:
        with self._db.arrival() as alone, self._db.write() as tx:
            if alone:
                workers.forget_all(tx)
            timed(workers.beat)(tx, self.worker, alone=alone)

    async def _keep(self, step: Step) -> None:
        failures, first = 0, True
        while not self._stopping:
            self._bells[step.name].clear()
            try:
                again = await (self._once(step, early=first and step.at_start) if step.once else step.work())
                failures, first = 0, False
                pause = timedelta() if again else pause_after(step)
            except Exception:
                failures += 1
                pause = min(after_failures(failures), step.every)
                metrics.steps.labels(step.name, "failed").inc()
                logger.exception("step failed", step=step.name, failures=failures, again_in=pause.total_seconds())
            else:
                metrics.steps.labels(step.name, "done" if again else "idle").inc()
            await self._rest(step, pause)

    async def _rest(self, step: Step, pause: timedelta) -> None:
        """Wait for the bell or the clock; always let others run."""
        await asyncio.sleep(0)
        if pause and not self._stopping:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._bells[step.name].wait(), pause.total_seconds())

    async def _once(self, step: Step, *, early: bool) -> bool:
        """Do a periodic step if it is due and no other process does it."""
        await self._db.run(timed(timetable.enter), step.name)
        claim = timed(timetable.claim)
        if not await self._db.run(claim, step.name, worker=self.worker, every=step.every, early=early):
            return False
        renewal, wait = asyncio.create_task(self._renew(step)), after_failures(1)
        try:
            while await step.work():
                pass
            wait = step.every
        finally:
            renewal.cancel()
            await self._db.run(timed(timetable.release), step.name, worker=self.worker, wait=wait)
        return False

    async def _renew(self, step: Step) -> None:
        while True:
            await asyncio.sleep(timetable.LEASE.total_seconds() / 3)
            with suppress(GnaError):
                await self._db.run(timed(timetable.renew), step.name, worker=self.worker)

    async def _live(self) -> None:
        """Say every few seconds that this worker is alive, until it has finished everything."""
        while True:
            await asyncio.sleep(workers.BEAT.total_seconds())
            try:
                await self._db.run(timed(workers.beat), self.worker)
            except Exception:
                metrics.steps.labels("heartbeat", "failed").inc()
                logger.exception("heartbeat failed")


def pause_after(step: Step) -> timedelta:
    """How long to wait after a run that found nothing.

    A regular beat could be learnt. A sign-up just before it would be mailed at a moment that the visitor knows.
    """
    if step.once:
        return min(step.every, LOOK)
    return step.every * _random.uniform(*UNEVEN)


def after_failures(count: int) -> timedelta:
    """How long to wait after so many failures in a row: 1, 2, 4 … 60 seconds."""
    return min(timedelta(seconds=2 ** min(count - 1, 6)), LONGEST_PAUSE)
