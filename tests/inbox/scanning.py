"""What the tests of scans share: a mailbox on a real server, somebody who scans it, and scans that are killed."""

import imaplib
import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from gna import clock, log
from gna.config import Settings
from gna.db import Database
from gna.inbox import accounts, arrivals, bodies, counting, scan
from gna.inbox.scan import Scanned
from gna.inbox.table import a, m, mails, o, s
from gna.inbox.table import accounts as accounts_table
from gna.inbox.table import folders as folders_table
from gna.inbox.table import subscriptions as subscriptions_table
from tests.dying import after, before
from tests.inbox.post import Letter
from tests.servers.dovecot import Dovecot

# What is not the same in two scans of the same mails.
OWN = {"id", "account_id", "folder_id", "seen_at", "created_at", "updated_at", "way_mail_id"}


@dataclass
class Box:
    """A mailbox of somebody's own on the server, and an account for it."""

    dovecot: Dovecot
    db: Database
    settings: Settings
    user: str
    account: int

    def receives(self, *letters: Letter, folder: str = "INBOX", flags: str | None = None) -> None:
        """Mails arrive."""
        for letter in letters:
            self.dovecot.deliver(self.user, letter.raw, folder, received=letter.received, flags=flags)

    def scan(self, **options: Any) -> Scanned:
        """Look what is new, as the command does."""
        return scan.scan(self.db, self.settings, self.account, **options)

    def move(self, port: int) -> None:
        """Its server is reached by another port from now on, in the clear."""
        with self.db.write() as tx:
            url = f"imap://127.0.0.1:{port}?tls=none"
            tx.execute(sa.update(accounts_table).where(a.id == self.account).values(imap_url=url))

    def change(self, imap: str) -> None:
        """Somebody says where the mailbox is from now on."""
        with self.db.write() as tx:
            accounts.change(tx, self.account, imap=imap)

    def again(self) -> "Box":
        """The same mailbox in another account, where nothing was seen yet."""
        user = self.user.replace("@", "%40")
        wish = accounts.Wish(f"again.{self.user}", f"imap://{user}@127.0.0.1:{self.dovecot.port}?tls=none")
        with self.db.write() as tx:
            account = accounts.add(tx, wish, now=clock.now())
        return Box(self.dovecot, self.db, self.settings, self.user, account)

    def mails(self) -> list[Any]:
        """What is stored of mails, in the order of folders and UIDs."""
        rows = sa.select(mails, o.name.label("folder")).join(folders_table, m.folder_id == o.id)
        with self.db.read() as tx:
            return list(tx.execute(rows.where(m.account_id == self.account).order_by(o.name, m.uid)))

    def folder(self, name: str = "INBOX") -> Any:
        """A folder as it is stored."""
        with self.db.read() as tx:
            return tx.execute(sa.select(folders_table).where(o.account_id == self.account, o.name == name)).one()

    def found(self) -> dict[str, list[dict[str, Any]]]:
        """All that a scan found, but for what no two scans have in common."""
        theirs = sa.select(subscriptions_table).where(s.account_id == self.account).order_by(s.sender_email)
        with self.db.read() as tx:
            rows = {"mails": self.mails(), "subscriptions": list(tx.execute(theirs))}
        return {name: [_common(row) for row in some] for name, some in rows.items()}

    def opened(self, *, readonly: bool = True, folder: str = "INBOX") -> imaplib.IMAP4:
        """A connection of another mail program."""
        imap = imaplib.IMAP4(self.dovecot.host, self.dovecot.port)
        imap.login(self.user, self.dovecot.password)
        imap.select(folder, readonly=readonly)
        return imap

    def flags(self) -> list[bytes]:
        """The flags of every mail."""
        with self.opened() as imap:
            return [line for line in imap.uid("FETCH", "1:*", "(FLAGS)")[1] if isinstance(line, bytes)]

    def is_renumbered(self) -> None:
        """The server loses its lists, and numbers all mails anew."""
        maildir = self.dovecot.maildir(self.user)
        for file in (*maildir.glob("dovecot.index*"), maildir / "dovecot-uidlist"):
            file.unlink()


def _common(row: Any) -> dict[str, Any]:
    return {name: value for name, value in row._mapping.items() if name not in OWN}


def a_letter(
    sender: str = "news@shop.example",
    *,
    received: datetime,
    more: Sequence[str] = (),
    body: str = "Hello",
    id: str = "",
) -> Letter:
    """A mail with these lines in its header."""
    from email.utils import format_datetime

    from tests.inbox.post import Sender

    number = id or os.urandom(6).hex()
    lines = [f"From: {sender}", f"Date: {format_datetime(received)}", f"Message-ID: <{number}@shop.example>", *more]
    if not any(line.lower().startswith("content-type:") for line in more):
        lines.append("Content-Type: text/html")
    return Letter(Sender(0), ("\r\n".join(lines) + f"\r\n\r\n{body}\r\n").encode(), received)


def second() -> Callable[..., bool]:
    """True from the second time on."""
    times = iter((False, True))
    return lambda *_: next(times, True)


# In the order in which a scan comes by.
POINTS: dict[str, Callable[[], None]] = {
    "in the first transaction": lambda: after(arrivals, "store"),
    "in the middle of headers": lambda: before(scan._Work, "_write", second()),
    "in a transaction in the middle of headers": lambda: after(arrivals, "seen", second()),
    "between headers and bodies": lambda: before(bodies, "wanted"),
    "in the transaction of bodies": lambda: after(bodies, "store"),
    "in the middle of bodies": lambda: before(scan._Work, "_keep", second()),
    "before subscriptions": lambda: before(counting, "refresh"),
    "in the transaction of subscriptions": lambda: after(counting, "refresh"),
}

# Each is a copy of a process that has imported everything, which spares it a second.
_processes = multiprocessing.get_context("forkserver")


def killed(box: Box, point: str) -> int:
    """Scan in a process of its own, which is killed at this point; says its exit code."""
    process = _processes.Process(target=_scan, args=(box.settings.model_dump(), box.account, point), daemon=True)
    process.start()
    process.join(60)
    code = process.exitcode
    assert code is not None
    return code


def _scan(settings: dict[str, Any], account: int, point: str) -> None:
    log.setup(level="info", format="console", to=sys.stderr)
    for name, size in (("HEADS", 50), ("TOGETHER", 100), ("BODIES_TOGETHER", 20)):
        setattr(scan, name, size)
    POINTS[point]()
    scan.scan(Database(settings["database_url"].get_secret_value()), Settings(**settings), account)
