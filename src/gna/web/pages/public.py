"""The pages that visitors see."""

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response

from gna import tokens
from gna.db import timed
from gna.subscribers.confirm import Confirmed, confirm, peek
from gna.subscribers.profile import enter
from gna.web.api.shapes import TokenBody, content, errors
from gna.web.body import FORMS
from gna.web.ground import ground
from gna.web.links import may_act, posted
from gna.web.pages.render import WEB, page
from gna.web.routing import RequestBody, Responses, Router

router = Router(tag="pages", response_class=HTMLResponse)

SAYS_WHAT_TO_DO: Responses = {400: {"description": "A page that says what to do"}}
CONFIRMS: Responses = {
    303: {"description": "Done; see /confirmed, or /profile for a new address"},
    409: {"description": "A page: the address belongs to somebody else by now"},
    **SAYS_WHAT_TO_DO,
    **errors(503),
}
# Links with tokens, and everything for machines, stay out of search engines.
ROBOTS = "User-agent: *\n" + "".join(
    f"Disallow: {path}\n" for path in ("/api/", "/admin", "/confirm", "/profile", "/unsubscribe")
)
OF_ANY_SITE = {"Cache-Control": "public, max-age=3600", "Cross-Origin-Resource-Policy": "cross-origin"}


@router.get("/", in_reference=False)
async def home(_: Request) -> Response:
    """There is one thing for a visitor to do here."""
    return RedirectResponse("/subscribe", 303)


@router.get("/robots.txt", summary="For search engines", response_class=PlainTextResponse)
async def robots(_: Request) -> Response:
    """What search engines leave alone."""
    return PlainTextResponse(ROBOTS)


@router.get(
    "/embed.js",
    summary="The sign-up form for any website",
    response_class=FileResponse,
    responses=content(200, "text/javascript"),
)
async def embed(_: Request) -> Response:
    """A script that defines the element `<gna-subscribe>`."""
    allowed = {**OF_ANY_SITE, "Access-Control-Allow-Origin": "*"}
    return FileResponse(WEB / "static" / "embed.js", media_type="text/javascript", headers=allowed)


@router.get("/subscribe", summary="The hosted sign-up form")
async def subscribe_form(request: Request) -> Response:
    """A form that works without JavaScript."""
    return page(request, "subscribe.html", problem=None, typed={})


@router.get("/confirm", summary="The link in the confirmation mail", responses=CONFIRMS)
async def confirm_link(request: Request, token: str = "") -> Response:
    """Activate the subscription or change the address; a second click changes nothing."""
    if may_act(request):
        return await _confirm(request, token)
    outcome = await ground(request).look(timed(peek), token) if tokens.is_shaped(token) else Confirmed.NOT
    if outcome is None:
        return page(request, "press_button.html", what="confirm", action="/confirm", token=token, list_key=None)
    return _told(request, outcome)


@router.post("/confirm", summary="The button behind that link", responses=CONFIRMS, body=RequestBody(TokenBody, FORMS))
async def confirm_button(request: Request) -> Response:
    """The same by a button, where links alone do not act (`LINKS_NEED_CLICK`)."""
    return await _confirm(request, str((await posted(request)).get("token", "")))


@router.get("/confirmed", summary="Welcome")
async def confirmed(request: Request) -> Response:
    """Where a successful confirmation ends."""
    return page(request, "confirmed.html")


@router.get("/profile", summary="The profile page", responses=SAYS_WHAT_TO_DO | errors(503))
async def profile(request: Request, token: str | None = None) -> Response:
    """The form for nickname and address, for whoever the link lets in; without a link, how to get one."""
    if token is None:
        return _doorstep(request)
    person = await ground(request).look(timed(enter), token) if tokens.is_shaped(token) else None
    if person is None:
        return page(request, "profile_link_expired.html", status=400)
    return page(
        request,
        "profile.html",
        person=person,
        token=token,
        unsubscribe_token=person.unsubscribe_token,
        problem=None,
        typed={"email": person.email, "nickname": person.nickname or ""},
    )


def _doorstep(request: Request) -> Response:
    """What somebody sees who comes without a link: from a confirmation, after saving, or to ask for one."""
    if "email_changed" in request.query_params:
        return page(request, "email_changed.html")
    if saved := request.query_params.get("updated"):
        return page(request, "profile_saved.html", awaiting=saved == "email")
    return page(request, "profile_ask.html", problem=None, typed={})


async def _confirm(request: Request, token: str) -> Response:
    here = ground(request)
    outcome = Confirmed.NOT
    if tokens.is_shaped(token):
        outcome = await here.run(timed(confirm), token, secret=here.secret)
    return _told(request, outcome)


def _told(request: Request, outcome: Confirmed) -> Response:
    if outcome is Confirmed.SUBSCRIBED:
        return RedirectResponse("/confirmed", 303)
    if outcome is Confirmed.ADDRESS_CHANGED:
        return RedirectResponse("/profile?email_changed=true", 303)
    if outcome is Confirmed.BEFORE:
        return page(request, "link_used.html")
    if outcome is Confirmed.TAKEN:
        return page(request, "address_taken.html", status=409)
    return page(request, "link_expired.html", status=400)
