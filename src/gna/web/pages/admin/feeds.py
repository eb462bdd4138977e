"""The feeds: how each is doing, what becomes of its posts, and a look at it now."""

import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gna.errors import NotFound, Refused
from gna.feeds import cadence, directory
from gna.feeds.cadence import Every
from gna.subscribers import lists
from gna.web.body import parse_id
from gna.web.desk import feeds as desk
from gna.web.ground import ground
from gna.web.language import language_of
from gna.web.pages.admin.held import why_held
from gna.web.pages.admin.shell import N_, NN_, Fields, beyond, form, go, paging, screen, zone_of

NEW = {
    "url": "",
    "mode": "send",
    "cadence": Every.POST,
    "at": "09:00",
    "zone": "UTC",
    "weekday": "monday",
    "monthday": 1,
    "subject": "",
    "audience": {},
    "active": True,
    "archived": True,
    "configured": False,
}
WEEKDAYS = dict(
    zip(
        cadence.WEEKDAYS,
        (N_("Monday"), N_("Tuesday"), N_("Wednesday"), N_("Thursday"), N_("Friday"), N_("Saturday"), N_("Sunday")),
        strict=True,
    )
)
# Why a form is refused, in the words of the room that refuses; translated where it is shown.
REASONS = (
    N_("url is required"),
    N_("url must be an address that starts with http:// or https://, without a user name or password"),
    N_("url must be at most 2000 characters long"),
    N_("at must be a time of day: 09:00"),
    N_("zone must be a time zone: Europe/Bucharest"),
    N_("monthday must be a number from 1 to 31; in shorter months it is the last day"),
    N_("A list key is 1–64 letters, digits or - _ . :"),
    N_("There is a feed with this address already"),
    N_("There are 100 feeds already; remove one first"),
    N_("It is the feed of FEED_URL; change that setting instead"),
    N_("The feed waits for no campaign"),
    N_("There is no such feed"),
    N_("Another look at the feed is under way; try again in a minute"),
)
NEW_POSTS = NN_(
    "%(num)d new post was found; it waits for its time.",
    "%(num)d new posts were found; they wait for their time.",
)


def state_of(feed: Mapping[str, Any]) -> str:
    """How a feed is doing, in a word."""
    if not feed["active"]:
        return "inactive"
    if feed["consecutive_failures"]:
        return "failing"
    if feed["campaign_state"] == "draft" or feed["campaign_held"]:
        return "held"
    return "well" if feed["last_checked_at"] else "new"


async def show_all(request: Request) -> Response:
    """All feeds, newest first."""
    pages = paging(request)
    found, total = await ground(request).look(directory.listed, page=pages.page, per_page=pages.per_page)
    if elsewhere := beyond(request, pages, total):
        return elsewhere
    rows = [feed | {"condition": state_of(feed)} for feed in found]
    return screen(request, "feeds.html", feeds=rows, paging=pages, total=total, weekdays=WEEKDAYS)


async def show_new(request: Request) -> Response:
    """A form for a new feed, in the visitor's own time zone."""
    return await _new(request, NEW | {"zone": str(zone_of(request))})


async def add(request: Request) -> Response:
    """Follow another feed."""
    fields = await form(request)
    try:
        feed_id = await desk.add(request, directory.parse(wish(fields, {}), new=True))
    except Refused as refused:
        return await _new(request, typed(fields, NEW), problem=refused)
    return go(f"/admin/feeds/{feed_id}", N_("Feed added. The first look only remembers what is there."))


async def show(request: Request) -> Response:
    """One feed: how it is doing, and what can be changed."""
    return await _one(request, parse_id(request.path_params["feed_id"]))


async def change(request: Request) -> Response:
    """Change what becomes of its posts."""
    feed_id, fields = parse_id(request.path_params["feed_id"]), await form(request)
    feed = await ground(request).look(directory.show, feed_id)
    try:
        await desk.change(request, feed_id, directory.parse(wish(fields, feed)))
    except NotFound:
        raise
    except Refused as refused:
        return await _one(request, feed_id, typed=typed(fields, feed), problem=refused)
    return go(f"/admin/feeds/{feed_id}", N_("Feed saved."))


