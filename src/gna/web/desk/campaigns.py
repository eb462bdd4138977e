"""What an admin does with campaigns. Composing takes a while for a long text, so it is done before the transaction."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy.engine import Connection
from starlette.requests import Request

from gna.activity import Verb
from gna.campaigns import audience, overview, preview, publish, writing
from gna.campaigns.audience import Audience, EmptyAudience
from gna.campaigns.publish import Ready
from gna.campaigns.states import State
from gna.campaigns.table import as_seen, c
from gna.campaigns.writing import Wish
from gna.db import timed
from gna.mail.render import compose
from gna.web.desk import do
from gna.web.ground import ground

# A draft saves itself with every pause of its writer; what counts is who wrote, and when about.
CHANGES_NOTED = timedelta(hours=1)


async def create(request: Request, wish: Wish, campaign_id: str | None = None) -> str:
    """A new draft; says its id."""
    if wish.is_complete:
        await _can_be_composed(request, wish.columns)
    made = partial(timed(writing.create), wish=wish, campaign_id=campaign_id)
    return await do(request, Verb.CAMPAIGN_CREATED, made, about=wish.columns["subject"], target=str)


async def change(request: Request, campaign_id: str, wish: Wish, *, seen: datetime | None = None) -> None:
    """Change what it says, to whom, or whether it is in the archive; not what somebody else changed since `seen`."""
    row = await ground(request).look(overview.row, campaign_id)
    after = {**row._mapping, **wish.columns}
    if wish.is_complete and set(wish.columns) & set(writing.SAID):
        await _can_be_composed(request, after)
    await do(
        request,
        Verb.CAMPAIGN_CHANGED,
        timed(writing.change),
        campaign_id,
        wish,
        seen=seen,
        about=after["subject"],
        target=campaign_id,
        # What is scheduled goes out as it was last saved, so that each time counts.
        once_in=CHANGES_NOTED if row.state == State.DRAFT else None,
    )


async def delete(request: Request, campaign_id: str) -> None:
    """Throw a draft away."""
    await _act(request, Verb.CAMPAIGN_DELETED, campaign_id, partial(writing.delete, campaign_id=campaign_id))


async def duplicate(request: Request, campaign_id: str) -> str:
    """A new draft that says the same; says its id."""

    def copied(tx: Connection) -> tuple[str, str]:
        subject = _subject(tx, campaign_id)
        return timed(writing.duplicate)(tx, campaign_id), subject

    copy, _ = await do(request, Verb.CAMPAIGN_COPIED, copied, about=lambda done: done[1], target=lambda done: done[0])
    return copy


async def send(
    request: Request,
    campaign_id: str,
    *,
    seen: datetime | None = None,
    must_have_audience: bool = False,
) -> None:
    """Publish at once, as it was when somebody looked; with `must_have_audience`, not to an empty audience."""
    ready = await _ready(request, campaign_id, seen)
    if must_have_audience:
        await _check_audience(request, campaign_id)
    await _act(request, Verb.CAMPAIGN_SENT, campaign_id, partial(timed(publish.send), ready=ready))
    ground(request).ring("publish")


async def schedule(request: Request, campaign_id: str, *, at: datetime | None, seen: datetime | None = None) -> None:
    """Publish at a time, or at the one that was planned."""
    ready = await _ready(request, campaign_id, seen)
    await _act(request, Verb.CAMPAIGN_SCHEDULED, campaign_id, partial(timed(publish.schedule), ready=ready, at=at))
    ground(request).ring("publish")


async def cancel(request: Request, campaign_id: str) -> None:
    """Make a scheduled campaign a draft again."""
    await _act(request, Verb.CAMPAIGN_CANCELLED, campaign_id, partial(timed(publish.cancel), campaign_id=campaign_id))
    ground(request).ring("publish")


async def pause(request: Request, campaign_id: str) -> None:
    """Send no more of it for now."""
    await _act(request, Verb.CAMPAIGN_PAUSED, campaign_id, partial(publish.pause, campaign_id=campaign_id))


async def resume(request: Request, campaign_id: str) -> None:
    """Go on where it was paused."""
    await _act(request, Verb.CAMPAIGN_RESUMED, campaign_id, partial(publish.resume, campaign_id=campaign_id))
    ground(request).ring("send")


async def retry(request: Request, delivery_id: str) -> None:
    """Send what a failed delivery could not send."""

    def retried(tx: Connection) -> tuple[str, str]:
        campaign_id = timed(publish.retry)(tx, delivery_id)
        return campaign_id, _subject(tx, campaign_id)

    await do(request, Verb.DELIVERY_RETRIED, retried, about=lambda done: done[1], target=lambda done: done[0])
    ground(request).ring("send")


async def test(request: Request, campaign_id: str, to: Sequence[str]) -> None:
    """Mail it to a few addresses, in any state."""
    here = ground(request)
    row = await here.look(overview.row, campaign_id)
    content = await asyncio.to_thread(compose, writing.draft_of(row._mapping, here.frame), here.frame)
    trial = partial(timed(preview.send_trial), content=content, to=to, frame=here.frame)
    await _act(request, Verb.CAMPAIGN_TESTED, campaign_id, trial)
    here.ring("send")


async def _act(request: Request, verb: Verb, campaign_id: str, action: Callable[[Connection], object]) -> None:
    """Do something with a campaign, and note it under its subject."""

    def named(tx: Connection) -> str:
        subject = _subject(tx, campaign_id)
        action(tx)
        return subject

    await do(request, verb, named, about=str, target=campaign_id)


def _subject(tx: Connection, campaign_id: str) -> str:
    return str(overview.row(tx, campaign_id, columns=[c.subject]).subject)


async def _ready(request: Request, campaign_id: str, seen: datetime | None) -> Ready:
    """The campaign, composed outside of any transaction, if it still says what somebody saw."""
    here = ground(request)
    row = await here.look(overview.row, campaign_id)
    as_seen(row, seen)
    return await asyncio.to_thread(publish.prepare, row, here.frame)


async def _check_audience(request: Request, campaign_id: str) -> None:
    here = ground(request)
    row = await here.look(overview.row, campaign_id)
    if not await here.look(audience.count, Audience.parse(row.audience)):
        raise EmptyAudience("Its audience is empty")


async def _can_be_composed(request: Request, columns: Mapping[str, Any]) -> None:
    """Refuse at once what could not be sent later."""
    frame = ground(request).frame
    await asyncio.to_thread(compose, writing.draft_of(columns, frame), frame)
