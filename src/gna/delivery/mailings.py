"""Mailings: many messages that are sent together, can be held together, and end together.

A campaign's delivery is one, and so is a run of articles or notifications. The row counts what became of its messages,
so that a dashboard reads one row however many there are.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db, outbox
from gna.db import Instant, metadata
from gna.errors import NotAllowedNow, Refused
from gna.mail.address import without_addresses
from gna.mail.content import Content, names_in
from gna.mail.render.fields import KNOWN
from gna.outbox import (
    FLEETING,
    Kind,
    Status,
    is_given_up,
    is_new,
    is_sending,
    is_to_be_tried_again,
    messages,
)


class State(StrEnum):
    """Where a mailing is."""

    GOING = "going"
    PAUSED = "paused"
    DONE = "done"


S = State
MOVES = {
    S.GOING: {S.PAUSED, S.DONE},
    S.PAUSED: {S.GOING},
    S.DONE: {S.GOING},  # somebody tries again what was left over
}

mailings = sa.Table(
    "mailings",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("language", sa.Text, nullable=False, server_default="en"),
    sa.Column("state", sa.Text, nullable=False, server_default=State.GOING, index=True),
    # How far in the order of ids the people have got their messages.
    sa.Column("filled_to", sa.Text, nullable=False, server_default=""),
    sa.Column("filled_at", Instant),
    sa.Column("audience", sa.Integer, nullable=False, server_default="0"),
    sa.Column("sent_count", sa.Integer, nullable=False, server_default="0"),
    sa.Column("failed_count", sa.Integer, nullable=False, server_default="0"),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("finished_at", Instant),
    # Who leaves this list meanwhile gets nothing.
    sa.Column("list_key", sa.Text),
    # How far in the order of ids the people go.
    sa.Column("fill_until", sa.Text),
    # Why messages failed, the most frequent first, without the addresses.
    sa.Column("reasons", db.type_json),
    # How many of the failed were left over when it ended, for somebody to try again.
    sa.Column("retryable_count", sa.Integer, nullable=False, server_default="0"),
)

# What a mail of many may say of each of them.
FIELDS = KNOWN | {"greeting"}
# So many messages are made, or deleted, in one transaction; others who write wait that long.
CHUNK = 5000
# Messages that somebody may still want to try again are kept so long.
KEEP_FAILED = timedelta(days=7)
# So many failures are looked at for their reasons, and so many reasons are kept.
SAMPLE, REASONS = 1000, 5


class Reach(NamedTuple):
    """How many people a mailing is for, and the last of them in the order of ids."""

    audience: int
    last: str


@dataclass(frozen=True)
class Totals:
    """What became of a mailing's messages so far."""

    state: State
    audience: int
    sent: int
    failed: int

    @property
    def left(self) -> int:
        """Still to be sent; when the mailing is done, people who left meanwhile."""
        return self.audience - self.sent - self.failed


def begin(tx: Connection, *, kind: Kind, language: str = "en", list_key: str | None = None, now: datetime) -> int:
    """A new mailing, to be filled; what is in it already is sent meanwhile."""
    new = sa.insert(mailings).values(kind=kind, language=language, list_key=list_key, created_at=now)
    return int(tx.execute(new.returning(mailings.c.id)).scalar_one())


def measure(tx: Connection, people: sa.Select[tuple[str]]) -> Reach:
    """Count the people, given as a query for ids; with a million of them that takes a while, so only reading."""
    someone = people.subquery()
    return Reach._make(tx.execute(sa.select(sa.func.count(), sa.func.coalesce(sa.func.max(someone.c[0]), ""))).one())


def expect(tx: Connection, mailing: int, reach: Reach) -> None:
    """Say whom a mailing is for, once: who comes later is not among them, who leaves meanwhile is missed."""
    unknown = mailings.c.fill_until.is_(None)
    tx.execute(_change(mailing).where(unknown).values(audience=reach.audience, fill_until=reach.last))


