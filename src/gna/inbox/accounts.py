"""The mailboxes that somebody lets us read."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db
from gna.errors import CannotStart, NotAllowedNow, NotFound, Refused
from gna.inbox import server
from gna.inbox.table import a, accounts, folders, m, mails, o
from gna.mail import address
from gna.providers.smtp import parse as parse_smtp

# In lower case, as the database keeps it; SQLite itself knows no other letters than ASCII.
ALREADY = "There is an account for this address already; `gna inbox account list` shows it"


@dataclass(frozen=True)
class Wish:
    """A mailbox as somebody wants it read. No password is in here."""

    email: str
    imap: str
    smtp: str | None = None
    password_command: str | None = None
    kept_in: str | None = None


def add(tx: Connection, wish: Wish, *, now: datetime) -> int:
    """A new account; one per address, however that is written."""
    values = {
        "email": address.parse(wish.email),
        "key": key(wish.email),
        "imap_url": _imap(wish.imap),
        "smtp_url": _smtp(wish.smtp) if wish.smtp else None,
        "password_command": wish.password_command,
        "kept_in": wish.kept_in,
        "created_at": now,
    }
    new = db.insert(tx, accounts).values(**values).on_conflict_do_nothing(index_elements=["key"])
    account_id: int | None = tx.scalar(new.returning(a.id))
    if account_id is None:
        raise NotAllowedNow(ALREADY)
    return account_id


def change(
    tx: Connection,
    account_id: int,
    *,
    imap: str | None = None,
    smtp: str | None = None,
    password_command: str | None = None,
) -> None:
    """Other servers, or another command for the password; what is None stays, what is empty goes."""
    wanted: dict[str, Any] = {}
    if imap is not None:
        wanted["imap_url"] = _imap(imap)
        if _mailbox(get(tx, account_id).imap_url) != _mailbox(imap):
            # Elsewhere the numbers of mails mean something else: those that we know are recognised by what they are.
            tx.execute(sa.update(folders).where(o.account_id == account_id).values(uid_validity=None))
    if smtp is not None:
        wanted["smtp_url"] = _smtp(smtp) if smtp else None
    if password_command is not None:
        wanted["password_command"] = password_command or None
    if wanted:
        tx.execute(sa.update(accounts).where(a.id == account_id).values(wanted))


def keep_in(tx: Connection, account_id: int, where: str | None) -> None:
    """Remember where its password is kept now."""
    tx.execute(sa.update(accounts).where(a.id == account_id).values(kept_in=where))


def listed(tx: Connection) -> list[dict[str, Any]]:
    """All accounts in the order in which they were added, with how many mails were seen in each."""
    seen = sa.select(sa.func.count()).where(m.account_id == a.id).select_from(mails).scalar_subquery()
    hidden = ("key", "counted_to")
    columns = [column for column in accounts.c if column.name not in hidden]
    rows = tx.execute(sa.select(*columns, seen.label("messages")).order_by(a.id))
    return [dict(row._mapping) for row in rows]


def find(tx: Connection, email: str) -> Any:
    """The account of an address, in any case."""
    row = tx.execute(sa.select(accounts).where(a.key == key(email))).one_or_none()
    if row is None:
        raise NotFound("There is no account for this address; `gna inbox account list` shows those that there are")
    return row


def get(tx: Connection, account_id: int) -> Any:
    """One account as it is stored."""
    row = tx.execute(sa.select(accounts).where(a.id == account_id)).one_or_none()
    if row is None:
        raise NotFound(f"There is no account {account_id}; `gna inbox account list` shows them")
    return row


def locked(tx: Connection, account_id: int) -> Any:
    """The account, which until the end of this transaction nobody else adds mails to.

    Mails are counted in the order of their ids, so those of a second scan must not overtake.
    """
    row = tx.execute(sa.select(accounts).where(a.id == account_id).with_for_update()).one_or_none()
    if row is None:
        raise NotFound("The account was removed meanwhile")
    return row


def remove(tx: Connection, account_id: int) -> None:
    """Forget an account and all that was found in it."""
    if not tx.execute(sa.delete(accounts).where(a.id == account_id)).rowcount:
        raise NotFound(f"There is no account {account_id}; `gna inbox account list` shows them")


def key(email: str) -> str:
    """By what an account is known."""
    return email.strip().lower()


def _imap(url: str) -> str:
    server.parse(url)
    return url


def _mailbox(url: str) -> tuple[str, int, str | None]:
    at = server.parse(url)
    return at.host, at.port, at.user


def _smtp(url: str) -> str:
    """The server that mails to unsubscribe go through: as SMTP_URL, but without the password."""
    try:
        parts = urlsplit(url)
        if parts.password is not None:
            raise Refused(server.LEAVE_IT_OUT)
        parse_smtp(_with_password(url, parts.username))
    except ValueError:
        raise Refused("The address of the SMTP server cannot be read: is the port a number?") from None
    except CannotStart as error:
        raise Refused(str(error).replace("SMTP_URL", "The address of the SMTP server")) from None
    return url


def _with_password(url: str, user: str | None) -> str:
    """As SMTP_URL has it, where a login is a user and a password; here the latter comes from elsewhere."""
    return url.replace(f"{user}@", f"{user}:x@", 1) if user else url.replace("://", "://x:x@", 1)
