"""What went out, for everybody to read: a list, each issue, and a feed."""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from gna import __version__
from gna.campaigns import archive, issues
from gna.campaigns.issues import Found
from gna.mail.render import Frame
from gna.web.api.shapes import REFUSAL, errors
from gna.web.body import parse_id
from gna.web.edge import POLICY_WITH_PICTURES
from gna.web.ground import ground
from gna.web.pages.render import page as shown
from gna.web.paging import Paging
from gna.web.routing import Responses, Router

router = Router(tag="pages")

PER_PAGE = 20
RSS = "application/rss+xml"
# The only pages that are for search engines too.
FOR_ALL = {"X-Robots-Tag": "all"}
PAGE_OR_JSON: dict[str, Any] = {"text/html": {}, **REFUSAL}
NO_SUCH_PAGE: Responses = {404: {"description": "There is nothing here", "content": PAGE_OR_JSON}, **errors(503)}
BAD_PAGE: Responses = {400: {"description": "The number of the page is none", "content": PAGE_OR_JSON}, **NO_SUCH_PAGE}
AS_FEED: Responses = {
    200: {"content": {RSS: {}}},
    304: {"description": "Nothing has changed"},
    **errors(503),
}


@router.get("/archive", summary="The archive", response_class=HTMLResponse, responses=BAD_PAGE)
async def list_issues(request: Request, page: str = "1") -> Response:
    """The campaigns that went out, newest first, 20 on a page."""
    here, number = ground(request), Paging.parse(page, str(PER_PAGE)).page
    found, more = await here.look(archive.newest, page=number, per_page=PER_PAGE, frame=here.frame)
    read = await asyncio.to_thread(issues.read, found)
    older = number + 1 if more else None
    return shown(request, "archive.html", headers=FOR_ALL, issues=read, number=number, older=older)


@router.get("/archive.xml", summary="The archive as a feed", response_class=Response, responses=AS_FEED)
async def rss(request: Request) -> Response:
    """RSS 2.0 with the newest 20 campaigns in full; `If-None-Match` is answered with 304."""
    here = ground(request)
    found, _ = await here.look(archive.newest, page=1, per_page=PER_PAGE, frame=here.frame)
    tag = _tag(found, here.frame)
    headers = {"ETag": tag, "Cache-Control": "public, max-age=300"}
    if _is_known(request, tag):
        return Response(None, 304, headers)
    # Imported late: who never reads the feed needs no XML.
    from gna.web.pages import feed

    body = await asyncio.to_thread(lambda: feed.rss(issues.read(found), here.frame))
    return Response(body, headers=headers, media_type=f"{RSS}; charset=utf-8")


@router.get("/archive/{campaign_id}", summary="One issue", response_class=HTMLResponse, responses=NO_SUCH_PAGE)
async def read_issue(request: Request, campaign_id: str) -> Response:
    """One campaign as everybody may read it, with nobody's data in it."""
    here = ground(request)
    opened = await here.look(archive.get, parse_id(campaign_id), frame=here.frame)
    [issue] = await asyncio.to_thread(issues.read, [opened.found])
    headers = FOR_ALL | {"Content-Security-Policy": POLICY_WITH_PICTURES}
    # It has been through the sanitiser.
    content = Markup(issue.html)  # noqa: S704
    older, newer = opened.older, opened.newer
    return shown(request, "issue.html", headers=headers, issue=issue, content=content, older=older, newer=newer)


def _tag(found: Sequence[Found], frame: Frame) -> str:
    """Another one whenever the feed would say something else."""
    said = [__version__, frame.site, frame.base_url, frame.language]
    said += [f"{one.place.campaign_id} {one.place.updated_at}" for one in found]
    return f'"{hashlib.sha256(repr(said).encode()).hexdigest()[:32]}"'


def _is_known(request: Request, tag: str) -> bool:
    """Whether the visitor has this already; a proxy that compresses makes a tag weak."""
    known = ",".join(request.headers.getlist("if-none-match")).split(",")
    return any(one.strip().removeprefix("W/") in (tag, "*") for one in known)
