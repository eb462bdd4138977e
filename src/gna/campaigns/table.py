"""The tables of campaigns and their deliveries, and the one function for each that moves their state."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.campaigns.states import DELIVERY_MOVES, MOVES, Sending, State, derived
from gna.db import Instant, metadata, type_json
from gna.errors import NotAllowedNow, NotFound

NOT_NOW = "Operation not allowed in current state"
CHANGED = "Somebody changed the campaign meanwhile; look at it again"


class Changed(NotAllowedNow):
    """The campaign does not say any more what somebody looked at."""


campaigns = sa.Table(
    "campaigns",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("body_format", sa.Text, nullable=False, server_default="html"),
    sa.Column("body_text", sa.Text),
    sa.Column("preheader", sa.Text),
    sa.Column("audience", type_json, nullable=False, server_default="{}"),
    sa.Column("state", sa.Text, nullable=False, server_default=State.DRAFT),
    sa.Column("scheduled_at", Instant),
    # Why it was not started at its time, and waits for a person.
    sa.Column("held", sa.Text),
    # Whether everybody may read it at /archive.
    sa.Column("archived", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
    # When it was sent for the first time.
    sa.Column("published_at", Instant),
    # The Markdown from which the HTML body was made, for an author who switches back.
    sa.Column("body_markdown", sa.Text),
    # True while body_text is what a feed wrote with the body; a change of the body drops it.
    sa.Column("body_text_made", sa.Boolean, nullable=False, server_default=sa.false()),
)
c = campaigns.c
sa.Index("idx_campaigns_newest", c.created_at, c.id)
sa.Index("idx_campaigns_state", c.state, c.created_at, c.id)
# With the state in it, so that no row, whose body may be long, is read only to be passed over.
sa.Index("idx_campaigns_archive", c.archived, c.published_at, c.id, c.state)

deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("campaign_id", sa.Text, sa.ForeignKey("campaigns.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("channel_type", sa.Text, nullable=False, server_default="email"),
    sa.Column("state", sa.Text, nullable=False, server_default=Sending.PENDING),
    sa.Column("content_hash", sa.Text, sa.ForeignKey("contents.hash")),
    # Its messages, and the sums of what became of them.
    sa.Column("mailing_id", sa.Integer, sa.ForeignKey("mailings.id")),
    sa.Column("error_detail", sa.Text),
    sa.Column("started_at", Instant),
    sa.Column("finished_at", Instant),
)
d = deliveries.c
_sending = "state = 'sending'"
# The few that are under way are looked for every second, among all that ever were.
sa.Index("idx_deliveries_sending", d.mailing_id, sqlite_where=sa.text(_sending))
sa.Index("idx_deliveries_started_at", d.started_at)
is_sending = d.state == sa.literal_column("'sending'")


def locked(tx: Connection, campaign_id: str) -> Any:
    """The campaign's row; until the transaction ends, nobody else changes it or its deliveries."""
    row = tx.execute(sa.select(campaigns).where(c.id == campaign_id).with_for_update()).one_or_none()
    if row is None:
        raise NotFound("There is no such campaign")
    return row


def as_seen(campaign: Any, seen: datetime | None) -> None:
    """Refuse if somebody changed a campaign since it was last looked at; who never looked accepts it as it is."""
    if seen is not None and campaign.updated_at != seen:
        raise Changed(CHANGED)


def move(tx: Connection, campaign_id: str, end: State, **values: Any) -> None:
    """The one function that changes a campaign's state."""
    allowed = c.state.in_([start for start, ends in MOVES.items() if end in ends])
    moved = tx.execute(sa.update(campaigns).where(c.id == campaign_id, allowed).values(state=end, **values))
    if not moved.rowcount:
        raise NotAllowedNow(NOT_NOW)


def move_delivery(tx: Connection, delivery_id: str, start: Sending, end: Sending, **values: Any) -> None:
    """The one function that changes a delivery's state, and with it the campaign's."""
    moved = sa.update(deliveries).where(d.id == delivery_id, d.state == start).values(state=end, **values)
    campaign_id = tx.scalar(moved.returning(d.campaign_id)) if end in DELIVERY_MOVES[start] else None
    if campaign_id is None:
        raise NotAllowedNow(NOT_NOW)
    _follow(tx, campaign_id)


def _follow(tx: Connection, campaign_id: str) -> None:
    """Bring the campaign to where its deliveries are."""
    states = tx.scalars(sa.select(d.state).where(d.campaign_id == campaign_id)).all()
    before = State(tx.execute(sa.select(c.state).where(c.id == campaign_id)).scalar_one())
    after = derived([Sending(state) for state in states], before)
    if after != before:
        move(tx, campaign_id, after)


def email_delivery(tx: Connection, campaign_id: str) -> Any:
    """The campaign's delivery by email."""
    return tx.execute(sa.select(deliveries).where(d.campaign_id == campaign_id, d.channel_type == "email")).one()


def touch(tx: Connection, campaign_id: str, *, now: datetime, **values: Any) -> None:
    """Change columns of a campaign, and remember when."""
    tx.execute(sa.update(campaigns).where(c.id == campaign_id).values(updated_at=now, **values))
