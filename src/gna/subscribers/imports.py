"""Imports: a file waits in rows until a worker has admitted everybody in it, and is deleted then.

The position moves in the transaction that writes the people, so a killed worker loses and repeats nothing.
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Any, BinaryIO

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db, ids, log
from gna.db import Database, Instant, metadata, timed
from gna.errors import DatabaseAway, NotFound, Refused
from gna.jobs import workers
from gna.subscribers.admission import Fate, Line, Problem, Publication, Seen, Tally, admit, foresee
from gna.subscribers.sheets import sheets
from gna.subscribers.table import subscribers

logger = log.get(__name__)

# One transaction. On SQLite visitors who sign up wait for it, so it takes less than a tenth of a second.
BATCH = 500
CHUNK = 512 * 1024
# A slice of work, so that a worker that is told to stop does so soon.
SLICE = 1.0
KEPT = timedelta(days=7)
PROBLEMS_KEPT = 10_000
# After so many rows PostgreSQL is told at once, and plans searches for what is there now.
MANY = 10_000


class State(StrEnum):
    """How far an import is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


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


def lines(file: BinaryIO, name: str) -> Iterator[tuple[str, Line]]:
    """Every row of every sheet in an upload, with the name of its format."""
    for sheet in sheets(file, name):
        for row, cells in sheet.rows:
            try:
                yield sheet.layout.name, Line(sheet.name, row, sheet.layout.read(cells))
            except Refused as refusal:
                yield sheet.layout.name, Line(sheet.name, row, refusal)


def accept(
    tx: Connection, file: BinaryIO, *, name: str, dry_run: bool, worker: str | None = None, now: datetime
) -> str:
    """Keep an upload until a worker has read it: any, or the one who asks."""
    import_id = ids.new()
    size = file.seek(0, 2)
    file.seek(0)
    whose = {"state": State.RUNNING, "claimed_by": worker} if worker else {}
    tx.execute(
        sa.insert(imports).values(id=import_id, name=name[:200], dry_run=dry_run, size=size, created_at=now, **whose)
    )
    for number, data in enumerate(iter(lambda: file.read(CHUNK), b"")):
        tx.execute(sa.insert(chunks).values(import_id=import_id, number=number, data=data))
    return import_id


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


def problems_of(tx: Connection, import_id: str) -> list[Problem]:
    """The rows that brought nobody in."""
    the_import(tx, import_id)
    p = problems.c
    rows = tx.execute(sa.select(p.sheet, p.row, p.reason).where(p.import_id == import_id).order_by(p.number))
    return [Problem(row.sheet, row.row, row.reason) for row in rows]


def forget(tx: Connection, *, now: datetime) -> None:
    """Delete what was imported long ago, and uploads that nobody finished."""
    tx.execute(sa.delete(imports).where(i.created_at < now - KEPT))


@dataclass
class Run:
    """One import while a worker holds it: its rows to come, and what became of those before."""

    row: Any
    lines: Iterator[tuple[str, Line]]
    file: BinaryIO
    position: int
    tally: Tally
    seen: Seen
    problems: int = 0


