"""Filling in the page templates."""

from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gna import __version__
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


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page for a person."""
    site = ground(request).site
    html = templates.get_template(template).render(site=site, **values)
    return HTMLResponse(html, status, {"X-Robots-Tag": "noindex"})


def wants_html(request: Request) -> bool:
    """Whether a browser asks, and not a program."""
    return "text/html" in request.headers.get("accept", "")
