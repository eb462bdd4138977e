"""Finding campaigns by their state and a part of their subject."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.campaigns import overview
from gna.campaigns.states import State
from gna.campaigns.table import c


@dataclass(frozen=True)
class Found:
    """One page of the campaigns that were looked for, and how many of them are in each state."""

    items: list[dict[str, Any]]
    total: int
    counts: Counter[str]


def find(tx: Connection, *, q: str, state: State | None, page: int, per_page: int) -> Found:
    """The campaigns whose subject contains the text, whatever its case; newest first."""
    if q:
        return _by_subject(tx, q, state, page, per_page)
    items, total = overview.newest(tx, state=state, page=page, per_page=per_page)
    return Found(items, total, Counter(dict(tx.execute(sa.select(c.state, sa.func.count()).group_by(c.state)).all())))


def _by_subject(tx: Connection, q: str, state: State | None, page: int, per_page: int) -> Found:
    # A publication has thousands of campaigns at most, and both databases would lower other letters than we do.
    rows = tx.execute(sa.select(c.id, c.state, c.subject).order_by(*overview.NEWEST_FIRST)).all()
    matching = [row for row in rows if q.casefold() in row.subject.casefold()]
    wanted = [row.id for row in matching if state in (None, row.state)]
    some = wanted[(page - 1) * per_page : page * per_page]
    return Found(overview.these(tx, some), len(wanted), Counter(row.state for row in matching))
