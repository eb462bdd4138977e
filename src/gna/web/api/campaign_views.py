"""Looking at campaigns: previews, checks, tests, and how far they are."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse

from gna import clock
from gna.campaigns import audience, overview, preview, writing
from gna.campaigns.audience import Audience
from gna.campaigns.preview import Reader
from gna.campaigns.states import State
from gna.campaigns.writing import Wish
from gna.errors import DatabaseAway, NotFound, Refused
from gna.mail.compile import Sender
from gna.mail.render import Draft, check
from gna.subscribers.signup import parse_nickname
from gna.web.api.campaigns import NOT_THERE, CampaignBody
from gna.web.api.shapes import ADMIN_ERRORS, Shape, content, errors, json_only, make_optional
from gna.web.body import parse_id, parse_object
from gna.web.desk import campaigns as desk
from gna.web.ground import Ground, ground
from gna.web.pages.render import sandboxed, wants_html
from gna.web.routing import Router

router = Router(prefix="/admin/api", tag="admin", responses=ADMIN_ERRORS)

FORMATS = ("html", "text", "source", "json")
WATCH_SECONDS = 0.5
# Proxies close a connection on which nothing is said.
SIGN_OF_LIFE = 15


class PreviewBody(CampaignBody, json_schema_extra=make_optional):
    """What is written so far."""


class TrialBody(Shape):
    """Where to send a test."""

    to: str | list[str] = Field(description="an address, or a list of up to 20", examples=["you@example.org"])


@router.post(
    "/campaigns/preview",
    summary="Preview what is not saved",
    responses=errors(400, 404),
    body=json_only(PreviewBody),
)
async def preview_unsaved(request: Request, subscriber: str = "") -> JSONResponse:
    """Subject, HTML, text and checks of what is being written, as a subscriber would see it."""
    here, sent = ground(request), parse_object(await request.body())
    wish = Wish.parse({name: value for name, value in sent.items() if value != ""}, now=clock.now())
    by = await here.look(preview.reader, parse_id(subscriber))
    return JSONResponse(await _preview(here, writing.draft_of(wish.columns, here.frame), by))


@router.post(
    "/campaigns/{campaign_id}/test",
    summary="Send a test",
    status=202,
    responses=errors(400, 404),
    body=json_only(TrialBody),
)
async def send_test(request: Request, campaign_id: str) -> JSONResponse:
    """Mail it to a few addresses, in any state; nothing of that is kept or counted."""
    to = preview.parse_addresses(parse_object(await request.body()).get("to"))
    await desk.test(request, parse_id(campaign_id), to)
    return JSONResponse({"status": "test_sent", "to": to}, 202)


@router.get(
    "/campaigns/{campaign_id}/preview",
    summary="Preview",
    response_class=HTMLResponse,
    responses=content(200, "text/plain", "application/json") | errors(400, 404),
)
async def preview_campaign(
    request: Request, campaign_id: str, format: str = "", subscriber: str = "", nickname: str = ""
) -> Response:
    """As a subscriber would see it, or somebody with that `nickname`.

    `format`: `html`, `text`, `source` (the raw mail) or `json` (all, and checks).
    """
    here = ground(request)
    format = format or ("html" if wants_html(request) or not _wants_json(request) else "json")
    if format not in FORMATS:
        raise Refused(f"format must be one of {', '.join(FORMATS)}")
    draft = await _draft(here, campaign_id)
    by = await here.look(preview.reader, parse_id(subscriber))
    if name := parse_nickname(nickname):
        by = replace(by, nickname=name)
    if format == "source":
        sender = Sender(here.settings.email_from_address, here.settings.base_url)
        return PlainTextResponse(await asyncio.to_thread(preview.source, draft, here.frame, by, sender=sender))
    if format == "json":
        return JSONResponse(await _preview(here, draft, by))
    seen = await asyncio.to_thread(preview.seen, draft, here.frame, by)
    # In the dashboard's frame, both.
    framed = sandboxed("https: http: data:")
    if format == "text":
        return PlainTextResponse(seen.text, headers=framed)
    return HTMLResponse(seen.html, headers=framed)


@router.get("/campaigns/{campaign_id}/checks", summary="Check before sending", responses=NOT_THERE)
async def check_campaign(request: Request, campaign_id: str) -> JSONResponse:
    """What to look at before it is sent: links, pictures, size, fields."""
    here = ground(request)
    return JSONResponse({"items": await _checks(here, await _draft(here, campaign_id))})


@router.get("/campaigns/{campaign_id}/audience", summary="Count the audience", responses=NOT_THERE)
async def count_audience(request: Request, campaign_id: str) -> JSONResponse:
    """How many people it would go to if it were sent now."""
    here = ground(request)
    row = await here.look(overview.row, parse_id(campaign_id))
    return JSONResponse({"count": await here.look(audience.count, Audience.parse(row.audience))})


@router.get(
    "/campaigns/{campaign_id}/progress",
    summary="Watch",
    response_class=StreamingResponse,
    responses=content(200, "text/event-stream") | NOT_THERE,
)
async def watch_campaign(request: Request, campaign_id: str) -> StreamingResponse:
    """Server-sent events: `progress` with the sums as they change, `done` when it is published."""
    here = ground(request)
    await here.look(overview.row, parse_id(campaign_id))
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(here, campaign_id), media_type="text/event-stream", headers=headers)


async def _preview(here: Ground, draft: Draft, by: Reader) -> dict[str, Any]:
    seen = await asyncio.to_thread(preview.seen, draft, here.frame, by)
    checks = await _checks(here, draft)
    return {"subject": seen.subject, "html": seen.html, "text": seen.text, "checks": checks}


async def _checks(here: Ground, draft: Draft) -> list[dict[str, str]]:
    found = await asyncio.to_thread(check, draft, here.frame)
    return [{"level": one.level, "code": one.code, "message": one.message} for one in found]


async def _draft(here: Ground, campaign_id: str) -> Draft:
    row = await here.look(overview.row, parse_id(campaign_id))
    return writing.draft_of(row._mapping, here.frame)


def _wants_json(request: Request) -> bool:
    return "application/json" in request.headers.get("accept", "")


async def _events(here: Ground, campaign_id: str) -> AsyncIterator[str]:
    said, silent = "", 0.0
    while not here.leaving.is_set():
        try:
            now = await here.look(overview.progress, campaign_id)
        except NotFound:
            return
        except DatabaseAway:
            now = None
        text = json.dumps(now) if now else said
        if text != said:
            yield f"event: progress\ndata: {text}\n\n"
            said, silent = text, 0.0
        elif silent >= SIGN_OF_LIFE:
            yield ": still here\n\n"
            silent = 0.0
        if now and now["state"] == State.PUBLISHED:
            yield f"event: done\ndata: {text}\n\n"
            return
        await asyncio.sleep(WATCH_SECONDS)
        silent += WATCH_SECONDS
