"""Which lists a person is on. Whoever was never put on a list, and has left none, is on `general`."""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db, outbox, tokens
from gna.errors import Refused
from gna.mail import address
from gna.subscribers.table import GENERAL, STORABLE, memberships, subscribers

KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")
# So many are offered to choose from.
LISTS_MAX = 200


@dataclass(frozen=True)
class Membership:
    """A list that somebody is on, or has left."""

    list_key: str
    unsubscribed_at: datetime | None = None


@dataclass(frozen=True)
class Moves:
    """Lists that somebody is to be on from now, and which of them they had left; and lists that they are to leave."""

    on: Collection[str] = ()
    back: Collection[str] = ()
    off: Collection[str] = ()

    @classmethod
    def parse(cls, wanted: Collection[str], *, shown: Collection[str], left: Collection[str]) -> "Moves":
        """What an admin made of the lists that they were shown, of which somebody had left some."""
        on = [parse_list_key(key) for key in sorted({*wanted} - {*shown})]
        return cls(on, back=sorted({*on} & {*left}), off=sorted({*shown} - {*wanted}))


@dataclass(frozen=True)
class Leaving:
    """One person's wish to leave one list, as a signed link says it."""

    email: str
    list_key: str

    def sign(self, secret: str) -> str:
        """The token for the link in a mail."""
        return tokens.sign(json.dumps({"email": self.email, "list_key": self.list_key}), secret)

    @classmethod
    def parse(cls, token: str, secret: str) -> "Leaving":
        """What a link says, if we wrote it."""
        try:
            said = json.loads(tokens.verified(token, secret) or "")
            wish = cls(said["email"], said["list_key"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise Refused("The unsubscribe link is not complete, or not one of ours") from None
        if not all(isinstance(part, str) and STORABLE.fullmatch(part) for part in (wish.email, wish.list_key)):
            raise Refused("The unsubscribe link is not complete, or not one of ours")
        with suppress(Refused):  # one person, however the address is spelt
            return cls(address.parse(wish.email), wish.list_key)
        return wish


def parse_list_key(text: object) -> str:
    """A list's key as machines and people can write it."""
    if not isinstance(text, str) or not KEY.fullmatch(text):
        raise Refused("A list key is 1–64 letters, digits or - _ . :")
    return text


def on_list(list_key: str) -> sa.ColumnElement[bool]:
    """The condition on `subscribers` that a person is on this list."""
    m = memberships.c
    theirs = m.subscriber_id == subscribers.c.id
    member = sa.exists().where(theirs, m.list_key == list_key, m.unsubscribed_at.is_(None))
    return sa.or_(member, ~sa.exists().where(theirs)) if list_key == GENERAL else member


def has_left(list_key: str) -> sa.ColumnElement[bool]:
    """The condition on `subscribers` that a person was on this list and has left it."""
    m = memberships.c
    return sa.exists().where(
        m.subscriber_id == subscribers.c.id, m.list_key == list_key, m.unsubscribed_at.is_not(None)
    )


def of(tx: Connection, subscriber_ids: Collection[str]) -> dict[str, list[Membership]]:
    """The lists of each of these people."""
    m = memberships.c
    rows = tx.execute(
        sa.select(m.subscriber_id, m.list_key, m.unsubscribed_at)
        .where(m.subscriber_id.in_(subscriber_ids))
        .order_by(m.list_key)
    )
    found: dict[str, list[Membership]] = {}
    for row in rows:
        found.setdefault(row.subscriber_id, []).append(Membership(row.list_key, row.unsubscribed_at))
    return {person: found.get(person, [Membership(GENERAL)]) for person in subscriber_ids}


def known(tx: Connection) -> list[str]:
    """The keys of all lists that somebody is or was on, `general` first."""
    m = memberships.c
    # From key to key in the index: a million memberships of three lists are read three times.
    first = sa.select(sa.func.min(m.list_key).label("key")).cte(recursive=True)
    following = sa.select(sa.func.min(m.list_key)).where(m.list_key > first.c.key).scalar_subquery()
    keys = first.union_all(sa.select(following).where(first.c.key.is_not(None)))
    found = tx.scalars(sa.select(keys.c.key).where(keys.c.key.is_not(None)).limit(LISTS_MAX)).all()
    return [GENERAL, *(key for key in found if key != GENERAL)]


def leave(tx: Connection, wish: Leaving, *, now: datetime) -> None:
    """End one membership, or see that it never begins; for somebody unknown, or who has left, nothing changes."""
    person = tx.scalar(
        sa.select(subscribers.c.id).where(sa.func.lower(subscribers.c.email) == wish.email.lower()).with_for_update()
    )
    if person is None:
        return
    join(tx, {person: ()}, now=now)
    _end(tx, person, [wish.list_key], now=now)


def come_back(tx: Connection, person: str, list_key: str) -> bool:
    """Undo having left a list; False if the person had not."""
    m = memberships.c
    left = (m.subscriber_id == person, m.list_key == list_key, m.unsubscribed_at.is_not(None))
    return tx.execute(sa.update(memberships).where(*left).values(unsubscribed_at=None)).rowcount == 1


def join(tx: Connection, wanted: Mapping[str, Iterable[str]], *, now: datetime) -> None:
    """Put people on lists beside those they are on already; a list that somebody has left stays left."""
    present = of(tx, list(wanted))
    rows = [
        {"subscriber_id": person, "list_key": key, "created_at": now}
        for person, lists in wanted.items()
        for key in {*lists, *(membership.list_key for membership in present[person])}
    ]
    if rows:
        tx.execute(db.insert(tx, memberships).on_conflict_do_nothing(), rows)


def put(tx: Connection, people: Mapping[str, Iterable[str]], *, now: datetime) -> None:
    """Put people who are new on exactly these lists."""
    rows = [
        {"subscriber_id": person, "list_key": key, "created_at": now}
        for person, lists in people.items()
        for key in lists
    ]
    if rows:
        tx.execute(db.insert(tx, memberships).on_conflict_do_nothing(), rows)


def replace(tx: Connection, person: str, lists: Collection[str], *, now: datetime) -> None:
    """An admin says which lists a person is on: these, and no others."""
    m = memberships.c
    _end(tx, person, {membership.list_key for membership in of(tx, [person])[person]} - {*lists}, now=now)
    for key in lists:
        tx.execute(
            _row(tx, person, key, now).on_conflict_do_update(
                index_elements=[m.subscriber_id, m.list_key], set_={"unsubscribed_at": None}
            )
        )


def move(tx: Connection, person: str, moves: Moves, *, now: datetime) -> None:
    """An admin changes some of a person's lists; what the person did with the others meanwhile stays."""
    if not (moves.on or moves.off):
        return
    join(tx, {person: moves.on}, now=now)
    for key in moves.back:
        come_back(tx, person, key)
    _end(tx, person, moves.off, now=now)


def put_on(tx: Connection, people: Collection[str], list_key: str, *, now: datetime) -> int:
    """An admin puts people on a list; whoever has left it stays off it. Says how many are on it then."""
    present = locked(tx, people)
    join(tx, dict.fromkeys(present, (list_key,)), now=now)
    return sum(is_on(memberships, list_key) for memberships in of(tx, present).values())


def take_off(tx: Connection, people: Collection[str], list_key: str, *, now: datetime) -> int:
    """An admin takes people off a list; says how many were on it."""
    members = [person for person, theirs in of(tx, locked(tx, people)).items() if is_on(theirs, list_key)]
    join(tx, dict.fromkeys(members, ()), now=now)
    for person in members:
        _end(tx, person, [list_key], now=now)
    return len(members)


def is_on(memberships: Iterable[Membership], list_key: str) -> bool:
    """Whether the list is among them, and was not left."""
    return any(one.list_key == list_key and one.unsubscribed_at is None for one in memberships)


def locked(tx: Connection, people: Collection[str]) -> list[str]:
    """Those of the people who are there; until the transaction ends, nobody else changes them."""
    some = sa.select(subscribers.c.id).where(subscribers.c.id.in_(people)).order_by(subscribers.c.id)
    return list(tx.scalars(some.with_for_update()))


def _end(tx: Connection, person: str, lists: Iterable[str], *, now: datetime) -> None:
    m = memberships.c
    for key in lists:
        outbox.leave_list(tx, subscriber_id=person, list_key=key)
        ended = _row(tx, person, key, now, unsubscribed_at=now)
        tx.execute(
            ended.on_conflict_do_update(
                index_elements=[m.subscriber_id, m.list_key],
                set_={"unsubscribed_at": now},
                where=m.unsubscribed_at.is_(None),
            )
        )


def _row(tx: Connection, person: str, list_key: str, now: datetime, **values: Any) -> Any:
    return db.insert(tx, memberships).values(subscriber_id=person, list_key=list_key, created_at=now, **values)
