"""The bounces, for those who run the publication."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gna.db import timed
from gna.delivery import bounces
from gna.web.api.shapes import ADMIN_ERRORS, errors
from gna.web.body import parse_id
from gna.web.desk import letters
from gna.web.ground import ground
from gna.web.paging import Paging, listed
from gna.web.routing import Router

router = Router(prefix="/admin/api/bounces", tag="admin", responses=ADMIN_ERRORS)


@router.get("", summary="List bounces", responses=errors(400))
async def list_bounces(request: Request, page: str = "1", per_page: str = "20") -> JSONResponse:
    """Whose address was refused for good in the last 7 days, newest first; one a person, with the last refusal."""
    paging = Paging.parse(page, per_page)
    found, total = await ground(request).look(timed(bounces.listed), page=paging.page, per_page=paging.per_page)
    return listed(found, paging, total)


@router.delete("/{bounce_id}", summary="Dismiss a bounce", status=204, responses=errors(404))
async def dismiss_bounce(request: Request, bounce_id: str) -> Response:
    """Only the event goes; the person stays, and can be removed as a subscriber."""
    await letters.dismiss(request, [parse_id(bounce_id)])
    return Response(status_code=204)
