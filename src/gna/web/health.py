"""Is it alive, can the database be read and written, and what has it counted?"""

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gna.db import answers
from gna.errors import NotFound
from gna.web.api.shapes import content, errors
from gna.web.auth import is_local
from gna.web.ground import ground
from gna.web.routing import Router
from gna.web.visitor import is_among

router = Router(tag="health")


@router.get("/health", summary="Is the process alive?")
async def health(_: Request) -> JSONResponse:
    """Answers as long as the process can answer anything."""
    return JSONResponse({"status": "ok"})


@router.get("/healthz", summary="Can the database be read and written?", responses={503: {"description": "It cannot"}})
async def healthz(request: Request) -> JSONResponse:
    """200 when the database can be read and written, 503 when it cannot."""
    await ground(request).look(answers)
    await ground(request).write_probe.check()
    return JSONResponse({"status": "ok", "database": "ok"})


@router.get(
    "/metrics",
    summary="What was counted, for Prometheus",
    response_class=Response,
    responses=content(200, "text/plain") | errors(404),
)
async def metrics(request: Request) -> Response:
    """Counters and timings, for this machine and `METRICS_ALLOW` only: who can watch them can tell who is known."""
    if not is_local(request) and not is_among(request, ground(request).settings.metrics_allow):
        raise NotFound("Not found")
    # In the server's own threads, not in the few of `asyncio.to_thread`, which previews and imports keep busy.
    body = await run_in_threadpool(generate_latest)
    return Response(body, media_type=CONTENT_TYPE_LATEST)
