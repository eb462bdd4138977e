"""One process that looks at a feed twice, as a worker does, and tells what each look cost it and its children.

`python -m bench.feed_look ADDRESS DATABASE` prints a line of JSON for each look; between the two it waits for a line.
"""

import asyncio
import json
import os
import resource
import sys
import tempfile
from pathlib import Path

from tests.feeds.measuring import USAGE

from gna import config, log
from gna.db import Database
from gna.feeds import directory
from gna.feeds.editor import Editor
from gna.feeds.notices import Notices
from gna.feeds.poll import Poller
from gna.feeds.reading import reader
from gna.migrations import migrate


def main(url: str, database: str) -> None:
    """Look, wait, look again."""
    log.setup(level="warning", format="console")
    settings = config.load({"DATABASE_URL": database, "FEED_URL": url}, dotenv=Path("no.env"))
    db = Database(database)
    migrate(db)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_look_twice(db, settings, Path(folder, "report.json")))
    db.close()


async def _look_twice(db: Database, settings: config.Settings, report: Path) -> None:
    # A child is charged with the memory of whoever started it; one in between starts it, and tells what it used.
    reader.COMMAND[:0] = [sys.executable, "-IS", USAGE, str(report)]
    poller, editor = Poller(db, settings), Editor(db, Notices.of(settings))
    await poller.prepare()
    [feed], _ = await db.look(directory.listed, page=1, per_page=1)
    for _ in range(2):
        before = _cpu()
        await poller.check(feed["id"])
        await asyncio.to_thread(editor.tend, feed["id"])
        shown = await db.look(directory.show, feed["id"])
        print(json.dumps({"seconds": _cpu() - before, "memory": _peak(report), **shown}), flush=True)
        await asyncio.to_thread(sys.stdin.readline)


def _cpu() -> float:
    return sum(os.times()[:4])


def _peak(report: Path) -> float:
    """Megabytes: our own peak and that of the process that read the feed, as if they came at the same moment."""
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return float(ours + json.loads(report.read_text())["memory"]) / 1e6


if __name__ == "__main__":
    main(*sys.argv[1:])
