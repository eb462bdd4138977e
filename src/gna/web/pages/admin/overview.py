"""The first page: how the publication is doing."""

from fastapi import Request
from fastapi.responses import Response
from starlette.routing import Route

from gna.web.pages.admin.shell import screen


async def show(request: Request) -> Response:
    """The overview."""
    return screen(request, "overview.html")


routes = [Route("/admin", show)]
