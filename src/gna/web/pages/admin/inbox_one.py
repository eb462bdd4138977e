"""One subscription in one's own mail: why it is one, how to leave it, what was tried, and what came afterwards."""

from typing import Any

from sqlalchemy.engine import Connection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gna.config import Settings
from gna.inbox import subscriptions, violations
from gna.inbox.method import What
from gna.inbox.unsubscribe import Result, plan
from gna.web.body import parse_number
from gna.web.desk import inbox as desk
from gna.web.ground import ground
from gna.web.language import language_of, translated
from gna.web.pages.admin.inbox_reasons import in_words
from gna.web.pages.admin.inbox_words import OUTCOMES, WORDS, state_of
from gna.web.pages.admin.shell import N_, form, go, screen

ONE = "/admin/inbox/{subscription_id}"
# How many of the mails that came afterwards are shown; the reports have all.
MOST = 50
KEPT = N_("It is kept: Gna never unsubscribes you from it.")
UNKEPT = N_("It is no longer kept.")
DONE, HOPED = N_("Unsubscribed. %(what)s"), "%(what)s"
FAILED = N_("It did not work: %(why)s %(what)s")


async def show(request: Request) -> Response:
    """One subscription."""
    here = ground(request)
    found = await here.look(_look, _id(request), here.settings)
    return screen(request, "inbox_one.html", **found, **WORDS)


async def keep(request: Request) -> Response:
    """Protect it from being left."""
    await desk.keep(request, [_id(request)])
    return go(_place(request), KEPT)


async def unkeep(request: Request) -> Response:
    """Protect it no more."""
    await desk.unkeep(request, [_id(request)])
    return go(_place(request), UNKEPT)


async def unsubscribe(request: Request) -> Response:
    """Leave it, and say honestly what became of that."""
    fields = await form(request)
    result = await desk.unsubscribe(request, _id(request), seen=(fields.text("method"), fields.text("url")))
    said, values = told(result, language_of(request))
    return go(_place(request), said, bad=result.status != "success", **values)


def told(result: Result, lang: str) -> tuple[str, dict[str, str]]:
    """What became of it, as a message and what fills it."""
    _, _, meaning = OUTCOMES.get(result.outcome or "", ("", "", ""))
    what = translated(meaning, lang) if meaning else ""
    if result.status == "success":
        return DONE if result.outcome == What.ACCEPTED else HOPED, {"what": what}
    return FAILED, {"why": f"{in_words(result.message, lang).rstrip('.')}.", "what": what}


def _look(tx: Connection, subscription_id: int, settings: Settings) -> dict[str, Any]:
    it = subscriptions.show(tx, subscription_id, allowed=settings.inbox_allow_private_hosts)
    way, reason = plan(tx, settings, subscription_id)
    return {
        "it": it | {"state": state_of(it)},
        "way": way,
        "why_not": reason,
        "later": violations.latest(tx, subscription_id, most=MOST),
    }


def _id(request: Request) -> int:
    return parse_number(request.path_params["subscription_id"])


def _place(request: Request) -> str:
    return ONE.format(subscription_id=_id(request))


routes = [
    Route(ONE, show),
    Route(f"{ONE}/keep", keep, methods=["POST"]),
    Route(f"{ONE}/unkeep", unkeep, methods=["POST"]),
    Route(f"{ONE}/unsubscribe", unsubscribe, methods=["POST"]),
]
