import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import pairwise

import pytest
import sqlalchemy as sa
from prometheus_client import REGISTRY

from gna.db import Database, timed
from gna.jobs import timetable
from gna.jobs.engine import Engine, Step, after_failures
from gna.jobs.workers import workers
from tests.factories import count

LONG = timedelta(hours=1)


class Counted:
    """Work that counts its runs, says what it is told to say, and can be waited for."""

    def __init__(self, *answers: bool | Exception) -> None:
        self.runs = 0
        self._answers = list(answers)

    async def __call__(self) -> bool:
        self.runs += 1
        answer = self._answers.pop(0) if self._answers else False
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def reaches(self, runs: int) -> None:
        async with asyncio.timeout(5):
            while self.runs < runs:
                await asyncio.sleep(0.005)


def run(db: Database, steps: list[Step], story: Callable[[Engine], Awaitable[None]]) -> None:
    """Run an engine with these steps around a story."""

    async def live() -> None:
        engine = Engine(db, lambda _: steps)
        await engine.start()
        await story(engine)
        await engine.stop()

    asyncio.run(live())


def test_a_step_runs_at_the_start_and_then_by_the_clock(db: Database) -> None:
    work = Counted()
    run(db, [Step("s", work, every=timedelta(milliseconds=20))], lambda _: work.reaches(4))
    assert work.runs >= 4


def test_a_step_that_found_something_looks_again_at_once(db: Database) -> None:
    work = Counted(True, True, False)
    run(db, [Step("s", work, every=LONG)], lambda _: work.reaches(3))
    assert work.runs == 3


def test_the_bell_wakes_a_step(db: Database) -> None:
    work = Counted()

    async def story(engine: Engine) -> None:
        await work.reaches(1)
        engine.ring("s")
        await work.reaches(2)

    run(db, [Step("s", work, every=LONG)], story)
    assert work.runs == 2


def test_a_bell_during_the_work_is_not_lost(db: Database) -> None:
    engines: list[Engine] = []
    work = Counted()

    async def ring_meanwhile() -> bool:
        if not await work() and work.runs == 1:
            engines[0].ring("s")
        return False

    async def story(engine: Engine) -> None:
        await work.reaches(2)

    async def live() -> None:
        engines.append(Engine(db, lambda _: [Step("s", ring_meanwhile, every=LONG)]))
        await engines[0].start()
        await story(engines[0])
        await engines[0].stop()

    asyncio.run(live())
    assert work.runs == 2


def test_the_clock_of_a_step_is_uneven(db: Database) -> None:
    """A stranger who learnt the beat could sign up just before it, and would know when the mail leaves."""
    every = 0.1
    moments: list[float] = []

    async def note() -> bool:
        moments.append(time.monotonic())
        return False

    run(db, [Step("s", note, every=timedelta(seconds=every))], lambda _: asyncio.sleep(15 * every))
    pauses = [later - earlier for earlier, later in pairwise(moments)]
    assert min(pauses) >= every / 2
    assert max(pauses) - min(pauses) > every / 4


def test_the_late_bell_rings_after_a_random_wait(db: Database) -> None:
    shortest, longest = 0.03, 0.15
    waits: list[float] = []

    async def live() -> None:
        work = Counted()
        engine = Engine(db, lambda _: [Step("s", work, every=LONG)], soon=(shortest, longest))
        await engine.start()
        await work.reaches(1)
        for runs in range(2, 12):
            began = time.monotonic()
            engine.ring_soon("s")
            await work.reaches(runs)
            waits.append(time.monotonic() - began)
        await engine.stop()

    asyncio.run(live())
    assert min(waits) >= shortest
    # Ten equal waits by chance, to a sixth of the range, have a probability of one in millions.
    assert max(waits) - min(waits) > (longest - shortest) / 6


def test_the_late_bell_rings_once_for_all_who_asked_meanwhile(db: Database) -> None:
    async def live() -> int:
        work = Counted()
        engine = Engine(db, lambda _: [Step("s", work, every=LONG)], soon=(0.05, 0.05))
        await engine.start()
        await work.reaches(1)
        for _ in range(20):
            engine.ring_soon("s")
        await asyncio.sleep(0.3)
        runs = work.runs
        await engine.stop()
        return runs

    assert asyncio.run(live()) == 2


def test_an_engine_that_stops_does_not_wait_for_the_late_bell(db: Database) -> None:
    async def live() -> float:
        work = Counted()
        engine = Engine(db, lambda _: [Step("s", work, every=LONG)], soon=(30, 30))
        await engine.start()
        await work.reaches(1)
        engine.ring_soon("s")
        began = time.monotonic()
        await engine.stop()
        return time.monotonic() - began

    assert asyncio.run(live()) < 5


def test_a_failing_step_is_counted_tried_again_and_does_not_stop_the_others(db: Database) -> None:
    def failed() -> float:
        return REGISTRY.get_sample_value("gna_step_runs_total", {"step": "bad", "outcome": "failed"}) or 0

    before, bad, good = failed(), Counted(ValueError(), ValueError(), False), Counted()
    every = timedelta(milliseconds=10)

    async def story(_: Engine) -> None:
        await bad.reaches(4)
        await good.reaches(10)

    run(db, [Step("bad", bad, every=every), Step("good", good, every=every)], story)
    assert failed() == before + 2


