"""What comes after writing: a test, a time, sending. In dialogs, and without script as pages of their own."""

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gna import clock
from gna.campaigns import audience, overview, preview, wall_clock, writing
from gna.campaigns.audience import Audience, EmptyAudience
from gna.campaigns.states import EDITABLE
from gna.campaigns.table import NOT_NOW
from gna.errors import NotAllowedNow, Refused
from gna.mail import address
from gna.mail.render import check
from gna.web.body import parse_id
from gna.web.desk import campaigns as desk
from gna.web.ground import ground
from gna.web.identity import who
from gna.web.language import catalog, language_of, translated
from gna.web.pages.admin.campaign_form import is_script
from gna.web.pages.admin.campaign_words import in_words, said_back
from gna.web.pages.admin.shell import N_, NN_, Fields, Message, form, go, screen, zone_of
from gna.web.pages.admin.words import moment_of

HOME = "/admin/campaigns"
REACH = NN_("It goes to %(num)s person.", "It goes to %(num)s people.")
NO_REACH = N_("Nobody would get it: its audience is empty.")
LOOK_FIRST = N_("Look at it before you send it")
NO_AUDIENCE = N_("Its audience is empty: no mail would go out, and it would stay out of the archive. Send it anyway?")


class Step(StrEnum):
    """What can be done with what was written."""

    TEST = "test"
    SCHEDULE = "schedule"
    SEND = "send"


STEPS = tuple(Step)


async def look(request: Request) -> Response:
    """The page of one step."""
    return await _page(request)


async def test(request: Request) -> Response:
    """Mail it to oneself."""
    fields = await form(request)
    to = [one for one in re.split(r"[\s,;]+", fields.get("to")) if one]
    try:
        await desk.test(request, _id(request), preview.parse_addresses(to or ""))
    except Refused as refused:
        return await _page(request, refused, fields)
    return _told(request, N_("A test is on its way to %(whom)s."), whom=", ".join(to))


async def schedule(request: Request) -> Response:
    """Send it at a time."""
    fields = await form(request)
    try:
        planned = wall_clock.read(fields.get("at"), fields.get("zone"), now=clock.now())
        await desk.schedule(request, _id(request), at=planned.moment, seen=_seen(fields))
    except Refused as refused:
        return await _page(request, refused, fields)
    when = said_back(planned, clock.now(), language_of(request))
    return _told(request, N_("It is scheduled. %(when)s"), when=when)


async def send(request: Request) -> Response:
    """Send it now, as it was shown; an empty audience is asked about again."""
    fields = await form(request)
    try:
        is_sure = fields.get("to_nobody") == "yes"
        await desk.send(request, _id(request), seen=_seen(fields), must_have_audience=not is_sure)
    except EmptyAudience:
        return await _page(request, typed=fields, asks_again=True)
    except Refused as refused:
        return await _page(request, refused, fields)
    return _told(request, N_("It is being sent."))


async def moment(request: Request) -> Response:
    """What a time on the wall means, in words, for those who are choosing one."""
    lang, asked, now = language_of(request), request.query_params, clock.now()
    try:
        said = said_back(wall_clock.read(asked.get("at", ""), asked.get("zone", ""), now=now), now, lang)
    except Refused as refused:
        return JSONResponse({"said": f"{in_words(str(refused), lang)}.", "bad": True})
    return JSONResponse({"said": said, "bad": False})


async def reach(request: Request) -> Response:
    """How many people it would go to now."""
    people = await _count(request)
    return JSONResponse({"count": people, "said": _reach(people, language_of(request))})


async def _count(request: Request) -> int:
    here = ground(request)
    row = await here.look(overview.row, _id(request))
    return await here.look(audience.count, Audience.parse(row.audience))


def dialogs(request: Request, campaign: Mapping[str, Any] | None, typed: Fields | None = None) -> dict[str, Any]:
    """What stands in the forms of the steps before anybody has typed."""
    zone, planned = zone_of(request), campaign["scheduled_at"] if campaign else None
    at = moment_of(planned).astimezone(zone) if planned else wall_clock.proposal(zone, now=clock.now())
    to = ""
    with suppress(Refused):
        to = address.parse(who(request).email)
    proposed = {"at": f"{at:%Y-%m-%dT%H:%M}", "zone": getattr(zone, "key", "UTC"), "to": to}
    return {"step": {name: typed.get(name, value) if typed else value for name, value in proposed.items()}}


async def _page(
    request: Request,
    refused: Refused | None = None,
    typed: Fields | None = None,
    *,
    asks_again: bool = False,
) -> Response:
    """The step with what was typed; it shows the campaign as it is now.

    With `asks_again` the audience is empty, and the next press sends all the same.
    """
    here, lang, step = ground(request), language_of(request), Step(request.url.path.rpartition("/")[2])
    problem = f"{in_words(str(refused), lang)}." if refused else None
    if problem and is_script(request):
        return JSONResponse({"error": problem}, _status(refused))
    campaign = await here.look(overview.get, _id(request))
    if campaign["state"] not in EDITABLE and step is not Step.TEST:
        return go(f"{HOME}/{campaign['id']}", NOT_NOW, bad=True)
    found = await asyncio.to_thread(check, writing.draft_of(campaign, here.frame), here.frame)
    # Counting a million takes a while; whoever chooses a time does not need it.
    people = await here.look(audience.count, Audience.parse(campaign["audience"])) if step is Step.SEND else 0
    return screen(
        request,
        "campaign_step.html",
        status=_status(refused),
        name=step,
        campaign=campaign,
        findings=found,
        people=people,
        reach=_reach(people, lang),
        question=NO_AUDIENCE if asks_again else None,
        problem=problem,
        zones=_zones(),
        **dialogs(request, campaign, typed),
    )


def _status(refused: Refused | None) -> int:
    if refused is None:
        return 200
    return 409 if isinstance(refused, NotAllowedNow) else 400


def _reach(people: int, lang: str) -> str:
    from babel.numbers import format_decimal

    if people == 0:
        return translated(NO_REACH, lang)
    return catalog(lang).ngettext(*REACH, people) % {"num": format_decimal(people, locale=lang)}


def _seen(fields: Fields) -> Any:
    """What the form showed; without it nobody knows what they agree to."""
    seen = writing.parse_seen(fields.get("updated_at") or None)
    if seen is None:
        raise Refused(LOOK_FIRST)
    return seen


def _told(request: Request, said: str, **values: Any) -> Response:
    """What was done: on the campaign's page, or to the script that asked."""
    if is_script(request):
        return JSONResponse({"said": Message(said, bad=False, values=values).text(language_of(request))})
    return go(f"{HOME}/{_id(request)}", said, **values)


def _id(request: Request) -> str:
    return parse_id(request.path_params["campaign_id"])


@cache
def _zones() -> list[str]:
    from zoneinfo import available_timezones

    others = ("Etc/", "SystemV/", "US/", "posix/", "right/")
    return ["UTC", *sorted(name for name in available_timezones() if "/" in name and not name.startswith(others))]


ONE = f"{HOME}/{{campaign_id}}"
routes = [
    Route(f"{HOME}/moment", moment),
    Route(f"{ONE}/reach", reach),
    *(Route(f"{ONE}/{step}", look) for step in STEPS),
    *(Route(f"{ONE}/{act.__name__}", act, methods=["POST"]) for act in (test, schedule, send)),
]
