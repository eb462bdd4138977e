"""Who may enter `/admin`. Closed unless the operator opened it on their own machine."""

import ipaddress
import re
from urllib.parse import urlsplit

from fastapi import Request, Response
from starlette.datastructures import Address
from starlette.types import ASGIApp, Receive, Scope, Send

from gna.config import Settings
from gna.errors import Misconfigured
from gna.web.errors import answer, reply
from gna.web.identity import DEVELOPER, introduce

# A request with one of these came through a proxy, so its visitor may be anybody.
FORWARDED = re.compile(
    r"forwarded|via|x-forwarded-.*|x-original-.*|x-real-ip|.*-client-ip|cf-.*|cdn-.*|fly-.*|tailscale-.*"
)
LOOPBACK = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?")
CLOSED = "/admin is closed: sign-in by Cloudflare Access is not part of this version yet"


class AdminGate:
    """ASGI middleware in front of everything under `/admin`, known page or not."""

    def __init__(self, app: ASGIApp, *, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request pass, or answer why not."""
        if scope["type"] != "http" or not _is_admin(scope["path"]):
            await self._app(scope, receive, send)
        else:
            introduce(scope, DEVELOPER)
            way = await self._refusal(Request(scope)) or self._app
            await way(scope, receive, send)

    async def _refusal(self, request: Request) -> Response | None:
        """The answer to somebody who may not enter, or None."""
        if not self._settings.disable_auth:
            return await answer(request, Misconfigured(CLOSED))
        if self._settings.on_loopback and not is_local(request):
            return reply(403, "Without sign-in, /admin answers only to a browser on this machine")
        if request.method not in ("GET", "HEAD", "OPTIONS") and is_cross_site(request):
            return reply(403, "Another site must not change anything here")
        return None


def is_local(request: Request) -> bool:
    """Whether the visitor sits at this machine, whatever a proxy or a forged DNS name makes it look like.

    A page elsewhere can point its own name at 127.0.0.1, but then the Host header still carries that name.
    """
    if any(FORWARDED.fullmatch(name) for name in request.headers):
        return False
    hosts = request.headers.getlist("host")
    return _is_loopback(request.client) and len(hosts) == 1 and LOOPBACK.fullmatch(hosts[0]) is not None


def is_cross_site(request: Request) -> bool:
    """Whether a page of another site made the browser send this; programs send neither header."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host")


def _is_admin(path: str) -> bool:
    return path == "/admin" or path.startswith("/admin/")


def _is_loopback(client: Address | None) -> bool:
    try:
        return client is not None and ipaddress.ip_address(client.host).is_loopback
    except ValueError:
        return False
