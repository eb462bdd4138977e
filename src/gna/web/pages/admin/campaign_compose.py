"""Writing a campaign: the form, what it looks like, and what is wrong with it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from gna import clock, ids
from gna.campaigns import overview, preview, writing
from gna.campaigns.formats import Switched, switch
from gna.campaigns.preview import Reader
from gna.campaigns.states import EDITABLE, State
from gna.campaigns.table import Changed
from gna.campaigns.writing import Wish
from gna.errors import NotAllowedNow, NotFound, Refused
from gna.mail.render import Finding, Level, check
from gna.subscribers import lists
from gna.subscribers.signup import parse_nickname
from gna.web.body import parse_id
from gna.web.desk import campaigns as desk
from gna.web.ground import ground
from gna.web.language import language_of, translated
from gna.web.pages.admin import (
    campaign_report,
    held,  # noqa: F401
)
from gna.web.pages.admin.campaign_form import NO_VALUE, Typed, is_script
from gna.web.pages.admin.campaign_steps import STEPS, Step, dialogs
from gna.web.pages.admin.campaign_words import in_words
from gna.web.pages.admin.shell import N_, Fields, form, go, screen, theme_of
from gna.web.pages.render import sandboxed, templates

HOME = "/admin/campaigns"
PICTURES = "https: http: data:"
OVERWRITTEN = N_(
    "Somebody else saved this campaign since you opened it. What you typed is still here: "
    "copy what you need from theirs, or save again to replace theirs with yours."
)
NOTHING_TYPED = N_("Write a subject or a text first")
PARTLY_SAVED = N_("Saved, except the audience")
HALF_AUDIENCE = Finding(Level.ERROR, "half_audience", f"{NO_VALUE}.")
TOO_LATE = N_("It was deleted or is being sent already. What you typed is still here: save it as a new campaign.")


async def new(request: Request) -> Response:
    """An empty form."""
    return await _form(request, Typed(), campaign=None)


async def show(request: Request) -> Response:
    """One campaign: the form while it can be changed, then how it goes."""
    here = ground(request)
    campaign = await here.look(overview.get, parse_id(request.path_params["campaign_id"]))
    if campaign["state"] not in EDITABLE:
        return campaign_report.report(request, campaign)
    return await _form(request, Typed.of(campaign), campaign=campaign)


async def create(request: Request) -> Response:
    """A new draft from the form, once: who heard no answer sends it again under the same id."""
    fields = await form(request)
    typed, campaign_id = Typed.read(fields), _id_to_be(request, fields)
    if campaign_id and await _is_made(request, campaign_id):
        return await _save(request, fields, campaign_id)
    try:
        if typed.is_blank:
            raise Refused(NOTHING_TYPED)
        campaign_id = await desk.create(request, await _wish(typed, stored=None), campaign_id)
    except Refused as refused:
        return await _not_saved(request, typed, refused, None)
    return await _saved(request, fields, typed, campaign_id)


async def save(request: Request) -> Response:
    """What stands in the form, unless somebody else saved meanwhile."""
    return await _save(request, await form(request), parse_id(request.path_params["campaign_id"]))


async def _save(request: Request, fields: Fields, campaign_id: str) -> Response:
    typed = Typed.read(fields)
    try:
        seen = writing.parse_seen(fields.get("updated_at") or None)
        stored = await ground(request).look(overview.row, campaign_id)
        await desk.change(request, campaign_id, await _wish(typed, stored), seen=seen)
    except Refused as refused:
        return await _not_saved(request, typed, refused, campaign_id)
    return await _saved(request, fields, typed, campaign_id)


async def _wish(typed: Typed, stored: Any) -> Wish:
    """What to store of the form; what is scheduled goes out as it is saved, so it must be complete."""
    is_scheduled = stored and stored.state == State.SCHEDULED
    if is_scheduled and not typed.has_whole_audience:
        raise Refused(NO_VALUE)
    parse = Wish.parse if is_scheduled else Wish.parse_draft
    wish = parse(typed.sent(), now=clock.now())
    if typed.switches_to is None:
        return wish
    switched = await _switched(typed, stored.body_markdown if stored else None)
    return replace(wish, columns={**wish.columns, **switched._asdict()})


async def _switched(typed: Typed, markdown: str | None) -> Switched:
    """What was typed, in the format that its author switched to."""
    if typed.switches_to is None:
        return Switched(typed.body, markdown)
    return await asyncio.to_thread(switch, typed.body, to=typed.switches_to, markdown=markdown)


def _id_to_be(request: Request, fields: Fields) -> str | None:
    """The id that the page proposed, from its script: only that tries again by itself."""
    try:
        return str(UUID(fields.get("id_to_be"))) if is_script(request) else None
    except ValueError:
        return None


async def _is_made(request: Request, campaign_id: str) -> bool:
    try:
        await ground(request).look(overview.row, campaign_id)
    except NotFound:
        return False
    return True


async def show_unsaved(request: Request) -> Response:
    """What stands in the form as a reader would see it; nothing is saved."""
    lang = language_of(request)
    if request.method != "POST":
        nothing = templates.get_template("admin/campaign_nothing.html").render(lang=lang, theme=theme_of(request))
        return HTMLResponse(nothing, headers=sandboxed(PICTURES))
    fields = await form(request)
    typed = Typed.read(fields)
    try:
        shown = replace(typed, attributes=[], body=(await _switched(typed, None)).body)
        # Half a campaign can be looked at too.
        said = {name: value for name, value in shown.sent().items() if value != ""}
        wish = Wish.parse_draft(said, now=clock.now())
        draft = writing.draft_of(wish.columns, ground(request).frame)
        by = Reader(nickname=parse_nickname(fields.get("nickname")) or "")
        seen = await asyncio.to_thread(preview.seen, draft, ground(request).frame, by)
    except Refused as refused:
        return PlainTextResponse(f"{in_words(str(refused), lang)}.", 400, headers=sandboxed(PICTURES))
    if fields.get("format") == "text":
        return PlainTextResponse(seen.text, headers=sandboxed(PICTURES))
    return HTMLResponse(seen.html, headers=sandboxed(PICTURES))


async def _form(
    request: Request, typed: Typed, *, campaign: Mapping[str, Any] | None, problem: str | None = None, status: int = 200
) -> Response:
    found = await findings(request, campaign, typed) if campaign else []
    known = await ground(request).look(lists.known)
    return screen(
        request,
        "campaign_compose.html",
        status=status,
        typed=typed,
        campaign=campaign,
        id_to_be=ids.new(),
        problem=problem,
        findings=found,
        lists=known if typed.list_key in ("", *known) else [*known, typed.list_key],
        **dialogs(request, campaign),
    )


async def findings(request: Request, campaign: Mapping[str, Any], typed: Typed) -> Sequence[Finding]:
    """What to mend before it is sent: in the stored campaign, and in the audience as typed."""
    frame = ground(request).frame
    stored = await asyncio.to_thread(check, writing.draft_of(campaign, frame), frame)
    return stored if typed.has_whole_audience else [HALF_AUDIENCE, *stored]


async def _saved(request: Request, fields: Fields, typed: Typed, campaign_id: str) -> Response:
    is_partly_saved = not typed.has_whole_audience
    if is_script(request):
        campaign = await ground(request).look(overview.get, campaign_id)
        stored = Typed.of(campaign)
        # A switched format changes the body, and a changed body the text part that a feed wrote.
        renewed = {
            name: getattr(stored, name)
            for name in ("body", "body_text")
            if getattr(stored, name) != getattr(typed, name)
        }
        found = await findings(request, campaign, typed)
        shown = templates.get_template("admin/campaign_checks.html").render(findings=found, lang=language_of(request))
        blocked = any(one.level is Level.ERROR for one in found)
        return JSONResponse(
            {
                "id": campaign_id,
                "updated_at": campaign["updated_at"],
                "checks": shown,
                "blocked": blocked,
                "partly": is_partly_saved,
                "renewed": renewed,
            }
        )
    if is_partly_saved:
        return await _partly_saved(request, typed, campaign_id)
    if (step := fields.get("next")) in STEPS:
        return go(f"{HOME}/{campaign_id}/{Step(step)}")
    return go(f"{HOME}/{campaign_id}", N_("Saved."))


async def _partly_saved(request: Request, typed: Typed, campaign_id: str) -> Response:
    """The form as it is stored, with the audience as typed; no step follows until it is whole."""
    campaign = await ground(request).look(overview.get, campaign_id)
    shown = replace(Typed.of(campaign), list_key=typed.list_key, attributes=typed.attributes)
    problem = f"{translated(PARTLY_SAVED, language_of(request))}."
    return await _form(request, shown, campaign=campaign, problem=problem, status=400)


async def _not_saved(request: Request, typed: Typed, refused: Refused, campaign_id: str | None) -> Response:
    """The form again with all that was typed, and what to do now."""
    lang, campaign = language_of(request), None
    if campaign_id and not isinstance(refused, NotFound):
        campaign = await ground(request).look(overview.get, campaign_id)
    if isinstance(refused, Changed):
        problem = translated(OVERWRITTEN, lang)
    elif campaign_id and isinstance(refused, NotFound | NotAllowedNow):
        problem, campaign = translated(TOO_LATE, lang), None
    else:
        problem = f"{in_words(str(refused), lang)}."
    status = 409 if isinstance(refused, NotFound | NotAllowedNow) else 400
    if is_script(request):
        theirs = {"updated_at": campaign["updated_at"]} if campaign and isinstance(refused, Changed) else {}
        return JSONResponse({"error": problem, "gone": bool(campaign_id and not campaign), **theirs}, status)
    return await _form(request, typed, campaign=campaign, problem=problem, status=status)


routes = [
    Route(HOME, create, methods=["POST"]),
    Route(f"{HOME}/new", new),
    Route(f"{HOME}/preview", show_unsaved, methods=["GET", "POST"]),
    Route(f"{HOME}/{{campaign_id}}", show),
    Route(f"{HOME}/{{campaign_id}}", save, methods=["POST"]),
]
