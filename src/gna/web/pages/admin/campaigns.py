"""The list of campaigns, and what is done with one in one press: copy, delete, pause, go on, try again."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gna import clock
from gna.campaigns import finding, overview
from gna.campaigns.states import State
from gna.campaigns.writing import Wish
from gna.subscribers.wanted import parse_query
from gna.web.body import parse_id
from gna.web.desk import campaigns as desk
from gna.web.ground import ground
from gna.web.pages.admin import campaign_compose, campaign_steps
from gna.web.pages.admin.shell import N_, beyond, form, go, paging, screen

HOME = "/admin/campaigns"
CHIPS = (
    ("", N_("All %(number)s")),
    (State.DRAFT, N_("Drafts %(number)s")),
    (State.SCHEDULED, N_("Scheduled %(number)s")),
    (State.PUBLISHING, N_("Publishing %(number)s")),
    (State.PUBLISHED, N_("Published %(number)s")),
)


async def list_campaigns(request: Request) -> Response:
    """Newest first, by state and subject."""
    asked, pages = request.query_params, paging(request)
    state, q = overview.parse_state(asked.get("state", "")), parse_query(asked.get("q", ""))
    found = await ground(request).look(finding.find, q=q, state=state, page=pages.page, per_page=pages.per_page)
    if elsewhere := beyond(request, pages, found.total):
        return elsewhere
    counts = {**found.counts, "": found.counts.total()}
    chips = [(str(value), label, counts.get(value, 0)) for value, label in CHIPS]
    return screen(request, "campaigns.html", found=found, chips=chips, state=state or "", q=q, paging=pages)


async def duplicate(request: Request) -> Response:
    """A new draft that says the same."""
    copy = await desk.duplicate(request, _id(request))
    return go(f"{HOME}/{copy}", N_("This is a copy: a draft of its own."))


async def delete(request: Request) -> Response:
    """Throw a draft away."""
    await desk.delete(request, _id(request))
    return go(HOME, N_("The draft is deleted."))


async def cancel(request: Request) -> Response:
    """Make a scheduled campaign a draft again."""
    await desk.cancel(request, _id(request))
    return go(f"{HOME}/{_id(request)}", N_("It is a draft again, and nothing will be sent."))


async def pause(request: Request) -> Response:
    """Send no more of it for now."""
    await desk.pause(request, _id(request))
    return go(f"{HOME}/{_id(request)}", N_("Paused. What is on its way arrives."))


async def resume(request: Request) -> Response:
    """Go on where it was paused."""
    await desk.resume(request, _id(request))
    return go(f"{HOME}/{_id(request)}", N_("It goes on where it was paused."))


async def retry(request: Request) -> Response:
    """Send what a failed delivery could not send."""
    await desk.retry(request, parse_id((await form(request)).get("delivery")))
    return go(f"{HOME}/{_id(request)}", N_("What could not be sent is being tried again."))


async def archive(request: Request) -> Response:
    """Put it into the public archive, or take it out; at any time."""
    archived = (await form(request)).get("archived") == "yes"
    await desk.change(request, _id(request), Wish.parse({"archived": archived}, now=clock.now()))
    said = N_("Everybody may read it in the archive.") if archived else N_("It is not in the archive any more.")
    return go(f"{HOME}/{_id(request)}", said)


def _id(request: Request) -> str:
    return parse_id(request.path_params["campaign_id"])


ONE = f"{HOME}/{{campaign_id}}"
routes = [
    Route(HOME, list_campaigns),
    # Before what takes any word for an id.
    *campaign_steps.routes,
    *campaign_compose.routes,
    *(
        Route(f"{ONE}/{action.__name__}", action, methods=["POST"])
        for action in (duplicate, delete, cancel, pause, resume, retry, archive)
    ),
]
