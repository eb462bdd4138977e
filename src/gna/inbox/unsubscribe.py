"""Leaving a subscription: checked, written down, carried out once, and written down again."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import log
from gna.config import Settings
from gna.db import Database, timed
from gna.errors import Refused
from gna.inbox import attempts, methods, seals
from gna.inbox.method import Errand, Method, Outcome, What
from gna.inbox.table import Status, a, accounts, m, subscription
from gna.inbox.ways import Source, Way

logger = log.get(__name__)

KEPT = "Subscription marked to keep (skip unsubscribe)"
ALREADY = "Already unsubscribed"
NO_LINK = "No unsubscribe link available"
UNDER_WAY = "Another attempt is under way; wait until it has ended"
CHANGED = "A newer mail has another way out; look at it, then try again"
NO_SMTP = "The account has no mail server to send by; add it with: gna inbox account change … --smtp smtp://host:port"
# The method and the address of a way out, as somebody was shown them.
Seen = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one subscription: success, failed, refused or dry_run."""

    id: int
    status: str
    outcome: str | None
    method: str | None
    url: str | None
    message: str


class Pace:
    """A pause between two requests, and none before the first."""

    def __init__(
        self,
        delay: timedelta,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._delay = delay.total_seconds()
        self._clock = clock
        self._sleep = sleep
        self._last: float | None = None
        self._turn = asyncio.Lock()

    async def wait(self) -> None:
        """Wait for one's turn."""
        async with self._turn:
            if self._last is not None:
                left = self._delay - (self._clock() - self._last)
                if left > 0:
                    await self._sleep(left)
            self._last = self._clock()

    def begin_anew(self) -> None:
        """A request has ended: the pause before the next one starts now, however long it was on its way."""
        self._last = self._clock()


@dataclass(frozen=True, slots=True)
class Case:
    """A subscription, and all that is looked at before it is left."""

    row: Any
    account: Any
    failed: int
    seal: Mapping[str, Any] | None

    @property
    def offered(self) -> Seen:
        """What of its way out tells it from another."""
        return self.row.unsubscribe_method, self.row.unsubscribe_link

    @property
    def way(self) -> Way:
        """The way out that the subscription has, with all that is known of it."""
        row = self.row
        for kept in row.ways or ():
            if (kept["method"], kept["url"]) == self.offered:
                return Way.restored(kept)
        return Way(row.unsubscribe_method, row.unsubscribe_link, Source.HEADER)


def why_not(subscription: Any, attempts: int, *, most: int) -> str | None:
    """Why a subscription cannot be left after so many failed attempts; None if it may be."""
    if subscription.keep_subscription:
        return KEPT
    if subscription.unsubscribe_status == Status.UNSUBSCRIBED or subscription.unsubscribed_at is not None:
        return ALREADY
    if not subscription.unsubscribe_link:
        return NO_LINK
    return f"Max attempts ({most}) reached" if attempts >= most else None


async def unsubscribe(
    db: Database,
    settings: Settings,
    subscription_id: int,
    *,
    dry_run: bool = False,
    seen: Seen | None = None,
    pace: Pace,
) -> Result:
    """Leave one subscription. A refusal and a dry run write nothing and send nothing; all else is one attempt.

    `seen` is the way out that somebody was shown and said yes to: no other is gone.
    """
    case = await db.look(_case, subscription_id)
    method = methods.find(case.row.unsubscribe_method)
    errand = _errand(case, settings)
    reason = _objection(case, method, errand, settings)
    if reason or method is None:
        return _result(case, "refused", reason or "")
    try:
        errand = await _with_secret(errand, case, method, settings, dry_run=dry_run)
    except Refused as error:
        return _result(case, "refused", str(error))
    if dry_run:
        return _result(case, "dry_run", f"Would {method.plan(errand)}{_doubt(case)}")
    await pace.wait()
    begun = await db.run(timed(_begin), case, method, settings, seen=seen or case.offered)
    if isinstance(begun, str):
        return _result(case, "refused", begun)
    outcome = await _carried_out(method, errand, f"attempt {case.failed + 1} of {settings.inbox_max_attempts}")
    pace.begin_anew()
    await db.run(timed(attempts.settle), begun, subscription_id, outcome)
    logger.info("tried to unsubscribe", id=subscription_id, method=method.name, outcome=str(outcome.what))
    status = attempts.SUCCESS if outcome.is_success else attempts.FAILED
    said = f"{outcome.message}. {outcome.hint}" if outcome.hint else outcome.message
    return _result(case, status, f"{said}{_doubt(case)}", outcome.what)


def plan(tx: Connection, settings: Settings, subscription_id: int) -> tuple[Way, str | None]:
    """The way that would be gone, and why it cannot be, as far as that is known without asking for a password."""
    case = _case(tx, subscription_id)
    errand = _errand(case, settings)
    return errand.way, _objection(case, methods.find(case.row.unsubscribe_method), errand, settings)


def _case(tx: Connection, subscription_id: int) -> Case:
    row = subscription(tx, subscription_id)
    account = tx.execute(sa.select(accounts).where(a.id == row.account_id)).one()
    seal = tx.execute(sa.select(m.seal).where(m.id == row.way_mail_id)).scalar() if row.way_mail_id else None
    return Case(row, account, attempts.failed(tx, subscription_id), seal)


def _errand(case: Case, settings: Settings) -> Errand:
    hosts = frozenset(settings.inbox_allow_private_hosts)
    return Errand(
        way=methods.rejudged(case.way, allowed=hosts),
        email=case.account.email,
        imap_url=case.account.imap_url,
        smtp_url=case.account.smtp_url,
        private_hosts=hosts,
        within=settings.inbox_timeout.total_seconds(),
    )


def _objection(case: Case, method: Method | None, errand: Errand, settings: Settings) -> str | None:
    """Every reason not to go that is known before anything is sent."""
    if reason := why_not(case.row, case.failed, most=settings.inbox_max_attempts):
        return reason
    if method is None:
        return errand.way.error or f"The unsubscribe method {case.row.unsubscribe_method} is not supported"
    if not errand.way.safe:
        return errand.way.error
    if method.name == "one_click" and settings.inbox_require_signed:
        return seals.why_not(case.seal)
    return NO_SMTP if method.needs_smtp and not errand.smtp_url else None


async def _with_secret(errand: Errand, case: Case, method: Method, settings: Settings, *, dry_run: bool) -> Errand:
    """The errand with the password, if it needs one; a command that prints it may ask the network, so not for show."""
    if not method.needs_smtp or (dry_run and case.account.password_command):
        return errand
    from gna.inbox.credentials import secret_of

    return replace(errand, secret=await asyncio.to_thread(secret_of, settings, case.account))


def _begin(tx: Connection, case: Case, method: Method, settings: Settings, *, seen: Seen, now: datetime) -> int | str:
    """The new attempt's id, or why there cannot be one: another may have been faster, or the mailbox was read anew."""
    row = attempts.locked(tx, case.row.id)
    if attempts.is_open(tx, row.id, within=settings.inbox_timeout, now=now):
        return UNDER_WAY
    if reason := why_not(row, attempts.failed(tx, row.id), most=settings.inbox_max_attempts):
        return reason
    if not (row.unsubscribe_method, row.unsubscribe_link) == case.offered == seen:
        return CHANGED
    return attempts.begin(tx, row.id, method_used=method.recorded, url=row.unsubscribe_link, now=now)


async def _carried_out(method: Method, errand: Errand, which: str) -> Outcome:
    try:
        outcome = await method.carry_out(errand)
    except Exception as error:
        # The attempt was made, and somebody waits for the others.
        logger.exception("an attempt to unsubscribe failed in a way that was not expected", method=method.name)
        outcome = Outcome(What.UNKNOWN, f"It failed in a way that was not expected ({type(error).__name__})")
    return outcome if outcome.is_success else replace(outcome, message=f"{outcome.message} ({which})")


def _doubt(case: Case) -> str:
    doubt = seals.why_not(case.seal) if case.seal and case.row.unsubscribe_method == "one_click" else None
    return f". Note: {doubt}" if doubt else ""


def _result(case: Case, status: str, message: str, outcome: str | None = None) -> Result:
    return Result(case.row.id, status, outcome, case.row.unsubscribe_method, case.row.unsubscribe_link, message)
