"""Ids that a person can type: the beginning or the end of one, as long as it can mean one campaign only."""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.campaigns.table import c
from gna.errors import NotFound, Refused
from gna.subscribers.table import STORABLE

FEWEST = 4
# Of ids made within one minute the beginnings are the same; the ends are chance.
SHOWN = 8


def short(campaign_id: str) -> str:
    """As much of an id as a person needs to name the campaign."""
    return campaign_id[-SHOWN:]


def whole(tx: Connection, text: str) -> str:
    """The id of the campaign that the text means."""
    if not STORABLE.fullmatch(text):
        raise NotFound("There is no such campaign")
    if exact := tx.scalar(sa.select(c.id).where(c.id == text)):
        return str(exact)
    if len(text) < FEWEST:
        raise Refused(f"An id needs at least {FEWEST} of its characters, from its beginning or its end")
    part = text.lower()
    like = c.id.startswith(part, autoescape=True) | c.id.endswith(part, autoescape=True)
    found = tx.scalars(sa.select(c.id).where(like).limit(2)).all()
    if not found:
        raise NotFound("There is no such campaign")
    if len(found) > 1:
        raise Refused(f"The id of more than one campaign begins or ends with {part}; write more of it")
    return str(found[0])
