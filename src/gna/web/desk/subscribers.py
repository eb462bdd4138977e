"""What an admin does with subscribers. Of nobody more is noted than that it was one person, or how many it were."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from sqlalchemy.engine import Connection
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from gna.activity import Verb
from gna.db import timed
from gna.errors import NotAllowedNow, NotFound, Refused
from gna.subscribers import access, directory, leave, lists
from gna.subscribers.directory import Change, Subscriber
from gna.subscribers.export import export as pieces_of
from gna.subscribers.search import page_of
from gna.subscribers.signup import SignUp, subscribe
from gna.subscribers.wanted import Wanted
from gna.web.desk import do
from gna.web.edge import is_head
from gna.web.ground import ground, within

# So many are changed in one transaction; others who write wait that long.
CHUNK = 100


async def add(request: Request, wish: SignUp) -> Subscriber | None:
    """Ask somebody to subscribe, as if they had filled in the form; a confirmed person is left alone.

    Says who was here before. The mail is in the language of the publication, since nobody knows theirs.
    """
    here = ground(request)
    before = await here.look(directory.by_email, wish.email)
    if before is None or before.activated_at is None:
        verb = Verb.CONFIRMATION_SENT_AGAIN if before else Verb.SUBSCRIBER_ADDED
        await do(request, verb, timed(subscribe), wish, site=here.site, secret=here.secret, about="1")
        here.ring("send")
    return before


async def ask_again(request: Request, subscriber_id: str) -> None:
    """Send somebody who has not confirmed another mail; its link works, and the one before does not any more."""
    person = await ground(request).look(directory.get, subscriber_id)
    if person.activated_at:
        raise NotAllowedNow("They have confirmed already")
    await add(request, SignUp(person.email))


async def change(request: Request, subscriber_id: str, wish: Change) -> Subscriber:
    """Change what is known of a person."""
    return await do(request, Verb.SUBSCRIBER_CHANGED, timed(directory.change), subscriber_id, wish, about="1")


async def remove(request: Request, subscriber_id: str) -> None:
    """Delete a person and everything about them."""
    await do(request, Verb.SUBSCRIBER_REMOVED, _remove, [subscriber_id], about="1")


async def remove_some(request: Request, people: Sequence[str]) -> int:
    """Delete several people; says how many there were."""
    return await _in_chunks(request, Verb.SUBSCRIBER_REMOVED, _remove, people)


async def put_on_list(request: Request, people: Sequence[str], list_key: str) -> int:
    """Put several people on a list; says how many are on it then."""
    key = lists.parse_list_key(list_key)
    return await _in_chunks(request, Verb.SUBSCRIBER_CHANGED, timed(lists.put_on), people, list_key=key)


async def take_off_list(request: Request, people: Sequence[str], list_key: str) -> int:
    """Take several people off a list; says how many were on it."""
    key = lists.parse_list_key(list_key)
    return await _in_chunks(request, Verb.SUBSCRIBER_CHANGED, timed(lists.take_off), people, list_key=key)


async def export(request: Request, wanted: Wanted) -> Iterator[str]:
    """The people as a file, piece by piece."""
    here = ground(request)
    # The first piece is read before anything is sent: a database that is away is an error then, not half a file.
    pieces = pieces_of(here.db, wanted)
    first = await run_in_threadpool(next, pieces)
    _, totals = await within(page_of(here.db, wanted, offset=0, limit=1))
    if not is_head(request.scope):  # who only looks whether it is there takes nothing away
        await do(request, Verb.SUBSCRIBERS_EXPORTED, _nothing, about=str(totals.of(wanted.status)))
    return chain([first], pieces)


async def hand_out(request: Request, subscriber_id: str) -> dict[str, Any]:
    """Everything that is kept of one person."""
    return await do(request, Verb.SUBSCRIBERS_EXPORTED, timed(access.everything), subscriber_id, about="1")


async def _in_chunks(
    request: Request, verb: Verb, action: Callable[..., int], people: Sequence[str], **kwargs: Any
) -> int:
    if not people:
        raise Refused("Choose somebody first")
    chunks = (people[start : start + CHUNK] for start in range(0, len(people), CHUNK))
    return sum([await do(request, verb, action, chunk, about=str, **kwargs) for chunk in chunks])


def _remove(tx: Connection, people: Sequence[str]) -> int:
    removed = leave.remove(tx, people)
    if not removed:
        raise NotFound("There is no such subscriber")
    return removed


def _nothing(_: Connection) -> None:
    """Reading was all there was to do."""
