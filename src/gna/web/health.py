"""Is it alive, can the database be read and written, and what has it counted?"""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from gna.db import answers
from gna.errors import NotFound
from gna.web.auth import is_local
from gna.web.ground import ground
from gna.web.visitor import is_among

router = APIRouter(tags=["health"])


@router.get("/health", summary="Is the process alive?")
async def health() -> JSONResponse:
    """Answers as long as the process can answer anything."""
    return JSONResponse({"status": "ok"})


@router.get("/healthz", summary="Can the database be read and written?", responses={503: {"description": "It cannot"}})
async def healthz(request: Request) -> JSONResponse:
    """200 when the database can be read and written, 503 when it cannot."""
    await ground(request).look(answers)
    await ground(request).write_probe.check()
    return JSONResponse({"status": "ok", "database": "ok"})


@router.get("/metrics", summary="What was counted, for Prometheus", response_class=Response)
def metrics(request: Request) -> Response:
    """Counters and timings, for this machine and `METRICS_ALLOW` only: who can watch them can tell who is known."""
    if not is_local(request) and not is_among(request, ground(request).settings.metrics_allow):
        raise NotFound("Not found")
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
