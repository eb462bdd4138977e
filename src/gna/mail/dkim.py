"""DKIM: the signature by which a receiver knows that a mail is from our domain and was not changed on the way.

Every mail needs its own, so this is written for speed; `cryptography` is imported only once somebody signs.
"""

import re
from binascii import b2a_base64
from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

import idna

from gna import log
from gna.errors import CannotStart

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

    Key = RSAPrivateKey | Ed25519PrivateKey

logger = log.get(__name__)

# Named once more than they occur, also if they do not: whoever adds one on the way breaks the signature.
SEALED = (
    *(b"from", b"to", b"cc", b"reply-to", b"sender", b"subject", b"date", b"message-id"),
    *(b"mime-version", b"content-type", b"content-transfer-encoding"),
    *(b"list-id", b"list-unsubscribe", b"list-unsubscribe-post"),
)
SIGNED = (
    *SEALED,
    b"feedback-id",
    b"precedence",
    b"auto-submitted",
)
# RFC 8301: receivers must take no notice of anything shorter than the first.
FEWEST_BITS = 1024
ENOUGH_BITS = 2048
MAKE_ONE = "Make one with: openssl genrsa -out dkim.pem 2048"
LONGEST_DOMAIN = 253
DOMAIN = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*")
WIDTH = 77
# A multiple of four, so that no line begins with the padding: `b=` at a line's start would look like the tag.
SIGNATURE_WIDTH = 72
NAME = b"DKIM-Signature: "


class Signer:
    """Signs mails for a domain (RFC 6376, RFC 8463)."""

    def __init__(self, *, domain: str, selector: str, private_key: str) -> None:
        algorithm, self._signature = _signing(_load(private_key))
        self._opening = _folded(
            (
                NAME + b"v=1;",
                b" a=" + algorithm + b";",
                b" c=relaxed/simple;",
                b" d=" + _domain(domain) + b";",
                b" s=" + _selector(selector) + b";",
            )
        )

    def sign(self, head: bytes, body: bytes, *, at: int) -> bytes:
        """The signature's own header field, to stand before the head; `at` is in seconds since 1970."""
        found = _found(head)
        names = _names(tuple(map(len, found.values())))
        field = b"%b\r\n t=%d;\r\n %b\r\n bh=%b;\r\n b=" % (self._opening, at, names, _base64(_body_hash(body)))
        lines = [b"%b:%b\r\n" % (name, value) for name, values in found.items() for value in reversed(values)]
        lines.append(b"dkim-signature:" + field.removeprefix(NAME).replace(b"\r\n", b""))
        signature = _base64(self._signature(b"".join(lines)))
        rows = [signature[start : start + SIGNATURE_WIDTH] for start in range(0, len(signature), SIGNATURE_WIDTH)]
        return field + b"\r\n ".join(rows) + b"\r\n"


def record(private_key: str) -> str:
    """The text of the DNS record at `<selector>._domainkey.<domain>` that lets everybody check the signatures."""
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = _load(private_key)
    if isinstance(key, RSAPrivateKey):
        kind, public = "rsa", key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    else:
        kind, public = "ed25519", key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return f"v=DKIM1; k={kind}; p={_base64(public).decode()}"


def _found(head: bytes) -> dict[bytes, list[bytes]]:
    """The values of the fields that are signed, from top to bottom: unfolded, and each gap a single space."""
    found: dict[bytes, list[bytes]] = {name: [] for name in SIGNED}
    for field in head.replace(b"\r\n ", b" ").replace(b"\r\n\t", b" ").split(b"\r\n"):
        name, _, value = field.partition(b":")
        values = found.get(name.rstrip(b" \t").lower())
        if values is not None:
            values.append(b" ".join(filter(None, value.replace(b"\t", b" ").split(b" "))))
    return found


@lru_cache
def _names(counts: tuple[int, ...]) -> bytes:
    """The tag `h=` for mails in which the signed fields occur so many times; all mails of a campaign share one."""
    times = {name: count + (name in SEALED) for name, count in zip(SIGNED, counts, strict=True)}
    names = b":".join(name for name, count in times.items() for _ in range(count))
    return _folded((b"h=" + names + b";").replace(b":", b": ").split(b" "))


