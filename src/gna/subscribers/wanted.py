"""Whom an admin looks for: by a part of the address or nickname, by status, by list."""

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.errors import Refused
from gna.subscribers.filing import Status, on_list, pending
from gna.subscribers.lists import parse_list_key
from gna.subscribers.needles import matching
from gna.subscribers.table import STORABLE, subscribers

Q_MAX = 200


@dataclass(frozen=True)
class Wanted:
    """A choice of people; all of it must hold, and nothing at all means everybody."""

    q: str = ""
    status: Status | None = None
    list_key: str | None = None

    @classmethod
    def parse(cls, *, q: str = "", status: str = "", list_key: str = "") -> "Wanted":
        """Check what an admin asked for."""
        return cls(parse_query(q), parse_status(status), parse_list_key(list_key) if list_key else None)

    def matching(self, tx: Connection) -> sa.ColumnElement[bool]:
        """The condition of text and list."""
        return matching(tx, self.q) & (on_list(tx, self.list_key) if self.list_key else sa.true())

    def takes(self, is_pending: bool) -> bool:
        """Whether somebody who is pending, or is not, has the status."""
        return self.status is None or is_pending == (self.status is Status.PENDING)

    def standing(self) -> sa.ColumnElement[bool]:
        """The condition of the status on `subscribers`, as their indexes have it."""
        is_pending = subscribers.c.activated_at.is_(None)
        return {None: sa.true(), Status.PENDING: is_pending, Status.ACTIVATED: ~pending}[self.status]


EVERYBODY = Wanted()


def parse_query(q: str) -> str:
    """The text to look for."""
    q = q.strip()
    if len(q) > Q_MAX or not STORABLE.fullmatch(q):
        raise Refused(f"What to look for must be at most {Q_MAX} characters of text")
    return q


def parse_status(text: str) -> Status | None:
    """A status, whatever its case."""
    for status in Status:
        if text.lower() == status.lower():
            return status
    if text:
        raise Refused("status must be Activated or Pending")
    return None
