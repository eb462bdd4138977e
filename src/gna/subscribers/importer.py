"""Does the imports that wait, a slice at a time.

The position moves in the transaction that writes the people, so a killed worker loses and repeats nothing.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, BinaryIO

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import log
from gna.db import Database, timed
from gna.errors import DatabaseAway, Refused
from gna.jobs import workers
from gna.subscribers.admission import Fate, Line, Publication, Seen, Tally, admit, foresee
from gna.subscribers.formats import Mapping
from gna.subscribers.imports import Lines, State, chunk, claim, count_problems, i, imports, problems, settle, the_import
from gna.subscribers.table import subscribers

logger = log.get(__name__)

# One transaction. On SQLite visitors who sign up wait for it, so it takes less than a tenth of a second.
BATCH = 500
# A slice of work, so that a worker that is told to stop does so soon.
SLICE = 1.0
PROBLEMS_KEPT = 10_000
# After so many rows PostgreSQL is told at once, and plans searches for what is there now.
MANY = 10_000


@dataclass
class Run:
    """One import while a worker holds it: its rows to come, and what became of those before."""

    row: Any
    file: Lines
    lines: Iterator[tuple[str, Line]]
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
        except DatabaseAway:
            self._close()  # the rows say where to go on
            raise
        except LostClaim:
            self._close()
            logger.info("import was taken away")
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
        lines = Lines(file, row.name, Mapping.restored(row.mapping))
        rows = iter(lines)
        self._run = Run(row, lines, rows, row.position, tally, seen)
        try:
            for _, line in islice(rows, row.position):
                if row.dry_run and not isinstance(line.person, Refused):
                    seen.again(line.person)
            with self._db.read() as tx:
                self._run.problems = count_problems(tx, row.id)
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
                    data = chunk(tx, import_id, number)
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
            .values(position=run.position, read=run.file.bytes_read(), counts=dict(run.tally.fates), format=batch[0][0])
        )
        if not moved.rowcount:
            raise LostClaim

    def _end(self, state: State, *, error: str | None = None) -> None:
        run = self._run
        assert run
        with self._db.write() as tx:
            timed(settle)(tx, run.row.id, worker=self.worker, state=state, error=error)
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
    """Another worker took this import over, or a person stopped it; the transaction is undone."""
