"""The way to the pages of the admin; they are imported when somebody opens the first one."""

from typing import cast

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send


class Late(BaseRoute):
    """Stands for all of these pages: a server that nobody looks at needs no memory for them."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """The page with this address, and else one that knows the address but not the method."""
        path = scope["path"] if scope["type"] == "http" else ""
        if path != "/admin" and (not path.startswith("/admin/") or path.startswith("/admin/api/")):
            return Match.NONE, {}
        from gna.web.pages.admin.routes import ROUTES

        found = [(match, {**child, "route": route}) for route in ROUTES for match, child in [route.matches(scope)]]
        return max(found, key=lambda one: one[0].value, default=(Match.NONE, {}))

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the page answer."""
        await cast(Route, scope["route"]).handle(scope, receive, send)
