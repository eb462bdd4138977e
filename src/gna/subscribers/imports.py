"""Imports: a file waits in rows until a worker has admitted everybody in it, and is deleted then.

It may lie open before, while a person says what its columns are; no worker touches it then.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Any, BinaryIO

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db, ids
from gna.db import Instant, metadata
from gna.errors import NotAllowedNow, NotFound, Refused
from gna.jobs import workers
from gna.subscribers.admission import Fate, Line, Problem
from gna.subscribers.formats import AS_IT_IS, Mapping
from gna.subscribers.formats.leaving import MEANINGS
from gna.subscribers.formats.person import ENDED
from gna.subscribers.formats.products import TITLES
from gna.subscribers.sheets import Sheet, header_of, is_zip, sheets

CHUNK = 512 * 1024
# Of values that are not known, so many are shown, and so much of each.
MOST_SHOWN = 10
LONGEST_SHOWN = 100
KEPT = timedelta(days=7)
# Addresses lie in an open upload, and perhaps nobody comes back to it.
KEPT_OPEN = timedelta(hours=2)


class State(StrEnum):
    """How far an import is."""

    OPEN = "open"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


imports = sa.Table(
    "imports",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False, server_default=State.WAITING),
    sa.Column("dry_run", sa.Boolean, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("read", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("position", sa.Integer, nullable=False, server_default="0"),
    sa.Column("format", sa.Text),
    sa.Column("counts", db.type_json, nullable=False, server_default="{}"),
    sa.Column("error", sa.Text),
    sa.Column("claimed_by", sa.Text),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("finished_at", Instant),
    sa.Column("mapping", db.type_json),
    sa.Column("trial", sa.Boolean, nullable=False, server_default=sa.false()),
)
chunks = sa.Table(
    "import_chunks",
    metadata,
    sa.Column("import_id", sa.Text, sa.ForeignKey("imports.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
problems = sa.Table(
    "import_problems",
    metadata,
    sa.Column("import_id", sa.Text, sa.ForeignKey("imports.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("sheet", sa.Text, nullable=False),
    sa.Column("row", sa.Integer, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
)
i = imports.c


class Lines:
    """Every row of every sheet in an upload, with the name of its format.

    The file is read twice: first the rows of people who left, then the others. So an address that stands in it twice,
    once as left, stays away, whichever row comes first. Files that cannot say so are read once.
    """

    def __init__(self, file: BinaryIO, name: str, mapping: Mapping = AS_IT_IS) -> None:
        self._file = file
        self._size = file.seek(0, 2)
        self._passes = 1
        self._passed = 0
        self._lines = self._read(name, mapping)

    def __iter__(self) -> Iterator[tuple[str, Line]]:
        return self._lines

    def bytes_read(self) -> int:
        """How far the reading is, in bytes of the file."""
        return (self._passed * self._size + self._file.tell()) // self._passes

    def _read(self, name: str, mapping: Mapping) -> Iterator[tuple[str, Line]]:
        found = list(sheets(self._file, name, mapping))
        if any(sheet.layout.tells_who_left for sheet in found):
            self._passes = 2
            yield from _of_those_who_left(found)
            self._passed = 1
            found = list(sheets(self._file, name, mapping))
        for sheet in found:
            for line in _lines(sheet):
                if self._passes == 1 or not _has_left(line):
                    yield sheet.layout.name, line


def _of_those_who_left(found: Iterable[Sheet]) -> Iterator[tuple[str, Line]]:
    for sheet in found:
        if sheet.layout.tells_who_left:
            yield from ((sheet.layout.name, line) for line in _lines(sheet) if _has_left(line))


def _lines(sheet: Sheet) -> Iterator[Line]:
    for row, cells in sheet.rows:
        try:
            yield Line(sheet.name, row, sheet.layout.read(cells))
        except Refused as refusal:
            yield Line(sheet.name, row, refusal)


def _has_left(line: Line) -> bool:
    return not isinstance(line.person, Refused) and line.person.standing in ENDED


class UnknownValues(Refused):
    """A column that may say who left has values whose meaning nobody has said; `column` and `values` are these."""

    def __init__(self, column: str, values: Sequence[str]) -> None:
        self.column, self.values = column, values
        told = ", ".join(f'"{value}"' for value in values)
        meanings = ", ".join(MEANINGS)
        super().__init__(
            f"The column {column} may say who left, and these values in it are not known here: {told}. "
            f"Say what each means: {meanings}"
        )


def check_values(file: BinaryIO, name: str, mapping: Mapping = AS_IT_IS) -> None:
    """Read a file once and raise UnknownValues if a column may say who left in words that are not understood."""
    try:
        found = list(sheets(file, name, mapping))
    except Refused:
        return  # the import itself will say why it cannot be read
    for sheet in found:
        if sheet.layout.unknown is None:
            continue
        values: dict[int, dict[str, None]] = {}
        with suppress(Refused):  # as above
            for _, cells in sheet.rows:
                for at in sheet.layout.unknown(cells):
                    values.setdefault(at, {})[cells[at].strip()[:LONGEST_SHOWN]] = None
        for at, spellings in values.items():
            raise UnknownValues(sheet.header[at].strip(), [*islice(spellings, MOST_SHOWN)])


def parse_mapping(said: object, file: BinaryIO) -> Mapping:
    """Check what was said of an upload's columns."""
    if not isinstance(said, dict):
        return Mapping.parse(said, ())
    if said.get("columns") is not None:
        return Mapping.parse(said, header_of(file))
    if said.get("values"):
        return Mapping.parse(said, _names_of_columns(file))
    return Mapping.parse(said, ())