def fill(tx: Connection, mailing: int, content: Content, people: sa.Select[tuple[str]], *, now: datetime) -> bool:
    """Make the messages for the next of the people, given as a query for ids; False if everybody has theirs.

    Whoever fills moves the mark in the same transaction, so that a crash, or two who fill at once, make nothing twice.
    """
    this = sa.select(mailings).where(mailings.c.id == mailing)
    row = tx.execute(this).one()
    if row.filled_at:
        return False
    if unknown := set(names_in(content.subject + content.html + content.text)) - FIELDS:
        raise Refused(f"Unknown field: {', '.join(sorted(unknown))}")
    outbox.keep(tx, content, now=now)
    last = _lock_some(tx, people, row)
    # The people first, then the mailing: who settles has its row last, and nobody waits for each other in a circle.
    if tx.execute(this.with_for_update()).one().filled_to != row.filled_to:
        return True  # another worker was faster
    if last is None:
        # The marks are ids of people, and no row of a finished campaign names one.
        tx.execute(_change(mailing).values(filled_at=now, filled_to="", fill_until=""))
        return False
    tx.execute(_messages(tx, row, content, _between(people, row.filled_to, last), now))
    tx.execute(_change(mailing).values(filled_to=last))
    return True


def _lock_some(tx: Connection, people: sa.Select[tuple[str]], mailing: Any) -> str | None:
    """Keep the next of the people from leaving until they have their messages; the last of them, or None.

    Who is just leaving is waited for, and is not there any more when the messages are made.
    """
    some = _between(people, mailing.filled_to, mailing.fill_until).order_by("id").limit(CHUNK)
    found: Sequence[Any] = tx.scalars(some.with_for_update(read=True, key_share=True)).all()
    return str(found[-1]) if found else None


def _between(people: sa.Select[tuple[str]], after: str, until: str) -> sa.Select[tuple[str]]:
    someone = people.subquery().c[0].label("id")
    return sa.select(someone).where(someone > after, someone <= until)


def _messages(
    tx: Connection, mailing: Any, content: Content, people: sa.Select[tuple[str]], now: datetime
) -> sa.Executable:
    """One message for each of them. The address is not copied: whoever has left, or moved, is known when we send."""
    ids = people.subquery()
    values: dict[str, Any] = {
        "id": db.new_id(tx),
        "delivery_key": sa.literal(f"{mailing.id}:") + ids.c.id,
        "kind": sa.literal(mailing.kind),
        "mailing_id": sa.literal(mailing.id),
        "list_key": sa.literal(mailing.list_key, sa.Text),
        "subscriber_id": ids.c.id,
        "content_hash": sa.literal(content.hash),
        "status": sa.literal(Status.PENDING.value),
        "due_at": db.row_time(tx, now),
        "created_at": sa.literal(now, Instant),
    }
    # SQLite needs a WHERE to tell the conflict clause from a join.
    rows = sa.select(*values.values()).where(ids.c.id.is_not(None))
    return db.insert(tx, messages).from_select([*values], rows).on_conflict_do_nothing(index_elements=["delivery_key"])  # type: ignore[no-any-return]


def pause(tx: Connection, mailing: int) -> None:
    """Send no more of it; what is on its way arrives."""
    _move(tx, mailing, State.GOING, State.PAUSED)


def resume(tx: Connection, mailing: int) -> None:
    """Go on where it was paused."""
    _move(tx, mailing, State.PAUSED, State.GOING)


def retry(tx: Connection, mailing: int, *, now: datetime) -> int:
    """Try again what was given up; says how many. Whoever got theirs gets nothing."""
    _move(tx, mailing, State.DONE, State.GOING, finished_at=None)
    row = tx.execute(sa.select(mailings).where(mailings.c.id == mailing)).one()
    others = _counted(row.reasons) - _reasons(tx, mailing)
    given_up = tx.execute(
        sa.update(messages)
        .where(messages.c.mailing_id == mailing, is_given_up)
        .values(status=Status.PENDING, attempt_count=0, crash_count=0, exhausted=False, due_at=db.row_time(tx, now))
    ).rowcount
    if not given_up:
        raise NotAllowedNow("Nothing is left to be tried again")
    # Also who left since then has not failed any more: they are among those that are missed in the end.
    count(tx, mailing, failed=-max(given_up, row.retryable_count))
    tx.execute(_change(mailing).values(reasons=_listed(others), retryable_count=0))
    return given_up


def totals(tx: Connection, mailing: int) -> Totals:
    """The sums, live."""
    row = tx.execute(sa.select(mailings).where(mailings.c.id == mailing)).one()
    return Totals(State(row.state), row.audience, row.sent_count, row.failed_count)


_count = sa.text(
    "UPDATE mailings SET sent_count = sent_count + :sent, failed_count = failed_count + :failed WHERE id = :id"
)


def count(tx: Connection, mailing: int, *, sent: int = 0, failed: int = 0) -> None:
    """Add to the sums, in the transaction that settles the messages."""
    tx.execute(_count, {"id": mailing, "sent": sent, "failed": failed})


_going = sa.select(mailings.c.id, mailings.c.language).where(mailings.c.state == State.GOING).order_by(mailings.c.id)


