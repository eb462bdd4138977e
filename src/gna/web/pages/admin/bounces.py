"""Whose address was refused, for a person to decide what becomes of them."""

from fastapi import Request
from fastapi.responses import Response
from starlette.routing import Route

from gna.db import timed
from gna.delivery import bounces
from gna.web.body import parse_id
from gna.web.desk import letters, subscribers
from gna.web.ground import ground
from gna.web.pages.admin.shell import N_, back, form, go, paging, screen

# What these pages are refused with, besides what others are.
REASONS = (N_("There is no such bounce"), N_("There is no such subscriber"))


async def list_bounces(request: Request) -> Response:
    """The last seven days, newest first."""
    at = paging(request)
    found, total = await ground(request).look(timed(bounces.listed), page=at.page, per_page=at.per_page)
    return screen(request, "bounces.html", bounces=found, total=total, paging=at)


async def dismiss(request: Request) -> Response:
    """Take one off the list."""
    await letters.dismiss(request, parse_id(request.path_params["bounce_id"]))
    return go(back(request), N_("Dismissed. The person stays subscribed."))


async def remove_person(request: Request) -> Response:
    """Remove the person, and with them the bounce."""
    await subscribers.remove(request, parse_id((await form(request)).get("person")))
    return go(back(request), N_("The person was removed, with everything about them."))


routes = [
    Route("/admin/bounces", list_bounces),
    Route("/admin/bounces/remove", remove_person, methods=["POST"]),
    Route("/admin/bounces/{bounce_id}/dismiss", dismiss, methods=["POST"]),
]
