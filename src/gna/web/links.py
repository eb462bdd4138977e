"""Links that act. A person clicks them; scanners and prefetching browsers only look."""

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from gna.errors import Refused
from gna.web.body import fields
from gna.web.edge import is_head
from gna.web.ground import ground

# A hidden field of our own buttons: a person presses it and wants a page, where a mail program wants none.
BUTTON = "page"


def may_act(request: Request) -> bool:
    """Whether a GET is a person's click, and clicks alone are enough here."""
    looks_only = is_head(request.scope) or any("prefetch" in _purpose(request, name) for name in PURPOSES)
    return not looks_only and not ground(request).settings.links_need_click


PURPOSES = ("sec-purpose", "purpose", "x-purpose", "x-moz")


def _purpose(request: Request, name: str) -> str:
    return request.headers.get(name, "").lower()


async def posted(request: Request) -> Mapping[str, Any]:
    """The fields of a form, if there is one; mail programs post what they like, and must not be refused for it."""
    try:
        return await fields(request)
    except (Refused, HTTPException):
        return {}
