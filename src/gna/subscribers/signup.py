"""Signing up, with double opt-in: nobody is a subscriber until they clicked the link in their own mailbox."""

import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db, ids, outbox, tokens
from gna.errors import Refused
from gna.mail import address
from gna.mail.content import letter
from gna.subscribers.table import subscribers

CONFIRM_WITHIN = timedelta(hours=24)
NICKNAME_MAX = 50


@dataclass(frozen=True)
class Site:
    """What a mail must know of the publication it speaks for."""

    name: str
    base_url: str


@dataclass(frozen=True)
class SignUp:
    """A visitor's wish to subscribe, already checked."""

    email: str
    nickname: str | None = None

    @classmethod
    def parse(cls, *, email: object, nickname: object = None) -> "SignUp":
        """Check what a visitor typed."""
        return cls(email=address.parse(email), nickname=parse_nickname(nickname))


class Confirmed(Enum):
    """What a click on a confirmation link did."""

    NOW = auto()
    BEFORE = auto()
    NOT = auto()


def parse_nickname(typed: object) -> str | None:
    """The nickname without outer white space; nothing at all means none."""
    if typed is None or typed == "":
        return None
    nickname = typed.strip() if isinstance(typed, str) else ""
    if not 1 <= len(nickname) <= NICKNAME_MAX:
        raise Refused("Nickname must be 1–50 characters")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in nickname):
        raise Refused("Nickname contains characters that cannot be shown")
    return nickname


def subscribe(tx: Connection, wish: SignUp, *, site: Site, now: datetime) -> None:
    """Remember a pending subscriber and post the mail that asks for confirmation, both or neither.

    A pending person gets a new link and the old one dies; for a confirmed one nothing happens.
    """
    token = tokens.new()
    fresh = {"confirmation_token": tokens.digest(token), "confirmation_expires_at": now + CONFIRM_WITHIN}
    added = db.insert(tx, subscribers).values(
        id=ids.new(),
        email=wish.email,
        nickname=wish.nickname,
        unsubscribe_token=tokens.new(),
        created_at=now,
        **fresh,
    )
    subscriber_id = tx.scalar(
        added.on_conflict_do_update(
            index_elements=[sa.func.lower(subscribers.c.email)],
            set_={**fresh, "nickname": sa.func.coalesce(added.excluded.nickname, subscribers.c.nickname)},
            where=subscribers.c.activated_at.is_(None),
        ).returning(subscribers.c.id)
    )
    if subscriber_id is None:
        return
    outbox.withdraw(tx, kind=outbox.Kind.CONFIRMATION, subscriber_id=subscriber_id)
    outbox.post(tx, _ask(wish, token, subscriber_id, site), now=now)


def confirm(tx: Connection, token: str, *, now: datetime) -> Confirmed:
    """Activate whoever holds this token."""
    s, digest = subscribers.c, tokens.digest(token)
    activated = tx.execute(
        sa.update(subscribers)
        .where(s.confirmation_token == digest, s.activated_at.is_(None), s.confirmation_expires_at > now)
        .values(
            activated_at=now,
            used_token=s.confirmation_token,
            used_token_expires_at=s.confirmation_expires_at,
            confirmation_token=None,
            confirmation_expires_at=None,
        )
    )
    if activated.rowcount:
        return Confirmed.NOW
    used = sa.select(s.id).where(s.used_token == digest, s.used_token_expires_at > now)
    return Confirmed.BEFORE if tx.scalar(used) else Confirmed.NOT


def _ask(wish: SignUp, token: str, subscriber_id: str, site: Site) -> outbox.Letter:
    return outbox.Letter(
        kind=outbox.Kind.CONFIRMATION,
        key=f"confirmation:{subscriber_id}:{tokens.digest(token)[:16]}",
        to=wish.email,
        content=letter("confirm"),
        slots={"site": site.name, "confirm_url": f"{site.base_url}/confirm?token={token}"},
        subscriber_id=subscriber_id,
    )
