"""Bringing people in: upload a file, say what its columns are, try it, import it, watch."""

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.engine import Connection
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gna.errors import Refused
from gna.subscribers import imports
from gna.subscribers.formats import AS_IT_IS, Mapping, Proposal, Standing
from gna.subscribers.formats.leaving import ANY_OTHER, MEANINGS
from gna.subscribers.formats.mapping import Column, Target
from gna.subscribers.formats.products import TITLES
from gna.subscribers.formats.words import loose
from gna.subscribers.imports import State
from gna.subscribers.sheets import glance, is_zip
from gna.web.body import content_type, parse_id
from gna.web.desk import imports as desk
from gna.web.ground import ground
from gna.web.pages.admin.import_words import BADGES, COUNTED, FATES, TARGETS, VALUES
from gna.web.pages.admin.shell import N_, Fields, beyond, form, go, paging, screen

LIST = "/admin/import"
RUNS = (State.WAITING, State.RUNNING)


async def list_imports(request: Request) -> Response:
    """Where a file is uploaded, and what was imported before."""
    asked = paging(request)
    rows, total = await ground(request).look(imports.newest, page=asked.page, per_page=asked.per_page)
    if elsewhere := beyond(request, asked, total):
        return elsewhere
    shown = [_summary(row) for row in rows]
    return screen(request, "imports.html", imports=shown, paging=asked, total=total, titles=TITLES)


async def upload(request: Request) -> Response:
    """Keep a file open, and ask what its columns are."""
    if content_type(request) != "multipart/form-data":
        raise Refused("Choose a file first")
    async with request.form(max_files=1, max_fields=10) as sent:
        file = sent.get("file")
        if not isinstance(file, UploadFile) or not file.size:
            raise Refused("Choose a file first")
        import_id = await desk.keep(request, file)
    return go(f"{LIST}/{import_id}")


async def show(request: Request) -> Response:
    """One import: its columns while it is open, how far it is while it runs, then what became of it."""
    row, beginning = await ground(request).look(_opened, _id(request))
    if row.state == State.OPEN:
        return _columns(request, row, _proposal(row, beginning), mapping=Mapping.restored(row.mapping))
    template = "import_runs.html" if row.state in RUNS else "import_ended.html"
    return screen(request, template, one=_summary(row), row=row, fates=_fates(row), titles=TITLES)


async def start(request: Request) -> Response:
    """Try an open import, or do it."""
    import_id, fields = _id(request), await form(request)
    row, beginning = await ground(request).look(_opened, import_id)
    if row.state != State.OPEN:
        return go(f"{LIST}/{import_id}")
    proposal = _proposal(row, beginning)
    try:
        mapping = _said(fields, proposal)
    except Refused as refusal:
        return _columns(request, row, proposal, fields=fields, problem=str(refusal))
    await desk.start(request, import_id, mapping=mapping, trial=fields.get("do") != "import")
    return go(f"{LIST}/{import_id}")


async def stop(request: Request) -> Response:
    """End an import that runs."""
    import_id = _id(request)
    await desk.stop(request, import_id)
    return go(f"{LIST}/{import_id}", N_("The import is stopped."))


async def discard(request: Request) -> Response:
    """Forget an upload that was not started."""
    await desk.discard(request, _id(request))
    return go(LIST, N_("The file is deleted. Nothing was imported."))


def _id(request: Request) -> str:
    return parse_id(request.path_params["import_id"])


def _opened(tx: Connection, import_id: str) -> tuple[Any, bytes]:
    """An import, and the beginning of its file while it is open."""
    row = imports.the_import(tx, import_id)
    return row, (imports.chunk(tx, import_id) or b"") if row.state == State.OPEN else b""


def _proposal(row: Any, beginning: bytes) -> Proposal | None:
    """What the columns probably are; None where nobody need say so: in a ZIP, and where there are too many."""
    file = io.BytesIO(beginning)
    if is_zip(file):
        return None
    proposal = glance(file, row.name)
    return proposal if len(proposal.columns) <= desk.MOST_NAMED else None


def _said(fields: Fields, proposal: Proposal | None) -> Mapping:
    """What a person chose; a format that was left as it is stays in charge."""
    said: dict[str, Any] = {"status": fields.get("status"), "lists": [key for key in [fields.get("list")] if key]}
    if proposal is None:
        return Mapping.parse(said, ())
    columns = [_target(fields, at, found.guess.column) for at, found in enumerate(proposal.columns)]
    values = _meanings(fields, proposal, columns)
    mapping = Mapping.parse(said | {"columns": columns, "values": values}, [found.header for found in proposal.columns])
    if proposal.is_kept(mapping.columns or ()):
        return replace(mapping, columns=None)
    return mapping


