"""Filling in the page templates."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from starlette.requests import Request
from starlette.responses import HTMLResponse

from gna import __version__
from gna.kinds import NamedAddress
from gna.web.body import FORMS, content_type
from gna.web.ground import ground
from gna.web.language import ENGLISH, catalog, day, language_of, translated

WEB = Path(__file__).parent.parent
templates = Environment(
    loader=FileSystemLoader(WEB / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    extensions=["jinja2.ext.i18n"],
)
templates.globals["version"] = __version__
# What programmers read is English.
NOT_FOR_READERS = "/docs"


@pass_context
def _gettext(context: Context, text: str) -> str:
    return catalog(context["lang"]).gettext(text)


@pass_context
def _ngettext(context: Context, one: str, many: str, number: int) -> str:
    return catalog(context["lang"]).ngettext(one, many, number)


@pass_context
def _reason(context: Context, text: str) -> str:
    """The reason of an error as a sentence in the page's language."""
    return f"{translated(text, context['lang'])}."


@pass_context
def _said(context: Context, text: str) -> str:
    """What the code said, in the page's language; unlike `_`, for text that may hold anybody's words."""
    return translated(text, context["lang"])


@pass_context
def _day(context: Context, moment: datetime) -> str:
    """The day in the page's language."""
    return day(moment, context["lang"])


templates.install_gettext_callables(_gettext, _ngettext, newstyle=True)  # type: ignore[attr-defined]
templates.filters |= {"reason": _reason, "said": _said, "day": _day}


def page(
    request: Request, template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """A page for a person, in their language."""
    settings, path = ground(request).settings, request.url.path
    for_readers = not path.startswith(NOT_FOR_READERS)
    lang = language_of(request) if for_readers else ENGLISH
    shared = {
        "site": ground(request).site,
        "path": path,
        "lang": lang,
        "contact": NamedAddress.parse(settings.email_from_address).address,
    }
    html = templates.get_template(template).render(**shared, **values)
    ours = {"X-Robots-Tag": "noindex", "Content-Language": lang}
    if for_readers and not settings.gna_language:
        ours["Vary"] = "Accept-Language"
    return HTMLResponse(html, status, {**ours, **(headers or {})})


def sandboxed(pictures: str) -> dict[str, str]:
    """The headers for a mail in a frame: its inline styles count, its links open a new tab, nothing else can act."""
    policy = (
        "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; "
        f"img-src {pictures}; frame-ancestors 'self'"
    )
    return {"Content-Security-Policy": policy, "X-Frame-Options": "SAMEORIGIN"}


def is_page(request: Request) -> bool:
    """Whether a person sees the answer: a browser on one of our pages, or sending a form."""
    tag = getattr(request.scope.get("route"), "tag", None)
    return wants_html(request) and (tag == "pages" or content_type(request) in FORMS)


def wants_html(request: Request) -> bool:
    """Whether a browser asks, and not a program."""
    return "text/html" in request.headers.get("accept", "")
