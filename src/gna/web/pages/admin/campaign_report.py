"""How a campaign goes, and what became of it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from gna import clock
from gna.delivery.mailings import KEEP_FAILED
from gna.web.language import language_of
from gna.web.pages.admin.campaign_words import lasted, standing
from gna.web.pages.admin.shell import screen
from gna.web.pages.admin.words import moment_of


def report(request: Request, campaign: Mapping[str, Any]) -> Response:
    """The sums, as they are now; a script keeps them moving."""
    [delivery] = campaign["deliveries"]
    started, finished = _moment(delivery["started_at"]), _moment(delivery["finished_at"])
    end = finished or clock.now()
    seconds = (end - started).total_seconds() if started else 0
    return screen(
        request,
        "campaign_report.html",
        campaign=campaign,
        delivery=delivery,
        state=standing(campaign),
        lasted=lasted(started, end, language_of(request)) if started else None,
        rate=campaign["sent_count"] / seconds if seconds else 0,
        retry_until=finished + KEEP_FAILED if finished else None,
    )


def _moment(value: str | None) -> datetime | None:
    return moment_of(value) if value else None
