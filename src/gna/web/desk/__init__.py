"""What an admin does, through either door: the JSON API and the pages call the same functions.

Each does its action and writes down, in the same transaction, who did what.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Request
from sqlalchemy.engine import Connection

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
    **kwargs: Any,
) -> T:
    """Run `action(tx, …)` and note it; `about` and `target` may be read off what it gives back."""
    by = who(request).name

    def noted(tx: Connection) -> T:
        done = action(tx, *args, **kwargs)
        said = about(done) if callable(about) else about
        its = target(done) if callable(target) else target
        activity.note(tx, by=by, verb=verb, about=said, target=its, now=db.now(tx))
        return done

    return await ground(request).run(noted)
