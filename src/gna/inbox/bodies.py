"""Bodies are read for the ways out in them, and never stored: the newest of each sender, and some more where no header
field offers any."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import log
from gna.db import type_json
from gna.inbox import methods, offers, seals
from gna.inbox.table import a, accounts, folders, m, mails, o, s
from gna.inbox.ways import Offers

logger = log.get(__name__)

# How many bodies of a sender are read whose mails have no List-Unsubscribe field.
MOST = 10


class Wanted(NamedTuple):
    """A mail whose body shall be read."""

    id: int
    uid: int
    sender_email: str


class Read(NamedTuple):
    """What the body of a mail said; `well` unless it could not be understood."""

    ways: list[dict[str, Any]]
    seal: dict[str, Any] | None
    well: bool = True


# Of a mail that was deleted meanwhile.
NOTHING = Read([], None)


def wanted(tx: Connection, account_id: int) -> dict[tuple[str, int], list[Wanted]]:
    """What is left to read, by folder and what its UIDs belong to."""
    senders = _senders(account_id)
    rows = tx.execute(
        sa.select(o.name, o.uid_validity, m.id, m.uid, m.sender_email)
        .join_from(mails, folders, m.folder_id == o.id)
        .where(m.id.in_(sa.union(_newest(account_id, senders), _newest_without(account_id, senders))))
        .where(m.uid > 0, m.body_ways.is_(None))
        .order_by(o.name, m.uid)
    )
    found: dict[tuple[str, int], list[Wanted]] = {}
    for name, uid_validity, *mail in rows:
        found.setdefault((name, uid_validity), []).append(Wanted(*mail))
    return found


def _senders(account_id: int) -> sa.CTE:
    """Those whose mails are not counted yet; and those of whom the newest mail was not read, because they were kept
    then or the server refused it. What kept ones offer nobody wants to know."""
    its, counted_to = mails.alias("its").c, sa.select(a.counted_to).where(a.id == account_id).scalar_subquery()
    body = sa.select(its.body_ways).where(its.account_id == account_id, its.sender_email == s.sender_email)
    body = body.where(sa.not_(its.is_copy)).order_by(its.came_at.desc(), its.id.desc()).limit(1)
    known = sa.select(s.sender_email).where(s.account_id == account_id)
    news = sa.select(m.sender_email).where(m.account_id == account_id, m.id > counted_to)
    news = news.where(m.sender_email.not_in(known.where(s.keep_subscription)))
    left = known.where(sa.not_(s.keep_subscription), body.scalar_subquery().is_(None))
    return sa.union(news, left).cte("senders")


def _newest(account_id: int, senders: sa.CTE) -> sa.Select[tuple[int]]:
    """The newest mail of each: one look into the index, where ranking all their mails would take much longer."""
    its = mails.alias("its").c
    newest = sa.select(its.id).where(its.account_id == account_id, its.sender_email == senders.c.sender_email)
    newest = newest.where(sa.not_(its.is_copy)).order_by(its.came_at.desc(), its.id.desc()).limit(1)
    return sa.select(newest.scalar_subquery()).select_from(senders)


def _newest_without(account_id: int, senders: sa.CTE) -> sa.Select[tuple[int]]:
    """The newest mails of each that have no List-Unsubscribe field."""
    its = mails.alias("its").c
    order = sa.func.row_number().over(partition_by=its.sender_email, order_by=(its.came_at.desc(), its.id.desc()))
    ranked = sa.select(its.id, order.label("rank")).where(its.account_id == account_id, its.list_unsubscribe.is_(None))
    ranked = ranked.where(sa.not_(its.is_copy), its.sender_email.in_(sa.select(senders.c.sender_email)))
    some = ranked.subquery()
    return sa.select(some.c.id).where(some.c.rank <= MOST)


def read(raw: bytes, sender_email: str) -> Read:
    """What a mail offers in its body, and how its header is sealed."""
    try:
        offered, opened = offers.of_mail(raw)
        ways = methods.ways(Offers(body=offered.body), sender=sender_email.rpartition("@")[2])
        return Read([way.stored() for way in ways], seals.read(opened.header))
    except Exception as error:  # one broken mail must not keep the others from being read
        logger.warning("The body of a mail cannot be read", kind=type(error).__name__)
        return Read([], None, well=False)


_store = (
    sa.update(mails)
    .where(m.id == sa.bindparam("mail_id"))
    .values(body_ways=sa.bindparam("ways", type_=type_json), seal=sa.bindparam("its_seal", type_=type_json))
)


def store(tx: Connection, account_id: int, told: Mapping[int, Read]) -> None:
    """Write down what was read of mails, and that it was. Those that were counted before are to be counted again."""
    if told:
        tx.execute(_store, [{"mail_id": id, "ways": one.ways, "its_seal": one.seal} for id, one in told.items()])
        before = min(told) - 1
        tx.execute(sa.update(accounts).where(a.id == account_id, a.counted_to > before).values(counted_to=before))
