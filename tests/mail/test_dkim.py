"""What we sign is checked by dkimpy, which shares no line with it."""

import re
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from email.header import Header
from functools import cached_property, lru_cache

import dkim
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from gna.errors import CannotStart
from gna.mail.compile import Bulk, Compiled, Mail, Sender
from gna.mail.content import Content
from gna.mail.dkim import Signer, record

AT = 1_735_689_600
HEAD = (
    b"Subject: Hello  Ana,\r\n this is\tfolded\r\n"
    b"From: The Quiet Web <news@example.org>\r\n"
    b"To: ana@example.org\r\n"
    b"Date: Wed, 01 Jan 2025 00:00:00 +0000\r\n"
    b"Message-ID: <0195@example.org>\r\n"
    b"List-Unsubscribe: <https://example.org/u?t=x>\r\n"
    b"List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
    b"X-Ours: not signed\r\n"
    b"MIME-Version: 1.0\r\n"
    b"Content-Type: text/plain\r\n"
)
BODY = b"Hello  Ana, \r\n\r\nbye\r\n"
LETTER = Content("Hello {{ name }}", "<p>Hello {{ name }}</p>\n", "Hello {{ name }}\n")

gaps = st.sampled_from([b" ", b"  ", b"\t", b" \t ", b"\r\n ", b"\r\n\t", b" \r\n   "])
plain_words = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E)).map(str.encode)
encoded_words = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1).map(
    lambda text: Header(text, "utf-8").encode(linesep="\r\n").encode()
)
values = st.lists(st.tuples(gaps, plain_words | encoded_words), max_size=6).map(
    lambda parts: b"".join(gap + word for gap, word in parts)
)
names = st.sampled_from([b"Subject", b"SUBJECT", b"Reply-To", b"List-Id", b"Feedback-ID", b"Precedence", b"X-Ours"])
more_fields = st.lists(st.tuples(names, values, st.sampled_from([b"", b" ", b"\t"])), max_size=6)
lines = st.binary(max_size=40).map(lambda line: line.replace(b"\n", b""))
bodies = st.tuples(st.lists(lines), st.integers(0, 3)).map(lambda it: b"\r\n".join(it[0]) + b"\r\n" * it[1])


@dataclass(frozen=True)
class Domain:
    """A domain that signs, and whose DNS everybody can ask."""

    key: str = field(repr=False)
    name: str = "example.org"
    selector: str = "gna"

    def signed(self, head: bytes = HEAD, body: bytes = BODY) -> bytes:
        """The whole mail."""
        return self.signature(head, body) + head + b"\r\n" + body

    def signature(self, head: bytes = HEAD, body: bytes = BODY) -> bytes:
        """The signature's field alone."""
        return self.signer.sign(head, body, at=AT)

    @cached_property
    def signer(self) -> Signer:
        return Signer(domain=self.name, selector=self.selector, private_key=self.key)

    @cached_property
    def record(self) -> str:
        return record(self.key)

    def believes(self, raw: bytes) -> bool:
        return bool(dkim.verify(raw, dnsfunc=self.dns))

    def dns(self, name: bytes, timeout: int = 5) -> str | None:
        return self.record if name.decode() == f"{self.selector}._domainkey.{self.name}." else None


def pem(key: PrivateKeyTypes, form: PrivateFormat = PrivateFormat.PKCS8, password: bytes = b"") -> str:
    lock = BestAvailableEncryption(password) if password else NoEncryption()
    return key.private_bytes(Encoding.PEM, form, lock).decode()


@lru_cache
def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


def key_of_648_bits() -> rsa.RSAPrivateKey:
    """Made of two famous primes: the library makes none under 1024 bits, but others do."""
    p, q, e = 2**521 - 1, 2**127 - 1, 65537
    d = pow(e, -1, (p - 1) * (q - 1))
    numbers = rsa.RSAPublicNumbers(e, p * q)
    return rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), numbers).private_key()


@pytest.fixture(scope="module", params=["rsa", "ed25519"])
def domain(request: pytest.FixtureRequest) -> Domain:
    return Domain(pem(rsa_key() if request.param == "rsa" else ed25519.Ed25519PrivateKey.generate()))


def tags(signature: bytes) -> dict[str, str]:
    """The tags of the signature, in their order."""
    text = re.sub(r"\s", "", signature.decode("ascii")).removeprefix("DKIM-Signature:")
    return dict(tag.split("=", 1) for tag in text.split(";"))


