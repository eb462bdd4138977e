"""`gna worker`: the background work alone."""

import asyncio
import signal
from collections.abc import Callable

from gna import worker as background
from gna.cli import start
from gna.config import Settings
from gna.db import Database
from gna.errors import CannotStart
from gna.jobs.engine import Engine


def worker() -> None:
    """Run the background work without a web server; start as many as you like on one PostgreSQL."""
    work(*start.begin())


def work(settings: Settings, db: Database) -> None:
    """Run the steps until a signal comes, then finish what is in flight."""
    if not settings.jobs_enabled:
        raise CannotStart("JOBS_ENABLED=false leaves a worker nothing to do; remove it or do not start a worker.")
    start.make_ready(db)
    start.refuse_to_rehearse(settings, db)
    start.settle_down()
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_until_told(settings, db))
    finally:
        start.end(db)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """A faster event loop, where there is one."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _until_told(settings: Settings, db: Database) -> None:
    provider = background.provider_of(settings)
    await background.meet(provider)
    engine = Engine(db, background.steps(db, provider, settings))
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    await engine.start()
    await told.wait()
    await engine.stop()
