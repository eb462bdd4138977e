"""What every page of the admin stands in: navigation, language, zone, and messages from the page before."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from gna import clock
from gna.errors import Refused
from gna.web.ground import ground
from gna.web.identity import who
from gna.web.language import LANGUAGES, catalog, language_of
from gna.web.pages.admin.words import FILTERS
from gna.web.pages.render import templates
from gna.web.paging import Paging

templates.filters |= FILTERS
PER_PAGE = "20"
MESSAGE, ZONE, THEME = "gna_said", "gna_zone", "gna_theme"
# Long enough for the next page to load, short enough that it is not shown on a later one.
MESSAGE_SECONDS = 60
# A browser drops a cookie above 4 kB without a word.
MESSAGE_LONGEST = 3000
FIELDS_MAX = 500
# Nothing but this is filled in: the message comes back from the browser.
PLACE = re.compile(r"%\(([a-z_]+)\)[sd]")


def N_(text: str) -> str:  # noqa: N802
    """Mark a text to be translated where it is shown."""
    return text


def NN_(one: str, many: str) -> tuple[str, str]:  # noqa: N802
    """The same for a text that counts, in `num`."""
    return one, many


# Where to go, what it is called, its picture, and the key after `g`.
NAVIGATION = (
    ("/admin", N_("Overview"), "overview", "o"),
    ("/admin/campaigns", N_("Campaigns"), "campaigns", "c"),
    ("/admin/subscribers", N_("Subscribers"), "subscribers", "s"),
    ("/admin/feeds", N_("Feeds"), "feeds", "f"),
    ("/admin/bounces", N_("Bounces"), "bounces", "b"),
    ("/admin/dead-letters", N_("Dead letters"), "dead_letters", "d"),
    ("/admin/inbox", N_("Inbox"), "inbox", "i"),
    ("/admin/activity", N_("Activity"), "activity", "a"),
    ("/admin/settings", N_("Settings"), "settings", "e"),
    ("/admin/mailbox", N_("Mailbox"), "mailbox", "m"),
)


@dataclass(frozen=True)
class Message:
    """What the page before did, to be told once."""

    said: str | tuple[str, str]
    bad: bool
    values: Mapping[str, Any]

    def text(self, lang: str) -> str:
        """In the language of the page."""
        if isinstance(self.said, tuple):
            text = catalog(lang).ngettext(*self.said, int(self.values["num"]))
        else:
            text = catalog(lang).gettext(self.said)
        return PLACE.sub(lambda place: str(self.values[place[1]]), text) if self.values else text


def screen(
    request: Request, template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """A page of the admin, in the visitor's language and time zone."""
    settings, path, lang = ground(request).settings, request.url.path, language_of(request)
    message = _message(request)
    shared = {
        "site": ground(request).site,
        "path": path,
        "place": _place(path),
        "lang": lang,
        "who": who(request),
        "theme": theme_of(request),
        "zone": zone_of(request),
        "query": lambda **changes: _query(request, changes),
        "navigation": [entry for entry in NAVIGATION if entry[2] != "mailbox" or settings.mailbox_is_open],
        "message": message and {"text": message.text(lang), "bad": message.bad},
    }
    html = templates.get_template(f"admin/{template}").render(**shared, **values)
    answer = HTMLResponse(html, status, {"X-Robots-Tag": "noindex", "Content-Language": lang, **(headers or {})})
    if message:
        answer.delete_cookie(MESSAGE, path="/admin")
    return answer


def go(to: str, said: str | tuple[str, str] = "", *, bad: bool = False, **values: Any) -> Response:
    """Show another page next, and there say what happened."""
    answer = Going(to, 303)
    if said:
        packed = _packed(said, bad, values)
        answer.set_cookie(MESSAGE, packed, MESSAGE_SECONDS, path="/admin", httponly=True, samesite="strict")
    return answer


class Going(RedirectResponse):
    """The way to another page; where readers come by https its message goes by https only."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, once it is known to whom."""
        is_secure = ground(Request(scope)).settings.base_url.startswith("https:")
        if is_secure and "set-cookie" in self.headers:
            self.headers["set-cookie"] += "; Secure"
        await super().__call__(scope, receive, send)


