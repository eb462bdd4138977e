"""What was refused or given up: look at it, send it again, or throw it away."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gna.delivery import dead_letters
from gna.errors import Refused
from gna.web.body import parse_id
from gna.web.desk import letters
from gna.web.ground import ground
from gna.web.pages.admin.shell import N_, NN_, back, beyond, form, go, paging, screen
from gna.web.paging import MOST

LIST = "/admin/dead-letters"
# What these pages are refused with, besides what others are.
REASONS = (
    N_("Dead letter not found"),
    N_("The message is not there any more, or is on its way"),
    N_("Choose what to send again"),
)


async def list_letters(request: Request) -> Response:
    """Newest first."""
    at = paging(request)
    found, total = await ground(request).look(dead_letters.listed, page=at.page, per_page=at.per_page)
    if elsewhere := beyond(request, at, total):
        return elsewhere
    return screen(request, "dead_letters.html", letters=found, total=total, paging=at)


async def show_letter(request: Request) -> Response:
    """One of them, with what went wrong."""
    letter = await ground(request).look(dead_letters.show, _letter_id(request))
    return screen(request, "dead_letter.html", letter=letter)


async def replay(request: Request) -> Response:
    """Send one again."""
    await letters.replay(request, _letter_id(request))
    return go(_list(request), N_("On its way again. If it fails once more, it comes back here."))


async def replay_all(request: Request) -> Response:
    """Send again what was on the page when the button was pressed."""
    asked = [parse_id(letter_id) for letter_id in (await form(request)).all("letter")[:MOST]]
    if not asked:
        raise Refused("Choose what to send again")
    sent = await letters.replay_all(request, asked)
    return go(LIST, NN_("One mail is on its way again.", "%(num)d mails are on their way again."), num=sent)


async def drop(request: Request) -> Response:
    """Throw one away."""
    await letters.drop(request, _letter_id(request))
    return go(_list(request), N_("Thrown away, together with its mail."))


def _letter_id(request: Request) -> str:
    return parse_id(request.path_params["letter_id"])


def _list(request: Request) -> str:
    """The page of the list where the form was; the letter itself is not there any more."""
    before = back(request)
    return before if before.partition("?")[0] == LIST else LIST


routes = [
    Route(LIST, list_letters),
    Route(f"{LIST}/replay", replay_all, methods=["POST"]),
    Route(f"{LIST}/{{letter_id}}", show_letter),
    Route(f"{LIST}/{{letter_id}}/replay", replay, methods=["POST"]),
    Route(f"{LIST}/{{letter_id}}/drop", drop, methods=["POST"]),
]
