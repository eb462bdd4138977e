"""What an admin does, through either door: the JSON API and the pages call the same functions.

Each does its action and writes down, in the same transaction, who did what.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy.engine import Connection
from starlette.requests import Request

from gna import activity, db
from gna.activity import Verb
from gna.web.ground import ground
from gna.web.identity import who

T = TypeVar("T")


async def do(
    request: Request,
    verb: Verb,
    action: Callable[..., T],
    *args: Any,
    about: str | Callable[[T], str] = "",
    target: str | Callable[[T], str | None] | None = None,
    once_in: timedelta | None = None,
    **kwargs: Any,
) -> T:
    """Run `action(tx, …)` and note it; `about` and `target` may be read off what it gives back.

    What is done again and again is noted `once_in` a while.
    """
    by = who(request).name

    def noted(tx: Connection) -> T:
        done = action(tx, *args, **kwargs)
        said = about(done) if callable(about) else about
        its = target(done) if callable(target) else target
        now = db.now(tx)
        if not (once_in and activity.was_noted(tx, by=by, verb=verb, target=its, since=now - once_in)):
            activity.note(tx, by=by, verb=verb, about=said, target=its, now=now)
        return done

    return await ground(request).run(noted)