def _meanings(fields: Fields, proposal: Proposal, columns: Sequence[str]) -> dict[str, dict[str, str]]:
    """What a person said of values that are not known here; all of a column that is to say who left must be said."""
    meanings: dict[str, dict[str, str]] = {}
    for at, (found, target) in enumerate(zip(proposal.columns, columns, strict=True)):
        if not found.unknown or target != Target.STATUS:
            continue
        asked = {f"value-{at}-{number}": value for number, value in enumerate(found.unknown)}
        if found.has_more:
            asked[f"value-{at}-other"] = ANY_OTHER
        if not all(fields.get(field) for field in asked):
            raise Refused("Say for each value that is not known here what it means")
        meanings[found.header] = {value: fields.get(field) for field, value in asked.items()}
    return meanings


def _target(fields: Fields, at: int, guess: Column) -> str:
    target = fields.get(f"column-{at}", str(guess))
    return f"{target}:{fields.get(f'name-{at}')}" if target == Target.ATTRIBUTE else target


def _columns(
    request: Request,
    row: Any,
    proposal: Proposal | None,
    *,
    mapping: Mapping = AS_IT_IS,
    fields: Fields | None = None,
    problem: str | None = None,
) -> Response:
    """The page on which a person says what the columns are."""
    chosen = _typed(fields, proposal) if fields else _chosen(mapping, proposal)
    return screen(
        request,
        "import_columns.html",
        status=400 if problem else 200,
        one=_summary(row),
        row=row,
        proposal=proposal,
        columns=[] if proposal is None else list(zip(proposal.columns, chosen, strict=True)),
        pending=fields.get("status") == "Pending" if fields else mapping.default is Standing.PENDING,
        list=fields.get("list") if fields else "".join(mapping.lists[:1]),
        tried=row.finished_at is not None,
        fates=_fates(row),
        targets=TARGETS,
        meanings=VALUES,
        chosen_meaning=_chosen_meanings(mapping, proposal, fields),
        titles=TITLES,
        problem=problem,
    )


def _chosen(mapping: Mapping, proposal: Proposal | None) -> list[tuple[str, str]]:
    """The target of each column, and its name if it is an attribute: as it was chosen before, or is proposed."""
    guesses = [] if proposal is None else [found.guess.column for found in proposal.columns]
    return [(column.target, column.name) for column in mapping.columns or guesses]


def _typed(fields: Fields, proposal: Proposal | None) -> list[tuple[str, str]]:
    """The same, as the form had it that was refused."""
    guesses = [] if proposal is None else [found.guess.column for found in proposal.columns]
    return [
        (fields.get(f"column-{at}", guess.target), fields.get(f"name-{at}", guess.name))
        for at, guess in enumerate(guesses)
    ]


def _chosen_meanings(mapping: Mapping, proposal: Proposal | None, fields: Fields | None) -> dict[str, str]:
    """By the field of the form: what a person said that a value means, now or before."""
    if fields:
        return {name: fields.get(name) for name in fields.form if name.startswith("value-")}
    chosen: dict[str, str] = {}
    words = {standing: word for word, standing in MEANINGS.items()}
    for at, found in enumerate(proposal.columns if proposal else ()):
        answers = mapping.values.get(found.header, {})
        for number, value in enumerate(found.unknown):
            if loose(value) in answers:
                chosen[f"value-{at}-{number}"] = words[answers[loose(value)]]
        if ANY_OTHER in answers:
            chosen[f"value-{at}-other"] = words[answers[ANY_OTHER]]
    return chosen


def _summary(row: Any) -> dict[str, Any]:
    """An import for a line of a list."""
    counts = imports.totals(row.counts.items())
    kind, label = COUNTED if row.dry_run and row.state == State.DONE else BADGES[row.state]
    return {
        "id": row.id,
        "name": row.name,
        "kind": kind,
        "label": label,
        "format": row.format,
        "rows": row.position,
        "came": counts["new"] + counts["updated"],
        "out": counts["suppressed"] + counts["skipped"] + counts["invalid"],
        "at": row.created_at,
        "percent": 100 * row.read // max(row.size, 1),
    }


def _fates(row: Any) -> list[tuple[str, str, int]]:
    """What became of the rows: a word, what it means, how many."""
    counts = imports.totals(row.counts.items())
    return [(word, meaning, counts[fate]) for fate, (word, meaning) in FATES.items()]


routes = [
    Route(LIST, list_imports),
    Route(LIST, upload, methods=["POST"]),
    Route(f"{LIST}/{{import_id}}", show),
    Route(f"{LIST}/{{import_id}}", start, methods=["POST"]),
    Route(f"{LIST}/{{import_id}}/stop", stop, methods=["POST"]),
    Route(f"{LIST}/{{import_id}}/discard", discard, methods=["POST"]),
]
