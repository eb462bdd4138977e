"""Campaigns as an admin sees them, with the sums of their deliveries."""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock
from gna.campaigns.states import ENDED, Sending, State
from gna.campaigns.table import c, campaigns, d, deliveries
from gna.delivery import mailings
from gna.delivery.mailings import mailings as mailing_rows
from gna.errors import NotFound, Refused

m = mailing_rows.c
# The body is for whoever opens one campaign; a page of them would be megabytes.
LONG = ("body", "body_text", "body_markdown")
# What only writing needs; no client sees it.
INTERNAL = ("body_markdown", "body_text_made")
LISTED = [column for column in c if column.name not in LONG]
NEWEST_FIRST = (c.created_at.desc(), c.id.desc())
SUMS = ("audience_count", "sent_count", "failure_count", "skipped_count", "remaining_count")


def parse_state(text: str) -> State | None:
    """The state to filter by; nothing means all."""
    if text and text not in [*State]:
        raise Refused(f"state must be one of {', '.join(State)}")
    return State(text) if text else None


def newest(tx: Connection, *, state: State | None, page: int, per_page: int) -> tuple[list[dict[str, Any]], int]:
    """One page of campaigns, newest first, and how many there are."""
    wanted = c.state == state if state else sa.true()
    total = tx.scalar(sa.select(sa.func.count()).select_from(campaigns).where(wanted)) or 0
    some = sa.select(*LISTED).where(wanted).order_by(*NEWEST_FIRST)
    rows = tx.execute(some.limit(per_page).offset((page - 1) * per_page)).all()
    return _shown(tx, rows), total


def these(tx: Connection, campaign_ids: Sequence[str]) -> list[dict[str, Any]]:
    """These campaigns, newest first, without their bodies."""
    return _shown(tx, tx.execute(sa.select(*LISTED).where(c.id.in_(campaign_ids)).order_by(*NEWEST_FIRST)).all())


def get(tx: Connection, campaign_id: str) -> dict[str, Any]:
    """One campaign with everything."""
    return _shown(tx, [row(tx, campaign_id)])[0]


def row(tx: Connection, campaign_id: str, *, columns: Iterable[sa.Column[Any]] = c) -> Any:
    """One campaign as it is stored."""
    found = tx.execute(sa.select(*columns).where(c.id == campaign_id)).one_or_none()
    if found is None:
        raise NotFound("There is no such campaign")
    return found


def delivery(tx: Connection, delivery_id: str) -> dict[str, Any]:
    """One delivery."""
    found = tx.execute(_deliveries().where(d.id == delivery_id)).one_or_none()
    if found is None:
        raise NotFound("There is no such delivery")
    return _delivery(tx, found)


def progress(tx: Connection, campaign_id: str) -> dict[str, Any]:
    """What changes while a campaign is being published."""
    shown = _shown(tx, [row(tx, campaign_id, columns=LISTED)])[0]
    return {name: shown[name] for name in ("id", "state", *SUMS, "deliveries")}


def _shown(tx: Connection, rows: Sequence[Any]) -> list[dict[str, Any]]:
    of: dict[str, list[dict[str, Any]]] = {row.id: [] for row in rows}
    for found in tx.execute(_deliveries().where(d.campaign_id.in_([*of]))).all():
        of[found.campaign_id].append(_delivery(tx, found))
    return [_campaign(row, of[row.id]) for row in rows]


def _campaign(row: Any, its: list[dict[str, Any]]) -> dict[str, Any]:
    shown = {
        name: clock.iso(value) if value is not None and name.endswith("_at") else value
        for name, value in row._mapping.items()
        if name not in INTERNAL
    }
    return shown | {name: sum(delivery[name] for delivery in its) for name in SUMS} | {"deliveries": its}


def _deliveries() -> sa.Select[Any]:
    sums = (m.state.label("mailing"), m.audience, m.sent_count, m.failed_count, m.reasons)
    return sa.select(deliveries, *sums).join(mailing_rows, m.id == d.mailing_id, isouter=True).order_by(d.id)


def _delivery(tx: Connection, row: Any) -> dict[str, Any]:
    sent, failed = row.sent_count or 0, row.failed_count or 0
    left = (row.audience or 0) - sent - failed
    ended = row.state in ENDED
    return {
        "id": row.id,
        "campaign_id": row.campaign_id,
        "channel_type": row.channel_type,
        "state": row.state,
        "paused": row.mailing == mailings.State.PAUSED,
        "audience_count": row.audience or 0,
        "sent_count": sent,
        "failure_count": failed,
        # People who left after they were counted.
        "skipped_count": left if ended else 0,
        "remaining_count": 0 if ended else left,
        "error_detail": row.error_detail,
        "reasons": row.reasons or [],
        # What a mail server said to those who have to wait.
        "waiting_for": mailings.why_waiting(tx, row.mailing_id) if row.state == Sending.SENDING else None,
        "started_at": row.started_at and clock.iso(row.started_at),
        "finished_at": row.finished_at and clock.iso(row.finished_at),
    }
