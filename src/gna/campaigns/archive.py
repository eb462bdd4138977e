"""The public archive: campaigns that went out and that their publisher did not keep to the readers."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.campaigns.states import State
from gna.campaigns.table import c, campaigns
from gna.errors import NotFound

# From its first mail on, since a mail says where it can be read.
IS_PUBLIC = sa.and_(c.archived, c.state.in_([State.PUBLISHING, State.PUBLISHED]))


def newest(tx: Connection, *, page: int, per_page: int) -> tuple[Sequence[Any], int]:
    """One page of what everybody may read, newest first, and how many there are."""
    total = tx.scalar(sa.select(sa.func.count()).select_from(campaigns).where(IS_PUBLIC)) or 0
    some = sa.select(campaigns).where(IS_PUBLIC).order_by(c.published_at.desc(), c.id.desc())
    return tx.execute(some.limit(per_page).offset((page - 1) * per_page)).all(), total


def get(tx: Connection, campaign_id: str) -> Any:
    """One that everybody may read; whether there is another, nobody learns."""
    row = tx.execute(sa.select(campaigns).where(IS_PUBLIC, c.id == campaign_id)).one_or_none()
    if row is None:
        raise NotFound("There is no such page")
    return row
