"""Activity: who did what in the admin, written in the transaction that did it.

No reader's address, name or token is ever among it: a person who leaves shall be found nowhere.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock, ids
from gna.db import Instant, metadata
from gna.errors import Refused

KEPT = timedelta(days=365)
ABOUT_MAX = 200


class Verb(StrEnum):
    """What somebody did."""

    CAMPAIGN_CREATED = "campaign_created"
    CAMPAIGN_CHANGED = "campaign_changed"
    CAMPAIGN_COPIED = "campaign_copied"
    CAMPAIGN_DELETED = "campaign_deleted"
    CAMPAIGN_TESTED = "campaign_tested"
    CAMPAIGN_SCHEDULED = "campaign_scheduled"
    CAMPAIGN_CANCELLED = "campaign_cancelled"
    CAMPAIGN_SENT = "campaign_sent"
    CAMPAIGN_PAUSED = "campaign_paused"
    CAMPAIGN_RESUMED = "campaign_resumed"
    DELIVERY_RETRIED = "delivery_retried"
    SUBSCRIBER_ADDED = "subscriber_added"
    SUBSCRIBER_CHANGED = "subscriber_changed"
    SUBSCRIBER_REMOVED = "subscriber_removed"
    CONFIRMATION_SENT_AGAIN = "confirmation_sent_again"
    SUBSCRIBERS_EXPORTED = "subscribers_exported"
    IMPORT_UPLOADED = "import_uploaded"
    IMPORT_DISCARDED = "import_discarded"
    IMPORT_STARTED = "import_started"
    IMPORT_STOPPED = "import_stopped"
    BOUNCE_DISMISSED = "bounce_dismissed"
    DEAD_LETTER_REPLAYED = "dead_letter_replayed"
    DEAD_LETTER_DROPPED = "dead_letter_dropped"
    FEED_ADDED = "feed_added"
    FEED_CHANGED = "feed_changed"
    FEED_CHECKED = "feed_checked"
    FEED_SKIPPED = "feed_skipped"
    FEED_REMOVED = "feed_removed"
    INBOX_SCANNED = "inbox_scanned"
    INBOX_KEPT = "inbox_kept"
    INBOX_UNKEPT = "inbox_unkept"
    # A subscription of our own was left, or that did not work.
    INBOX_LEFT = "inbox_left"
    INBOX_TRIED = "inbox_tried"
    INBOX_EXPORTED = "inbox_exported"


# The parts of the admin, each with the first words of its verbs.
AREAS = {
    "campaigns": ("campaign", "delivery"),
    "subscribers": ("subscriber", "subscribers", "confirmation", "import"),
    "feeds": ("feed",),
    "letters": ("bounce", "dead"),
    "inbox": ("inbox",),
}


activity = sa.Table(
    "activity",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("at", Instant, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("verb", sa.Text, nullable=False),
    # What it was done to, in words that stay when the thing is gone: a subject, an address of a feed, a number.
    sa.Column("about", sa.Text, nullable=False, server_default=""),
    # Its id, to open it while it is there.
    sa.Column("target", sa.Text),
)
a = activity.c
sa.Index("idx_activity_at", a.at)


def note(tx: Connection, *, by: str, verb: Verb, about: str = "", target: str | None = None, now: datetime) -> None:
    """Write down that somebody did something."""
    row = {"id": ids.new(), "at": now, "who": by, "verb": verb, "about": about[:ABOUT_MAX], "target": target}
    tx.execute(sa.insert(activity).values(**row))


def was_noted(tx: Connection, *, by: str, verb: Verb, target: str | None, since: datetime) -> bool:
    """Whether this somebody did this to the same thing since then."""
    same = (a.at > since, a.who == by, a.verb == verb, a.target == target)
    return tx.execute(sa.select(a.id).where(*same).limit(1)).first() is not None


def verbs_of(area: str) -> list[Verb]:
    """What can be done in one part of the admin."""
    if area not in AREAS:
        raise Refused(f"area must be one of {', '.join(AREAS)}")
    return [verb for verb in Verb if verb.partition("_")[0] in AREAS[area]]


def newest(
    tx: Connection, *, page: int, per_page: int, who: str = "", area: str = ""
) -> tuple[list[dict[str, Any]], int]:
    """One page of what was done, newest first, and how much there is; by one person, in one part of the admin."""
    if "\0" in who:
        return [], 0  # no database keeps such a name
    wanted = sa.and_(a.who == who if who else sa.true(), a.verb.in_(verbs_of(area)) if area else sa.true())
    # The ids are in the order of time.
    some = sa.select(activity).where(wanted).order_by(a.id.desc()).limit(per_page).offset((page - 1) * per_page)
    total = tx.scalar(sa.select(sa.func.count()).select_from(activity).where(wanted)) or 0
    return [{**row._mapping, "at": clock.iso(row.at)} for row in tx.execute(some)], total


def forget(tx: Connection, *, now: datetime) -> None:
    """Delete what was done long ago."""
    tx.execute(sa.delete(activity).where(a.at < now - KEPT))
