"""What an admin does with subscribers."""

from collections.abc import Sequence

from fastapi import Request
from sqlalchemy.engine import Connection

from gna.activity import Verb
from gna.errors import NotFound
from gna.subscribers import leave
from gna.web.desk import do


async def remove(request: Request, subscriber_id: str) -> None:
    """Delete a person and everything about them."""
    await do(request, Verb.SUBSCRIBER_REMOVED, _remove, subscriber_id, about="1")


async def remove_some(request: Request, people: Sequence[str]) -> int:
    """Delete several people; says how many there were."""
    return await do(request, Verb.SUBSCRIBER_REMOVED, _remove_some, people, about=str)


def _remove(tx: Connection, subscriber_id: str) -> None:
    if not leave.remove(tx, subscriber_id):
        raise NotFound("There is no such subscriber")


def _remove_some(tx: Connection, people: Sequence[str]) -> int:
    removed = sum(leave.remove(tx, person) for person in people)
    if not removed:
        raise NotFound("There is no such subscriber")
    return removed
