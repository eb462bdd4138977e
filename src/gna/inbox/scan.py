"""A scan: headers of what is new in a mailbox, then the bodies that are wanted, then the subscriptions.

All that is left to do is found from rows, so a scan that was killed is gone on with by the next one.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

import sqlalchemy as sa

from gna import clock, log
from gna.config import Settings
from gna.db import Database
from gna.errors import NotFound, Refused, Unreachable
from gna.inbox import accounts, arrivals, bodies, counting, credentials, heads, server
from gna.inbox.arrivals import Place
from gna.inbox.heads import Broken, Head
from gna.inbox.moments import received
from gna.inbox.sources.fetches import Answer, Dropped
from gna.inbox.sources.imap import BODIES, HEADS, Mailbox, day
from gna.inbox.table import a
from gna.inbox.table import accounts as table

logger = log.get(__name__)

EVERYWHERE = "*"
LONGEST_DAYS = 36_500
# Written down together: so many mails, or what came within two seconds; and what so many bodies said.
TOGETHER, SECONDS, BODIES_TOGETHER = 5000, 2.0, 500
# Seconds before a lost connection is made again; what was written down in between starts them anew.
WAITS = (1.0, 3.0, 10.0)
NOTHING_COMES = "The mail server refuses every mail that is asked for; those before it are kept, try again later"


@dataclass(frozen=True)
class Progress:
    """How far a scan is, for whoever watches."""

    folder: str
    phase: str
    done: int
    total: int


@dataclass(frozen=True)
class Scanned:
    """What a scan found; `error` says why it did not see all that it should."""

    new: int
    errors: int
    violations: int
    subscriptions: int
    error: str | None = None


Tell = Callable[[Progress], None]
One = TypeVar("One")


def scan(
    db: Database,
    settings: Settings,
    account_id: int,
    *,
    days: int = 30,
    folders: Sequence[str] = ("INBOX",),
    tell: Tell | None = None,
) -> Scanned:
    """Read what is new in a mailbox since so many days; nothing in it changes.

    What keeps it from being opened is raised. Later nothing is: what came until then is counted all the same.
    """
    if not 1 <= days <= LONGEST_DAYS:
        raise Refused(f"A scan covers 1 to {LONGEST_DAYS} days")
    with db.read() as tx:
        account = accounts.get(tx, account_id)
    now = clock.now()
    since = (now - timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)
    work = _Work(db, account_id, tell or (lambda _: None), since)
    connect = partial(_connected, settings, account)
    mailbox = connect()
    error = _why_unfinished(mailbox, connect, work, folders)
    with db.write() as tx:
        accounts.locked(tx, account_id)
        refreshed = counting.refresh(tx, account_id, now=now, allowed=settings.inbox_allow_private_hosts)
        tx.execute(sa.update(table).where(a.id == account_id).values(last_scan_at=now))
    return Scanned(work.new, work.errors, refreshed.violations, refreshed.new, error)


def _connected(settings: Settings, account: Any) -> Mailbox:
    at = server.parse(account.imap_url)
    secret, within = credentials.secret_of(settings, account), settings.inbox_timeout.total_seconds()
    return Mailbox(at, user=at.user or account.email, secret=secret, within=within)


def _why_unfinished(
    mailbox: Mailbox, connect: Callable[[], Mailbox], work: "_Work", folders: Sequence[str]
) -> str | None:
    try:
        _persistently(mailbox, connect, work, folders)
    except NotFound:
        raise  # the account is gone
    except (Unreachable, Refused) as error:
        return str(error)
    return ". ".join(work.missing) or None


def _persistently(mailbox: Mailbox, connect: Callable[[], Mailbox], work: "_Work", folders: Sequence[str]) -> None:
    """Go on with a new connection when one is lost, as long as that helps."""
    waits, before = list(WAITS), work.steps
    while True:
        try:
            with mailbox:
                work.all(mailbox, folders)
                return
        except Dropped as lost:
            if work.steps > before:
                waits, before = list(WAITS), work.steps
            mailbox = _again(connect, waits, lost)


def _again(connect: Callable[[], Mailbox], waits: list[float], lost: Dropped) -> Mailbox:
    while waits:
        wait = waits.pop(0)
        logger.warning("The connection to the mail server was lost", again_in=wait)
        time.sleep(wait)
        try:
            return connect()
        except Dropped as error:
            lost = error
    raise lost


class _Work:
    """One scan of one account, over as many connections as it takes."""

    def __init__(self, db: Database, account_id: int, tell: Tell, since: datetime) -> None:
        self._db, self._account_id, self._tell, self._since = db, account_id, tell, since
        self.new = self.errors = self.steps = 0
        self.missing: list[str] = []

    def all(self, mailbox: Mailbox, folders: Sequence[str]) -> None:
        """Headers of these folders, then bodies wherever they are wanted."""
        names = mailbox.folders() if EVERYWHERE in folders else folders
        self.missing = []
        for name in dict.fromkeys("INBOX" if name.upper() == "INBOX" else name for name in names):
            self._heads(mailbox, name)
        with self._db.read() as tx:
            wanted = bodies.wanted(tx, self._account_id)
        for (name, uid_validity), some in wanted.items():
            self._bodies(mailbox, name, uid_validity, some)

    def _heads(self, mailbox: Mailbox, name: str) -> None:
        try:
            opened = mailbox.examine(name)
        except NotFound as error:
            self.missing.append(str(error))
            return
        with self._db.write() as tx:
            accounts.locked(tx, self._account_id)
            place = arrivals.place(tx, self._account_id, name, opened.uid_validity)
        # A server answers `9:*` with the last mail also if that is the eighth.
        asked = f"UID {place.seen_to + 1}:* SINCE {day(self._since)}"
        found = [uid for uid in mailbox.search(asked) if uid > place.seen_to] if opened.exists else []
        self._store(mailbox, name, place, _chunks(found, HEADS), len(found), checkpoint=True)
        if place.seen_since and self._since < place.seen_since:
            self._before(mailbox, name, place, place.seen_since)

    def _before(self, mailbox: Mailbox, name: str, place: Place, seen_since: datetime) -> None:
        """What lies before the days that earlier scans asked for. Servers count days in their own time zone."""
        until = day(seen_since + timedelta(days=2))
        found = mailbox.search(f"UID 1:{place.seen_to} SINCE {day(self._since)} BEFORE {until}")
        with self._db.read() as tx:
            left = [uid for chunk in _chunks(found, HEADS) for uid in arrivals.unknown(tx, place, chunk)]
        self._store(mailbox, name, place, _chunks(left, HEADS), len(left), checkpoint=False)
        with self._db.write() as tx:
            arrivals.seen_before(tx, place, since=self._since)

    def _store(
        self, mailbox: Mailbox, name: str, place: Place, chunks: Iterator[list[int]], total: int, *, checkpoint: bool
    ) -> None:
        """What comes, and how far that brings us, is written down in one transaction."""
        done, told, began = 0, _Told(), time.monotonic()
        write = partial(self._write, place, checkpoint=checkpoint)
        try:
            for answer in mailbox.heads(chunks):
                told.take(answer, mailbox.drain)
                done += len(answer.asked)
                if done % TOGETHER == 0 or done == total or time.monotonic() - began >= SECONDS:
                    full, told, began = told, _Told(), time.monotonic()
                    write(full)
                self._tell(Progress(name, "headers", done, total))
        except Unreachable:
            if told.last:
                write(told)  # what came is not asked for again
            raise

    def _write(self, place: Place, told: "_Told", *, checkpoint: bool) -> None:
        with self._db.write() as tx:
            accounts.locked(tx, self._account_id)
            if not arrivals.is_as_before(tx, place):
                raise Dropped("The mail server numbered its mails anew in the middle of the scan")
            new = arrivals.store(tx, place, told.heads, now=clock.now())
            if checkpoint:
                arrivals.seen(tx, place, to=told.last, since=self._since)
        self.new += new
        self.errors += told.errors
        self.steps += bool(new or (checkpoint and told.last))

    def _bodies(self, mailbox: Mailbox, name: str, uid_validity: int, wanted: list[bodies.Wanted]) -> None:
        try:
            opened = mailbox.examine(name)
        except NotFound:
            return  # an earlier scan was killed in it, and it is gone
        if opened.uid_validity != uid_validity:
            return
        done, told = 0, dict[int, bodies.Read]()
        by_uid = {mail.uid: mail for mail in wanted}
        try:
            for answer in mailbox.bodies(_chunks(list(by_uid), BODIES)):
                told |= self._told(answer, by_uid, mailbox.drain)
                done += len(answer.asked)
                if len(told) >= BODIES_TOGETHER:
                    self._keep(told)
                    told = {}
                self._tell(Progress(name, "bodies", done, len(by_uid)))
        finally:
            self._keep(told)

    def _told(
        self, answer: Answer, by_uid: Mapping[int, bodies.Wanted], drain: Callable[[], None]
    ) -> dict[int, bodies.Read]:
        """What these bodies said. A refused one is asked for again by the next scan; one that was deleted is not."""
        mails = _each(answer.fetched, drain)
        came = {mail.uid: bodies.read(mail.content, by_uid[mail.uid].sender_email) for mail in mails}
        self.errors += len(answer.refused)
        return {by_uid[uid].id: came.get(uid, bodies.NOTHING) for uid in answer.asked if uid not in answer.refused}

    def _keep(self, told: Mapping[int, bodies.Read]) -> None:
        if not told:
            return
        with self._db.write() as tx:
            accounts.locked(tx, self._account_id)
            bodies.store(tx, self._account_id, told)
        self.errors += sum(not one.well for one in told.values())
        self.steps += 1


class _Told:
    """The headers of some answers, and how many could not be read. They are read while the next ones are on the way."""

    def __init__(self) -> None:
        self.heads: list[tuple[int, Head]] = []
        self.errors = self.last = 0

    def take(self, answer: Answer, drain: Callable[[], None]) -> None:
        if len(answer.refused) == len(answer.asked) > 1:
            raise Unreachable(NOTHING_COMES)
        self.errors += len(answer.refused)
        for mail in _each(answer.fetched, drain):
            try:
                self.heads.append((mail.uid, heads.read(mail.content, received(mail.received))))
            except Broken:
                self.errors += 1
            except Exception as error:  # one broken mail must not keep the others from being read
                self.errors += 1
                logger.warning("The header of a mail cannot be read", kind=type(error).__name__)
        # A server may have a mail that it cannot read itself. If that is all there is, the next scan tries it again.
        if len(answer.refused) < len(answer.asked):
            self.last = answer.asked[-1]


def _each(some: Sequence[One], drain: Callable[[], None]) -> Iterator[One]:
    """One after the other; before each batch what the server has sent meanwhile is taken."""
    for start in range(0, len(some), arrivals.BATCH):
        drain()
        yield from some[start : start + arrivals.BATCH]


def _chunks(uids: list[int], size: int) -> Iterator[list[int]]:
    return (uids[start : start + size] for start in range(0, len(uids), size))
