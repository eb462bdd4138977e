"""The click on a link that proves an address: for a new subscription, or for a new address."""

from datetime import datetime
from enum import Enum, auto

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from gna import outbox, tokens
from gna.subscribers.lists import come_back
from gna.subscribers.suppressions import welcome_back
from gna.subscribers.table import GENERAL, subscribers

s = subscribers.c


class Confirmed(Enum):
    """What a click on a confirmation link did."""

    SUBSCRIBED = auto()
    ADDRESS_CHANGED = auto()
    BEFORE = auto()
    TAKEN = auto()
    NOT = auto()


def confirm(tx: Connection, token: str, *, secret: str | None, now: datetime) -> Confirmed:
    """Do what the holder of this token asked for: activate them, take them back, or change their address."""
    digest = tokens.digest(token)
    holder = tx.execute(
        sa.select(s.id, s.email, s.activated_at, s.pending_email)
        .where(s.confirmation_token == digest, s.confirmation_expires_at > now)
        .with_for_update()
    ).first()
    if holder is None:
        used = sa.select(s.id).where(s.used_token == digest, s.used_token_expires_at > now)
        return Confirmed.BEFORE if tx.scalar(used) else Confirmed.NOT
    if holder.activated_at is None:
        _use_up(tx, holder.id, activated_at=now)
        welcome_back(tx, holder.email, secret=secret)
        return Confirmed.SUBSCRIBED
    if holder.pending_email is None:
        if not come_back(tx, holder.id, GENERAL):
            return Confirmed.NOT
        _use_up(tx, holder.id)
        return Confirmed.SUBSCRIBED
    return _change_address(tx, holder.id, holder.pending_email, secret=secret)


def _change_address(tx: Connection, subscriber_id: str, email: str, *, secret: str | None) -> Confirmed:
    """The first of two people who asked for the same address wins; the index decides, also in a race."""
    try:
        with tx.begin_nested():
            _use_up(tx, subscriber_id, email=email, pending_email=None)
    except IntegrityError:
        return Confirmed.TAKEN
    outbox.redirect(tx, subscriber_id=subscriber_id, to=email)
    welcome_back(tx, email, secret=secret)
    return Confirmed.ADDRESS_CHANGED


def _use_up(tx: Connection, subscriber_id: str, **changes: object) -> None:
    """Apply the change; the token stays recognisable for a second click, and does nothing more."""
    tx.execute(
        sa.update(subscribers)
        .where(s.id == subscriber_id)
        .values(
            used_token=s.confirmation_token,
            used_token_expires_at=s.confirmation_expires_at,
            confirmation_token=None,
            confirmation_expires_at=None,
            **changes,
        )
    )
