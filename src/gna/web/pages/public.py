"""The pages that visitors see."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from gna import tokens
from gna.db import timed
from gna.subscribers.signup import Confirmed, confirm
from gna.web.ground import ground
from gna.web.pages.render import page

router = APIRouter(tags=["pages"], default_response_class=HTMLResponse)


@router.get("/", include_in_schema=False)
async def home() -> Response:
    """There is one thing for a visitor to do here."""
    return RedirectResponse("/subscribe", 303)


@router.get("/subscribe", summary="The hosted sign-up form")
async def subscribe_form(request: Request) -> Response:
    """A form that works without JavaScript."""
    return page(request, "subscribe.html", problem=None, typed={})


@router.get(
    "/confirm",
    summary="The link in the confirmation mail",
    responses={
        303: {"description": "Activated; see /confirmed"},
        400: {"description": "A page that says what to do"},
    },
)
async def confirm_link(request: Request, token: str = "") -> Response:
    """Activate the subscription; a second click changes nothing, an old or unknown link says what to do."""
    here = ground(request)
    outcome = Confirmed.NOT
    if tokens.is_shaped(token):
        outcome = await here.run(timed(confirm), token)
    if outcome is Confirmed.NOW:
        return RedirectResponse("/confirmed", 303)
    if outcome is Confirmed.BEFORE:
        return page(request, "confirmed.html")
    return page(request, "link_expired.html", status=400)


@router.get("/confirmed", summary="Welcome")
async def confirmed(request: Request) -> Response:
    """Where a successful confirmation ends."""
    return page(request, "confirmed.html")
