"""Every table, in one place for those who need them all: migrations and tests."""

from gna import outbox
from gna.db import metadata
from gna.jobs import timetable, workers
from gna.subscribers import table

__all__ = ["metadata", "outbox", "table", "timetable", "workers"]
