"""The subscriptions in one's own mail: find them, keep them, and look through a mailbox again."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gna.errors import Refused
from gna.inbox import accounts, methods, subscriptions
from gna.inbox.table import s
from gna.inbox.ways import Way
from gna.web.body import parse_number
from gna.web.desk import inbox as desk
from gna.web.ground import ground
from gna.web.pages.admin import inbox_one, inbox_violations
from gna.web.pages.admin.inbox_words import KINDS, STATES, WORDS, state_of
from gna.web.pages.admin.shell import N_, NN_, back, beyond, form, go, paging, screen
from gna.web.paging import Paging

LIST = "/admin/inbox"
SEARCH_MAX = 200
# How the states of the page are asked for.
ASKED: dict[str, dict[str, Any]] = {
    "": {},
    "active": {"kept": False, "status": "active"},
    "kept": {"kept": True},
    "unsubscribed": {"status": "unsubscribed"},
    "sending": {"status": "unsubscribed", "violating": True},
}
ORDERS = ("", "newest")
KEPT = NN_("%(num)d subscription is kept.", "%(num)d subscriptions are kept.")
UNKEPT = NN_("%(num)d subscription is no longer kept.", "%(num)d subscriptions are no longer kept.")
BEGUN = N_("The scan has begun. You can leave this page: it goes on.")


@dataclass(frozen=True)
class Wanted:
    """What the address asks for."""

    q: str
    kind: str
    state: str
    sort: str

    @classmethod
    def parse(cls, asked: QueryParams) -> Self:
        """A kind, a state or an order that there is not is refused."""
        found = cls(asked.get("q", "").strip(), *(asked.get(name, "") for name in ("kind", "state", "sort")))
        if found.kind not in ("", *KINDS):
            raise Refused(f"kind must be one of {', '.join(KINDS)}")
        if found.state not in ASKED:
            raise Refused(f"state must be one of {', '.join(STATES)}")
        if found.sort not in ORDERS:
            raise Refused("sort must be newest")
        if len(found.q) > SEARCH_MAX or "\0" in found.q:
            raise Refused("What to look for must be at most 200 characters of text")
        return found

    @property
    def is_filtered(self) -> bool:
        """Whether there may be others."""
        return bool(self.q or self.kind or self.state)


async def show_all(request: Request) -> Response:
    """The mailboxes and one page of what was found in them."""
    here, wanted, pages = ground(request), Wanted.parse(request.query_params), paging(request)
    found = await here.look(_look, wanted, pages, here.settings.inbox_allow_private_hosts)
    if elsewhere := beyond(request, pages, found["total"]):
        return elsewhere
    runs = desk.scans(request)
    is_running = any(runs[one["id"]].is_running for one in found["accounts"] if one["id"] in runs)
    values: dict[str, Any] = {"wanted": wanted, "paging": pages, "runs": runs, "is_running": is_running}
    return screen(request, "inbox.html", **found, **values, **WORDS)


async def change_some(request: Request) -> Response:
    """Keep those that were chosen, or keep them no more."""
    fields = await form(request)
    chosen = list(dict.fromkeys(map(parse_number, fields.all("id"))))
    if fields.get("do") == "unkeep":
        await desk.unkeep(request, chosen)
        return go(back(request), UNKEPT, num=len(chosen))
    await desk.keep(request, chosen)
    return go(back(request), KEPT, num=len(chosen))


async def scan(request: Request) -> Response:
    """Look through a mailbox, aside."""
    await desk.scan(request, parse_number(request.path_params["account_id"]))
    return go(LIST, BEGUN)


def _look(tx: Connection, wanted: Wanted, pages: Paging, allowed: Collection[str]) -> dict[str, Any]:
    some = subscriptions.Wanted(
        kind=wanted.kind or None, q=wanted.q, newest_first=wanted.sort == "newest", **ASKED[wanted.state]
    )
    rows, total = subscriptions.listed(tx, some, page=pages.page, per_page=pages.per_page)
    unsafe = _unsafe(tx, [row["id"] for row in rows], allowed)
    shown = [row | {"state": state_of(row), "unsafe": row["id"] in unsafe} for row in rows]
    return {
        "accounts": accounts.listed(tx),
        "figures": subscriptions.stats(tx),
        "subscriptions": shown,
        "total": total,
    }


def _unsafe(tx: Connection, some: Sequence[int], allowed: Collection[str]) -> set[int]:
    """Those whose best way out must not be used."""
    rows = tx.execute(sa.select(s.id, s.ways).where(s.id.in_(some)))
    best = {row.id: Way.restored(row.ways[0]) for row in rows if row.ways}
    return {number for number, way in best.items() if not methods.rejudged(way, allowed=allowed).safe}


routes = [
    Route(LIST, show_all),
    Route(f"{LIST}/some", change_some, methods=["POST"]),
    Route(f"{LIST}/accounts/{{account_id}}/scan", scan, methods=["POST"]),
    *inbox_violations.routes,
    *inbox_one.routes,
]
