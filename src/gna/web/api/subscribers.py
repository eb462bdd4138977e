"""The subscribers, for those who run the publication: list, search, change, remove, export, import."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from gna import clock
from gna.errors import Refused
from gna.subscribers import directory, imports
from gna.subscribers.directory import Change
from gna.subscribers.export import problem_file
from gna.subscribers.wanted import Wanted
from gna.web.api.shapes import ADMIN_ERRORS, Shape, content, errors, json_only, make_optional
from gna.web.body import content_type, parse_id, parse_object
from gna.web.desk import imports as desk_imports
from gna.web.desk import subscribers as desk
from gna.web.ground import ground, within
from gna.web.paging import Paging, listed
from gna.web.routing import RequestBody, Responses, Router

router = Router(prefix="/admin/api", tag="admin", responses=ADMIN_ERRORS)

LARGE_FILE: Responses = {202: {"description": "A large file: a job to watch", "content": {"application/json": {}}}}
ON, OFF = ("1", "true", "yes", "on"), ("", "0", "false", "no", "off")


class ImportBody(Shape):
    """A file of people."""

    file: bytes = Field(description="CSV, or a ZIP of CSV files")
    dry_run: bool = Field(False, description="only count what would happen")
    mapping: str | None = Field(
        None,
        description="what the columns of a CSV file are, as JSON; without it the file is recognised by its header",
        examples=[
            '{"columns": {"E-Mail": "email", "Ort": "attribute:city"}, "status": "Pending", "lists": ["news"]}',
            '{"values": {"Consent": {"on paper": "confirmed", "withdrawn": "left", "*": "unconfirmed"}}}',
        ],
    )


class SubscriberChangeBody(Shape, json_schema_extra=make_optional):
    """What to change of a person; what is left out stays."""

    nickname: str | None = Field(None, description="1–50 characters, or null for none", examples=["Ana"])
    ocd_ids: list[str] = Field([], description="the places", examples=[["ocd-division/country:ro"]])
    attributes: dict[str, Any] = Field({}, description="all of them", examples=[{"city": "Cluj"}])
    lists: list[str] = Field([], description="the lists they are on, and no others", examples=[["general"]])


@router.get("/subscribers", summary="List or search subscribers", responses=errors(400))
async def list_subscribers(
    request: Request, page: str = "1", per_page: str = "20", q: str = "", status: str = "", list: str = ""
) -> JSONResponse:
    """Newest first; `q` is looked for in address and nickname; `status` is `Activated` or `Pending`, `list` a key."""
    paging, wanted = Paging.parse(page, per_page), Wanted.parse(q=q, status=status, list_key=list)
    search = directory.find(ground(request).db, wanted, page=paging.page, per_page=paging.per_page)
    found, totals = await within(search)
    return listed([person.shown() for person in found], paging, totals.of(wanted.status))


@router.get(
    "/subscribers/export.csv",
    summary="Download subscribers as CSV",
    response_class=StreamingResponse,
    responses=content(200, "text/csv") | errors(400),
)
async def export_subscribers(request: Request, q: str = "", status: str = "", list: str = "") -> StreamingResponse:
    """Everybody, or those whom `q`, `status` and `list` choose; UTF-8 with a byte order mark, for spreadsheets."""
    wanted = Wanted.parse(q=q, status=status, list_key=list)
    return _csv(await desk.export(request, wanted), "subscribers.csv")


@router.post(
    "/subscribers/import",
    summary="Import subscribers",
    responses=LARGE_FILE | errors(400),
    body=RequestBody(ImportBody, ("multipart/form-data",)),
)
async def import_subscribers(request: Request, dry_run: str = "") -> JSONResponse:
    """A CSV file or a ZIP of them as the multipart field `file`; `dry_run=true` counts, `mapping` names columns."""
    if content_type(request) != "multipart/form-data":
        raise Refused("Send the file as multipart/form-data in the field `file`")
    async with request.form(max_files=1, max_fields=10) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise Refused("The field `file` is missing")
        counts_only = _flag(dry_run or str(form.get("dry_run", "")))
        said = _mapping(str(form.get("mapping") or "{}"))
        row = await desk_imports.accept(request, file, said=said, dry_run=counts_only)
    if row.state == imports.State.FAILED:
        raise Refused(row.error)
    return JSONResponse(_import(row), 200 if row.state == imports.State.DONE else 202)


@router.get("/imports", summary="List imports", responses=errors(400))
async def list_imports(request: Request, page: str = "1", per_page: str = "20") -> JSONResponse:
    """The newest first; they are forgotten after 7 days."""
    paging = Paging.parse(page, per_page)
    rows, total = await ground(request).look(imports.newest, page=paging.page, per_page=paging.per_page)
    return listed([_import(row) for row in rows], paging, total)


@router.get("/imports/{import_id}", summary="Watch an import", responses=errors(404))
async def get_import(request: Request, import_id: str) -> JSONResponse:
    """How far it is, and what became of the rows so far."""
    return JSONResponse(_import(await ground(request).look(imports.the_import, parse_id(import_id))))


@router.get(
    "/imports/{import_id}/errors.csv",
    summary="Download what was not imported",
    response_class=StreamingResponse,
    responses=content(200, "text/csv") | errors(404),
)
async def get_import_errors(request: Request, import_id: str) -> StreamingResponse:
    """The row numbers with their reasons; no address is among it, since some of these people have left."""
    found = await ground(request).look(imports.problems_of, parse_id(import_id))
    return _csv(problem_file(found), "import-errors.csv")


@router.get("/subscribers/{subscriber_id}", summary="One subscriber", responses=errors(404))
async def get_subscriber(request: Request, subscriber_id: str) -> JSONResponse:
    """One person with places, attributes and lists."""
    return JSONResponse((await ground(request).look(directory.get, parse_id(subscriber_id))).shown())


@router.patch(
    "/subscribers/{subscriber_id}",
    summary="Change a subscriber",
    responses=errors(400, 404),
    body=json_only(SubscriberChangeBody),
)
async def patch_subscriber(request: Request, subscriber_id: str) -> JSONResponse:
    """`nickname`, `ocd_ids`, `attributes`, `lists`; what is left out stays."""
    wish = Change.parse(parse_object(await request.body()))
    changed = await desk.change(request, parse_id(subscriber_id), wish)
    return JSONResponse(changed.shown())


@router.delete("/subscribers/{subscriber_id}", summary="Remove a subscriber", status=204, responses=errors(404))
async def delete_subscriber(request: Request, subscriber_id: str) -> Response:
    """Everything about the person is deleted at once."""
    await desk.remove(request, parse_id(subscriber_id))
    return Response(status_code=204)


def _flag(text: str) -> bool:
    """A mistyped safety switch must not be taken for off."""
    if text.lower() not in (*ON, *OFF):
        raise Refused("dry_run must be true or false")
    return text.lower() in ON


def _mapping(text: str) -> object:
    try:
        return json.loads(text)
    # Thousands of nested brackets exhaust the parser's stack.
    except (ValueError, RecursionError):
        raise Refused("The mapping is not valid JSON") from None


def _csv(pieces: Iterable[str], name: str) -> StreamingResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(pieces, media_type="text/csv; charset=utf-8", headers=headers)


def _import(row: Any) -> Mapping[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "state": row.state,
        "dry_run": row.dry_run,
        "format": row.format,
        "rows": row.position,
        "progress": 1.0 if row.state == imports.State.DONE else round(row.read / max(row.size, 1), 3),
        "counts": imports.totals(row.counts.items()),
        "error": row.error,
        "created_at": clock.iso(row.created_at),
        "finished_at": row.finished_at and clock.iso(row.finished_at),
        "errors_url": f"/admin/api/imports/{row.id}/errors.csv",
    }
