"""Workers that are killed at one point of publishing, or of following a feed; each is a process of its own."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from gna import log
from gna.campaigns import publisher
from gna.cli.worker import work
from gna.config import Settings
from gna.db import Database
from gna.delivery import mailings
from gna.feeds import editor, memory, poll
from gna.outbox import messages
from tests.forking import processes

CHUNK = 40


def die() -> None:
    """As by `kill -9`: nothing is finished, nothing is tidied up."""
    os.kill(os.getpid(), signal.SIGKILL)


def before(owner: Any, name: str, when: Callable[..., bool] = lambda *_: True) -> None:
    """Die instead of calling this."""
    usual = getattr(owner, name)

    def doomed(*args: Any, **kwargs: Any) -> Any:
        if when(*args):
            die()
        return usual(*args, **kwargs)

    setattr(owner, name, doomed)


def after(owner: Any, name: str, when: Callable[[Any], bool] = lambda _: True) -> None:
    """Die when this has done its work; if it is part of a transaction, before that was committed."""
    usual = getattr(owner, name)

    def doomed(*args: Any, **kwargs: Any) -> Any:
        result = usual(*args, **kwargs)
        if when(result):
            die()
        return result

    setattr(owner, name, doomed)


def all_was_sent(tx: sa.Connection) -> bool:
    """Whether nothing is left to send of what everybody was to get."""
    return mailings.ending(tx) and tx.execute(sa.select(messages.c.id).limit(1)).first() is None


# In the order in which a campaign comes by.
POINTS: dict[str, Callable[[], None]] = {
    "in the transaction that starts it": lambda: after(publisher, "publish"),
    "before any message is made": lambda: before(publisher.Publisher, "_fill"),
    "in the transaction that makes messages": lambda: after(mailings, "fill"),
    "between two chunks": lambda: after(publisher.Publisher, "_fill", bool),
    "when everything was sent": lambda: before(mailings, "finish", all_was_sent),
    "in the transaction that ends the mailing": lambda: after(mailings, "finish", bool),
    "before the end is written down": lambda: before(publisher, "_end"),
    "in the transaction that writes down the end": lambda: after(publisher, "_end"),
}

# And those of a post, from the look that finds it until the feed's marker has moved; a campaign's are in between.
FEED_POINTS: dict[str, Callable[[], None]] = {
    "before the look is written down": lambda: before(poll, "_settle"),
    "in the transaction that writes down what is new": lambda: after(memory, "learn"),
    "before the posts become a campaign": lambda: before(editor, "_tend"),
    "in the transaction that makes the campaign": lambda: after(editor, "_compose"),
    "before the campaign is started": lambda: before(publisher.Publisher, "_start"),
    **POINTS,
    "before the marker moves": lambda: before(editor, "_conclude"),
    "in the transaction that moves the marker": lambda: after(editor, "_conclude"),
    "when the marker has moved": lambda: after(editor.Editor, "tend"),
}


def a_worker(settings: Settings, *, dies: str | None = None) -> Any:
    """Start a worker, which will be killed at this point."""
    process = processes.Process(target=_work, args=(settings.model_dump(), dies), daemon=True)
    process.start()
    return process


def _work(settings: dict[str, Any], dies: str | None) -> None:
    log.setup(level="info", format="console", to=sys.stderr)
    mailings.CHUNK = CHUNK
    if dies:
        FEED_POINTS[dies]()
    work(Settings(**settings), Database(settings["database_url"].get_secret_value()))
