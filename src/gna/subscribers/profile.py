"""What subscribers change themselves, after a link in their own mailbox let them in."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import outbox, tokens
from gna.errors import NotAllowedNow
from gna.mail import address
from gna.mail.content import letter
from gna.subscribers import confirmation_limit
from gna.subscribers.signup import CONFIRM_WITHIN, Site, check_nickname
from gna.subscribers.table import subscribers

ENTER_WITHIN = timedelta(minutes=15)

s = subscribers.c


@dataclass(frozen=True)
class Wish:
    """What a subscriber wants to change, already checked; None leaves a field as it is."""

    nickname: str | None = None
    email: str | None = None

    @classmethod
    def parse(cls, *, nickname: object = None, email: object = None) -> "Wish":
        """Check what a subscriber typed."""
        return cls(
            nickname=None if nickname is None else check_nickname(nickname),
            email=None if email is None else address.parse(email),
        )


class Updated(Enum):
    """What became of a wish."""

    DONE = auto()
    AWAITING = auto()


def request_link(tx: Connection, email: str, *, site: Site, now: datetime) -> None:
    """Mail a link to the profile, replacing an earlier one; for anybody else the same work comes to nothing."""
    token = tokens.new()
    row = tx.execute(
        sa.update(subscribers)
        .where(sa.func.lower(s.email) == email.lower(), s.activated_at.is_not(None))
        .values(magic_link_token=tokens.digest(token), magic_link_expires_at=now + ENTER_WITHIN)
        .returning(s.id, s.email)
    ).first()
    link = outbox.Letter(
        kind=outbox.Kind.MAGIC_LINK,
        key=f"magic_link:{tokens.digest(token)}",
        to=row.email if row else email,
        content=letter("magic_link", site.language),
        slots={"site": site.name, "profile_url": f"{site.base_url}/profile?token={token}"},
        subscriber_id=row.id if row else None,
    )
    if row is None:
        outbox.pretend(tx, link, now=now)
    else:
        outbox.withdraw(tx, kind=outbox.Kind.MAGIC_LINK, subscriber_id=row.id)
        outbox.post(tx, link, now=now)


def enter(tx: Connection, token: str, *, now: datetime) -> Any | None:
    """The person whom a link lets in, or None. Looking does not use the link up."""
    return tx.execute(
        sa.select(s.id, s.email, s.nickname, s.pending_email, s.unsubscribe_token).where(
            s.magic_link_token == tokens.digest(token), s.magic_link_expires_at > now
        )
    ).first()


def update(tx: Connection, token: str, wish: Wish, *, site: Site, secret: str | None, now: datetime) -> Updated | None:
    """Change the nickname at once and the address after its owner confirms; None if the link does not let in."""
    person = enter(tx, token, now=now)
    if person is None or not _use_up(tx, token):
        return None
    if wish.nickname is not None:
        tx.execute(sa.update(subscribers).where(s.id == person.id).values(nickname=wish.nickname))
    if wish.email is None:
        return Updated.DONE
    if wish.email.lower() == person.email.lower():
        _keep(tx, person.id)
        return Updated.DONE
    if tx.scalar(sa.select(s.id).where(sa.func.lower(s.email) == wish.email.lower())):
        # Raised, so that the transaction is undone: nothing has changed and the link still works.
        raise NotAllowedNow("Email already registered")
    _ask(tx, person, wish.email, site=site, secret=secret, now=now)
    return Updated.AWAITING


def _use_up(tx: Connection, token: str) -> bool:
    """Of two submissions at once, one wins."""
    cleared = sa.update(subscribers).where(s.magic_link_token == tokens.digest(token))
    return tx.execute(cleared.values(magic_link_token=None, magic_link_expires_at=None)).rowcount == 1


def _keep(tx: Connection, subscriber_id: str) -> None:
    """The person stays with the present address: a link that went to another, mistyped perhaps, does nothing more."""
    change = sa.update(subscribers).where(s.id == subscriber_id, s.pending_email.is_not(None))
    tx.execute(change.values(confirmation_token=None, confirmation_expires_at=None, pending_email=None))
    outbox.withdraw(tx, kind=outbox.Kind.EMAIL_CHANGE, subscriber_id=subscriber_id)


def _ask(tx: Connection, person: Any, email: str, *, site: Site, secret: str | None, now: datetime) -> None:
    """Mail a link to the new address; until it is clicked there, the old address stays.

    An address that has had its mails of the hour gets none, and the link of the last one keeps working.
    """
    may_mail = confirmation_limit.spend(tx, email, secret=secret, now=now)
    is_asked_again = (person.pending_email or "").lower() == email.lower()
    if is_asked_again and not may_mail:
        return
    # For another address than before the old link must stop working, mail or not: it leads to what was not meant.
    token = tokens.new()
    tx.execute(
        sa.update(subscribers)
        .where(s.id == person.id)
        .values(
            confirmation_token=tokens.digest(token),
            confirmation_expires_at=now + CONFIRM_WITHIN,
            pending_email=email,
        )
    )
    outbox.withdraw(tx, kind=outbox.Kind.EMAIL_CHANGE, subscriber_id=person.id)
    change = outbox.Letter(
        kind=outbox.Kind.EMAIL_CHANGE,
        key=f"email_change:{tokens.digest(token)}",
        to=email,
        content=letter("change_email", site.language),
        slots={"site": site.name, "confirm_url": f"{site.base_url}/confirm?token={token}"},
        subscriber_id=person.id,
    )
    if may_mail:
        outbox.post(tx, change, now=now)
