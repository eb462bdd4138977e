"""Leaving by the link in a mail: a click, a button, or a mail program's one-click POST (RFC 8058)."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from gna import tokens
from gna.db import timed
from gna.errors import Misconfigured, Refused
from gna.subscribers.leave import unsubscribe
from gna.subscribers.lists import Leaving, leave
from gna.web.api.shapes import errors
from gna.web.ground import ground
from gna.web.links import BUTTON, may_act, posted
from gna.web.pages.render import page
from gna.web.routing import Responses, Router

router = Router(tag="pages")

LIST = "/unsubscribe"
ALL = "/api/unsubscribe"
PAGES: Responses = {200: {"description": "A page that confirms it"}}
ONE_CLICK: Responses = {200: {"description": "Done, or nothing to do; no body"}}
# A program that asks for JSON gets `{"ok": true}` from the link of a list.
LEFT_LIST: Responses = {200: {"description": "A page that confirms it, or JSON", "content": {"text/html": {}}}}
ONE_CLICK_LIST: Responses = {200: {"description": "Done, or nothing to do; no body, or JSON"}}
INVALID: Responses = {400: {"description": "A page that says what to do"}}


@router.get(ALL, summary="The unsubscribe link", response_class=HTMLResponse, responses=PAGES | INVALID | errors(503))
async def unsubscribe_link(request: Request, token: str = "") -> Response:
    """Delete the subscriber at once and say goodbye; a link that was used before gets the same page."""
    if not tokens.is_shaped(token):
        return page(request, "unsubscribe_invalid.html", status=400)
    if not may_act(request):
        return page(request, "press_button.html", what="leave", action=ALL, token=token, list_key=None)
    await _delete(request, token)
    return page(request, "goodbye.html")


@router.post(
    ALL,
    summary="Unsubscribe with one click",
    response_class=Response,
    responses=ONE_CLICK | INVALID | errors(413, 503),
)
async def unsubscribe_one_click(request: Request, token: str = "") -> Response:
    """RFC 8058: any body, an empty answer, never a redirect. A button on our own pages gets a page."""
    form = await posted(request)
    token = token or str(form.get("token", ""))
    if not tokens.is_shaped(token):
        return page(request, "unsubscribe_invalid.html", status=400)
    await _delete(request, token)
    return page(request, "goodbye.html") if form.get(BUTTON) else Response()


@router.get(LIST, summary="The unsubscribe link of one list", responses=LEFT_LIST | errors(400, 500, 503))
async def leave_list_link(request: Request, token: str = "") -> Response:
    """End one list membership; the token is signed with UNSUB_SECRET. Repeating it changes nothing."""
    try:
        wish = _signed(request, token)
    except Refused:
        if _wants_json(request):
            raise
        return page(request, "unsubscribe_invalid.html", status=400)
    if not may_act(request):
        return page(request, "press_button.html", what="leave_list", action=LIST, token=token, list_key=wish.list_key)
    await ground(request).run(timed(leave), wish)
    return (
        JSONResponse({"ok": True}) if _wants_json(request) else page(request, "left_list.html", list_key=wish.list_key)
    )


@router.post(LIST, summary="Leave one list with one click", responses=ONE_CLICK_LIST | errors(400, 413, 500, 503))
async def leave_list_one_click(request: Request, token: str = "") -> Response:
    """The same for mail programs: any body, an empty answer, never a redirect."""
    form = await posted(request)
    try:
        wish = _signed(request, token or str(form.get("token", "")))
    except Refused:
        if not form.get(BUTTON):
            raise
        return page(request, "unsubscribe_invalid.html", status=400)
    await ground(request).run(timed(leave), wish)
    if form.get(BUTTON):
        return page(request, "left_list.html", list_key=wish.list_key)
    return JSONResponse({"ok": True}) if _wants_json(request) else Response()


async def _delete(request: Request, token: str) -> None:
    here = ground(request)
    await here.run(timed(unsubscribe), token, secret=here.secret)


def _signed(request: Request, token: str) -> Leaving:
    secret = ground(request).settings.unsub_secret
    if secret is None:
        raise Misconfigured("UNSUB_SECRET is not set, so no unsubscribe link of a list can be checked")
    return Leaving.parse(token, secret.get_secret_value())


def _wants_json(request: Request) -> bool:
    return "application/json" in request.headers.get("accept", "")
