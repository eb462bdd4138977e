"""Signing up from any website, or from the form at `/subscribe`."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gna.db import timed
from gna.errors import Refused
from gna.subscribers.signup import SignUp, subscribe
from gna.web.api.shapes import Shape, Status, content, errors, json_or_form
from gna.web.body import fields
from gna.web.ground import ground
from gna.web.language import language_of
from gna.web.limit import SIGN_UPS, spend
from gna.web.pages.render import is_page, page
from gna.web.routing import Router
from gna.web.timing import blur
from gna.web.visitor import visitor

router = Router(tag="subscribers")


class SubscribeBody(Shape):
    """What a visitor sends."""

    email: str = Field(examples=["ana@example.org"])
    nickname: str | None = Field(None, description="1–50 characters", examples=["Ana"])


@router.post(
    "/api/subscribe",
    status=201,
    summary="Subscribe a visitor",
    model=Status,
    responses=content(201, "text/html") | errors(400, 415, 429, 503),
    body=json_or_form(SubscribeBody),
)
async def post_subscribe(request: Request) -> Response:
    """Remember the visitor as pending and mail them a link. The answer never tells who is known."""
    here = ground(request)
    as_page = is_page(request)
    sent: Mapping[str, Any] = {}
    try:
        sent = await fields(request)
        wish = SignUp.parse(email=sent.get("email"), nickname=sent.get("nickname"))
    except Refused as refusal:
        if not as_page:
            raise
        return page(request, "subscribe.html", status=400, problem=str(refusal), typed=sent)
    headers = await spend(request, SIGN_UPS, visitor(request))
    site = here.site.speaking(language_of(request))
    await here.run(timed(subscribe), wish, site=site, secret=here.secret)
    here.ring_soon("send")
    await blur()
    if as_page:
        return page(request, "check_inbox.html", status=201, headers=headers)
    return JSONResponse({"status": "confirmation_sent"}, 201, dict(headers))
