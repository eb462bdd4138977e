"""What all the mails of a sender say together; the database adds them up, whatever their number."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, reduce
from operator import add
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.inbox import detect, domains
from gna.inbox.detect import COUNTED, Evidence
from gna.inbox.offered import NOTHING, may_offer
from gna.inbox.signs import BIT
from gna.inbox.table import m, mails
from gna.inbox.ways import Way

# So many of the newest subjects tell what a sender without list fields writes about.
SUBJECTS = 5


@dataclass(frozen=True, slots=True)
class Sender:
    """One sender, from its mails alone."""

    evidence: Evidence
    name: str
    first_seen: datetime
    last_seen: datetime
    # The newest mail that may have a way out.
    way_mail_id: int | None = None

    @property
    def email(self) -> str:
        """Its address."""
        return self.evidence.sender_email


def added_up(tx: Connection, account_id: int, emails: Sequence[str]) -> Iterator[Sender]:
    """These senders, each once; one without any mail that counts is left out."""
    for row in tx.execute(_sums().where(m.account_id == account_id, m.sender_email.in_(emails), ~m.is_copy)):
        subjects = (getattr(row, f"subject_{number}") for number in range(SUBJECTS))
        yield Sender(
            Evidence(
                sender_email=row.sender_email,
                email_count=row.email_count,
                keywords=row.keywords,
                has_header=row.headers > 0,
                has_body_link=row.bodies > 0,
                list_id=row.list_id,
                subjects=tuple(subject for subject in subjects if subject is not None),
                **{name: getattr(row, name) for name in COUNTED},
            ),
            name=row.sender_name or "",
            first_seen=row.first_seen,
            last_seen=row.last_seen,
            way_mail_id=row.way_mail_id,
        )


def columns(sender: Sender, ways: Sequence[Way]) -> dict[str, Any]:
    """What a subscription says of its sender. Pure."""
    domain = sender.email.rpartition("@")[2]
    evidence = replace(sender.evidence, same_domain=domains.is_own(domain, ways))
    score = detect.score(evidence)
    return {
        "sender_email": sender.email,
        "sender_name": sender.name,
        "sender_domain": domain,
        "list_id": evidence.list_id,
        "kind": str(detect.kind(evidence)),
        "email_count": evidence.email_count,
        "confidence": score.confidence,
        "reasons": score.reasons,
        "first_seen": sender.first_seen,
        "last_seen": sender.last_seen,
    }


def way_out(ways: Sequence[Way]) -> dict[str, Any]:
    """What a subscription says of the way out: the best one, and all of them. Pure."""
    best = ways[0] if ways else None
    return {
        "unsubscribe_method": best.method if best else None,
        "unsubscribe_link": best.url if best else None,
        "ways": [way.stored() for way in ways],
    }


@cache
def _sums() -> sa.Select[Any]:
    headers = sa.func.count(m.list_unsubscribe)
    bodies = sa.func.count(sa.case((m.body_ways != NOTHING, 1)))
    found: dict[str, sa.ColumnElement[Any]] = {
        "email_count": sa.func.count(),
        # The highest of each bit; their sum is what all mails have together.
        "keywords": reduce(add, (sa.func.max(m.keywords.op("&")(bit)) for bit in BIT.values())),
        "headers": headers,
        "bodies": bodies,
        "first_seen": sa.func.min(m.came_at),
        "last_seen": sa.func.max(m.came_at),
        **{name: sa.func.count(sa.case((m.signs.op("&")(sign) != 0, 1))) for name, sign in COUNTED.items()},
        # Looked for only where the sums say that there is one: else it would be a walk over all mails for nothing.
        "sender_name": sa.case(
            (sa.func.max(m.sender_name) != "", _newest("sender_name", lambda n: n.sender_name != ""))
        ),
        "list_id": sa.case((sa.func.count(m.list_id) > 0, _newest("list_id", lambda n: n.list_id.is_not(None)))),
        "way_mail_id": sa.case((headers + bodies > 0, _newest("id", may_offer))),
        **{f"subject_{number}": sa.case((headers == 0, _newest("subject", skip=number))) for number in range(SUBJECTS)},
    }
    labelled = (what.label(name) for name, what in found.items())
    return sa.select(m.sender_email, *labelled).group_by(m.account_id, m.sender_email)


def _newest(
    column: str, wanted: Callable[[Any], sa.ColumnElement[bool]] | None = None, *, skip: int = 0
) -> sa.ScalarSelect[Any]:
    """A column of the newest mail of the same sender that is wanted, or of one of those before it."""
    n = mails.alias().c
    found = sa.select(n[column]).where(n.account_id == m.account_id, n.sender_email == m.sender_email, ~n.is_copy)
    if wanted:
        found = found.where(wanted(n))
    return found.order_by(n.came_at.desc(), n.id.desc()).limit(1).offset(skip).correlate(mails).scalar_subquery()
