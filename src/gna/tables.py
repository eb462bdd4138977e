"""Every table, in one place for those who need them all: migrations and tests."""

from gna import outbox
from gna.db import metadata
from gna.jobs import timetable, workers
from gna.subscribers import imports, needles, table

__all__ = ["imports", "metadata", "needles", "outbox", "table", "timetable", "workers"]