def going(tx: Connection) -> dict[int, str]:
    """The mailings to send from, with their language."""
    return {row.id: row.language for row in tx.execute(_going)}


def finish(tx: Connection, *, now: datetime) -> list[tuple[int, Totals]]:
    """End the mailings of which nothing is left to send; says which, with their sums."""
    mailing, known = mailings.c, mailings.c.sent_count + mailings.c.failed_count
    of_it = sa.exists().where(messages.c.mailing_id == mailing.id)
    is_through = [~of_it.where(status) for status in (is_new, is_to_be_tried_again, is_sending)]
    over = sa.and_(mailing.state == State.GOING, mailing.filled_at.is_not(None), *is_through)
    # Somebody may have been put among the people by hand after they were counted.
    audience = sa.case((mailing.audience < known, known), else_=mailing.audience)
    ended = sa.update(mailings).where(over).values(state=State.DONE, finished_at=now, audience=audience)
    done = tx.execute(ended.returning(mailing.id, mailing.sent_count, mailing.reasons)).all()
    for row in done:
        reasons = _listed(_counted(row.reasons) + _reasons(tx, row.id))
        tx.execute(_change(row.id).values(reasons=reasons, retryable_count=_retryable(tx, row)))
    return [(row.id, totals(tx, row.id)) for row in done]


def why_waiting(tx: Connection, mailing: int | None) -> str | None:
    """What was last said to a message that waits for another try, without its address; None if all is well.

    Without a mailing, to one of those that are sent by themselves.
    """
    m = messages.c
    # The message that waits longest is the last of its range in the index, which finds it among a million others.
    its_retries = sa.select(m.last_error).where(m.mailing_id == mailing, is_to_be_tried_again)
    said = tx.scalar(its_retries.order_by(m.due_at.desc()).limit(1))
    return without_addresses(said) if said else None


def ending(tx: Connection) -> bool:
    """Whether a mailing may soon be done; only a look, for those who ask every second."""
    mailing = mailings.c
    filled = sa.select(mailing.id).where(mailing.state == State.GOING, mailing.filled_at.is_not(None))
    return tx.execute(filled.limit(1)).first() is not None


def _retryable(tx: Connection, mailing: Any) -> int:
    """How many messages somebody may want to try again: what nobody refused, or all if nothing was sent."""
    m = messages.c
    given_up = sa.select(sa.func.count()).where(m.mailing_id == mailing.id, is_given_up)
    return tx.scalar(given_up.where(m.exhausted) if mailing.sent_count else given_up) or 0


def _reasons(tx: Connection, mailing: int) -> Counter[str]:
    """Why messages were given up, while they are still there to be asked."""
    m = messages.c
    said = tx.scalars(sa.select(m.last_error).where(m.mailing_id == mailing, is_given_up).limit(SAMPLE))
    return Counter(without_addresses(error or "No reason was given") for error in said)


def _counted(reasons: list[dict[str, Any]] | None) -> Counter[str]:
    return Counter({one["reason"]: one["count"] for one in reasons or ()})


def _listed(reasons: Counter[str]) -> list[dict[str, Any]]:
    return [{"reason": reason, "count": number} for reason, number in reasons.most_common(REASONS)]


def forget_some(tx: Connection, *, now: datetime) -> bool:
    """Delete messages that no campaign needs any more; True if there may be others.

    When something was sent, what was refused for good stays refused. When nothing was, or nobody refused it, somebody
    may want to try again, and has a week for it.
    """
    m, mailing = messages.c, mailings.c
    done = sa.select(mailing.id).where(mailing.state == State.DONE, mailing.kind.in_(FLEETING))
    refused = sa.and_(m.mailing_id.in_(done.where(mailing.sent_count > 0)), ~m.exhausted)
    too_late = m.mailing_id.in_(done.where(mailing.finished_at < now - KEEP_FAILED))
    some = sa.select(m.id).where(is_given_up, sa.or_(refused, too_late)).limit(CHUNK)
    return tx.execute(sa.delete(messages).where(m.id.in_(some))).rowcount > 0


def _change(mailing: int) -> sa.Update:
    return sa.update(mailings).where(mailings.c.id == mailing)


def _move(tx: Connection, mailing: int, start: State, end: State, **values: Any) -> None:
    """The one function that changes a state when somebody asks for it."""
    moved = tx.execute(_change(mailing).where(mailings.c.state == start).values(state=end, **values))
    if moved.rowcount == 0:
        raise NotAllowedNow(f"The mailing is not {start}")
