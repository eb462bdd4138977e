"""At most 5 confirmation mails an hour to one address, from wherever they are asked for."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock, db, tokens
from gna.subscribers.suppressions import hash_key
from gna.subscribers.table import confirmation_requests

MAILS = 5
WINDOW = timedelta(hours=1)

r = confirmation_requests.c


def spend(tx: Connection, email: str, *, secret: str | None, now: datetime) -> bool:
    """Count a request for a confirmation mail; False if the address has had as many as it may get.

    Requests count whether or not a mail follows, so that the limit is the same for a subscriber and a stranger.
    """
    digest = tokens.keyed(email.lower(), hash_key(tx, secret, now=now))
    # Locks the row until the commit: two processes cannot both count the fifth mail.
    stored = tx.scalar(_lock(tx), {"hash": digest, "times": [], "last_at": now})
    recent = times_in_window([datetime.fromisoformat(time) for time in stored or ()], now=now)
    is_allowed = len(recent) < MAILS
    if is_allowed:
        recent.append(now)
    tx.execute(_count, {"of": digest, "new_times": [clock.iso(time) for time in recent], "new_last_at": recent[-1]})
    return is_allowed


def times_in_window(times: Sequence[datetime], *, now: datetime) -> list[datetime]:
    """The times within the last hour. A time in the future counts as now.

    It was counted before the clock was set back, or a moment ago by another process.
    """
    return [min(time, now) for time in times if time > now - WINDOW]


def forget(tx: Connection, *, now: datetime) -> None:
    """Delete what is older than an hour, or so far in the future that the clock must have been set back."""
    tx.execute(sa.delete(confirmation_requests).where(sa.or_(r.last_at < now - WINDOW, r.last_at > now + WINDOW)))


@db.prepared
def _lock(insert: Any) -> Any:
    new = insert(confirmation_requests)
    locked = new.on_conflict_do_update(index_elements=[r.hash], set_={"hash": new.excluded.hash})
    return locked.returning(r.times)


_count = (
    sa.update(confirmation_requests)
    .where(r.hash == sa.bindparam("of"))
    .values(times=sa.bindparam("new_times"), last_at=sa.bindparam("new_last_at"))
)
