"""What an admin does with bounces and dead letters."""

from collections.abc import Collection

from starlette.requests import Request

from gna.activity import Verb
from gna.db import timed
from gna.delivery import bounces, dead_letters
from gna.errors import NotFound
from gna.web.desk import do, subscribers
from gna.web.ground import ground


async def dismiss(request: Request, bounce_ids: Collection[str]) -> int:
    """Take bounces off the list; the people stay. Says how many there were."""
    return await do(request, Verb.BOUNCE_DISMISSED, bounces.dismiss, bounce_ids, about=str)


async def remove_bounced(request: Request, bounce_ids: Collection[str]) -> int:
    """Remove the people who bounced, and everything about them; says how many there were."""
    people = await ground(request).look(bounces.whose, bounce_ids)
    if not people:
        raise NotFound(bounces.UNKNOWN)
    return await subscribers.remove_some(request, people)


async def replay(request: Request, letter_id: str) -> None:
    """Send a dead letter again, at once."""
    await do(request, Verb.DEAD_LETTER_REPLAYED, timed(dead_letters.replay), letter_id, about="1")
    ground(request).ring("send")


async def replay_all(request: Request, letter_ids: Collection[str]) -> int:
    """Send several again; says how many there were to send."""
    sent = await do(request, Verb.DEAD_LETTER_REPLAYED, timed(dead_letters.replay_all), letter_ids, about=str)
    ground(request).ring("send")
    return sent


async def drop(request: Request, letter_id: str) -> None:
    """Throw a dead letter away, with its message."""
    await do(request, Verb.DEAD_LETTER_DROPPED, dead_letters.drop, letter_id, about="1")
