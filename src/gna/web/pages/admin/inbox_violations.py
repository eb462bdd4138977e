"""Who kept sending after one had unsubscribed, and the evidence to take away."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.engine import Connection
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from gna.db import timed
from gna.inbox import violations
from gna.web import charts
from gna.web.desk import inbox as desk
from gna.web.ground import ground
from gna.web.language import language_of, translated
from gna.web.pages.admin.inbox_words import WORDS
from gna.web.pages.admin.shell import N_, screen

PLACE = "/admin/inbox/violations"
RECENT, DRAWN = 7, 30
BY_DAY, MAILS = N_("Mails after unsubscribing, by day"), N_("Mails")


async def show(request: Request) -> Response:
    """The offenders, and how much came by day."""
    found = await ground(request).look(timed(_look))
    lang = language_of(request)
    days = [(day, (number,)) for day, number in found["days"]]
    drawn = charts.bars(days, series=(translated(MAILS, lang),), label=translated(BY_DAY, lang), language=lang)
    periods: dict[str, Any] = {"recent_days": RECENT, "drawn_days": DRAWN}
    return screen(request, "inbox_violations.html", it=found["summary"], drawn=drawn, **periods, **WORDS)


async def as_csv(request: Request) -> Response:
    """The evidence for a spreadsheet."""
    return await _file(request, violations.as_csv, "violations.csv", "text/csv; charset=utf-8")


async def as_json(request: Request) -> Response:
    """The evidence for a program."""
    return await _file(request, violations.as_json, "violations.json", "application/json")


def _look(tx: Connection, *, now: datetime) -> dict[str, Any]:
    counted = violations.by_day(tx, days=DRAWN, now=now)
    days = [now.astimezone(UTC).date() - timedelta(days=ago) for ago in reversed(range(DRAWN))]
    return {
        "summary": violations.summary(tx, days=RECENT, now=now),
        "days": [(day, counted.get(day, 0)) for day in days],
    }


async def _file(request: Request, written: desk.Written, name: str, kind: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(await desk.evidence(request, written), media_type=kind, headers=headers)


routes = [
    Route(PLACE, show),
    Route(f"{PLACE}.csv", as_csv),
    Route(f"{PLACE}.json", as_json),
]
