"""Signing up, with double opt-in: nobody is a subscriber until they clicked the link in their own mailbox."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db, ids, outbox, tokens
from gna.config import Settings
from gna.errors import Refused
from gna.kinds import NamedAddress
from gna.mail import address
from gna.mail.content import letter
from gna.subscribers import confirmation_limit
from gna.subscribers.lists import has_left
from gna.subscribers.table import GENERAL, subscribers

CONFIRM_WITHIN = timedelta(hours=24)
NICKNAME_MAX = 50
# Letters that look like nothing, and signs that turn the text around them.
BLANK = "\u115f\u1160\u2800\u3164\uffa0"
TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@dataclass(frozen=True)
class Site:
    """What a mail must know of the publication it speaks for."""

    name: str
    base_url: str
    language: str = "en"

    @classmethod
    def of(cls, settings: Settings) -> "Site":
        """The publication that this server speaks for: the name in front of the sender's address."""
        sender = NamedAddress.parse(settings.email_from_address)
        name = sender.name or urlsplit(settings.base_url).hostname or "Gna"
        return cls(name=name, base_url=settings.base_url, language=settings.gna_language or "en")

    def speaking(self, language: str) -> "Site":
        """The same publication, in the reader's language."""
        return replace(self, language=language)


@dataclass(frozen=True)
class SignUp:
    """A visitor's wish to subscribe, already checked."""

    email: str
    nickname: str | None = None

    @classmethod
    def parse(cls, *, email: object, nickname: object = None) -> "SignUp":
        """Check what a visitor typed."""
        return cls(email=address.parse(email), nickname=parse_nickname(nickname))


def parse_nickname(typed: object) -> str | None:
    """The nickname without outer white space; nothing at all means none."""
    if typed is None or typed == "":
        return None
    return check_nickname(typed.strip() if isinstance(typed, str) else typed)


def check_nickname(typed: object) -> str:
    """The nickname, if it is one."""
    if not isinstance(typed, str) or not _is_visible(typed) or len(typed) > NICKNAME_MAX:
        raise Refused("Nickname must be 1–50 characters")
    if typed != typed.strip():
        raise Refused("Nickname must not start or end with a space")
    if any(unicodedata.category(character) in ("Cc", "Cs") or character in TURNING for character in typed):
        raise Refused("Nickname contains characters that cannot be shown")
    return typed


def _is_visible(text: str) -> bool:
    """Whether there is anything to see."""
    return any(unicodedata.category(character)[0] not in "ZC" and character not in BLANK for character in text)


@db.prepared
def _remember_with_new_token(insert: Any) -> Any:
    return _remember(insert, ["confirmation_token", "confirmation_expires_at"])


@db.prepared
def _remember_with_present_token(insert: Any) -> Any:
    return _remember(insert, [])


def _remember(insert: Any, replaced: Sequence[str]) -> Any:
    """Insert a pending person; of one who is pending replace these columns, and leave a confirmed one alone.

    A confirmed person who left the general list is treated as pending: they come back by confirming again.
    """
    added = insert(subscribers)
    s = subscribers.c
    nickname = sa.func.coalesce(added.excluded.nickname, s.nickname)
    changes = {column: added.excluded[column] for column in replaced}
    # The form never changes the nickname of a confirmed person: any stranger can fill it in.
    changes["nickname"] = sa.case((s.activated_at.is_(None), nickname), else_=s.nickname)
    return added.on_conflict_do_update(
        index_elements=[sa.func.lower(s.email)],
        set_=changes,
        where=sa.or_(s.activated_at.is_(None), sa.and_(s.pending_email.is_(None), has_left(GENERAL))),
    ).returning(s.id)


def subscribe(tx: Connection, wish: SignUp, *, site: Site, secret: str | None, now: datetime) -> None:
    """Remember a pending subscriber and post the mail that asks for confirmation, both or neither.

    A pending person gets a new link and the old one stops working. For a confirmed one nothing happens, in the same
    time. An address that has had its mails of the hour gets none, and the link of the last one keeps working.
    """
    may_mail = confirmation_limit.spend(tx, wish.email, secret=secret, now=now)
    remember = _remember_with_new_token if may_mail else _remember_with_present_token
    token = tokens.new()
    subscriber_id = tx.scalar(
        remember(tx),
        {
            "id": ids.new(),
            "email": wish.email,
            "nickname": wish.nickname,
            "unsubscribe_token": tokens.new(),
            "created_at": now,
            "confirmation_token": tokens.digest(token),
            "confirmation_expires_at": now + CONFIRM_WITHIN,
        },
    )
    question = _ask(wish, token, subscriber_id, site)
    if subscriber_id is None or not may_mail:
        outbox.pretend(tx, question, now=now)
    else:
        outbox.withdraw(tx, kind=outbox.Kind.CONFIRMATION, subscriber_id=subscriber_id)
        outbox.post(tx, question, now=now)


def _ask(wish: SignUp, token: str, subscriber_id: str | None, site: Site) -> outbox.Letter:
    return outbox.Letter(
        kind=outbox.Kind.CONFIRMATION,
        key=f"confirmation:{tokens.digest(token)}",
        to=wish.email,
        content=letter("confirm", site.language),
        slots={"site": site.name, "confirm_url": f"{site.base_url}/confirm?token={token}"},
        subscriber_id=subscriber_id,
    )
