"""Secrets that travel in links. Readable in the mail, stored as a hash."""

import hashlib
import re
import secrets

SHAPE = re.compile(r"[A-Za-z0-9_-]{43}")


def new() -> str:
    """256 random bits as 43 characters of base64url."""
    return secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """What the database keeps of a token: whoever reads the table still cannot use the link.

    Looking up by digest also needs no constant-time comparison: an attacker who times the
    index learns about the hash, not about the token.
    """
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def is_shaped(token: str) -> bool:
    """Whether this could be one of ours at all."""
    return SHAPE.fullmatch(token) is not None