def _names_of_columns(file: BinaryIO) -> list[str]:
    """The columns of a CSV file, or of all files of a ZIP."""
    if not is_zip(file):
        return header_of(file)
    return [name for sheet in sheets(file, "") for name in sheet.header]


def format_of(file: BinaryIO, name: str, mapping: Mapping = AS_IT_IS) -> str:
    """Who wrote a file that can be read; Refused if it cannot."""
    return next(sheets(file, name, mapping)).layout.name


def title_of(file: BinaryIO, name: str, mapping: Mapping = AS_IT_IS) -> str:
    """Who wrote a file, in a word for people."""
    try:
        return TITLES[format_of(file, name, mapping)]
    except Refused:
        return TITLES["csv"]  # the import itself will say why it cannot be read


def accept(
    tx: Connection,
    file: BinaryIO,
    *,
    name: str,
    dry_run: bool,
    mapping: Mapping = AS_IT_IS,
    worker: str | None = None,
    now: datetime,
) -> str:
    """Keep an upload until a worker has read it: any, or the one who asks."""
    said = {"dry_run": dry_run, "mapping": mapping.stored()}
    return _store(tx, file, name=name, created_at=now, **said, **_whose(worker))


def keep(tx: Connection, file: BinaryIO, *, name: str, format: str | None, now: datetime) -> str:
    """Keep an upload open until a person has said what its columns are."""
    return _store(tx, file, name=name, created_at=now, state=State.OPEN, dry_run=False, format=format)


def _store(tx: Connection, file: BinaryIO, *, name: str, **values: Any) -> str:
    import_id = ids.new()
    size = file.seek(0, 2)
    file.seek(0)
    tx.execute(sa.insert(imports).values(id=import_id, name=name[:200], size=size, **values))
    for number, data in enumerate(iter(lambda: file.read(CHUNK), b"")):
        tx.execute(sa.insert(chunks).values(import_id=import_id, number=number, data=data))
    return import_id


def _whose(worker: str | None) -> dict[str, Any]:
    return {"state": State.RUNNING, "claimed_by": worker} if worker else {"state": State.WAITING}


def start(tx: Connection, import_id: str, *, mapping: Mapping, trial: bool, worker: str | None = None) -> None:
    """Hand an open upload to a worker; after a trial, which only counts, it lies open again."""
    its = (i.id == import_id, i.state == State.OPEN)
    afresh = {"position": 0, "read": 0, "counts": {}, "error": None, "finished_at": None}
    said = {"dry_run": trial, "trial": trial, "mapping": mapping.stored()}
    if not tx.execute(sa.update(imports).where(*its).values(**afresh, **said, **_whose(worker))).rowcount:
        the_import(tx, import_id)
        raise NotAllowedNow("This import has been started already")
    tx.execute(sa.delete(problems).where(problems.c.import_id == import_id))


def discard(tx: Connection, import_id: str) -> None:
    """Forget an open upload, as if it had never come."""
    if not tx.execute(sa.delete(imports).where(i.id == import_id, i.state == State.OPEN)).rowcount:
        the_import(tx, import_id)
        raise NotAllowedNow("This import has been started already")