class Importer:
    """Does the imports that wait, a slice at a time."""

    def __init__(self, database: Database, *, worker: str, publication: Publication) -> None:
        self._db = database
        self.worker = worker
        self._publication = publication
        self._run: Run | None = None
        self._open = ExitStack()

    def work(self, only: str | None = None) -> bool:
        """One slice; True if there was something to do."""
        if self._run is None and not self._begin(only):
            return False
        deadline = time.monotonic() + SLICE
        try:
            while self._run and time.monotonic() < deadline:
                self._batch(self._run)
                self._db.give_way()
            self._db.checkpoint()
        except Refused as refusal:
            self._end(State.FAILED, error=str(refusal))
        except (DatabaseAway, LostClaim):
            self._close()  # the rows say where to go on
            raise
        except Exception:
            logger.exception("import failed")
            self._end(State.FAILED, error="Something went wrong that is not the file's fault; the log says where")
        return True

    def finish(self, import_id: str, show: Callable[[Any], None] = lambda _: None) -> Any:
        """Do one import to its end, now, and show how far it is after each slice."""
        while True:
            with self._db.write() as tx:
                timed(workers.beat)(tx, self.worker)
            again = self.work(import_id)
            with self._db.write() as tx:
                row = the_import(tx, import_id)
                if not again or self._run is None:
                    workers.leave(tx, self.worker)
            show(row)
            if not again or self._run is None:
                return row

    def _begin(self, only: str | None) -> bool:
        with self._db.write() as tx:
            row = timed(claim)(tx, worker=self.worker, only=only)
        if row is None:
            return False
        file = self._open.enter_context(self._file(row.id))
        seen = Seen()
        self._open.callback(seen.close)
        tally = Tally()
        tally.fates.update({Fate(fate): count for fate, count in row.counts.items()})
        rows = lines(file, row.name)
        self._run = Run(row, rows, file, row.position, tally, seen)
        try:
            for _, line in islice(rows, row.position):
                if row.dry_run and not isinstance(line.person, Refused):
                    seen.before(line.person.email)
            with self._db.read() as tx:
                self._run.problems = len(problems_of(tx, row.id))
        except Refused as refusal:
            self._end(State.FAILED, error=str(refusal))
        return True

    @contextmanager
    def _file(self, import_id: str) -> Iterator[BinaryIO]:
        """The upload, in a file without a name that is gone when it is closed."""
        with tempfile.TemporaryFile() as file:
            number = 0
            while True:
                with self._db.read() as tx:
                    where = (chunks.c.import_id == import_id, chunks.c.number == number)
                    data = tx.scalar(sa.select(chunks.c.data).where(*where))
                if data is None:
                    break
                file.write(data)
                number += 1
            file.seek(0)
            yield file

    def _batch(self, run: Run) -> None:
        batch = list(islice(run.lines, BATCH))
        if not batch:
            return self._end(State.DONE)
        rows = [line for _, line in batch]
        with self._db.write() if not run.row.dry_run else self._db.read() as tx:
            if run.row.dry_run:
                foresee(tx, rows, run.tally, seen=run.seen, secret=self._publication.secret)
            else:
                timed(admit)(tx, rows, run.tally, publication=self._publication)
                self._save(tx, run, batch)
        if run.row.dry_run:
            with self._db.write() as tx:
                self._save(tx, run, batch)
        return None

    def _save(self, tx: Connection, run: Run, batch: list[tuple[str, Line]]) -> None:
        """Move the position, in the transaction that wrote the people."""
        run.position += len(batch)
        found = run.tally.problems[: max(0, PROBLEMS_KEPT - run.problems)]
        if found:
            tx.execute(
                sa.insert(problems),
                [
                    {"import_id": run.row.id, "number": number, **asdict(problem)}
                    for number, problem in enumerate(found, start=run.problems)
                ],
            )
        run.problems += len(found)
        run.tally.problems.clear()
        moved = tx.execute(
            sa.update(imports)
            .where(i.id == run.row.id, i.claimed_by == self.worker)
            .values(position=run.position, read=run.file.tell(), counts=dict(run.tally.fates), format=batch[0][0])
        )
        if not moved.rowcount:
            raise LostClaim

    def _end(self, state: State, *, error: str | None = None) -> None:
        run = self._run
        assert run
        with self._db.write() as tx:
            timed(_settle)(tx, run.row.id, worker=self.worker, state=state, error=error)
        self._close()
        if run.position > MANY and not run.row.dry_run:
            self._db.vacuum(subscribers.name)
        logger.info(
            "import ended", state=str(state), rows=run.position, **{str(f): n for f, n in run.tally.fates.items()}
        )

    def _close(self) -> None:
        self._run = None
        self._open.close()


class LostClaim(Exception):
    """Another worker took this import over; the transaction is undone."""


def _settle(tx: Connection, import_id: str, *, worker: str, state: State, error: str | None, now: datetime) -> None:
    """The file is not needed any more."""
    tx.execute(
        sa.update(imports)
        .where(i.id == import_id, i.claimed_by == worker)
        .values(state=state, error=error, finished_at=now, claimed_by=None, read=i.size)
    )
    tx.execute(sa.delete(chunks).where(chunks.c.import_id == import_id))


def totals(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Every fate with its number, zero included, so that a reader need not guess names."""
    found = dict(counts)
    return {fate.value: found.get(fate.value, 0) for fate in Fate}
