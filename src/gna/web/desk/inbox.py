"""What an admin does with their own mail: scan it, keep subscriptions, leave them."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from gna import log
from gna.activity import Verb
from gna.db import Database, timed
from gna.errors import GnaError, NotAllowedNow, Refused
from gna.inbox import accounts, subscriptions, violations
from gna.inbox.table import subscription as the_subscription
from gna.inbox.unsubscribe import Pace, Result, Seen
from gna.inbox.unsubscribe import unsubscribe as leave
from gna.web.desk import do
from gna.web.edge import is_head
from gna.web.ground import Ground, ground

if TYPE_CHECKING:
    from gna.inbox.scan import Progress, Scanned

logger = log.get(__name__)
Written = Callable[[Iterable[dict[str, Any]]], Iterator[str]]


@dataclass
class Scan:
    """A look through a mailbox that began here: how far it is, then how it ended."""

    is_running: bool = True
    progress: "Progress | None" = None
    found: "Scanned | None" = None
    # Why it ended too soon; what is nobody's fault but ours is in the log.
    error: str = ""
    is_our_fault: bool = False


# The scans of this process, by mailbox. They end with it; the next one goes on where the last one stopped.
_scans: WeakKeyDictionary[Database, dict[int, Scan]] = WeakKeyDictionary()
# One for the whole process: two admins together ask no faster than one.
_paces: WeakKeyDictionary[Database, Pace] = WeakKeyDictionary()


class _Leaving(Exception):
    """The server was told to stop."""


def scans(request: Request) -> dict[int, Scan]:
    """What runs here, and what has ended, by mailbox."""
    return _scans.setdefault(ground(request).db, {})


async def scan(request: Request, account_id: int) -> None:
    """Begin to look through a mailbox, aside; the page shows how far it is."""
    known = scans(request)
    if account_id in known and known[account_id].is_running:
        raise NotAllowedNow("This mailbox is being scanned already")
    known[account_id] = Scan()
    try:
        await do(request, Verb.INBOX_SCANNED, accounts.get, account_id)
    except BaseException:
        del known[account_id]
        raise
    # A thread that nobody waits for: a server that stops does not wait for a slow mailbox.
    threading.Thread(target=_scan, args=(ground(request), account_id, known[account_id]), daemon=True).start()


async def keep(request: Request, chosen: Sequence[int]) -> None:
    """Protect subscriptions from being left."""
    await _some(request, Verb.INBOX_KEPT, subscriptions.keep, chosen)


async def unkeep(request: Request, chosen: Sequence[int]) -> None:
    """Protect them no more."""
    thaw = partial(subscriptions.unkeep, allowed=ground(request).settings.inbox_allow_private_hosts)
    await _some(request, Verb.INBOX_UNKEPT, thaw, chosen)


async def unsubscribe(request: Request, subscription_id: int, *, seen: Seen) -> Result:
    """Leave a subscription now, by the way out that was shown, and say what became of it."""
    here = ground(request)
    result = await leave(here.db, here.settings, subscription_id, seen=seen, pace=pace_of(here))
    if result.status != "refused":
        verb = Verb.INBOX_LEFT if result.status == "success" else Verb.INBOX_TRIED
        await do(request, verb, the_subscription, subscription_id, **_which([subscription_id]))
    return result


async def evidence(request: Request, written: Written) -> Iterator[str]:
    """The mails that prove who kept sending as a file, piece by piece."""
    here = ground(request)
    # The first piece is read before anything is sent: a database that is away is an error then, not half a file.
    pieces = written(violations.evidence(here.db))
    first = await run_in_threadpool(next, pieces)
    if not is_head(request.scope):  # who only looks whether it is there takes nothing away
        await do(request, Verb.INBOX_EXPORTED, violations.total, about=str)
    return chain([first], pieces)


async def _some(request: Request, verb: Verb, action: Any, chosen: Sequence[int]) -> None:
    if not chosen:
        raise Refused("Choose something first")

    await do(request, verb, timed(action), chosen, **_which(chosen))


def _which(chosen: Sequence[int]) -> dict[str, Any]:
    """Their numbers: who writes to somebody is no business of a log."""
    return {"about": ", ".join(map(str, chosen)), "target": str(chosen[0]) if len(chosen) == 1 else None}


def pace_of(here: Ground) -> Pace:
    """How fast this process may ask others."""
    if here.db not in _paces:
        _paces[here.db] = Pace(here.settings.inbox_request_delay)
    return _paces[here.db]


def _scan(here: Ground, account_id: int, run: Scan) -> None:
    """Look through a mailbox in a thread of its own; whatever happens is told to whoever looks at the page."""

    def tell(progress: "Progress") -> None:
        run.progress = progress
        if here.leaving.is_set():
            raise _Leaving

    try:
        # Here and not above: only who scans needs what speaks with mail servers.
        from gna.inbox.scan import scan as look_through

        run.found = look_through(here.db, here.settings, account_id, tell=tell)
        run.error = run.found.error or ""
    except _Leaving:
        logger.info("a scan ends with the server", account=account_id)
    except GnaError as error:
        run.error = str(error)
    except Exception as error:
        logger.error("a scan failed", account=account_id, exc_info=error)
        run.is_our_fault = True
    finally:
        run.is_running = False