def stop(tx: Connection, import_id: str, *, now: datetime) -> None:
    """Take an import away from its worker, who undoes the batch in hand; whoever is in by then stays."""
    its = (i.id == import_id, i.state.in_((State.WAITING, State.RUNNING)))
    reopened: dict[str, Any] = {"state": State.OPEN, "claimed_by": None, "counts": {}, "position": 0, "read": 0}
    if tx.execute(sa.update(imports).where(*its, i.trial).values(**reopened)).rowcount:
        return
    ended = {"state": State.STOPPED, "claimed_by": None, "finished_at": now}
    if not tx.execute(sa.update(imports).where(*its).values(**ended)).rowcount:
        the_import(tx, import_id)
        raise NotAllowedNow("This import does not run")
    tx.execute(sa.delete(chunks).where(chunks.c.import_id == import_id))


def settle(
    tx: Connection, import_id: str, *, worker: str, state: State, error: str | None = None, now: datetime
) -> None:
    """The import has ended, and its file is not needed any more; that of a trial is."""
    its = (i.id == import_id, i.claimed_by == worker)
    ended = {"error": error, "finished_at": now, "claimed_by": None, "read": i.size}
    if tx.execute(sa.update(imports).where(*its, i.trial).values(state=State.OPEN, **ended)).rowcount:
        return
    if tx.execute(sa.update(imports).where(*its).values(state=state, **ended)).rowcount:
        tx.execute(sa.delete(chunks).where(chunks.c.import_id == import_id))


def claim(tx: Connection, *, worker: str, now: datetime, only: str | None = None) -> Any | None:
    """Win the oldest import that waits, or was left half done by this worker or a dead one; or a certain one."""
    left = sa.or_(i.claimed_by == worker, i.claimed_by.not_in(workers.alive(now=now)))
    free = sa.or_(i.state == State.WAITING, sa.and_(i.state == State.RUNNING, left))
    which = sa.select(i.id).where(free, i.id == only if only else sa.true()).order_by(i.created_at).limit(1)
    return tx.execute(
        sa.update(imports)
        .where(i.id == which.scalar_subquery(), free)
        .values(state=State.RUNNING, claimed_by=worker)
        .returning(imports)
    ).first()


def the_import(tx: Connection, import_id: str) -> Any:
    """One import as it stands."""
    row = tx.execute(sa.select(imports).where(i.id == import_id)).first()
    if row is None:
        raise NotFound("There is no such import")
    return row


def newest(tx: Connection, *, page: int, per_page: int) -> tuple[list[Any], int]:
    """The newest imports, and how many there are."""
    rows = tx.execute(sa.select(imports).order_by(i.id.desc()).limit(per_page).offset((page - 1) * per_page)).all()
    return list(rows), tx.scalar(sa.select(sa.func.count()).select_from(imports)) or 0


def chunk(tx: Connection, import_id: str, number: int = 0) -> bytes | None:
    """A part of an upload; the first is its beginning."""
    where = (chunks.c.import_id == import_id, chunks.c.number == number)
    data: bytes | None = tx.scalar(sa.select(chunks.c.data).where(*where))
    return data


def problems_of(tx: Connection, import_id: str) -> list[Problem]:
    """The rows that brought nobody in."""
    the_import(tx, import_id)
    p = problems.c
    rows = tx.execute(sa.select(p.sheet, p.row, p.reason).where(p.import_id == import_id).order_by(p.number))
    return [Problem(row.sheet, row.row, row.reason) for row in rows]


def count_problems(tx: Connection, import_id: str) -> int:
    """How many of them are kept."""
    its = problems.c.import_id == import_id
    return tx.scalar(sa.select(sa.func.count()).select_from(problems).where(its)) or 0


def forget(tx: Connection, *, now: datetime) -> None:
    """Delete what was imported long ago, and uploads that nobody finished."""
    left_open = sa.and_(i.state == State.OPEN, i.created_at < now - KEPT_OPEN)
    tx.execute(sa.delete(imports).where(sa.or_(left_open, i.created_at < now - KEPT)))


def totals(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Every fate with its number, zero included, so that a reader need not guess names."""
    found = dict(counts)
    return {fate.value: found.get(fate.value, 0) for fate in Fate}
