"""Every error that leaves is `{"error": "<reason>"}`."""

import math
from collections.abc import Mapping
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gna import log
from gna.errors import (
    DatabaseAway,
    GnaError,
    Misconfigured,
    NotAllowedNow,
    NotFound,
    NotLetIn,
    Refused,
    UnsupportedType,
)
from gna.web.pages.admin.trouble import is_admin_page, trouble
from gna.web.pages.render import is_page, page, wants_html

logger = log.get(__name__)

LATER = {"Retry-After": "5"}
# A browser shows these in its address bar after a form, and opens them again when its person presses Enter there.
FORMS_SENT_TO = ("/api/subscribe", "/api/profile/request-link", "/api/profile/update")
# The most particular first: the first class that fits decides.
STATUS: tuple[tuple[type[GnaError], int], ...] = (
    (NotLetIn, 401),
    (NotFound, 404),
    (NotAllowedNow, 409),
    (UnsupportedType, 415),
    (Refused, 400),
    (DatabaseAway, 503),
    (Misconfigured, 500),
)


def install(app: Starlette) -> None:
    """Answer every error in the one shape; whatever is not listed here, the edge hands to `answer`."""
    for kind in (GnaError, HTTPException):
        app.add_exception_handler(kind, answer)


async def answer(request: Request, error: Exception) -> Response:
    """The one handler."""
    status = _status(error)
    if status >= 500 and not isinstance(error, HTTPException):
        # The reason is for the operator; a stranger learns only that it is not their fault.
        logger.error("request refused" if isinstance(error, GnaError) else "request failed", exc_info=error)
    if is_admin_page(request) and not isinstance(error, Misconfigured):
        return trouble(request, status, _reason(error) if status < 500 else "", _headers(error))
    if isinstance(error, HTTPException):
        return _of_http(request, error)
    if isinstance(error, GnaError):
        return _of_ours(request, error, status)
    return reply(status, _reason(error) if status < 500 else "Internal server error")


def reply(status: int, reason: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An error in the shape that every client can rely on."""
    return JSONResponse({"error": reason}, status, dict(headers or {}))


def _status(error: Exception) -> int:
    if isinstance(error, HTTPException):
        return error.status_code
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def _reason(error: Exception) -> str:
    if isinstance(error, HTTPException):
        return _http_reason(error)
    return str(error)


def _headers(error: Exception) -> Mapping[str, str] | None:
    """What a program that gets the page needs to know besides."""
    if isinstance(error, HTTPException):
        return error.headers
    return LATER if isinstance(error, DatabaseAway) else None


def _of_http(request: Request, error: HTTPException) -> Response:
    if error.status_code == 429 and is_page(request):
        wait = int((error.headers or {})["Retry-After"])
        return page(request, "too_many.html", status=429, headers=error.headers, minutes=math.ceil(wait / 60))
    if wants_html(request) and (error.status_code == 404 or request.url.path in FORMS_SENT_TO):
        return page(request, "not_found.html", status=error.status_code, headers=error.headers)
    return reply(error.status_code, _http_reason(error), error.headers)


def _of_ours(request: Request, error: GnaError, status: int) -> Response:
    if status in (400, 404) and request.method == "GET" and is_page(request):
        return page(request, "not_found.html", status=status)
    if status < 500:
        return reply(status, str(error))
    if status == 503 and is_page(request):
        return page(request, "try_later.html", status=503, headers=LATER)
    if status == 503:
        return reply(503, "Service temporarily unavailable", LATER)
    return reply(500, "Server misconfiguration" if isinstance(error, Misconfigured) else "Internal server error")


def _http_reason(error: HTTPException) -> str:
    """Starlette says `Not Found`; a reason of our own is kept."""
    phrase = HTTPStatus(error.status_code).phrase
    return error.detail if error.detail != phrase else phrase.capitalize()
