"""Who did what, for programs."""

from starlette.requests import Request
from starlette.responses import JSONResponse

from gna import activity
from gna.web.api.shapes import ADMIN_ERRORS, errors
from gna.web.ground import ground
from gna.web.paging import Paging, listed
from gna.web.routing import Router

router = Router(prefix="/admin/api/activity", tag="admin", responses=ADMIN_ERRORS)


@router.get("", summary="List activity", responses=errors(400))
async def list_activity(
    request: Request, page: str = "1", per_page: str = "20", who: str = "", area: str = ""
) -> JSONResponse:
    """Who did what, newest first, for a year. `area`: `campaigns`, `subscribers`, `feeds`, `letters` or `inbox`."""
    paging = Paging.parse(page, per_page)
    found, total = await ground(request).look(
        activity.newest, page=paging.page, per_page=paging.per_page, who=who, area=area
    )
    return listed(found, paging, total)