def _packed(said: str | tuple[str, str], bad: bool, values: Mapping[str, Any]) -> str:
    """A message for a cookie; what fills it is cut until it fits."""
    longest, kept = MESSAGE_LONGEST, values
    while True:
        packed = base64.urlsafe_b64encode(json.dumps([said, bad, kept]).encode()).decode()
        if len(packed) <= MESSAGE_LONGEST or not longest:
            return packed
        longest //= 2
        kept = {name: _cut(value, longest) for name, value in values.items()}


def _cut(value: Any, longest: int) -> Any:
    return f"{value[:longest]}…" if isinstance(value, str) and len(value) > longest else value


def back(request: Request) -> str:
    """Where the form was that was sent; the overview if the browser does not tell."""
    try:
        before = urlsplit(request.headers.get("referer", ""))
    except ValueError:  # an address that is none
        return "/admin"
    is_ours = before.netloc == request.headers.get("host") and re.match(r"/admin(/|$)", before.path)
    return before._replace(scheme="", netloc="", fragment="").geturl() if is_ours else "/admin"


@dataclass(frozen=True)
class Fields:
    """The fields of a form."""

    form: FormData

    def get(self, name: str, default: str = "") -> str:
        """A field of one line, without white space around it."""
        return self.text(name, default).strip()

    def text(self, name: str, default: str = "") -> str:
        """A field as it was written, with one kind of line ends."""
        value = self.form.get(name, default)
        return value.replace("\r\n", "\n") if isinstance(value, str) else default

    def all(self, name: str) -> list[str]:
        """Every value of a field that may be there several times."""
        return [value for value in self.form.getlist(name) if isinstance(value, str)]


async def form(request: Request) -> Fields:
    """The form that was sent."""
    try:
        return Fields(await request.form(max_files=0, max_fields=FIELDS_MAX))
    except (UnicodeError, LookupError):  # a charset that does not exist, or does not fit
        raise Refused("The form cannot be read: its charset is wrong") from None


def paging(request: Request, per_page: str = PER_PAGE) -> Paging:
    """The page that the address asks for."""
    asked = request.query_params
    return Paging.parse(asked.get("page", "1"), asked.get("per_page", per_page))


def beyond(request: Request, asked: Paging, total: int) -> Response | None:
    """The way to the last page for whoever asks for a later one: its rows were removed, or the number is mistyped."""
    last = max(-(-total // asked.per_page), 1)
    if asked.page <= last:
        return None
    # A message that came along is shown there.
    return go(f"{request.url.path}{_query(request, {'page': last})}")


def zone_of(request: Request) -> tzinfo:
    """The visitor's time zone, as their browser told; UTC until it has."""
    return clock.zone(request.cookies.get(ZONE, "").replace("%2F", "/")) or UTC


def _message(request: Request) -> Message | None:
    """What the page before left to be said; a cookie that is not ours says nothing."""
    try:
        said, bad, values = json.loads(base64.urlsafe_b64decode(request.cookies.get(MESSAGE, "")))
        message = Message(tuple(said) if isinstance(said, list) else said, bool(bad), dict(values))
        for lang in LANGUAGES:
            message.text(lang).encode()
    # Whoever wrote such a cookie, a neighbour under our domain perhaps, shall not close the admin with it.
    except Exception:
        return None
    return message


def _place(path: str) -> str:
    """The entry of the navigation under which a page is."""
    if path.startswith("/admin/import"):
        return "/admin/subscribers"
    return "/".join(path.split("/")[:3])


def theme_of(request: Request) -> str | None:
    """The colours that the visitor chose, if they did."""
    chosen = request.cookies.get(THEME)
    return chosen if chosen in ("light", "dark") else None


def _query(request: Request, changes: Mapping[str, Any]) -> str:
    """The address's own query with some of it changed; another filter begins at the first page."""
    kept = {name: value for name, value in request.query_params.items() if name != "page"}
    asked = {name: value for name, value in {**kept, **changes}.items() if value not in ("", None)}
    return f"?{urlencode(asked)}" if asked else "?"
