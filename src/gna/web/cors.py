"""Which other sites may call the sign-up API from a browser. Nothing under `/admin` is ever among it."""

from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gna.web.errors import reply

OPEN = ("/api/subscribe", "/api/unsubscribe", "/api/profile/")
EXPOSED = "Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, X-Request-ID"
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type, Accept",
    "Access-Control-Max-Age": "7200",
}


class Cors:
    """ASGI middleware; its headers are on every answer of an open address, errors included."""

    def __init__(self, app: ASGIApp, *, origins: Collection[str]) -> None:
        self._app = app
        self._origins = {origin.lower() for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight, or add the headers to the answer."""
        if scope["type"] != "http" or not scope["path"].startswith(OPEN):
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        allowed = self._allowed(headers.get("origin"))

        async def send_dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                dressed = MutableHeaders(scope=message)
                if self._origins and "*" not in self._origins:
                    dressed.add_vary_header("Origin")
                if allowed:
                    dressed["Access-Control-Allow-Origin"] = allowed
                    dressed["Access-Control-Expose-Headers"] = EXPOSED
            await send(message)

        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            answer = Response(None, 204, PREFLIGHT) if allowed else reply(403, "This origin is not in CORS_ORIGINS")
            return await answer(scope, receive, send_dressed)
        return await self._app(scope, receive, send_dressed)

    def _allowed(self, origin: str | None) -> str | None:
        if origin is None:
            return None
        if "*" in self._origins:
            return "*"
        return origin if origin.lower() in self._origins else None