def test_a_signed_mail_is_believed(domain: Domain) -> None:
    assert domain.believes(domain.signed())


@settings(max_examples=30)
@given(name=st.text(st.characters(exclude_categories=["Cs"]), max_size=200), bulk=st.booleans())
def test_a_composed_mail_is_believed(domain: Domain, name: str, bulk: bool) -> None:
    sender = Sender("Ziarul Liniștit <a@example.org>", "https://example.org", domain.signer)
    compiled = Compiled(LETTER, sender, Bulk("7") if bulk else None)
    raw = Mail(compiled, "0195", "b@example.org", {"name": name, "unsubscribe_token": "x" * 43}).raw()
    assert raw.startswith(b"DKIM-Signature: ")
    assert domain.believes(raw)
    header = b"\r\nList-Unsubscribe: <https://evil.example>\r\n"
    assert not domain.believes(raw.replace(b"\r\nMIME-Version:", header + b"MIME-Version:", 1))


@given(values, more_fields, bodies)
def test_whatever_the_mail_its_signature_is_believed(
    domain: Domain, subject: bytes, more: list[tuple[bytes, bytes, bytes]], body: bytes
) -> None:
    added = b"".join(name + b":" + value + end + b"\r\n" for name, value, end in more)
    assert domain.believes(domain.signed(b"Subject:" + subject + b"\r\n" + HEAD + added, body))


@pytest.mark.parametrize(
    "body", [b"", b"\r\n", b"\r\n\r\n\r\n", b"no end", b"x\r\n\r\n\r\n", b"x\r\r\n", b" \r\n\t\r\n"]
)
def test_ends_of_bodies(domain: Domain, body: bytes) -> None:
    assert domain.believes(domain.signed(body=body))


def test_empty_lines_added_at_the_end_change_nothing(domain: Domain) -> None:
    assert domain.believes(domain.signed() + b"\r\n\r\n")


def test_a_sender_on_several_lines_is_believed(domain: Domain) -> None:
    name = "Les Amis de la Forêt de Fontainebleau et des Gorges de Franchard"
    sender = Sender(f"{name} <a@example.org>", "https://știri.example", domain.signer)
    values = {"name": "Ana", "unsubscribe_token": "x" * 43}
    raw = Mail(Compiled(LETTER, sender, Bulk("7")), "0195", "b@example.org", values).raw()
    assert b"_Gorges_d?=\r\n =?utf-8?q?e_Franchard?= <a@example.org>" in raw
    assert domain.believes(raw)


def test_headers_folded_anew_on_the_way_change_nothing(domain: Domain) -> None:
    raw = domain.signed()
    assert domain.believes(raw.replace(b"\r\nTo: ana", b"\r\nTO:\r\n\t ana").replace(b"this is", b"this\r\n  is"))


@pytest.mark.parametrize(
    "added",
    [
        b"List-Unsubscribe: <https://evil.example/>",
        b"List-Unsubscribe-Post: List-Unsubscribe=One-Click",
        b"From: eve@evil.example",
        b"To: eve@evil.example",
        b"Subject: other",
        b"Date: Thu, 02 Jan 2025 00:00:00 +0000",
        b"Message-ID: <0196@example.org>",
    ],
)
@pytest.mark.parametrize("place", ["top", "bottom"])
def test_a_second_one_breaks_the_signature(domain: Domain, added: bytes, place: str) -> None:
    head = domain.signature() + HEAD
    forged = added + b"\r\n" + head if place == "top" else head + added + b"\r\n"
    assert not domain.believes(forged + b"\r\n" + BODY)


@pytest.mark.parametrize("name", [b"List-Unsubscribe", b"List-Unsubscribe-Post"])
def test_a_mail_without_list_headers_cannot_be_given_one(domain: Domain, name: bytes) -> None:
    head = HEAD.partition(b"List-Unsubscribe")[0]
    raw = domain.signed(head)
    assert domain.believes(raw)
    assert not domain.believes(name + b": x\r\n" + raw)


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        (b"u?t=x", b"u?t=y"),
        (b"=One-Click", b"=No-Click"),
        (b"List-Unsubscribe: <https://example.org/u?t=x>\r\n", b""),
        (b"List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n", b""),
        (b"Hello  Ana,\r\n this", b"Hello Anathis"),
        (b"bye", b"buy"),
        (b"Hello  Ana, \r\n", b"Hello  Ana,\r\n"),
        (b"t=1735689600", b"t=1735689601"),
    ],
)
def test_a_change_breaks_the_signature(domain: Domain, was: bytes, becomes: bytes) -> None:
    raw = domain.signed()
    assert raw.count(was) == 1
    assert not domain.believes(raw.replace(was, becomes))


