"""The campaigns, for those who run the publication: write, look at, publish, and look after."""

from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gna import clock
from gna.campaigns import overview, writing
from gna.campaigns.writing import Wish
from gna.mail.render import Format
from gna.web.api.shapes import ADMIN_ERRORS, Shape, errors, json_only, make_optional
from gna.web.body import parse_id, parse_object
from gna.web.desk import campaigns as desk
from gna.web.ground import Ground, ground
from gna.web.paging import Paging, listed
from gna.web.routing import Router

router = Router(prefix="/admin/api", tag="admin", responses=ADMIN_ERRORS)

NOT_THERE = errors(404)
WRONG = errors(400, 404, 409)


class CampaignBody(Shape):
    """What a publisher writes."""

    subject: str = Field(description="one line; may hold merge fields", examples=["News for {{ nickname | you }}"])
    body: str = Field(description="HTML or Markdown; may hold merge fields", examples=["<p>Hello</p>"])
    body_format: Format = Field(Format.HTML, description="how the body is written")
    body_text: str | None = Field(None, description="the plain-text part; derived from the body if left out")
    preheader: str | None = Field(None, description="what inboxes show beside the subject")
    audience: dict[str, Any] | None = Field(
        None, description="everybody if left out", examples=[{"list": "general", "attributes": {"city": "Cluj"}}]
    )
    scheduled_at: str | None = Field(None, description="ISO 8601 with a zone", examples=["2030-01-31T09:00:00+02:00"])
    archived: bool = Field(True, description="whether everybody may read it at /archive")


class CampaignChangeBody(CampaignBody, json_schema_extra=make_optional):
    """What to change; what is left out stays."""

    updated_at: str | None = Field(None, description="as you read it; if it is another by now, nothing is changed")


class ScheduleBody(Shape):
    """When to send."""

    scheduled_at: str | None = Field(
        None,
        description="ISO 8601 with a zone, in the future; the planned time if left out",
        examples=["2030-01-31T09:00:00Z"],
    )


@router.get("/campaigns", summary="List campaigns", responses=errors(400))
async def list_campaigns(request: Request, page: str = "1", per_page: str = "20", state: str = "") -> JSONResponse:
    """Newest first, without their bodies; `state` picks those in one state."""
    paging, wanted = Paging.parse(page, per_page), overview.parse_state(state)
    found, total = await ground(request).look(overview.newest, state=wanted, page=paging.page, per_page=paging.per_page)
    return listed(found, paging, total)


@router.post(
    "/campaigns",
    summary="Write a campaign",
    status=201,
    responses=errors(400),
    body=json_only(CampaignBody),
)
async def create_campaign(request: Request) -> JSONResponse:
    """A draft with its delivery by email."""
    here = ground(request)
    wish = Wish.parse_new(parse_object(await request.body()), now=clock.now())
    return await _shown(here, await desk.create(request, wish), 201)


@router.get("/campaigns/{campaign_id}", summary="One campaign", responses=NOT_THERE)
async def get_campaign(request: Request, campaign_id: str) -> JSONResponse:
    """One campaign with its deliveries and their sums."""
    return await _shown(ground(request), parse_id(campaign_id))


@router.patch(
    "/campaigns/{campaign_id}",
    summary="Change a campaign",
    responses=WRONG,
    body=json_only(CampaignChangeBody),
)
async def change_campaign(request: Request, campaign_id: str) -> JSONResponse:
    """While it is not sent; `archived` at any time. What is left out stays; an `updated_at` must be the present one."""
    sent = dict(parse_object(await request.body()))
    seen = writing.parse_seen(sent.pop("updated_at", None))
    await desk.change(request, parse_id(campaign_id), Wish.parse(sent, now=clock.now()), seen=seen)
    return await _shown(ground(request), campaign_id)


@router.delete("/campaigns/{campaign_id}", summary="Delete a draft", status=204, responses=errors(404, 409))
async def delete_campaign(request: Request, campaign_id: str) -> Response:
    """Only while it is a draft."""
    await desk.delete(request, parse_id(campaign_id))
    return Response(status_code=204)


@router.post("/campaigns/{campaign_id}/duplicate", summary="Copy a campaign", status=201, responses=NOT_THERE)
async def duplicate_campaign(request: Request, campaign_id: str) -> JSONResponse:
    """A new draft that says the same."""
    return await _shown(ground(request), await desk.duplicate(request, parse_id(campaign_id)), 201)


@router.post("/campaigns/{campaign_id}/send", summary="Send now", responses=WRONG)
async def send_campaign(request: Request, campaign_id: str) -> JSONResponse:
    """Publish a draft or a scheduled campaign at once."""
    await desk.send(request, parse_id(campaign_id))
    return await _shown(ground(request), campaign_id)


@router.post(
    "/campaigns/{campaign_id}/schedule",
    summary="Send later",
    responses=WRONG,
    body=json_only(ScheduleBody, required=False),
)
async def schedule_campaign(request: Request, campaign_id: str) -> JSONResponse:
    """Publish a draft at a time in the future, or a scheduled one at another; without a time, at the planned one."""
    sent = await request.body()
    wish = parse_object(sent) if sent else {}
    at = writing.parse_time(wish["scheduled_at"], clock.now()) if "scheduled_at" in wish else None
    await desk.schedule(request, parse_id(campaign_id), at=at)
    return await _shown(ground(request), campaign_id)


@router.post("/campaigns/{campaign_id}/cancel", summary="Cancel a schedule", responses=errors(404, 409))
async def cancel_campaign(request: Request, campaign_id: str) -> JSONResponse:
    """Make a scheduled campaign a draft again."""
    await desk.cancel(request, parse_id(campaign_id))
    return await _shown(ground(request), campaign_id)


@router.post("/campaigns/{campaign_id}/pause", summary="Pause", responses=errors(404, 409))
async def pause_campaign(request: Request, campaign_id: str) -> JSONResponse:
    """Send no more of it for now; what is on its way arrives."""
    await desk.pause(request, parse_id(campaign_id))
    return await _shown(ground(request), campaign_id)


@router.post("/campaigns/{campaign_id}/resume", summary="Go on", responses=errors(404, 409))
async def resume_campaign(request: Request, campaign_id: str) -> JSONResponse:
    """Go on where it was paused."""
    await desk.resume(request, parse_id(campaign_id))
    return await _shown(ground(request), campaign_id)


@router.get("/deliveries/{delivery_id}", summary="One delivery", responses=NOT_THERE)
async def get_delivery(request: Request, delivery_id: str) -> JSONResponse:
    """A campaign on one channel, with its sums."""
    return JSONResponse(await ground(request).look(overview.delivery, parse_id(delivery_id)))


@router.post("/deliveries/{delivery_id}/retry", summary="Try again", responses=errors(404, 409))
async def retry_delivery(request: Request, delivery_id: str) -> JSONResponse:
    """Send what a failed delivery could not send, and nothing else."""
    await desk.retry(request, parse_id(delivery_id))
    return JSONResponse(await ground(request).look(overview.delivery, delivery_id))


async def _shown(here: Ground, campaign_id: str, status: int = 200) -> JSONResponse:
    return JSONResponse(await here.look(overview.get, campaign_id), status)
