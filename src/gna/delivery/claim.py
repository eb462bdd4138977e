"""Taking messages out of the outbox: a conditional update decides which worker sends which."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.delivery import mailings
from gna.mail.content import Content
from gna.outbox import Status, contents, is_sending, messages


class Claimed(NamedTuple):
    """A message that this worker, and no other, is sending.

    `attempt` counts the tries that a provider answered, and this one: those that died with a worker do not count
    towards giving up.
    """

    id: str
    kind: str
    mailing: int | None
    to: str | None
    content_hash: str
    slots: dict[str, str] | None
    attempt: int
    nickname: str | None
    unsubscribe_token: str | None


# A message that was being sent at this many deaths of workers is suspected to cause them. From then on
# it is sent alone, after everything else, so that only the guilty one collects more deaths;
# `sweep.MOST_CRASHES` ends that.
SUSPECT_AFTER = 5


class ClaimKind(StrEnum):
    """Which messages of a lane to claim, as a condition in SQL that both databases read.

    Values are written out: SQLite takes a partial index only for a condition that it can read.
    """

    # Never waits for a time: a clock that was set back must not hold a campaign for as long as it jumped.
    NEW = "m.status = 'pending'"
    RETRY = f"m.status = 'failed_transient' AND m.due_at <= {{now}} AND m.crash_count < {SUSPECT_AFTER}"
    SUSPECT = f"m.status = 'failed_transient' AND m.due_at <= {{now}} AND m.crash_count >= {SUSPECT_AFTER}"


# Both statements say the same: win the next due messages of a lane and count the attempt, so that a crash cannot hide
# one. On SQLite one transaction writes at a time, so a SELECT and an UPDATE are atomic; the rows come as one text,
# since each row of its own would cost a change of threads.
SQLITE_DUE = """
SELECT json_group_array(json_array(id, kind, mailing_id, address, content_hash, json(slots),
                                   attempt_count - crash_count + 1, nickname, unsubscribe_token))
FROM (SELECT m.id, m.kind, m.mailing_id, coalesce(m.to_email, s.email) AS address, m.content_hash, m.slots,
             m.attempt_count, m.crash_count, s.nickname, s.unsubscribe_token
      FROM messages m LEFT JOIN subscribers s ON s.id = m.subscriber_id
      WHERE m.mailing_id IS :mailing AND {due}
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
    SELECT m.ctid FROM messages m
    WHERE m.mailing_id {lane} AND {due} AND m.due_at >= %(since)s
    ORDER BY m.due_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
  RETURNING id, kind, mailing_id, to_email, content_hash, slots, attempt_count - crash_count AS attempt,
            subscriber_id, due_at
)
SELECT w.id, w.kind, w.mailing_id, coalesce(w.to_email, s.email), w.content_hash, w.slots::text, w.attempt,
       s.nickname, s.unsubscribe_token, w.due_at
FROM won w LEFT JOIN subscribers s ON s.id = w.subscriber_id
"""


@dataclass(frozen=True)
class Claim:
    """One question to the outbox: which messages, of which mailing (None: those of their own), for which worker."""

    mailing: int | None
    due: ClaimKind
    worker: str
    limit: int
    now: datetime


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

        `again` asks for new messages of known mailings only, when a thorough look was a moment ago.
        """
        won: list[Claimed] = []
        if not again:
            won += self._from(tx, Claim(None, ClaimKind.RETRY, worker, limit, now))
            won += self._from(tx, Claim(None, ClaimKind.NEW, worker, limit - len(won), now))
            self.languages = mailings.going(tx)
        room = min(bulk, limit - len(won))
        for mailing in self._in_turn():
            for due in (ClaimKind.NEW,) if again else (ClaimKind.RETRY, ClaimKind.NEW):
                more = self._from(tx, Claim(mailing, due, worker, room, now))
                won += more
                room -= len(more)
        return won

    def claim_suspect(self, tx: Connection, *, worker: str, now: datetime) -> list[Claimed]:
        """Win one message that may be what kills workers; call it when nothing else is being sent."""
        for lane in (None, *self._in_turn()):
            won = self._from(tx, Claim(lane, ClaimKind.SUSPECT, worker, 1, now))
            if won:
                return won
        return []

    def _in_turn(self) -> Iterable[int]:
        """The mailings, another one first each time, so that a small one does not wait for a large one."""
        going = [*self.languages]
        self._turn = (self._turn + 1) % max(1, len(going))
        return going[self._turn :] + going[: self._turn]

    def _from(self, tx: Connection, claim: Claim) -> list[Claimed]:
        if claim.limit <= 0:
            return []
        if tx.dialect.name == "sqlite":
            return _claim_sqlite(tx, claim)
        is_of_many = claim.due is ClaimKind.NEW and claim.mailing is not None
        since = self._since.get(claim.mailing) if is_of_many else None
        rows = _claim_postgresql(tx, claim, since)
        if is_of_many:
            self._remember(claim, rows)
        return [Claimed._make((*row[:5], json.loads(row[5]) if row[5] else None, *row[6:-1])) for row in rows]

    def _remember(self, claim: Claim, rows: Sequence[Any]) -> None:
        """Go on behind these next time; start anew once there were fewer than asked for."""
        if len(rows) == claim.limit:
            self._since[claim.mailing] = max(row[-1] for row in rows)
        else:
            self._since.pop(claim.mailing, None)


def _claim_sqlite(tx: Connection, claim: Claim) -> list[Claimed]:
    moment = messages.c.due_at.type.bind_processor(tx.dialect)(claim.now)  # type: ignore[misc]
    select = SQLITE_DUE.format(due=claim.due.format(now=":now"))
    values = {"mailing": claim.mailing, "now": moment, "limit": claim.limit}
    rows = json.loads(tx.exec_driver_sql(select, values).scalar_one())
    won = [Claimed._make(row) for row in rows]
    if won:
        ids = json.dumps([one.id for one in won])
        tx.exec_driver_sql(SQLITE_CLAIM, {"worker": claim.worker, "now": moment, "ids": ids})
    return won


def _claim_postgresql(tx: Connection, claim: Claim, since: datetime | None) -> Sequence[Any]:
    lane = "IS NULL" if claim.mailing is None else "= %(mailing)s"
    statement = POSTGRESQL_CLAIM.format(lane=lane, due=claim.due.format(now="%(now)s"))
    values = {
        "mailing": claim.mailing,
        "worker": claim.worker,
        "limit": claim.limit,
        "now": claim.now,
        "since": since or "-infinity",
    }
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
