"""The outermost layer: a request id, limits, headers, one log line and one measurement for every request."""

import asyncio
import re
import time
from collections.abc import MutableMapping
from typing import Any

import structlog
from python_multipart.multipart import parse_options_header
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gna import ids, log, metrics
from gna.web.errors import answer
from gna.web.protocol import body_deadline

logger = log.get(__name__)

# Anyone may send these: a megabyte of JSON or of a form would hold the event loop for half a second.
MAX_PUBLIC_BODY = 64 * 1024
MAX_BODY = 1024 * 1024
# Admins write campaigns; hubs send whole feeds, of which only a digest is computed.
LARGE_BODIES = ("/admin/", "/api/feed/webhook")
# The addresses that take files, behind the gate of the admins.
UPLOADS = ("/admin/api/subscribers/import", "/admin/import")
MAX_UPLOAD = 256 * 1024 * 1024
# Parsing the parameters of a type costs a microsecond for each of its semicolons, on the event loop.
MAX_TYPE = 1024
# Apache's limit on a request line, too.
MAX_URL = 8 * 1024
# Charsets that are decoded in linear time. Python has others: 64 kB of `punycode` hold the event loop for 0.5 s.
SAFE_CHARSET = re.compile(r"utf-?8|(us-)?ascii|latin-?1|iso-?8859-\d{1,2}|(windows-|cp)125\d", re.IGNORECASE)
# Python before 3.11.10 takes quadratic time to read the escapes in a cookie (CVE-2024-7592), and pages of the
# dashboard read cookies. Ours have no escapes: longer cookies that have some are ignored.
MAX_ESCAPED_COOKIE = 1024
TOO_SLOW = "The body did not come in time"
# The rest of a refused body is not waited for.
CLOSE = {"Connection": "close"}
HEAD = "gna.head"
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
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
        scope = _without_costly_cookies(scope)
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
            _check_url(scope)
            _check_content_type(scope)
            limited = _limited(receive, _largest_body(scope["path"]), _announced_length(scope))
            await self._app(scope, limited, send_dressed)
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


def _check_url(scope: Scope) -> None:
    """Refuse control characters, and addresses that take long to split.

    30,000 folders or parameters cost 40 to 230 ms.
    """
    # The pattern of a route ends with `$`, which fits before a line break too: `/docs%0A` would be `/docs`.
    if CONTROL.search(scope["path"]):
        raise HTTPException(404)
    if len(scope["path"]) + len(scope["query_string"]) > MAX_URL:
        raise HTTPException(414, f"The address is longer than {MAX_URL // 1024} kB", CLOSE)


def _check_content_type(scope: Scope) -> None:
    types = [value for name, value in scope["headers"] if name == b"content-type"]
    if sum(map(len, types)) > MAX_TYPE:
        raise HTTPException(415, f"The Content-Type is longer than {MAX_TYPE} bytes")
    for value in types:
        # The parser that reads forms, so that both find the same charset.
        _, parameters = parse_options_header(value)
        charset = (parameters.get(b"charset") or b"utf-8").decode("latin-1")
        if not SAFE_CHARSET.fullmatch(charset):
            raise HTTPException(400, "This charset is not read here; send UTF-8")


def _without_costly_cookies(scope: Scope) -> Scope:
    cookies = [value for name, value in scope["headers"] if name == b"cookie"]
    is_costly = any(b"\\" in value for value in cookies) and sum(map(len, cookies)) > MAX_ESCAPED_COOKIE
    if not is_costly:
        return scope
    kept = [header for header in scope["headers"] if header[0] != b"cookie"]
    return {**scope, "headers": kept}


def _largest_body(path: str) -> int:
    if path in UPLOADS:
        return MAX_UPLOAD
    return MAX_BODY if path.startswith(LARGE_BODIES) else MAX_PUBLIC_BODY


def _announced_length(scope: Scope) -> int:
    length = dict(scope["headers"]).get(b"content-length", b"0").lstrip(b"0")
    return int(length[:20]) if length.isdigit() else 0


def _too_large(most: int) -> str:
    return f"The body is larger than {most // 1024} kB"


def _limited(receive: Receive, most: int = MAX_BODY, announced: int = 0) -> Receive:
    """Bound a body's size, and the time in which it must come. After its end, only a disconnect can follow."""
    received = 0
    is_complete = False
    began: float | None = None

    async def counted() -> Message:
        nonlocal received, is_complete, began
        if announced > most:
            # Raised here, inside CORS, so that a site that may call us can read the answer.
            raise HTTPException(413, _too_large(most), CLOSE)
        began = began or asyncio.get_running_loop().time()
        deadline = None if is_complete else body_deadline(began, received)
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, TOO_SLOW, CLOSE) from None
        received += len(message.get("body", b""))
        is_complete = not message.get("more_body", False)
        if received > most:
            raise HTTPException(413, _too_large(most), CLOSE)
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
