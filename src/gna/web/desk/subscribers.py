"""What an admin does with subscribers."""

from fastapi import Request
from sqlalchemy.engine import Connection

from gna.activity import Verb
from gna.errors import NotFound
from gna.subscribers import leave
from gna.web.desk import do


async def remove(request: Request, subscriber_id: str) -> None:
    """Delete a person and everything about them."""
    await do(request, Verb.SUBSCRIBER_REMOVED, _remove, subscriber_id, about="1")


def _remove(tx: Connection, subscriber_id: str) -> None:
    if not leave.remove(tx, subscriber_id):
        raise NotFound("There is no such subscriber")
