"""Secrets that travel in links: random ones, readable in the mail and stored as a hash, and signed ones."""

import base64
import hashlib
import hmac
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


def sign(payload: str, secret: str) -> str:
    """A payload that only a holder of the secret can have written: base64url, a dot, its HMAC-SHA256."""
    return f"{_base64url(payload.encode())}.{_base64url(_hmac(payload.encode(), secret))}"


def verified(token: str, secret: str) -> str | None:
    """The payload of a signed token, or None if somebody else wrote it."""
    encoded, _, signature = token.partition(".")
    encoded, signature = encoded.rstrip("="), signature.rstrip("=")  # some write the padding, some do not
    try:
        payload = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        given = signature.encode("ascii")
        said = payload.decode()
    except ValueError:
        return None
    expected = _base64url(_hmac(payload, secret)).encode()
    return said if hmac.compare_digest(expected, given) else None


def keyed(text: str, key: bytes) -> str:
    """A hash that nobody without the key can compare with a guess."""
    return hashlib.blake2b(text.encode(), key=hashlib.sha256(key).digest(), digest_size=32).hexdigest()


def _hmac(payload: bytes, secret: str) -> bytes:
    return hmac.digest(secret.encode(), payload, "sha256")


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
