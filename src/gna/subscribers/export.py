"""The subscribers as a CSV file that spreadsheets open rightly, and safely."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from gna import clock
from gna.db import Database
from gna.subscribers.admission import Problem
from gna.subscribers.directory import everybody
from gna.subscribers.formats.own import guarded
from gna.subscribers.wanted import EVERYBODY, Wanted

COLUMNS = ("email", "nickname", "status", "activated_at")
# Excel takes the file for UTF-8 only with this mark.
BOM = "\ufeff"


def export(db: Database, wanted: Wanted = EVERYBODY) -> Iterator[str]:
    """The file, piece by piece."""
    pages = everybody(db, wanted)
    # The first people are read before anything is sent: a database that is away is an error then, not half a file.
    first = next(pages, [])
    yield BOM + _csv([COLUMNS, *map(_cells, first)])
    for rows in pages:
        yield _csv(map(_cells, rows))


def _cells(row: Any) -> tuple[str, ...]:
    activated = clock.iso(row.activated_at) if row.activated_at else ""
    return guarded(row.email), guarded(row.nickname or ""), "Activated" if activated else "Pending", activated


def _csv(rows: Iterable[Iterable[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def problem_file(found: Iterable[Problem]) -> Iterator[str]:
    """Which rows of an import brought nobody in, and why."""
    yield BOM + _csv([("file", "row", "error")])
    yield _csv((guarded(problem.sheet), str(problem.row), guarded(problem.reason)) for problem in found)
