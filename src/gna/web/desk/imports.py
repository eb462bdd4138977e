"""What an admin does with files of people."""

import asyncio
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from sqlalchemy.engine import Connection
from starlette.datastructures import UploadFile
from starlette.requests import Request

from gna import activity, db, ids
from gna.activity import Verb
from gna.db import timed
from gna.errors import Refused
from gna.subscribers import imports
from gna.subscribers.admission import Publication
from gna.subscribers.formats import Mapping
from gna.subscribers.formats.products import TITLES
from gna.subscribers.importer import Importer
from gna.subscribers.sheets import glance, is_zip
from gna.web.desk import do
from gna.web.ground import ground
from gna.web.identity import who

P = ParamSpec("P")
T = TypeVar("T")

# A file is looked at here, not among the threads that send and compose: it may take long, and several may come.
ASIDE = ThreadPoolExecutor(2, "uploads")
# Up to here the answer waits for the end of the import; a larger file is a job to watch.
SMALL = 256 * 1024
# A page with more columns to choose for would be of no use to anybody.
MOST_NAMED = 100


async def accept(request: Request, file: UploadFile, *, said: object, dry_run: bool) -> Any:
    """Import a file at once, or only count; says how far it is, which for a small one is the end."""
    mapping = await _aside(imports.parse_mapping, said, file.file)
    try:
        await _aside(imports.check_values, file.file, name_of(file), mapping)
    except imports.UnknownValues as unknown:
        example = json.dumps({"values": {unknown.column: {unknown.values[0]: "left"}}}, ensure_ascii=False)
        raise Refused(f"{unknown}. As in the field mapping: {example}") from None
    about = await _aside(imports.title_of, file.file, name_of(file), mapping)
    worker, by = _worker(request, file.size or 0), who(request).name

    def accepted(tx: Connection) -> str:
        by_whom = worker.worker if worker else None
        said_of_it = {"name": name_of(file), "dry_run": dry_run, "mapping": mapping, "worker": by_whom}
        import_id: str = timed(imports.accept)(tx, file.file, **said_of_it)
        if not dry_run:
            activity.note(tx, by=by, verb=Verb.IMPORT_STARTED, about=about, target=import_id, now=db.now(tx))
        return import_id

    # Not within a visitor's patience: a large file takes its time.
    return await _go_on(request, await ground(request).db.run(accepted), worker)


async def keep(request: Request, file: UploadFile) -> str:
    """Keep a file open until it has been said what its columns are; Refused if nobody could."""
    format = await _aside(_readable, file)
    by = who(request).name

    def kept(tx: Connection) -> str:
        import_id: str = timed(imports.keep)(tx, file.file, name=name_of(file), format=format)
        about = TITLES[format or "csv"]
        activity.note(tx, by=by, verb=Verb.IMPORT_UPLOADED, about=about, target=import_id, now=db.now(tx))
        return import_id

    return await ground(request).db.run(kept)


async def start(request: Request, import_id: str, *, mapping: Mapping, trial: bool) -> Any:
    """Import a file that lies open, or only count; says how far it is."""
    row = await ground(request).look(imports.the_import, import_id)
    worker = _worker(request, row.size)
    begin = partial(imports.start, mapping=mapping, trial=trial, worker=worker.worker if worker else None)
    if trial:
        await ground(request).run(begin, import_id)
    else:
        await do(request, Verb.IMPORT_STARTED, begin, import_id, about=_title(row), target=import_id)
    return await _go_on(request, import_id, worker)


async def stop(request: Request, import_id: str) -> None:
    """End an import before its end."""
    row = await ground(request).look(imports.the_import, import_id)
    if row.trial:
        await ground(request).run(timed(imports.stop), import_id)
    else:
        await do(request, Verb.IMPORT_STOPPED, timed(imports.stop), import_id, about=_title(row), target=import_id)


async def discard(request: Request, import_id: str) -> None:
    """Forget a file that lies open."""
    row = await ground(request).look(imports.the_import, import_id)
    await do(request, Verb.IMPORT_DISCARDED, imports.discard, import_id, about=_title(row))


def name_of(file: UploadFile) -> str:
    """The file's own name, without its folder and what cannot be stored."""
    return re.sub(r"[\x00-\x1f\ud800-\udfff]", "", (file.filename or "").rpartition("/")[2]) or "upload.csv"


def _title(row: Any) -> str:
    return TITLES[row.format or "csv"]


def _worker(request: Request, size: int) -> Importer | None:
    """Who does a small file, here and now."""
    here = ground(request)
    return Importer(here.db, worker=ids.new(), publication=Publication.of(here.settings)) if size <= SMALL else None


async def _go_on(request: Request, import_id: str, worker: Importer | None) -> Any:
    here = ground(request)
    if worker:
        await _aside(worker.finish, import_id)
    else:
        here.ring("import")
    here.ring("send")
    return await here.look(imports.the_import, import_id)


async def _aside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.get_running_loop().run_in_executor(ASIDE, partial(work, *args, **kwargs))


def _readable(file: UploadFile) -> str | None:
    if is_zip(file.file):
        # The page asks about the columns of a single file only.
        imports.check_values(file.file, name_of(file))
        return imports.format_of(file.file, name_of(file))
    proposal = glance(file.file, name_of(file))
    if proposal.format is None and len(proposal.columns) > MOST_NAMED:
        raise Refused("The file has more than 100 columns, and none is called email. Delete those you do not need")
    return proposal.format
