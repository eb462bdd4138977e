"""Whose address was refused, for a person to decide what becomes of them."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gna.db import timed
from gna.delivery import bounces
from gna.errors import Refused
from gna.web.body import parse_id
from gna.web.desk import letters
from gna.web.ground import ground
from gna.web.pages.admin.shell import N_, NN_, back, beyond, form, go, paging, screen
from gna.web.pages.admin.subscribers import REMOVED
from gna.web.paging import MOST

LIST = "/admin/bounces"
DISMISSED = NN_("Dismissed. The person stays subscribed.", "%(num)d dismissed. The people stay subscribed.")
# What these pages are refused with, besides what others are.
REASONS = (N_("There is no such bounce"), N_("There is no such subscriber"), N_("Choose somebody first"))


async def list_bounces(request: Request) -> Response:
    """The last seven days, newest first."""
    at = paging(request)
    found, total = await ground(request).look(timed(bounces.listed), page=at.page, per_page=at.per_page)
    if elsewhere := beyond(request, at, total):
        return elsewhere
    return screen(request, "bounces.html", bounces=found, total=total, paging=at)


async def dismiss(request: Request) -> Response:
    """Take one off the list."""
    dismissed = await letters.dismiss(request, [parse_id(request.path_params["bounce_id"])])
    return go(back(request), DISMISSED, num=dismissed)


async def dismiss_some(request: Request) -> Response:
    """Take those that were chosen off the list."""
    return go(back(request), DISMISSED, num=await letters.dismiss(request, await _chosen(request)))


async def remove_people(request: Request) -> Response:
    """Remove the people that were chosen, and with them their bounces."""
    return go(back(request), REMOVED, num=await letters.remove_bounced(request, await _chosen(request)))


async def _chosen(request: Request) -> list[str]:
    chosen = [parse_id(bounce_id) for bounce_id in (await form(request)).all("bounce")]
    if not chosen:
        raise Refused("Choose somebody first")
    return chosen[:MOST]


routes = [
    Route(LIST, list_bounces),
    Route(f"{LIST}/dismiss", dismiss_some, methods=["POST"]),
    Route(f"{LIST}/remove", remove_people, methods=["POST"]),
    Route(f"{LIST}/{{bounce_id}}/dismiss", dismiss, methods=["POST"]),
]
