"""Who must not be brought back by an import. They themselves can always sign up again."""

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db, tokens
from gna.subscribers.table import keys, suppressions

OWN = "suppressions"
_select_own_key = sa.select(keys.c.value).where(keys.c.name == OWN)


class Reason(StrEnum):
    """Why somebody must not be imported."""

    UNSUBSCRIBED = "unsubscribed"
    # From another product, before they could have been here.
    ELSEWHERE = "unsubscribed_elsewhere"
    CLEANED = "cleaned"
    MOVED = "moved"


def suppress(tx: Connection, emails: Iterable[str], *, secret: str | None, reason: Reason, now: datetime) -> None:
    """Remember that these addresses must not come back; the first reason stays."""
    key = hash_key(tx, secret, now=now)
    rows = [{"hash": digest, "reason": reason, "created_at": now} for digest in _hashes(emails, key)]
    if rows:
        tx.execute(db.insert(tx, suppressions).on_conflict_do_nothing(), rows)


def suppressed(tx: Connection, emails: Iterable[str], *, secret: str | None) -> set[str]:
    """Those of the addresses that must not be imported."""
    if not tx.scalar(sa.select(sa.literal(1)).select_from(suppressions).limit(1)):
        return set()
    emails = list(emails)
    known = {digest: email for key in _keys(tx, secret) for digest, email in _hashes(emails, key).items()}
    found = tx.scalars(sa.select(suppressions.c.hash).where(suppressions.c.hash.in_(known)))
    return {known[digest] for digest in found}


def welcome_back(tx: Connection, email: str, *, secret: str | None) -> None:
    """The person has confirmed an address of their own will: whatever was remembered of it is over."""
    hashes = [digest for key in _keys(tx, secret) for digest in _hashes([email], key)]
    if hashes:
        tx.execute(sa.delete(suppressions).where(suppressions.c.hash.in_(hashes)))


def hash_key(tx: Connection, secret: str | None, *, now: datetime) -> bytes:
    """The key that a new hash of an address is made with: SECRET_KEY, or one in the database while that is not set."""
    return secret.encode() if secret else _own_key(tx, now)


def _hashes(emails: Iterable[str], key: bytes) -> Mapping[str, str]:
    """Each hash with the address that it stands for."""
    return {tokens.keyed(email.lower(), key): email for email in emails}


def _keys(tx: Connection, secret: str | None) -> list[bytes]:
    """Every key that a hash may have been made with: SECRET_KEY may have been set later."""
    own = tx.scalar(_select_own_key)
    return [key.encode() for key in (secret, own) if key]


def _own_key(tx: Connection, now: datetime) -> bytes:
    own = tx.scalar(_select_own_key)
    if own is None:
        new = db.insert(tx, keys).values(name=OWN, value=secrets.token_hex(32), created_at=now)
        tx.execute(new.on_conflict_do_nothing())
        # Another process may have been faster: its key counts.
        own = tx.scalars(_select_own_key).one()
    return str(own).encode()
