"""Who may enter `/admin`: whoever signed in, or on the operator's own machine whoever sits there."""

import ipaddress
import re
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Address
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gna import clock, log
from gna.config import Settings
from gna.web.access import Access, Refusal
from gna.web.errors import LATER, reply
from gna.web.identity import DEVELOPER, Identity, introduce
from gna.web.pages.render import page, wants_html

logger = log.get(__name__)

PORTS = {"http": 80, "https": 443}
# A request with one of these headers came through a proxy, so its sender may be anywhere. Browsers send no `X-` header
# by themselves, so all of them count except those of scripts, of prefetching and of Prometheus.
FORWARDED = re.compile(
    r"x-(?!requested-with$|request-id$|purpose$|moz$|prometheus-).*"
    r"|.*(forwarded|proxied|(client|connecting|real|source)-?ip).*|via|true-client-.*|front-end-https|max-forwards"
    r"|disguised-host|original-host|was-default-hostname|early-data|eagleid|cache-info|scheme|client-address|user-ip"
    r"|b3|request-id|.*-requestid|connect-time|total-route-time"
    r"|(akamai|ali|cdn|cf|client-cert|cloudfront|eo|fastly|fly|incap|iv|l5d|ngrok|oidc|proxy|railway|rdwr|remote"
    r"|render|rndr|section-io|shib|sm|ssl-client|surrogate|tailscale|teleport|via|wl-proxy)(-.*)?"
)
LOOPBACK = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?")
SAFE = ("GET", "HEAD", "OPTIONS")
# Any scanner can ask for /admin all day long; the operator is told of a missing setting once a minute.
SAY_AGAIN = 60

NOT_CONFIGURED = Refusal(500, "Server misconfiguration")
NOT_LOCAL = Refusal(403, "Without sign-in, /admin answers only to a browser on this machine")
CROSS_SITE = Refusal(403, "Another site must not change anything here")


class AdminGate:
    """ASGI middleware in front of everything under `/admin`, known page or not."""

    def __init__(self, app: ASGIApp, *, settings: Settings, tick: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._settings = settings
        self._access = Access.of(settings, tick=tick)
        self._tick = tick
        self._silent_until = -float("inf")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request pass, or answer why not."""
        if scope["type"] != "http" or not _is_admin(scope["path"]):
            return await self._app(scope, receive, send)
        request = Request(scope)
        entrant = self._at_home(request) if self._settings.disable_auth else await self._signed_in(request)
        if isinstance(entrant, Identity) and not is_harmless(request) and is_cross_site(request, self._settings):
            entrant = CROSS_SITE
        if isinstance(entrant, Refusal):
            return await _answer(request, entrant)(scope, receive, send)
        introduce(scope, entrant)
        return await self._app(scope, receive, send)

    def _at_home(self, request: Request) -> Identity | Refusal:
        """Without sign-in there is one identity: the person at this machine."""
        if self._settings.on_loopback and not is_local(request):
            return NOT_LOCAL
        return DEVELOPER

    async def _signed_in(self, request: Request) -> Identity | Refusal:
        """Who signed in, by the token alone: other headers that name a person can be forged."""
        if self._access is None:
            self._say_what_is_missing()
            return NOT_CONFIGURED
        entrant = await self._access.identify(request.headers.getlist(self._access.header), now=clock.now())
        if isinstance(entrant, Refusal) and entrant.because:
            logger.info("sign-in refused", because=entrant.because)
        return entrant

    def _say_what_is_missing(self) -> None:
        if self._tick() < self._silent_until:
            return
        self._silent_until = self._tick() + SAY_AGAIN
        logger.error("/admin is closed: no sign-in is configured", missing=", ".join(self._settings.sign_in_lacks))


def _answer(request: Request, refusal: Refusal) -> Response:
    """A page for a browser, JSON for a program. Neither tells how sign-in is configured."""
    headers = LATER if refusal.status == 503 else None
    is_page = wants_html(request) and not request.url.path.startswith("/admin/api/")
    if not is_page:
        return reply(refusal.status, refusal.error, headers)
    if refusal.status == 503:
        return page(request, "try_later.html", status=503, headers=headers)
    return page(request, "admin_closed.html", status=refusal.status, code=refusal.status, error=refusal.error)


def is_local(request: Request) -> bool:
    """Whether the request comes from this machine itself, and through no proxy on it.

    Browsers speak HTTP/1.1; nginx speaks 1.0 to what is behind it, and by default adds no header of its own.
    A page elsewhere can point its own name at 127.0.0.1, but then the Host header still carries that name.
    """
    if request.scope.get("http_version") == "1.0":
        return False
    if any(FORWARDED.fullmatch(name.replace("_", "-")) for name in request.headers):
        return False
    hosts = request.headers.getlist("host")
    return _is_loopback(request.client) and len(hosts) == 1 and LOOPBACK.fullmatch(hosts[0]) is not None


def is_harmless(request: Request) -> bool:
    """Whether another site may make the browser ask for this: somebody follows a link to a page of ours.

    Not to the API, where an export costs much and is noted in the name of whoever seems to ask for it.
    """
    is_visit = request.headers.get("sec-fetch-mode", "navigate") == "navigate"
    return request.method in SAFE and is_visit and not request.url.path.startswith("/admin/api/")


def is_cross_site(request: Request, settings: Settings) -> bool:
    """Whether a page of another site made the browser send this; programs send neither header.

    `same-site` is another site too: a neighbour under the same domain may be anybody's blog.
    """
    sites = request.headers.getlist("sec-fetch-site")
    if sites:
        return not {"same-origin", "none"}.issuperset(sites)
    # Browsers from before 2023, and all of them over plain http, say only where the page is from.
    return any(not _is_ours(origin, request, settings) for origin in request.headers.getlist("origin"))


def _is_ours(origin: str, request: Request, settings: Settings) -> bool:
    """Whether an origin is our public address, or the one that this request was sent to; `null` is neither."""
    found, public = _origin(origin), _origin(settings.platform_base_url or "")
    if found is None or found == public:
        return found is not None
    # A proxy does not tell which scheme the visitor used; but where ours is https, a page without it is not ours.
    is_downgrade = public is not None and public[0] == "https" and found[0] != "https"
    return not is_downgrade and found == _origin(f"{found[0]}://{request.headers.get('host', '')}")


def _origin(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an address; None if it has none."""
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname else None


def _is_admin(path: str) -> bool:
    return path == "/admin" or path.startswith("/admin/")


def _is_loopback(client: Address | None) -> bool:
    try:
        return client is not None and ipaddress.ip_address(client.host).is_loopback
    except ValueError:
        return False