async def check(request: Request) -> Response:
    """Look at it now, and say what was found."""
    feed_id, here = parse_id(request.path_params["feed_id"]), ground(request)
    before = await here.look(directory.show, feed_id)
    await desk.check(request, feed_id)
    after = await here.look(directory.show, feed_id)
    said, values = found(before, after)
    return go(f"/admin/feeds/{feed_id}", said, bad=bool(after["last_error"]), **values)


async def skip(request: Request) -> Response:
    """Wait no more for its campaign."""
    feed_id = parse_id(request.path_params["feed_id"])
    await desk.skip(request, feed_id)
    return go(f"/admin/feeds/{feed_id}", N_("The feed waits no more; the posts in that campaign are not mailed again."))


async def remove(request: Request) -> Response:
    """Forget it."""
    await desk.remove(request, parse_id(request.path_params["feed_id"]))
    return go("/admin/feeds", N_("Feed removed. The campaigns that it made stay."))


def found(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str | tuple[str, str], dict[str, Any]]:
    """What a look brought, as a message and what fills it."""
    if after["last_error"]:
        return N_("The feed could not be read: %(error)s"), {"error": after["last_error"]}
    if before["known_since"] is None:
        return N_("This was the first look: it remembers what is there, and mails what comes later."), {}
    if after["campaign_id"] and after["campaign_id"] != before["campaign_id"]:
        return N_("New posts were found and became a campaign."), {}
    new = after["waiting"] - before["waiting"]
    if new > 0:
        return NEW_POSTS, {"num": new}
    return N_("The feed is well, and nothing in it is new."), {}


def wish(fields: Fields, feed: Mapping[str, Any]) -> dict[str, Any]:
    """The form as the room of feeds reads it; conditions that it does not show stay."""
    day = fields.get("monthday", "1")
    listed = {"list": fields.get("list")} if fields.get("list") else {}
    kept = {name: value for name, value in feed.get("audience", {}).items() if name != "list"}
    names = ("mode", "cadence", "at", "zone", "weekday", *(() if feed.get("configured") else ("url",)))
    return {
        **{name: fields.get(name) for name in names},
        "monthday": int(day) if re.fullmatch(r"[0-9]{1,4}", day) else day,
        "subject": fields.get("subject") or None,
        "audience": listed | kept,
        "archived": bool(fields.get("archived")),
        "active": bool(fields.get("active")),
    }


def typed(fields: Fields, feed: Mapping[str, Any]) -> dict[str, Any]:
    """What somebody typed, to stand in the form again."""
    return dict(feed) | wish(fields, feed)


async def _new(request: Request, feed: Mapping[str, Any], *, problem: Refused | None = None) -> Response:
    known = await ground(request).look(lists.known)
    values: dict[str, Any] = {"feed": feed, "weekdays": WEEKDAYS, "lists": known, "problem": _reason(problem)}
    return screen(request, "feed_new.html", status=400 if problem else 200, **values)


async def _one(
    request: Request, feed_id: str, *, typed: Mapping[str, Any] | None = None, problem: Refused | None = None
) -> Response:
    here = ground(request)
    feed = await here.look(directory.show, feed_id)
    return screen(
        request,
        "feed.html",
        status=400 if problem else 200,
        feed=feed | {"condition": state_of(feed)},
        held=why_held(feed["campaign_held"], language_of(request)),
        typed=typed or feed,
        weekdays=WEEKDAYS,
        lists=await here.look(lists.known),
        problem=_reason(problem),
    )


def _reason(problem: Refused | None) -> str | None:
    return str(problem).rstrip(".") if problem else None


routes = [
    Route("/admin/feeds", show_all),
    Route("/admin/feeds", add, methods=["POST"]),
    Route("/admin/feeds/new", show_new),
    Route("/admin/feeds/{feed_id}", show),
    Route("/admin/feeds/{feed_id}", change, methods=["POST"]),
    Route("/admin/feeds/{feed_id}/check", check, methods=["POST"]),
    Route("/admin/feeds/{feed_id}/skip", skip, methods=["POST"]),
    Route("/admin/feeds/{feed_id}/remove", remove, methods=["POST"]),
]
