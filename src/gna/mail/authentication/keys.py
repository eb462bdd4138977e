"""DKIM keys in DNS (RFC 6376, RFC 8463). Pure: the texts of DNS in, findings out."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator
from dataclasses import dataclass

from gna.mail.authentication import tags
from gna.mail.authentication.findings import Finding, Record, finding
from gna.mail.dkim import ENOUGH_BITS, FEWEST_BITS
from gna.outside.dns import Answer


@dataclass(frozen=True)
class Key:
    """A public key: its kind, its bytes in one spelling, and its length if that matters."""

    kind: str
    data: bytes
    bits: int | None = None

    @property
    def described(self) -> str:
        """Its kind for a person."""
        return f"RSA, {self.bits} bits" if self.bits else "Ed25519"


def judge(name: str, answer: Answer, *, ours: str | None = None) -> list[Finding]:
    """What is to be said of the key at a name; `ours` is the record of the key that Gna signs with."""
    publish = Record(name, ours) if ours else None
    if not answer.is_sure:
        return [finding("dkim_unasked", name=name)]
    found = [text for text in answer.texts if re.match(r"\s*v\s*=\s*DKIM1|.*\bp\s*=", text, re.DOTALL)]
    if not found:
        return [finding("dkim_missing", publish, name=name)]
    if len(found) > 1:
        return [finding("dkim_many", publish, name=name)]
    return list(_judge_one(name, found[0], ours, publish))


def _judge_one(name: str, text: str, ours: str | None, publish: Record | None) -> Iterator[Finding]:
    said = tags.read(text) or {}
    if (wrong := _unreadable(said)) is not None:
        yield finding("dkim_malformed", publish, name=name, tag=wrong)
        return
    if not said["p"]:
        yield finding("dkim_revoked", publish, name=name)
        return
    if (tag := _not_for_mail(said)) is not None:
        yield finding("dkim_not_for_mail", publish, name=name, tag=tag)
    key, mine = _key(said), _key(tags.read(ours) or {}) if ours else None
    if key is None:
        yield finding("dkim_malformed", publish, name=name, tag="p=")
        return
    if mine and (mine.kind, mine.data) != (key.kind, key.data):
        yield finding("dkim_other", publish, name=name)
        return
    yield from _strength(name, said, key)
    if mine:
        yield finding("dkim_ours")


def _strength(name: str, said: dict[str, str], key: Key) -> Iterator[Finding]:
    if key.bits and key.bits < FEWEST_BITS:
        yield finding("dkim_too_short", bits=key.bits)
        return
    if key.bits and key.bits < ENOUGH_BITS:
        yield finding("dkim_short", bits=key.bits)
    if "y" in said.get("t", "").replace(" ", "").lower().split(":"):
        real = {tag: value for tag, value in said.items() if tag != "t"}
        yield finding("dkim_testing", Record(name, tags.write(real)))
    yield finding("dkim_ok", name=name, kind=key.described)


def _unreadable(said: dict[str, str]) -> str | None:
    """The tag because of which receivers cannot use the record."""
    if said.get("v", "DKIM1") != "DKIM1" or ("v" in said and next(iter(said)) != "v"):
        return "v="
    if "p" not in said:
        return "p="
    return None if said.get("k", "rsa") in ("rsa", "ed25519") else f"k={said['k'][:20]}"


def _not_for_mail(said: dict[str, str]) -> str | None:
    """The tag that keeps the key from signing mails as they are signed today."""
    for tag, allowed in (("s", {"*", "email"}), ("h", {"sha256"})):
        if tag in said and not allowed & set(said[tag].replace(" ", "").split(":")):
            return f"{tag}={said[tag][:20]}"
    return None


def _key(said: dict[str, str]) -> Key | None:
    """The key of a record, if it is one."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

    try:
        data = b64decode(re.sub(r"\s", "", said.get("p", "")), validate=True)
        if said.get("k", "rsa") == "ed25519":
            return Key("ed25519", data) if len(data) == 32 else None
        key = load_der_public_key(data)
    except (Error, ValueError, UnsupportedAlgorithm):
        return None
    if not isinstance(key, RSAPublicKey):
        return None
    # Some publish it in the older spelling of RSA keys: the same key, other bytes.
    return Key("rsa", key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo), key.key_size)
