"""DKIM keys in DNS, judged without asking anybody."""

import re
from base64 import b64encode
from functools import cache

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from gna.mail.authentication import Finding, Level
from gna.mail.authentication.keys import judge
from gna.mail.dkim import record
from gna.outside.dns import Answer, Said

NAME = "gna._domainkey.example.org"


@cache
def rsa_key(bits: int) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


@cache
def ours() -> str:
    pem = rsa_key(2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return record(pem.decode())


def ed_record(key: ed25519.Ed25519PrivateKey) -> str:
    raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return f"v=DKIM1; k=ed25519; p={b64encode(raw).decode()}"


def rsa_record(bits: int, format: PublicFormat = PublicFormat.SubjectPublicKeyInfo, further: str = "") -> str:
    der = rsa_key(bits).public_key().public_bytes(Encoding.DER, format)
    return f"v=DKIM1; {further}p={b64encode(der).decode()}"


def judged(*texts: str, ours: str | None = None) -> dict[str, Finding]:
    answer = Answer(Said.FOUND if texts else Said.NOTHING, texts)
    return {found.code: found for found in judge(NAME, answer, ours=ours)}


def test_our_own_key_is_recognised_however_it_is_written() -> None:
    p = ours().partition("p=")[2]
    for text in (
        ours(),
        f"p={p}",
        f"v=DKIM1;p={p};",
        f"v=DKIM1 ; k = rsa ; p = {p[:60]} {p[60:]} ; n=note",
        ours() + "; x=unknown",
        rsa_record(2048, PublicFormat.PKCS1),
    ):
        assert set(judged(text, ours=ours())) == {"dkim_ok", "dkim_ours"}
    assert "RSA, 2048 bits" in judged(ours())["dkim_ok"].says


def test_an_ed25519_key_is_well() -> None:
    mine, other = (ed_record(ed25519.Ed25519PrivateKey.generate()) for _ in range(2))
    assert set(judged(mine, ours=mine)) == {"dkim_ok", "dkim_ours"}
    assert set(judged(other, ours=mine)) == {"dkim_other"}
    assert set(judged(mine)) == {"dkim_ok"}


def test_a_key_that_is_not_ours_is_a_problem_with_ours_to_publish() -> None:
    pem = rsa.generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    found = judged(record(pem.decode()), ours=ours())
    assert list(found) == ["dkim_other"]
    assert found["dkim_other"].publish
    assert (found["dkim_other"].publish.name, found["dkim_other"].publish.text) == (NAME, ours())


@pytest.mark.parametrize(
    ("text", "code", "tag"),
    [
        ("v=DKIM1; k=rsa; p=", "dkim_revoked", None),
        ("v=DKIM1; k=rsa; p", "dkim_malformed", "p="),
        ("v=DKIM1; k=rsa", "dkim_malformed", "p="),
        ("v=DKIM2; p=AAAA", "dkim_malformed", "v="),
        ("k=rsa; v=DKIM1; p=AAAA", "dkim_malformed", "v="),
        ("v=DKIM1; k=dsa; p=AAAA", "dkim_malformed", "k=dsa"),
        ("v=DKIM1; p=not base64!", "dkim_malformed", "p="),
        ("v=DKIM1; p=AAAA", "dkim_malformed", "p="),
        ("v=DKIM1; k=ed25519; p=AAAA", "dkim_malformed", "p="),
        ("v=DKIM1; p=AAAA; p=BBBB", "dkim_malformed", "p="),
    ],
)
def test_a_record_that_is_of_no_use(text: str, code: str, tag: str | None) -> None:
    found = judged(text, ours=ours())
    assert list(found) == [code]
    assert found[code].about.get("tag") == tag
    assert found[code].publish is not None


def test_a_key_of_another_kind_is_of_no_use() -> None:
    der = ec.generate_private_key(ec.SECP256R1()).public_key()
    text = b64encode(der.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()
    assert list(judged(f"v=DKIM1; p={text}")) == ["dkim_malformed"]


def test_no_key_and_several_keys() -> None:
    assert list(judged()) == list(judged("some other text")) == ["dkim_missing"]
    assert judged(ours=ours())["dkim_missing"].publish is not None
    assert judged()["dkim_missing"].publish is None
    assert list(judged(ours(), ours(), ours=ours())) == ["dkim_many"]


@pytest.mark.parametrize("said", [Said.SILENT, Said.FAILED])
def test_a_silent_dns_is_not_a_missing_key(said: Said) -> None:
    [found] = judge(NAME, Answer(said), ours=ours())
    assert (found.code, found.level) == ("dkim_unasked", Level.UNKNOWN)


def test_short_keys() -> None:
    assert set(judged(rsa_record(1024))) == {"dkim_short", "dkim_ok"}
    # Nobody can make such a key any more, but some are still out there.
    older = (
        "v=DKIM1; p=MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu"
        "KUpRKfFLfRYC9AIKjbJTWit+CqvjWYzvQwECAwEAAQ=="
    )
    assert set(judged(older)) == {"dkim_too_short"}


def test_a_key_that_is_only_a_test() -> None:
    found = judged(rsa_record(2048, further="t=s:y; "))
    assert set(found) == {"dkim_testing", "dkim_ok"}
    assert found["dkim_testing"].publish
    assert not re.search(r"\bt=", found["dkim_testing"].publish.text)
    assert set(judged(found["dkim_testing"].publish.text)) == {"dkim_ok"}
    assert set(judged(rsa_record(2048, further="t=s; "))) == {"dkim_ok"}


@pytest.mark.parametrize(
    ("tag", "value", "is_well"),
    [("s", "email", True), ("s", "*", True), ("s", "tls", False), ("h", "sha1", False), ("h", "sha1:sha256", True)],
)
def test_a_key_may_be_for_something_else(tag: str, value: str, is_well: bool) -> None:
    assert ("dkim_not_for_mail" not in judged(rsa_record(2048, further=f"{tag}={value}; "))) is is_well
