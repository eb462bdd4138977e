"""Bodies are read for the ways out in them, and never stored: the newest of each sender, and some more where no header
field offers any."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import log
from gna.db import type_json
from gna.inbox import methods, offers, seals
from gna.inbox.table import a, accounts, folders, m, mails, o
from gna.inbox.ways import Offers

logger = log.get(__name__)

# How many bodies of a sender are read whose mails have no List-Unsubscribe field.
MOST = 10


class Wanted(NamedTuple):
    """A mail whose body shall be read."""

    id: int
    uid: int


class Read(NamedTuple):
    """What the body of a mail said; `well` unless it could not be understood."""

    mail_id: int
    ways: list[dict[str, Any]]
    seal: dict[str, Any] | None
    well: bool = True


def wanted(tx: Connection, account_id: int) -> dict[tuple[str, int], list[Wanted]]:
    """What is left to read of the senders whose mails are not counted yet: by folder and what its UIDs belong to."""
    counted_to = sa.select(a.counted_to).where(a.id == account_id).scalar_subquery()
    news = sa.select(m.sender_email).where(m.account_id == account_id, m.id > counted_to).distinct()
    newest = {"order_by": (m.date_sent.desc(), m.id.desc())}
    without = m.list_unsubscribe.is_(None)
    ranked = (
        sa.select(
            m.id,
            m.uid,
            m.folder_id,
            m.body_ways,
            without.label("without"),
            sa.func.row_number().over(partition_by=m.sender_email, **newest).label("rank"),
            sa.func.row_number().over(partition_by=(m.sender_email, without), **newest).label("rank_without"),
        )
        .where(m.account_id == account_id, sa.not_(m.is_copy), m.sender_email.in_(news))
        .subquery()
    )
    r = ranked.c
    some = sa.or_(r.rank == 1, sa.and_(r.without, r.rank_without <= MOST))
    rows = tx.execute(
        sa.select(o.name, o.uid_validity, r.id, r.uid)
        .join_from(ranked, folders, r.folder_id == o.id)
        .where(some, r.uid > 0, r.body_ways.is_(None))
        .order_by(o.name, r.uid)
    )
    found: dict[tuple[str, int], list[Wanted]] = {}
    for name, uid_validity, mail_id, uid in rows:
        found.setdefault((name, uid_validity), []).append(Wanted(mail_id, uid))
    return found


def read(mail_id: int, raw: bytes) -> Read:
    """What a mail offers in its body, and how its header is sealed."""
    try:
        offered, opened = offers.of_mail(raw)
        ways = methods.ways(Offers(body=offered.body))
        return Read(mail_id, [way.stored() for way in ways], seals.read(opened.header))
    except Exception as error:  # one broken mail must not keep the others from being read
        logger.warning("The body of a mail cannot be read", kind=type(error).__name__)
        return Read(mail_id, [], None, well=False)


_store = (
    sa.update(mails)
    .where(m.id == sa.bindparam("mail_id"))
    .values(body_ways=sa.bindparam("ways", type_=type_json), seal=sa.bindparam("its_seal", type_=type_json))
)


def store(tx: Connection, told: Sequence[Read]) -> None:
    """Write down what was read, and that it was."""
    if told:
        tx.execute(_store, [{"mail_id": one.mail_id, "ways": one.ways, "its_seal": one.seal} for one in told])
