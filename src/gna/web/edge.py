"""The outermost layer: a request id, limits, headers, one log line and one measurement for every request."""

import asyncio
import re
import time
from collections.abc import MutableMapping
from typing import Any

import structlog
from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gna import ids, log, metrics
from gna.web.errors import answer

logger = log.get(__name__)

MAX_BODY = 1024 * 1024
# The addresses that take files, behind the gate of the admins.
UPLOADS, MAX_UPLOAD = ("/admin/api/subscribers/import", "/admin/import"), 256 * 1024 * 1024
BODY_WITHIN = 30
TOO_SLOW = f"The body did not come within {BODY_WITHIN} seconds"
HEAD = "gna.head"
# What nginx writes for a visitor who left before the answer.
GONE = 499
QUIET = ("/health", "/healthz", "/metrics", "/static")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# For a page with a publisher's pictures, which are wherever they like.
POLICY_WITH_PICTURES = POLICY.replace("img-src 'self' data:", "img-src 'self' data: https: http:")
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Links carry tokens: no other site learns our addresses from a click.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Edge:
    """ASGI middleware, plain so that it costs nothing and streams."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self._app = app
        self._headers = HEADERS | ({"Strict-Transport-Security": "max-age=31536000"} if https else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request from its first byte to its log line."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began, request_id = time.perf_counter(), _request_id(scope)
        # A HEAD is answered as a GET without its body; links that act look whether it was one.
        head = scope["method"] == "HEAD"
        if head:
            scope = {**scope, "method": "GET", HEAD: True}
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        answered = _Answered()

        async def send_dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered.status = message["status"]
                self._dress(message, request_id, "no-cache" if _is_static(scope) else "no-store")
            elif head:
                message = {**message, "body": b""}
            await send(message)

        try:
            most = MAX_UPLOAD if scope["path"] in UPLOADS else MAX_BODY
            announced = _announced_length(scope)
            await self._app(scope, _limited(receive, most, announced), send_dressed)
        except ClientDisconnect:
            pass  # nobody is left to answer
        except Exception as error:
            if answered.status:
                raise  # too late to say anything better than a broken connection
            await (await answer(Request(scope), error))(scope, receive, send_dressed)
        finally:
            _record(scope, answered.status or GONE, time.perf_counter() - began)

    def _dress(self, message: MutableMapping[str, Any], request_id: str, cache: str) -> None:
        headers = MutableHeaders(scope=message)
        headers["X-Request-ID"] = request_id
        headers.setdefault("Cache-Control", cache)
        for name, value in self._headers.items():
            headers.setdefault(name, value)


def is_head(scope: Scope) -> bool:
    """Whether the visitor sent HEAD, and only looks."""
    return bool(scope.get(HEAD))


class _Answered:
    """The status that was sent, 0 before."""

    status = 0


def _is_static(scope: Scope) -> bool:
    return bool(scope["path"].startswith("/static/"))


def _request_id(scope: Scope) -> str:
    """A proxy's id if it looks like one, so that its logs and ours can be put side by side."""
    given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
    return given if re.fullmatch(r"[A-Za-z0-9._-]{8,64}", given) else ids.new()


def _announced_length(scope: Scope) -> int:
    length = dict(scope["headers"]).get(b"content-length", b"0").lstrip(b"0")
    return int(length[:20]) if length.isdigit() else 0


def _too_large(most: int) -> str:
    return f"The body is larger than {most // 1024} kB"


def _limited(receive: Receive, most: int = MAX_BODY, announced: int = 0) -> Receive:
    """A body is counted as it comes, and must come; after its end there is only the visitor's leaving to wait for."""
    received, complete = 0, False

    async def counted() -> Message:
        nonlocal received, complete
        if announced > most:
            # Said inside, so that a site that may call us can read it; the rest of the body is not waited for.
            raise HTTPException(413, _too_large(most), {"Connection": "close"})
        try:
            async with asyncio.timeout(None if complete else BODY_WITHIN):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, TOO_SLOW) from None
        received += len(message.get("body", b""))
        complete = not message.get("more_body", False)
        if received > most:
            raise HTTPException(413, _too_large(most))
        return message

    return counted


def _record(scope: Scope, status: int, seconds: float) -> None:
    """The route's pattern stands for the address, which may hold a token or a name."""
    route = getattr(scope.get("route"), "path", None) or ("/static" if _is_static(scope) else "unknown")
    asked = "HEAD" if is_head(scope) else scope["method"]
    method = asked if asked in ("GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS") else "other"
    metrics.requests.labels(method, route, status).observe(seconds)
    write = logger.debug if route in QUIET and status < 400 else logger.info
    write("request", method=method, route=route, status=status, ms=round(seconds * 1000, 1))
