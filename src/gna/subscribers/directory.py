"""The directory of subscribers, for those who run the publication."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock
from gna.db import Database
from gna.errors import NotFound, Refused
from gna.subscribers import lists
from gna.subscribers.filing import Status, Totals
from gna.subscribers.lists import Membership, Moves
from gna.subscribers.needles import MOMENT, NEWEST, after, needle
from gna.subscribers.search import page_of
from gna.subscribers.signup import check_nickname
from gna.subscribers.table import STORABLE, subscribers
from gna.subscribers.wanted import Wanted

CHUNK = 2000
ATTRIBUTES_MAX = 100
PLACES_MAX = 200

s = subscribers.c
SHOWN = (s.id, s.email, s.nickname, s.created_at, s.activated_at, s.ocd_ids, s.attributes)


@dataclass(frozen=True)
class Subscriber:
    """A person as an admin sees them; no token is among it."""

    id: str
    email: str
    nickname: str | None
    created_at: datetime
    activated_at: datetime | None
    ocd_ids: list[str] = field(default_factory=list)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    lists: list[Membership] = field(default_factory=list)

    @property
    def status(self) -> Status:
        """How far they have come."""
        return Status.PENDING if self.activated_at is None else Status.ACTIVATED

    def shown(self) -> dict[str, Any]:
        """The person in JSON, for the API and the command line."""
        left = {one.list_key: one.unsubscribed_at and clock.iso(one.unsubscribed_at) for one in self.lists}
        return {
            "id": self.id,
            "email": self.email,
            "nickname": self.nickname,
            "status": self.status,
            "created_at": clock.iso(self.created_at),
            "activated_at": self.activated_at and clock.iso(self.activated_at),
            "ocd_ids": self.ocd_ids,
            "attributes": self.attributes,
            "lists": [{"list_key": key, "unsubscribed_at": moment} for key, moment in left.items()],
        }


@dataclass(frozen=True)
class Change:
    """What an admin changes of a person, already checked; what is not in `columns` stays."""

    columns: Mapping[str, Any]
    lists: list[str] | None = None
    # Or some of the lists alone.
    moves: Moves | None = None

    @classmethod
    def parse(cls, sent: Mapping[str, Any]) -> "Change":
        """Check what an admin sent."""
        unknown = set(sent) - {"nickname", "ocd_ids", "attributes", "lists"}
        if unknown:
            raise Refused("Only nickname, ocd_ids, attributes and lists can be changed")
        columns: dict[str, Any] = {}
        if "nickname" in sent:
            columns["nickname"] = None if sent["nickname"] is None else check_nickname(sent["nickname"])
        if "ocd_ids" in sent:
            columns["ocd_ids"] = _texts(sent["ocd_ids"], "ocd_ids")
        if "attributes" in sent:
            columns["attributes"] = _attributes(sent["attributes"])
        return cls(columns, _list_keys(sent["lists"]) if "lists" in sent else None)


async def find(db: Database, wanted: Wanted, *, page: int, per_page: int) -> tuple[list[Subscriber], Totals]:
    """One page of those who are wanted, newest first, and how many there are of each status."""
    # The addresses alone are found in an index; only the page's own rows are read.
    addresses, totals = await page_of(db, wanted, offset=(page - 1) * per_page, limit=per_page)
    people = sa.select(*SHOWN).where(sa.func.lower(s.email).in_(addresses)).order_by(*NEWEST)
    return await db.look(_people, people), totals


def get(tx: Connection, subscriber_id: str) -> Subscriber:
    """One person."""
    found = _people(tx, sa.select(*SHOWN).where(s.id == subscriber_id))
    if not found:
        raise NotFound("There is no such subscriber")
    return found[0]


def by_email(tx: Connection, email: str) -> Subscriber | None:
    """The person with this address, whatever its case."""
    found = _people(tx, sa.select(*SHOWN).where(sa.func.lower(s.email) == email.lower()))
    return found[0] if found else None


def change(tx: Connection, subscriber_id: str, wish: Change, *, now: datetime) -> Subscriber:
    """Change what an admin may change, and show the person as they are then."""
    # Two admins who save at once do so one after the other, and the later sees what the earlier did.
    if not lists.locked(tx, [subscriber_id]):
        raise NotFound("There is no such subscriber")
    if wish.columns:
        tx.execute(sa.update(subscribers).where(s.id == subscriber_id).values(**wish.columns))
    if wish.lists is not None:
        lists.replace(tx, subscriber_id, wish.lists, now=now)
    if wish.moves:
        lists.move(tx, subscriber_id, wish.moves, now=now)
    return get(tx, subscriber_id)


def everybody(db: Database, wanted: Wanted) -> Iterator[list[Any]]:
    """All who are wanted, newest first, in chunks that are read one by one: a million people take no memory.

    Each chunk goes on after the last person of the one before, so nobody is left out or repeated
    when others come and go meanwhile.
    """
    columns = (s.id, s.email, s.nickname, s.created_at, s.activated_at, MOMENT, needle)
    rest: sa.ColumnElement[bool] = sa.true()
    while True:
        with db.read() as tx:
            page = sa.select(*columns).where(wanted.matching(tx), wanted.standing(), rest).order_by(*NEWEST)
            rows = tx.execute(page.limit(CHUNK)).all()
        if rows:
            yield list(rows)
        if len(rows) < CHUNK:
            return
        rest = after(rows[-1].moment, rows[-1].needle)


def _people(tx: Connection, query: sa.Select[Any]) -> list[Subscriber]:
    rows = tx.execute(query).all()
    memberships = lists.of(tx, [row.id for row in rows])
    return [Subscriber(**row._mapping, lists=memberships[row.id]) for row in rows]


def _list_keys(value: object) -> list[str]:
    """Keys, or memberships as they are shown, of which those that were left do not count."""
    shown = value if isinstance(value, list) else []
    if any(isinstance(one, dict) for one in shown):
        value = [one.get("list_key") for one in shown if isinstance(one, dict) and not one.get("unsubscribed_at")]
    return [lists.parse_list_key(key) for key in _texts(value, "lists")]


def _texts(value: object, name: str) -> list[str]:
    texts = value if isinstance(value, list) else None
    if texts is None or not all(isinstance(text, str) and 1 <= len(text) <= 200 for text in texts):
        raise Refused(f"{name} must be a list of texts of 1–200 characters")
    if len(texts) > PLACES_MAX or not all(map(STORABLE.fullmatch, texts)):
        raise Refused(f"{name} holds too many texts, or characters that cannot be stored")
    return list(dict.fromkeys(texts))


def _attributes(value: object) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > ATTRIBUTES_MAX:
        raise Refused("attributes must be an object of at most 100 fields")
    if not _storable(value):
        raise Refused("attributes hold something that cannot be stored")
    return value


def _storable(value: object, depth: int = 0) -> bool:
    """Whether every database can keep it: no NUL, no half of a surrogate pair, no bottomless nesting."""
    if depth > 5:
        return False
    if isinstance(value, dict):
        return all(bool(STORABLE.fullmatch(key)) and _storable(part, depth + 1) for key, part in value.items())
    if isinstance(value, list):
        return all(_storable(part, depth + 1) for part in value)
    if isinstance(value, str):
        return len(value) <= 1000 and bool(STORABLE.fullmatch(value))
    if isinstance(value, float):
        return value == value and abs(value) != float("inf")
    return value is None or (isinstance(value, bool | int) and abs(value) < 2**53)
