"""The feeds, for those who run the publication."""

from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gna.feeds import directory
from gna.feeds.cadence import Every
from gna.feeds.table import Mode
from gna.web.api.shapes import ADMIN_ERRORS, Shape, errors, json_only, make_optional
from gna.web.body import parse_id, parse_object
from gna.web.desk import feeds as desk
from gna.web.ground import ground
from gna.web.paging import Paging, listed
from gna.web.routing import Router

router = Router(prefix="/admin/api/feeds", tag="admin", responses=ADMIN_ERRORS)

WRONG = errors(400, 404, 409)


class FeedBody(Shape):
    """A feed, and what is to become of its posts."""

    url: str = Field(description="where the feed is", examples=["https://blog.example.org/feed.xml"])
    active: bool = Field(True, description="whether it is looked at")
    mode: Mode = Field(Mode.SEND, description="send the campaign of new posts, or leave it as a draft")
    cadence: Every = Field(Every.POST, description="as they come, or all of a day, week or month at once")
    at: str = Field("09:00", description="daily, weekly, monthly: at what time")
    zone: str = Field("UTC", description="of which time zone", examples=["Europe/Bucharest"])
    weekday: str = Field("monday", description="weekly: on which day")
    monthday: int = Field(1, description="monthly: on which day; in shorter months, the last")
    subject: str | None = Field(
        None, description="may hold title, count, others, feed, date", examples=["{{ feed }}: {{ title }}"]
    )
    audience: dict[str, Any] | None = Field(None, description="everybody if left out", examples=[{"list": "general"}])
    archived: bool = Field(True, description="whether everybody may read its campaigns at /archive")


class FeedChangeBody(FeedBody, json_schema_extra=make_optional):
    """What to change; what is left out stays."""


@router.get("", summary="List feeds", responses=errors(400))
async def list_feeds(request: Request, page: str = "1", per_page: str = "20") -> JSONResponse:
    """Newest first, with when they were looked at and what went wrong."""
    paging = Paging.parse(page, per_page)
    found, total = await ground(request).look(directory.listed, page=paging.page, per_page=paging.per_page)
    return listed(found, paging, total)


@router.post(
    "",
    summary="Add a feed",
    status=201,
    responses=errors(400, 409),
    body=json_only(FeedBody),
)
async def add_feed(request: Request) -> JSONResponse:
    """The first look comes at once, and only remembers what is there."""
    feed_id = await desk.add(request, directory.parse(parse_object(await request.body()), new=True))
    return await _shown(request, feed_id, 201)


@router.get("/{feed_id}", summary="One feed", responses=errors(404))
async def get_feed(request: Request, feed_id: str) -> JSONResponse:
    """One feed."""
    return await _shown(request, parse_id(feed_id))


@router.patch("/{feed_id}", summary="Change a feed", responses=WRONG, body=json_only(FeedChangeBody))
async def change_feed(request: Request, feed_id: str) -> JSONResponse:
    """What is left out stays; at a new address, the first look comes first again."""
    await desk.change(request, parse_id(feed_id), directory.parse(parse_object(await request.body())))
    return await _shown(request, feed_id)


@router.delete("/{feed_id}", summary="Remove a feed", status=204, responses=errors(404, 409))
async def remove_feed(request: Request, feed_id: str) -> Response:
    """Campaigns that it made stay. The feed of FEED_URL goes with its setting."""
    await desk.remove(request, parse_id(feed_id))
    return Response(status_code=204)


@router.post("/{feed_id}/check", summary="Look at a feed now", responses=errors(404, 409))
async def check_feed(request: Request, feed_id: str) -> JSONResponse:
    """Answers when it was looked at; `last_error` says what went wrong, `campaign_id` what became of new posts."""
    await desk.check(request, parse_id(feed_id))
    return await _shown(request, feed_id)


@router.post("/{feed_id}/skip", summary="Wait no more", responses=errors(404, 409))
async def skip_campaign(request: Request, feed_id: str) -> JSONResponse:
    """Wait no more for the campaign of a feed to be delivered; what is in it is not mailed again."""
    await desk.skip(request, parse_id(feed_id))
    return await _shown(request, feed_id)


async def _shown(request: Request, feed_id: str, status: int = 200) -> JSONResponse:
    return JSONResponse(await ground(request).look(directory.show, feed_id), status)
