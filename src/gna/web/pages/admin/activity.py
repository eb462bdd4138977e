"""Who did what, newest first."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gna import activity
from gna.campaigns.table import campaigns
from gna.feeds.table import feeds
from gna.inbox.table import subscriptions
from gna.subscribers.imports import imports
from gna.web.ground import ground
from gna.web.pages.admin.shell import N_, beyond, paging, screen

# What a verb is about, by its first word, and where it is shown.
PLACES = {
    "campaign": (campaigns, "/admin/campaigns/{}"),
    "delivery": (campaigns, "/admin/campaigns/{}"),
    "feed": (feeds, "/admin/feeds/{}"),
    "import": (imports, "/admin/import/{}"),
    "inbox": (subscriptions, "/admin/inbox/{}"),
}
AREAS = (
    ("", N_("Everything")),
    ("campaigns", N_("Campaigns")),
    ("subscribers", N_("Subscribers")),
    ("feeds", N_("Feeds")),
    ("letters", N_("Letters")),
    ("inbox", N_("Inbox")),
)


async def show(request: Request) -> Response:
    """The activity, of all or of one person."""
    number, asked = paging(request, "50"), request.query_params
    chosen = {"who": asked.get("who", ""), "area": asked.get("area", "")}
    entries, total = await ground(request).look(_look, page=number.page, per_page=number.per_page, **chosen)
    if elsewhere := beyond(request, number, total):
        return elsewhere
    return screen(request, "activity.html", entries=entries, total=total, paging=number, areas=AREAS, chosen=chosen)


def _look(tx: Connection, /, **asked: Any) -> tuple[list[dict[str, Any]], int]:
    entries, total = activity.newest(tx, **asked)
    there = {table: _there(tx, table, entries) for table, _ in PLACES.values()}
    return [entry | {"href": _href(entry, there)} for entry in entries], total


def _there(tx: Connection, table: sa.Table, entries: Iterable[dict[str, Any]]) -> set[str]:
    """Those of the things that have not been deleted since."""
    targets = {entry["target"] for entry in entries if entry["target"]}
    # Some have numbers for ids; what is noted is text.
    its_id = sa.cast(table.c.id, sa.Text) if isinstance(table.c.id.type, sa.Integer) else table.c.id
    return set(tx.scalars(sa.select(its_id).where(its_id.in_(targets))))


def _href(entry: dict[str, Any], there: dict[sa.Table, set[str]]) -> str | None:
    table, place = PLACES.get(entry["verb"].partition("_")[0], (None, ""))
    return place.format(entry["target"]) if table is not None and entry["target"] in there[table] else None


routes = [Route("/admin/activity", show)]
