"""An issue: what a campaign says to everybody. Each is made once, and the last ones are kept."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from gna.campaigns.fragment import beginning, page_ready
from gna.campaigns.writing import draft_of
from gna.mail.render import Draft, Frame, excerpt, headline, reading

# So many are kept; a page of the archive and its feed have 20.
KEPT = 64


@dataclass(frozen=True)
class Issue:
    """A campaign as everybody may read it: nothing in it is about a person."""

    id: str
    url: str
    title: str
    excerpt: str
    html: str
    published_at: datetime
    updated_at: datetime


@dataclass(eq=False)
class Place:
    """Where an issue is kept, from the first time that somebody asks for it."""

    campaign_id: str
    updated_at: datetime
    frame: Frame
    issue: Issue | None = None
    # Many come at once when a mail has gone out; one of them does the work.
    making: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class Found:
    """A campaign that everybody may read, with its row unless its issue is kept already."""

    place: Place
    row: Any


@lru_cache(KEPT)
def place(campaign_id: str, updated_at: datetime, frame: Frame) -> Place:
    """The place of an issue; a campaign that was changed has another."""
    return Place(campaign_id, updated_at, frame)


def read(found: Iterable[Found]) -> list[Issue]:
    """What these say; takes its time, so not in the event loop."""
    return [_read(one.place, one.row) for one in found]


def title(subject: str, frame: Frame) -> str:
    """A subject as nobody in particular reads it."""
    return headline(Draft(subject, ""), frame) or frame.site


def _read(its: Place, row: Any) -> Issue:
    with its.making:
        if its.issue is None:
            its.issue = _issue(row, its.frame)
    return its.issue


def _issue(row: Any, frame: Frame) -> Issue:
    draft, named = draft_of(row._mapping, frame), title(row.subject, frame)
    fragment = reading(draft, frame)
    return Issue(
        id=row.id,
        url=f"{frame.base_url}/archive/{row.id}",
        title=named,
        excerpt=excerpt(draft, frame) if draft.preheader else beginning(fragment),
        html=page_ready(fragment, named),
        published_at=row.published_at,
        updated_at=row.updated_at,
    )
