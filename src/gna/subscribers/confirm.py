"""The click on a link that proves an address: for a new subscription, or for a new address."""

from datetime import datetime
from enum import Enum, auto
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from gna import outbox, tokens
from gna.subscribers.lists import come_back
from gna.subscribers.suppressions import Reason, suppress, welcome_back
from gna.subscribers.table import GENERAL, subscribers, used_tokens

s = subscribers.c


class Confirmed(Enum):
    """What a click on a confirmation link did."""

    SUBSCRIBED = auto()
    ADDRESS_CHANGED = auto()
    BEFORE = auto()
    TAKEN = auto()
    NOT = auto()


def peek(tx: Connection, token: str, *, now: datetime) -> Confirmed | None:
    """What a click would find, without doing anything: None if the link still works."""
    if tx.execute(_holder(token, now)).first():
        return None
    used = sa.select(used_tokens.c.token).where(
        used_tokens.c.token == tokens.digest(token), used_tokens.c.expires_at > now
    )
    return Confirmed.BEFORE if tx.scalar(used) else Confirmed.NOT


def confirm(tx: Connection, token: str, *, secret: str | None, now: datetime) -> Confirmed:
    """Do what the holder of this token asked for: activate them, take them back, or change their address."""
    holder = tx.execute(_holder(token, now).with_for_update()).first()
    if holder is None:
        return peek(tx, token, now=now) or Confirmed.NOT
    if holder.activated_at is None:
        _use_up(tx, holder, activated_at=now)
        welcome_back(tx, holder.email, secret=secret)
        return Confirmed.SUBSCRIBED
    if holder.pending_email is None:
        if not come_back(tx, holder.id, GENERAL):
            return Confirmed.NOT
        _use_up(tx, holder)
        return Confirmed.SUBSCRIBED
    return _change_address(tx, holder, secret=secret, now=now)


def _holder(token: str, now: datetime) -> sa.Select[Any]:
    columns = (s.id, s.email, s.activated_at, s.pending_email, s.confirmation_token, s.confirmation_expires_at)
    live = (s.confirmation_token == tokens.digest(token), s.confirmation_expires_at > now)
    return sa.select(*columns).where(*live)


def _change_address(tx: Connection, holder: Any, *, secret: str | None, now: datetime) -> Confirmed:
    """The first of two people who asked for the same address wins; the index decides, also in a race."""
    try:
        with tx.begin_nested():
            _use_up(tx, holder, email=holder.pending_email, pending_email=None)
    except IntegrityError:
        return Confirmed.TAKEN
    outbox.redirect(tx, subscriber_id=holder.id, to=holder.pending_email)
    welcome_back(tx, holder.pending_email, secret=secret)
    # An old file must not bring the person in a second time, under the address that they gave up.
    suppress(tx, [holder.email], secret=secret, reason=Reason.MOVED, now=now)
    return Confirmed.ADDRESS_CHANGED


def _use_up(tx: Connection, holder: Any, **changes: object) -> None:
    """Apply the change; the token stays recognisable for a second click, and does nothing more."""
    tx.execute(
        sa.update(subscribers)
        .where(s.id == holder.id)
        .values(confirmation_token=None, confirmation_expires_at=None, **changes)
    )
    tx.execute(
        sa.insert(used_tokens).values(
            token=holder.confirmation_token, subscriber_id=holder.id, expires_at=holder.confirmation_expires_at
        )
    )
