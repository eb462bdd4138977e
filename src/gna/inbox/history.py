"""Which ways out a sender has offered over time. It is read from the mails, the newest thousand of those that may offer
any, so nothing of that can be lost or changed; what lies before is stored, and not looked at."""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any

from sqlalchemy.engine import Connection

from gna import clock
from gna.inbox import offered

# So many mails back.
MOST = 1000


def of(tx: Connection, subscription: Any, *, allowed: Collection[str] = ()) -> list[dict[str, Any]]:
    """Each change of the way out, newest first; of a kept one, those that came before it was kept."""
    seen_to = subscription.kept_at if subscription.keep_subscription else None
    mails = offered.walk(tx, subscription.account_id, subscription.sender_email, seen_to=seen_to)
    return list(_changes(islice(mails, MOST), allowed))


def _changes(mails: Iterable[Any], allowed: Collection[str]) -> Iterator[dict[str, Any]]:
    """The mail that brought each change: of several with the same way, the first."""
    change: dict[str, Any] | None = None
    for mail in mails:
        if not (ways := offered.ways_of(mail, allowed=allowed)):
            continue
        if change and (change["method"], change["url"]) != (ways[0].method, ways[0].url):
            yield change
        dates = {"email_date": clock.iso(mail.date_sent), "changed_at": clock.iso(mail.seen_at)}
        change = {"method": ways[0].method, "url": ways[0].url, **dates}
    if change:
        yield change
