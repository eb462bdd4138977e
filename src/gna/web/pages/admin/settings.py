"""The settings: what is configured, what is still to do, how to embed the form, and the check of DNS."""

import platform
import re

from markupsafe import Markup, escape
from sqlalchemy.engine import Connection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gna import __version__
from gna.config import DEFAULT_SENDER
from gna.db import answers
from gna.errors import CannotStart, Refused
from gna.migrations import version
from gna.web.ground import ground
from gna.web.language import language_of
from gna.web.pages.admin.configured import rows, tasks
from gna.web.pages.admin.shell import N_, screen
from gna.web.pages.admin.snippets import snippets
from gna.web.pages.render import templates

QUOTED = re.compile(r"`([^`]+)`")
PARTS = {"spf": "SPF", "dkim": "DKIM", "dmarc": "DMARC", "rules": N_("What large receivers ask for")}
# Why the selector is refused; translated where it is shown.
REASON = N_("A selector has letters, digits, hyphens and dots: s1, google, mail-2026")


def coded(text: str) -> Markup:
    """What stands in backticks, as code."""
    pieces = enumerate(QUOTED.split(text))
    return Markup("").join(Markup("<code>{}</code>").format(piece) if at % 2 else escape(piece) for at, piece in pieces)


templates.filters["coded"] = coded


async def show(request: Request) -> Response:
    """What is configured, what is to do, and how to embed the form."""
    here = ground(request)
    settings = here.settings
    return screen(
        request,
        "settings.html",
        tasks=list(tasks(settings)),
        snippets=snippets(settings.base_url, language_of(request)),
        origins=settings.cors_origins,
        groups=rows(settings),
        versions=await here.look(versions),
    )


async def show_dns(request: Request) -> Response:
    """The check of DNS; it is asked only when the form was sent, and needs no script."""
    # Imported late: a server whose DNS nobody asks about stays small.
    from gna.mail import authentication

    settings, typed = ground(request).settings, request.query_params.get("selector")
    report, problem = None, None
    try:
        if typed is not None:
            report = await authentication.check(settings, selector=authentication.parse_selector(typed))
    except (Refused, CannotStart) as wrong:
        problem = str(wrong).rstrip(".")
    return screen(
        request,
        "dns.html",
        status=400 if problem else 200,
        domain=authentication.domain_of(settings),
        is_example=settings.email_from_address == DEFAULT_SENDER,
        selector=typed or "",
        report=report,
        names=PARTS,
        problem=problem,
    )


def versions(tx: Connection) -> dict[str, str]:
    """Of what this server is made."""
    return {
        "Gna": __version__,
        N_("Database"): answers(tx),
        N_("Schema"): str(version(tx)),
        "Python": platform.python_version(),
    }


routes = [
    Route("/admin/settings", show),
    Route("/admin/settings/dns", show_dns),
]
