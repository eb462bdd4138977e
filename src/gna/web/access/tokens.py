"""What a token says, believed only if all of it is right. Nothing here waits, and nothing is remembered."""

import json
import re
from base64 import urlsafe_b64decode
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gna.web.identity import Identity

if TYPE_CHECKING:
    from gna.web.access.keys import Key

LONGEST = 16 * 1024
PARTS = re.compile(r"([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
# Clocks of two machines differ; but what has expired has expired, as the specification says.
SKEW = 60
# Seconds since 1970 that nobody means.
FAR = 10**12
NAME_MAX = 320


@dataclass(frozen=True)
class Rules:
    """Whose tokens open `/admin`: as the operator set it, never as a token says."""

    issuer: str
    audiences: frozenset[str]
    algorithm: str


@dataclass(frozen=True)
class Refusal:
    """Why somebody stays outside: what they are told, and what the operator reads in the log."""

    status: int
    error: str
    because: str = ""


NO_TOKEN = Refusal(401, "Authentication required")


def invalid(because: str) -> Refusal:
    """The token is not one of ours, whatever exactly is wrong with it."""
    return Refusal(403, "Invalid token", because)


def key_id(token: str, rules: Rules) -> str | Refusal:
    """The name of the key that the token claims to be signed with; all else in its head must be as expected."""
    parts = PARTS.fullmatch(token) if len(token) <= LONGEST else None
    head = _json_object(_decoded(parts[1])) if parts else None
    if head is None:
        return invalid("it is no token")
    if head.get("alg") != rules.algorithm:
        return invalid(f"it is not signed with {rules.algorithm} (CF_ACCESS_ALGORITHM)")
    name = head.get("kid")
    if not isinstance(name, str) or not name:
        return invalid("it does not say with which key it is signed")
    return name


def identify(token: str, key: "Key", rules: Rules, *, now: datetime) -> Identity | Refusal:
    """Who shows this token, if the key signed it and it is for us and for now."""
    claims = _signed(token, key, rules.algorithm)
    if claims is None:
        return invalid("the signature is wrong")
    if because := why_not(claims, rules, now=now):
        return invalid(because)
    if claims["exp"] <= now.timestamp():
        return Refusal(403, "Token expired", "it has expired")
    return _identity(claims) or invalid("it names nobody: no email, no sub, no common_name")


def why_not(claims: dict[str, Any], rules: Rules, *, now: datetime) -> str | None:
    """What is wrong with a token that was signed rightly, or None; whether it has expired is another question."""
    if claims.get("iss") != rules.issuer:
        return f"its issuer is not {rules.issuer}"
    if not rules.audiences & _audiences(claims.get("aud")):
        return "its audience is not in CF_ACCESS_AUD"
    # Access also signs a token for its whole organisation, which any of its applications may see.
    if claims.get("type", "app") != "app":
        return "it is no token of an application"
    if not _is_moment(claims.get("exp")):
        return "it does not say when it expires"
    for name in ("nbf", "iat"):
        if name in claims and not (_is_moment(claims[name]) and claims[name] <= now.timestamp() + SKEW):
            return f"it is not valid yet ({name}); is the clock of this machine right?"
    return None


def _signed(token: str, key: "Key", algorithm: str) -> dict[str, Any] | None:
    """What the key signed, if it did; the claims are not looked at, since the library has its own clock."""
    # Imported late: it needs 8 MB, and a server whose admin sleeps has none to spare.
    from jwt import PyJWTError
    from jwt.api_jws import decode

    try:
        return _json_object(decode(token, key, algorithms=[algorithm]))
    except PyJWTError:
        return None


def _json_object(text: bytes | None) -> dict[str, Any] | None:
    try:
        found = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _decoded(part: str) -> bytes | None:
    try:
        return urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        return None


def _audiences(value: object) -> set[str]:
    """One, or a list of them."""
    return {one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)}


def _is_moment(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < FAR


def _identity(claims: dict[str, Any]) -> Identity | None:
    """A person has an address; a service token has a `common_name`, and its `sub` is empty."""
    email, sub, common_name = (_text(claims.get(name)) for name in ("email", "sub", "common_name"))
    if email is None or sub is None or common_name is None:
        return None
    found = Identity(email, sub if email else common_name or sub)
    return found if found.name else None


def _text(value: object) -> str | None:
    """A name that can be shown and kept; nothing is an empty one, and what is no name is None."""
    text = "" if value is None else value
    if not isinstance(text, str) or not text.isprintable() or len(text) > NAME_MAX:
        return None
    return text.strip()
