"""The profile: a link by mail lets a subscriber in, once."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from gna import tokens
from gna.db import timed
from gna.errors import NotAllowedNow, NotLetIn, Refused
from gna.mail import address
from gna.subscribers.profile import Updated, Wish, enter, request_link, update
from gna.web.api.shapes import Shape, Status, content, errors, json_or_form
from gna.web.body import FORMS, content_type, fields
from gna.web.ground import ground
from gna.web.language import language_of
from gna.web.limit import CHANGES, LINKS, LINKS_OF_VISITOR, spend
from gna.web.pages.render import is_page, page
from gna.web.routing import Responses, Router
from gna.web.timing import blur
from gna.web.visitor import visitor

router = Router(tag="profile")


SAVED: Responses = {303: {"description": "A form of a browser: saved; the page behind the redirect says so"}}


class LinkBody(Shape):
    """Who wants to get in."""

    email: str = Field(examples=["ana@example.org"])


class UpdateBody(Shape):
    """What a subscriber wants to change; what is left out stays."""

    token: str = Field(description="from the link in the mail", examples=["kJ…43 characters"])
    nickname: str | None = Field(None, description="1–50 characters", examples=["Ana"])
    email: str | None = Field(None, description="confirmed by a mail to it", examples=["ana@example.net"])


@router.post(
    "/api/profile/request-link",
    summary="Mail a link to the profile",
    model=Status,
    responses=content(200, "text/html") | errors(400, 415, 429, 503),
    body=json_or_form(LinkBody),
)
async def post_request_link(request: Request) -> Response:
    """Mail a link that works for 15 minutes, once. The answer never tells who is known."""
    here = ground(request)
    as_page = is_page(request)
    sent: Mapping[str, Any] = {}
    try:
        sent = await fields(request)
        email = address.parse(sent.get("email"))
    except Refused as refusal:
        if not as_page:
            raise
        return page(request, "profile_ask.html", status=400, problem=str(refusal), typed=sent)
    await spend(request, LINKS_OF_VISITOR, visitor(request))
    headers = await spend(request, LINKS, email.lower())
    await here.run(timed(request_link), email, site=here.site.speaking(language_of(request)))
    here.ring_soon("send")
    await blur()
    if as_page:
        return page(request, "profile_link_sent.html", headers=headers)
    return JSONResponse({"status": "link_sent"}, headers=dict(headers))


@router.post(
    "/api/profile/update",
    summary="Change nickname or address",
    model=Status,
    responses=SAVED | errors(400, 401, 409, 415, 429, 503),
    body=json_or_form(UpdateBody),
)
async def post_update(request: Request) -> Response:
    """Change the nickname at once; a new address counts when a link mailed to it is clicked."""
    here = ground(request)
    as_page = is_page(request)
    sent = await fields(request)
    token = sent.get("token")
    try:
        if not isinstance(token, str) or not tokens.is_shaped(token):
            raise NotLetIn("Invalid or expired token")
        wish = _wish(request, sent)
        if wish.email is not None:
            await spend(request, CHANGES, token)
        site = here.site.speaking(language_of(request))
        updated = await here.run(timed(update), token, wish, site=site, secret=here.secret)
        if updated is None:
            raise NotLetIn("Invalid or expired token")
    except Refused as refusal:
        if not as_page:
            raise
        return await _again(request, refusal, str(token), sent)
    here.ring("send")
    if as_page:
        return RedirectResponse(f"/profile?updated={'email' if updated is Updated.AWAITING else 'true'}", 303)
    return JSONResponse({"status": "updated"})


def _wish(request: Request, sent: Mapping[str, Any]) -> Wish:
    """In a form every field is sent, and an empty one was left as it is; in JSON it says what it says."""
    nickname, email = sent.get("nickname"), sent.get("email")
    if content_type(request) in FORMS:
        nickname = (nickname or "").strip() or None
        email = (email or "").strip() or None
    return Wish.parse(nickname=nickname, email=email)


async def _again(request: Request, refusal: Refused, token: str, sent: Mapping[str, Any]) -> Response:
    """The form once more, with what was typed and what is wrong with it; or the way to a new link."""
    person = None
    if not isinstance(refusal, NotLetIn):
        person = await ground(request).look(timed(enter), token)
    if person is None:
        return page(request, "profile_link_expired.html", status=401)
    status = 409 if isinstance(refusal, NotAllowedNow) else 400
    return page(
        request,
        "profile.html",
        status=status,
        person=person,
        token=token,
        unsubscribe_token=person.unsubscribe_token,
        problem=str(refusal),
        typed=sent,
    )
