"""The way to the pages of the admin; they are imported when somebody opens the first one."""

from typing import cast

from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

METHODS = "gna.methods"


class Late(BaseRoute):
    """Stands for all of these pages: a server that nobody looks at needs no memory for them."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """The page with this address, and else one that knows the address but not the method."""
        path = scope["path"] if scope["type"] == "http" else ""
        if path != "/admin" and (not path.startswith("/admin/") or path.startswith("/admin/api/")):
            return Match.NONE, {}
        from gna.web.pages.admin.routes import ROUTES

        fitting = []
        for route in ROUTES:
            match, child = route.matches(scope)
            if match is Match.FULL:
                return match, {**child, "route": route}
            if match is Match.PARTIAL:
                fitting.append(route)
        if not fitting:
            return Match.NONE, {}
        return Match.PARTIAL, {
            "route": fitting[0],
            METHODS: {method for route in fitting for method in route.methods or ()},
        }

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the page answer, or say which methods its address knows."""
        if METHODS in scope:
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(scope[METHODS]))})
        await cast(Route, scope["route"]).handle(scope, receive, send)