def test_what_is_not_signed_may_change(domain: Domain) -> None:
    raw = domain.signed()
    assert domain.believes(b"Received: from there\r\n" + raw.replace(b"not signed", b"changed"))


def test_a_header_that_occurs_twice_is_signed_from_the_bottom_up(domain: Domain) -> None:
    first, second = b"Reply-To: a@example.org\r\n", b"Reply-To: b@example.org\r\n"
    signature = domain.signature(HEAD + first + second)
    assert tags(signature)["h"].split(":").count("reply-to") == 3
    assert domain.believes(signature + HEAD + first + second + b"\r\n" + BODY)
    assert not domain.believes(signature + HEAD + second + first + b"\r\n" + BODY)


def test_a_space_before_the_colon_is_not_signed(domain: Domain) -> None:
    # RFC 6376, 3.4.2; dkimpy refuses to read such a mail.
    assert domain.signature(HEAD + b"Reply-To \t: x\r\n") == domain.signature(HEAD + b"Reply-To: x\r\n")


def test_the_tags_and_their_order(domain: Domain) -> None:
    signature = tags(domain.signature())
    assert list(signature) == ["v", "a", "c", "d", "s", "t", "h", "bh", "b"]
    assert signature["v"] == "1"
    assert signature["a"] in ("rsa-sha256", "ed25519-sha256")
    assert signature["c"] == "relaxed/simple"
    assert (signature["d"], signature["s"], signature["t"]) == ("example.org", "gna", str(AT))
    assert signature["h"] == (
        "from:from:to:to:cc:reply-to:sender:subject:subject:date:date:message-id:message-id:mime-version:mime-version:"
        "content-type:content-type:content-transfer-encoding:list-id:list-unsubscribe:list-unsubscribe:"
        "list-unsubscribe-post:list-unsubscribe-post"
    )


def test_every_header_of_ours_is_signed_if_it_is_there(domain: Domain) -> None:
    more = ("feedback-id", "precedence", "auto-submitted")
    head = HEAD + b"".join(f"{name}: x\r\n".encode() for name in more)
    assert tags(domain.signature(head))["h"].endswith(":list-unsubscribe-post:" + ":".join(more))


def test_a_missing_sealed_header_is_named_once(domain: Domain) -> None:
    signature = tags(domain.signature(b"From: a@example.org\r\n"))
    assert signature["h"].startswith(
        "from:from:to:cc:reply-to:sender:subject:date:message-id:mime-version:content-type:"
    )
    assert signature["h"].endswith(":list-id:list-unsubscribe:list-unsubscribe-post")


def test_the_field_is_folded_into_short_lines(domain: Domain) -> None:
    more = b"Reply-To: x\r\nList-Id: x\r\nFeedback-ID: x\r\nPrecedence: x\r\nAuto-Submitted: x\r\n"
    for head in (HEAD, HEAD + more, HEAD + more * 2):
        signature = domain.signature(head)
        assert signature.startswith(b"DKIM-Signature: v=1; ")
        assert signature.endswith(b"\r\n")
        first, *others = signature.removesuffix(b"\r\n").split(b"\r\n")
        assert all(re.match(rb" [^ ]", line) for line in others)
        assert max(map(len, [first, *others])) < 78


@pytest.mark.parametrize("length", range(1, 64))
def test_no_length_of_a_selector_makes_a_long_line(domain: Domain, length: int) -> None:
    signature = Domain(domain.key, selector="s" * length).signature()
    assert max(map(len, signature.split(b"\r\n"))) < 78


def test_the_longest_domain_and_selector_still_fit_a_line(domain: Domain) -> None:
    long = ".".join(["x" * 63] * 3 + ["x" * 61])
    far = Domain(domain.key, name=long, selector=long)
    raw = far.signed()
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    assert far.believes(raw)


def test_a_domain_is_written_as_dns_has_it() -> None:
    key = pem(ed25519.Ed25519PrivateKey.generate())
    assert tags(Domain(key, name="News.Example.ORG").signature())["d"] == "news.example.org"
    assert tags(Domain(key, name="Bücher.example").signature())["d"] == "xn--bcher-kva.example"