def _folded(pieces: Iterable[bytes]) -> bytes:
    """The pieces one after the other, on lines that are not too wide."""
    lines = [b""]
    for piece in pieces:
        # One more, for the space that a folded line begins with.
        if lines[-1] and len(lines[-1]) + len(piece) + 1 > WIDTH:
            lines.append(piece.lstrip(b" "))
        else:
            lines[-1] += piece
    return b"\r\n ".join(lines)


def _body_hash(body: bytes) -> bytes:
    """The hash of the body as it is, with exactly one line end after the last line that is not empty."""
    end = len(body)
    while body.endswith(b"\r\n", 0, end):
        end -= 2
    hashed = sha256(memoryview(body)[:end])
    hashed.update(b"\r\n")
    return hashed.digest()


def _base64(data: bytes) -> bytes:
    return b2a_base64(data, newline=False)


def _signing(key: "Key") -> tuple[bytes, Callable[[bytes], bytes]]:
    """The algorithm's name, and the function that signs."""
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.hashes import SHA256

    if isinstance(key, RSAPrivateKey):
        rsa, padding, algorithm = key, PKCS1v15(), SHA256()
        return b"rsa-sha256", lambda data: rsa.sign(data, padding, algorithm)
    ed25519 = key
    # RFC 8463 signs the hash, not the text.
    return b"ed25519-sha256", lambda data: ed25519.sign(sha256(data).digest())


def _load(private_key: str) -> "Key":
    """The key, if receivers know its kind and it is long enough."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    key = _read(private_key)
    if isinstance(key, Ed25519PrivateKey):
        return key
    if not isinstance(key, RSAPrivateKey):
        raise CannotStart(f"DKIM_PRIVATE_KEY must be an RSA or Ed25519 key; it is of another kind. {MAKE_ONE}")
    if key.key_size < FEWEST_BITS:
        raise CannotStart(
            f"DKIM_PRIVATE_KEY has {key.key_size} bits; receivers refuse fewer than {FEWEST_BITS}. {MAKE_ONE}"
        )
    if key.key_size < ENOUGH_BITS:
        logger.warning("the DKIM key is short; receivers want 2048 bits", bits=key.key_size)
    return key


def _read(private_key: str) -> "PrivateKeyTypes":
    """Whatever private key it is. The library's own words could quote it, so they are not passed on."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    if "-----BEGIN PUBLIC KEY" in private_key or "-----BEGIN RSA PUBLIC KEY" in private_key:
        raise CannotStart("DKIM_PRIVATE_KEY is a public key; the private key that belongs to it is needed.")
    try:
        return load_pem_private_key(private_key.encode(), password=None)
    except TypeError:
        raise CannotStart(
            "DKIM_PRIVATE_KEY is locked with a password. Unlock it with: openssl pkey -in dkim.pem -out unlocked.pem"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise CannotStart(
            f"DKIM_PRIVATE_KEY cannot be read: it must be a whole RSA or Ed25519 key in PEM. {MAKE_ONE}"
        ) from None


def _domain(written: str) -> bytes:
    """The domain in lower case and ASCII, as DNS has it."""
    try:
        domain = (written if written.isascii() else idna.encode(written, uts46=True).decode()).lower()
    except idna.IDNAError:
        domain = ""
    if len(domain) > LONGEST_DOMAIN or not DOMAIN.fullmatch(domain):
        raise CannotStart("DKIM_DOMAIN must be a domain such as example.org.")
    return domain.encode()


def _selector(written: str) -> bytes:
    """The selector as it was written: it may have dots, since it is the beginning of a name in DNS."""
    if len(written) > LONGEST_DOMAIN or not DOMAIN.fullmatch(written.lower()):
        raise CannotStart("DKIM_SELECTOR must be a name such as gna: letters, digits, hyphens and dots.")
    return written.encode()
