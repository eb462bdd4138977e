"""What a scan writes down: mails as rows, each once, and how far it has come in a folder."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock, db
from gna.inbox.heads import Head
from gna.inbox.moments import parsed
from gna.inbox.table import folders, m, mails, o

# The seed's: so many mails are written at a time.
BATCH = 50


@dataclass(frozen=True)
class Place:
    """A folder as it was when its scan began. `others` says that the account has another with mails in it, `lost` that
    mails of this one wait to be recognised since their UIDs changed."""

    id: int
    account_id: int
    uid_validity: int
    seen_to: int
    seen_since: datetime | None
    others: bool
    lost: bool


def place(tx: Connection, account_id: int, name: str, uid_validity: int) -> Place:
    """The folder of this name; where UIDs mean something else now, those that we know are taken from the mails."""
    new = db.insert(tx, folders).values(account_id=account_id, name=name, uid_validity=uid_validity)
    tx.execute(new.on_conflict_do_nothing(index_elements=["account_id", "name"]))
    row = tx.execute(sa.select(folders).where(o.account_id == account_id, o.name == name)).one()
    if row.uid_validity != uid_validity:
        tx.execute(sa.update(mails).where(m.folder_id == row.id).values(uid=-m.id))
        fresh = sa.update(folders).where(o.id == row.id)
        row = tx.execute(fresh.values(uid_validity=uid_validity, seen_to=0, seen_since=None).returning(folders)).one()
    others = sa.exists().where(o.account_id == account_id, o.id != row.id, o.seen_to > 0)
    lost = sa.exists().where(m.folder_id == row.id, m.uid < 0)
    others_too, lost_too = tx.execute(sa.select(others, lost)).one()
    return Place(row.id, account_id, uid_validity, row.seen_to, row.seen_since, others_too, lost_too)


def is_as_before(tx: Connection, where: Place) -> bool:
    """Whether the UIDs of a folder still mean what they meant; another scan may have found that they do not."""
    return bool(tx.scalar(sa.select(o.uid_validity).where(o.id == where.id)) == where.uid_validity)


COLUMNS = (*Head._fields, "account_id", "folder_id", "seen_at", "uid", "is_copy")
_pour = db.pouring(mails, COLUMNS, unique=("folder_id", "uid"))
_by_uid = sa.update(mails).where(m.id == sa.bindparam("mail_id")).values(uid=sa.bindparam("new_uid"))


def store(tx: Connection, where: Place, heads: Sequence[tuple[int, Head]], *, now: datetime) -> int:
    """Write mails down, a batch at a time; says how many are new."""
    same, new = (where.account_id, where.id, clock.iso(now)), 0
    for start in range(0, len(heads), BATCH):
        batch = heads[start : start + BATCH]
        if where.lost:
            batch = _unrecognised(tx, where, batch)
        copies = _copies(tx, where, batch) if where.others else frozenset()
        new += _pour(tx, [(*head, *same, uid, uid in copies) for uid, head in batch])
    return new


def _unrecognised(tx: Connection, where: Place, batch: Sequence[tuple[int, Head]]) -> list[tuple[int, Head]]:
    """Give known mails their new UIDs; the others are left. A mail is known by its Message-ID and date, however often
    it is in the folder; without one, by its subject."""
    known = defaultdict[tuple[Any, ...], list[int]](list)
    lost = _like(where, batch).where(m.folder_id == where.id, m.uid < 0)
    for row in tx.execute(lost.order_by(m.id.desc())):
        known[_identity(row)].append(row.id)
    moved, left = [], []
    for uid, head in batch:
        if same := known.get(_identity(head)):
            moved.append({"mail_id": same.pop(), "new_uid": uid})
        else:
            left.append((uid, head))
    if moved:
        tx.execute(_by_uid, moved)
    return left


def _copies(tx: Connection, where: Place, batch: Sequence[tuple[int, Head]]) -> frozenset[int]:
    """Those that are in another folder too, and are not counted again."""
    elsewhere = _like(where, batch).where(m.folder_id != where.id, m.message_id.is_not(None))
    known = {_identity(row) for row in tx.execute(elsewhere)}
    return frozenset(uid for uid, head in batch if head.message_id and _identity(head) in known)


def _identity(mail: Any) -> tuple[Any, ...]:
    sent = mail.date_sent
    return mail.sender_email, parsed(sent) if isinstance(sent, str) else sent, mail.message_id or mail.subject


def _like(where: Place, batch: Sequence[tuple[int, Head]]) -> sa.Select[Any]:
    """Mails of the account with sender and date of one of these: what the index has.

    A server that copies a mail keeps when it received it; where it does not, the sender's date is nearly always the
    earlier one.
    """
    pairs = {(head.sender_email, parsed(moment)) for _, head in batch for moment in (head.date_sent, head.came_at)}
    columns = (m.id, m.sender_email, m.date_sent, m.message_id, m.subject)
    return sa.select(*columns).where(
        m.account_id == where.account_id, sa.tuple_(m.sender_email, m.came_at).in_(sorted(pairs))
    )


def seen(tx: Connection, where: Place, *, to: int, since: datetime) -> None:
    """Every mail up to this one is stored that was received since then; what an earlier scan saw before stays unseen
    for this one, so that no gap is taken for seen."""
    later = sa.case((o.seen_since > since, o.seen_since), else_=since)
    tx.execute(sa.update(folders).where(o.id == where.id, o.seen_to < to).values(seen_to=to, seen_since=later))


def seen_before(tx: Connection, where: Place, *, since: datetime) -> None:
    """What lies before is stored too; unless another scan moved meanwhile what it lies before of."""
    tx.execute(sa.update(folders).where(o.id == where.id, o.seen_since == where.seen_since).values(seen_since=since))


def unknown(tx: Connection, where: Place, uids: Sequence[int]) -> list[int]:
    """Those of the UIDs that are not stored."""
    known = sa.select(m.uid).where(m.folder_id == where.id, m.uid.between(uids[0], uids[-1]))
    stored = set(tx.scalars(known))
    return [uid for uid in uids if uid not in stored]
