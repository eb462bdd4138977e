"""The messages of the outbox, for those who run the publication.

There are those of campaigns, until they have left, and those with a link, without their address once they were sent and
until the link expires. `run` picks those of a run of articles or notifications, of which there are none yet; so what
only those have (`campaign_tag`, `send_batch_id`, `notification_id`, `period_key`) is null.
"""

from starlette.requests import Request
from starlette.responses import JSONResponse

from gna.delivery import messages
from gna.web.api.shapes import ADMIN_ERRORS, errors
from gna.web.ground import ground
from gna.web.paging import Paging, listed
from gna.web.routing import Router

router = Router(prefix="/admin/api/messages", tag="admin", responses=ADMIN_ERRORS)


@router.get("", summary="List messages", responses=errors(400))
async def list_messages(
    request: Request, status: str = "", run: str = "", page: str = "1", per_page: str = "20"
) -> JSONResponse:
    """The newest 10,000 of the outbox, in one `status` or all; of what was sent, only links, as long as they work."""
    paging = Paging.parse(page, per_page)
    wanted = messages.parse_status(status)
    found, total = await ground(request).look(
        messages.listed, status=wanted, run=run, page=paging.page, per_page=paging.per_page
    )
    return listed(found, paging, total)
