"""Taking messages out of the outbox, and taking back what the dead left there."""

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.delivery import mailings
from gna.jobs import workers
from gna.mail.content import Content
from gna.outbox import Status, contents, is_sending, messages

STUCK_AFTER = timedelta(minutes=15)


class Claimed(NamedTuple):
    """A message that this worker, and nobody else, is sending."""

    id: str
    kind: str
    mailing: int | None
    to: str | None
    content_hash: str
    slots: dict[str, str] | None
    attempt: int
    nickname: str | None
    unsubscribe_token: str | None


# Both say the same: win the next due messages of a lane and count the attempt, so that a crash cannot hide one.
# On SQLite nobody else writes meanwhile; the rows come as one text, since each row of its own would cost a change of
# threads. The states are written out: SQLite takes a partial index only for what it can read.
SQLITE_DUE = """
SELECT json_group_array(json_array(id, kind, mailing_id, address, content_hash, json(slots), attempt_count + 1,
                                   nickname, unsubscribe_token))
FROM (SELECT m.id, m.kind, m.mailing_id, coalesce(m.to_email, s.email) AS address, m.content_hash, m.slots,
             m.attempt_count, s.nickname, s.unsubscribe_token
      FROM messages m LEFT JOIN subscribers s ON s.id = m.subscriber_id
      WHERE m.mailing_id IS :mailing AND m.status IN ('pending', 'failed_transient') AND m.due_at <= :now
      ORDER BY m.due_at LIMIT :limit)
"""
SQLITE_CLAIM = """
UPDATE messages SET status = 'sending', claimed_by = :worker, attempt_count = attempt_count + 1, last_attempt_at = :now
WHERE id IN (SELECT value FROM json_each(:ids))
"""
# `since` spares PostgreSQL the traces of all that was claimed before, which it would visit again and again.
POSTGRESQL_CLAIM = """
WITH won AS (
  UPDATE messages SET status = 'sending', claimed_by = %(worker)s, attempt_count = attempt_count + 1,
                      last_attempt_at = %(now)s
  WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM messages
    WHERE mailing_id {lane} AND status IN ('pending', 'failed_transient')
      AND due_at <= %(now)s AND due_at >= %(since)s
    ORDER BY due_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
  RETURNING id, kind, mailing_id, to_email, content_hash, slots, attempt_count, subscriber_id, due_at
)
SELECT w.id, w.kind, w.mailing_id, coalesce(w.to_email, s.email), w.content_hash, w.slots::text, w.attempt_count,
       s.nickname, s.unsubscribe_token, w.due_at
FROM won w LEFT JOIN subscribers s ON s.id = w.subscriber_id
"""


class Lanes:
    """The order in which a worker looks for messages: those of their own first, then the mailings in turn."""

    def __init__(self) -> None:
        # The language of each mailing that was going at the last look.
        self.languages: dict[int, str] = {}
        self._turn = 0
        self._since: dict[int | None, datetime] = {}

    def claim(
        self, tx: Connection, *, worker: str, limit: int, bulk: int, now: datetime, again: bool = False
    ) -> list[Claimed]:
        """Win up to `limit` messages; of those of mailings no more than `bulk`.

        `again` spares the look for messages of their own and for new mailings, after one a moment ago.
        """
        won = [] if again else self._from(tx, None, worker, limit, now)
        if not again:
            self.languages = mailings.going(tx)
        room = min(bulk, limit - len(won))
        for mailing in self._in_turn():
            if room <= 0:
                break
            more = self._from(tx, mailing, worker, room, now)
            won += more
            room -= len(more)
        return won

    def _in_turn(self) -> Iterable[int]:
        """The mailings, another one first each time, so that a small one does not wait for a large one."""
        going = [*self.languages]
        self._turn = (self._turn + 1) % max(1, len(going))
        return going[self._turn :] + going[: self._turn]

    def _from(self, tx: Connection, mailing: int | None, worker: str, limit: int, now: datetime) -> list[Claimed]:
        if tx.dialect.name == "sqlite":
            return _claim_sqlite(tx, mailing, worker, limit, now)
        rows = _claim_postgresql(tx, mailing, worker, limit, now, self._since.get(mailing))
        if len(rows) == limit and mailing is not None:
            self._since[mailing] = max(row[-1] for row in rows)
        else:
            self._since.pop(mailing, None)
        return [Claimed._make((*row[:5], json.loads(row[5]) if row[5] else None, *row[6:-1])) for row in rows]


def _claim_sqlite(tx: Connection, mailing: int | None, worker: str, limit: int, now: datetime) -> list[Claimed]:
    moment = messages.c.due_at.type.bind_processor(tx.dialect)(now)  # type: ignore[misc]
    due = {"mailing": mailing, "now": moment, "limit": limit}
    won = [Claimed._make(row) for row in json.loads(tx.exec_driver_sql(SQLITE_DUE, due).scalar_one())]
    if won:
        ids = json.dumps([one.id for one in won])
        tx.exec_driver_sql(SQLITE_CLAIM, {"worker": worker, "now": moment, "ids": ids})
    return won


def _claim_postgresql(
    tx: Connection, mailing: int | None, worker: str, limit: int, now: datetime, since: datetime | None
) -> Sequence[Any]:
    statement = POSTGRESQL_CLAIM.format(lane="IS NULL" if mailing is None else "= %(mailing)s")
    values = {"mailing": mailing, "worker": worker, "limit": limit, "now": now, "since": since or "-infinity"}
    return tx.exec_driver_sql(statement, values).cursor.fetchall()


def contents_of(tx: Connection, hashes: Collection[str]) -> dict[str, Content]:
    """The contents with these hashes."""
    if not hashes:
        return {}
    c = contents.c
    rows = tx.execute(sa.select(c.hash, c.subject, c.html, c.text).where(c.hash.in_(hashes)))
    return {row.hash: Content(subject=row.subject, html=row.html, text=row.text) for row in rows}


def give_back(tx: Connection, *, worker: str, keep: Collection[str], now: datetime) -> None:
    """Undo this worker's claims but for those to keep, which it knows of and has handed over."""
    m = messages.c
    tx.execute(
        sa.update(messages)
        .where(is_sending, m.claimed_by == worker, m.id.not_in(keep))
        .values(status=Status.FAILED_TRANSIENT, claimed_by=None, due_at=now, attempt_count=m.attempt_count - 1)
    )


def renew(tx: Connection, ids: Collection[str], *, worker: str, now: datetime) -> None:
    """Say of messages that are still on their way that they are not forgotten."""
    m = messages.c
    long_ago = m.last_attempt_at < now - STUCK_AFTER / 3
    tx.execute(
        sa.update(messages)
        .where(is_sending, m.claimed_by == worker, long_ago, m.id.in_(ids))
        .values(last_attempt_at=now)
    )


def take_back(tx: Connection, *, worker: str, now: datetime) -> int:
    """Let the living send what a dead worker had claimed; says how many. Whoever asks is alive."""
    m = messages.c
    dead = sa.and_(m.claimed_by != worker, m.claimed_by.not_in(workers.alive(now=now)))
    abandoned = sa.or_(dead, m.last_attempt_at.is_(None), m.last_attempt_at < now - STUCK_AFTER)
    return tx.execute(
        sa.update(messages)
        .where(is_sending, abandoned)
        .values(
            status=Status.FAILED_TRANSIENT,
            claimed_by=None,
            due_at=now,
            last_error="The worker stopped before it knew what became of this message",
        )
    ).rowcount
