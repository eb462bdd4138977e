"""Filling in the page templates."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gna import __version__
from gna.web.body import FORMS, content_type
from gna.web.ground import ground

WEB = Path(__file__).parent.parent
templates = Environment(
    loader=FileSystemLoader(WEB / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
templates.globals["version"] = __version__


def page(
    request: Request, template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """A page for a person."""
    here = ground(request)
    shared = {"site": here.site, "mailbox": here.settings.mailbox_is_open}
    html = templates.get_template(template).render(**shared, path=request.url.path, **values)
    return HTMLResponse(html, status, {"X-Robots-Tag": "noindex", **(headers or {})})


def is_page(request: Request) -> bool:
    """Whether a person sees the answer: a browser on one of our pages, or sending a form."""
    tags = getattr(request.scope.get("route"), "tags", ())
    return wants_html(request) and ("pages" in tags or content_type(request) in FORMS)


def wants_html(request: Request) -> bool:
    """Whether a browser asks, and not a program."""
    return "text/html" in request.headers.get("accept", "")