@pytest.mark.parametrize(("failures", "seconds"), [(1, 1), (2, 2), (3, 4), (7, 60), (1000, 60)])
def test_a_failing_step_waits_longer_each_time(failures: int, seconds: int) -> None:
    assert after_failures(failures) == timedelta(seconds=seconds)


def test_a_periodic_step_happens_once_however_many_processes_there_are(database_url: str) -> None:
    work = Counted()

    async def live() -> None:
        processes = [Database(database_url) for _ in range(4)]
        engines = [Engine(db, lambda _: [Step("p", work, every=LONG, once=True)]) for db in processes]
        await asyncio.gather(*(engine.start() for engine in engines))
        await asyncio.sleep(0.5)
        await asyncio.gather(*(engine.stop() for engine in engines))
        for db in processes:
            db.close()

    asyncio.run(live())
    assert work.runs == 1


def test_a_periodic_step_does_not_repeat_after_a_restart(db: Database) -> None:
    work = Counted()
    for _ in range(2):
        run(db, [Step("p", work, every=LONG, once=True)], lambda _: asyncio.sleep(0.2))
    assert work.runs == 1


def test_a_periodic_step_may_ask_to_run_at_each_start(db: Database) -> None:
    work = Counted()
    for runs in (1, 2):
        run(db, [Step("p", work, every=LONG, once=True, at_start=True)], lambda _, n=runs: work.reaches(n))  # type: ignore[misc]
    assert work.runs == 2


def test_a_periodic_step_that_failed_is_due_again_soon(db: Database) -> None:
    work = Counted(ValueError())
    run(db, [Step("p", work, every=LONG, once=True)], lambda _: work.reaches(2))
    assert work.runs == 2


def test_stopping_waits_for_what_is_running(db: Database) -> None:
    finished: list[bool] = []

    async def slow() -> bool:
        await asyncio.sleep(0.3)
        finished.append(True)
        return False

    run(db, [Step("slow", slow, every=LONG)], lambda _: asyncio.sleep(0.05))
    assert finished == [True]


def test_an_engine_is_known_while_it_lives(db: Database) -> None:
    async def story(_: Engine) -> None:
        assert await db.look(count, workers) == 1

    run(db, [], story)
    with db.read() as tx:
        assert count(tx, workers) == 0


def test_the_heart_beats_while_the_engine_lives(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gna.jobs.workers.BEAT", timedelta(milliseconds=20))
    seen: set[str] = set()

    async def story(_: Engine) -> None:
        async with asyncio.timeout(5):
            while len(seen) < 3:
                seen.add(str(await db.look(lambda tx: tx.scalar(sa.select(workers.c.seen_at)))))
                await asyncio.sleep(0.02)

    run(db, [], story)
    assert len(seen) == 3


def test_the_heart_beats_until_the_last_step_has_ended(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gna.jobs.workers.BEAT", timedelta(milliseconds=20))
    engines: list[Engine] = []
    beats: list[bool] = []

    async def seen_at() -> str:
        return str(await db.look(lambda tx: tx.scalar(sa.select(workers.c.seen_at))))

    async def slow() -> bool:
        while not engines[0]._stopping:
            await asyncio.sleep(0.005)
        before = await seen_at()
        async with asyncio.timeout(5):
            while await seen_at() == before:
                await asyncio.sleep(0.02)
        beats.append(True)
        return False

    async def live() -> None:
        engines.append(Engine(db, lambda _: [Step("slow", slow, every=LONG)]))
        await engines[0].start()
        await asyncio.sleep(0.05)
        await engines[0].stop()

    asyncio.run(live())
    assert beats == [True]


def test_a_claim_is_not_renewed_any_more_when_its_step_is_done(db: Database) -> None:
    def renewals() -> list[asyncio.Task[object]]:
        return [task for task in asyncio.all_tasks() if "_renew" in repr(task.get_coro())]

    work = Counted()
    during_the_work: list[int] = []

    async def counts_renewals() -> bool:
        during_the_work.append(len(renewals()))
        return await work()

    async def story(_: Engine) -> None:
        await work.reaches(1)
        async with asyncio.timeout(5):
            while renewals():
                await asyncio.sleep(0.005)

    run(db, [Step("p", counts_renewals, every=LONG, once=True)], story)
    assert during_the_work == [1]


def test_a_long_periodic_step_keeps_its_claim(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gna.jobs.timetable.LEASE", timedelta(seconds=0.3))
    won: list[bool] = []

    async def slow() -> bool:
        for _ in range(5):
            await asyncio.sleep(0.2)
            won.append(await db.run(timed(timetable.claim), "p", worker="rival", every=timedelta(hours=1)))
        return False

    async def story(_: Engine) -> None:
        async with asyncio.timeout(5):
            while len(won) < 5:
                await asyncio.sleep(0.02)

    run(db, [Step("p", slow, every=LONG, once=True)], story)
    assert won == [False] * 5


def test_stopping_does_not_wait_forever_and_leaves_the_late_to_the_sweep(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gna.jobs.engine.DRAIN", timedelta(seconds=0.1))

    async def stuck() -> bool:
        await asyncio.sleep(60)
        return False

    run(db, [Step("stuck", stuck, every=LONG)], lambda _: asyncio.sleep(0.05))
    with db.read() as tx:
        assert count(tx, workers) == 1
