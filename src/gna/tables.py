"""Every table, in one place for those who need them all: migrations and tests."""

from gna import activity, outbox, provider_history
from gna.campaigns import table as campaigns
from gna.db import metadata
from gna.delivery import mailings, pace
from gna.feeds import table as feeds
from gna.inbox import table as inbox
from gna.jobs import timetable, workers
from gna.subscribers import filing, imports, table, tally

__all__ = [
    "activity",
    "campaigns",
    "feeds",
    "filing",
    "imports",
    "inbox",
    "mailings",
    "metadata",
    "outbox",
    "pace",
    "provider_history",
    "table",
    "tally",
    "timetable",
    "workers",
]