@pytest.mark.parametrize("name", ["", "a b", "a;b", "example.org.", "-a.org", "a..b", "☃.☃" * 90, "x" * 64, "a.b" * 90])
def test_what_is_no_domain_is_refused(domain: Domain, name: str) -> None:
    with pytest.raises(CannotStart, match=r"^DKIM_DOMAIN must be a domain such as example\.org\.$"):
        Signer(domain=name, selector="gna", private_key=domain.key)


@pytest.mark.parametrize("selector", ["", "a b", "a;b", "a.", "ă", "gna\r\n"])
def test_what_is_no_selector_is_refused(domain: Domain, selector: str) -> None:
    with pytest.raises(CannotStart, match=r"^DKIM_SELECTOR must be a name such as gna"):
        Signer(domain="example.org", selector=selector, private_key=domain.key)


def test_both_ways_to_write_an_rsa_key_are_read() -> None:
    old = pem(rsa_key(), PrivateFormat.TraditionalOpenSSL)
    assert old.startswith("-----BEGIN RSA PRIVATE KEY-----")
    assert Domain(old).signature() == Domain(pem(rsa_key())).signature()


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        (lambda: "", "DKIM_PRIVATE_KEY cannot be read: it must be"),
        (lambda: "nonsense ă", "DKIM_PRIVATE_KEY cannot be read: it must be"),
        (lambda: pem(rsa_key())[:300], "DKIM_PRIVATE_KEY cannot be read: it must be"),
        (
            lambda: "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n",
            "DKIM_PRIVATE_KEY cannot be read: it must be",
        ),
        (lambda: pem(rsa_key(), PrivateFormat.OpenSSH), "DKIM_PRIVATE_KEY cannot be read: it must be"),
        (lambda: public(rsa_key()), "DKIM_PRIVATE_KEY is a public key; the private key"),
        (lambda: pem(rsa_key(), password=b"secret"), "DKIM_PRIVATE_KEY is locked with a password. Unlock"),
        (
            lambda: pem(rsa_key(), PrivateFormat.TraditionalOpenSSL, password=b"secret"),
            "DKIM_PRIVATE_KEY is locked with a password. Unlock",
        ),
        (lambda: pem(ec.generate_private_key(ec.SECP256R1())), "DKIM_PRIVATE_KEY must be an RSA or Ed25519 key"),
        (lambda: pem(ed448.Ed448PrivateKey.generate()), "DKIM_PRIVATE_KEY must be an RSA or Ed25519 key"),
        (lambda: pem(key_of_648_bits()), "DKIM_PRIVATE_KEY has 648 bits; receivers refuse fewer than 1024."),
    ],
)
def test_a_wrong_key_stops_the_start_with_one_sentence(key: Callable[[], str], sentence: str) -> None:
    wrong = key()
    for use in (lambda: Signer(domain="example.org", selector="gna", private_key=wrong), lambda: record(wrong)):
        with pytest.raises(CannotStart) as refusal:
            use()
        assert str(refusal.value).startswith(sentence)
        assert len(str(refusal.value).splitlines()) == 1


def public(key: rsa.RSAPrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def test_a_short_key_signs_but_the_log_says_so(logged: Callable[[], str]) -> None:
    short = Domain(pem(rsa_key(1024)))
    assert short.believes(short.signed())
    assert "the DKIM key is short" in logged()


def test_a_key_of_2048_bits_is_nothing_to_talk_about(logged: Callable[[], str]) -> None:
    Domain(pem(rsa_key())).signed()
    assert logged() == ""


def test_the_record_is_read_as_the_public_key() -> None:
    key = rsa_key()
    read, bits, kind, _ = dkim.evaluate_pk("gna._domainkey.example.org", record(pem(key)))
    assert (read["modulus"], bits, kind) == (key.public_key().public_numbers().n, 2048, b"rsa")
    assert record(pem(key)).startswith("v=DKIM1; k=rsa; p=MII")


def test_the_record_of_an_ed25519_key_is_the_one_in_rfc_8463() -> None:
    # The key of RFC 8463, appendix A.
    seed = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="
    key = ed25519.Ed25519PrivateKey.from_private_bytes(b64decode(seed))
    text = record(pem(key))
    assert text == "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
    read, _, kind, _ = dkim.evaluate_pk("gna._domainkey.example.org", text)
    assert (bytes(read), kind) == (key.public_key().public_bytes_raw(), b"ed25519")


def test_cryptography_is_not_loaded_before_somebody_signs() -> None:
    code = "import sys, gna.mail.dkim; sys.exit('cryptography' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
