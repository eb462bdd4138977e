"""The dead letters, for those who run the publication."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gna.delivery import dead_letters
from gna.web.api.shapes import ADMIN_ERRORS, errors
from gna.web.body import parse_id
from gna.web.desk import letters
from gna.web.ground import ground
from gna.web.paging import Paging, listed
from gna.web.routing import Router

router = Router(prefix="/admin/api/dead-letters", tag="admin", responses=ADMIN_ERRORS)


@router.get("", summary="List dead letters", responses=errors(400))
async def list_dead_letters(request: Request, page: str = "1", per_page: str = "20") -> JSONResponse:
    """What was refused or given up, newest first. A campaign's mails are not among it: its delivery counts them."""
    paging = Paging.parse(page, per_page)
    found, total = await ground(request).look(dead_letters.listed, page=paging.page, per_page=paging.per_page)
    return listed(found, paging, total)


@router.get("/{letter_id}", summary="One dead letter", responses=errors(404))
async def get_dead_letter(request: Request, letter_id: str) -> JSONResponse:
    """With the subject of its mail, and whether that is still there to be sent again."""
    return JSONResponse(await ground(request).look(dead_letters.show, parse_id(letter_id)))


@router.post("/{letter_id}/replay", summary="Send it again", status=202, responses=errors(404, 409))
async def replay_dead_letter(request: Request, letter_id: str) -> JSONResponse:
    """With all its attempts; whoever asks twice sends once."""
    await letters.replay(request, parse_id(letter_id))
    return JSONResponse({"status": "replayed"}, 202)


@router.delete("/{letter_id}", summary="Throw it away", status=204, responses=errors(404))
async def drop_dead_letter(request: Request, letter_id: str) -> Response:
    """Together with its message, which nobody will get."""
    await letters.drop(request, parse_id(letter_id))
    return Response(status_code=204)
