"""Signing up from any website, or from the form at `/subscribe`."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from gna.db import timed
from gna.errors import Refused
from gna.subscribers.signup import SignUp, subscribe
from gna.web.body import FORMS, fields
from gna.web.ground import ground
from gna.web.pages.render import is_page, page

router = APIRouter(tags=["subscribers"])


class SubscribeBody(BaseModel):
    """What a visitor sends."""

    email: str = Field(examples=["ana@example.org"])
    nickname: str | None = Field(None, description="1–50 characters", examples=["Ana"])


class Status(BaseModel):
    """What happened."""

    status: str = Field(examples=["confirmation_sent"])


class Error(BaseModel):
    """What went wrong, and what to do."""

    error: str = Field(examples=["Email is not a valid address"])


BODY = {
    "requestBody": {
        "required": True,
        "content": {kind: {"schema": SubscribeBody.model_json_schema()} for kind in ("application/json", *FORMS)},
    }
}


@router.post(
    "/api/subscribe",
    status_code=201,
    summary="Subscribe a visitor",
    response_model=Status,
    responses={400: {"model": Error}, 413: {"model": Error}, 415: {"model": Error}, 503: {"model": Error}},
    openapi_extra=BODY,
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
    await here.run(timed(subscribe), wish, site=here.site)
    here.ring("send")
    if as_page:
        return page(request, "check_inbox.html", status=201)
    return JSONResponse({"status": "confirmation_sent"}, 201)
