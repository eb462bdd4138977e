import pytest
from email_validator import validate_email
from hypothesis import given
from hypothesis import strategies as st

from gna.errors import Refused
from gna.mail import address


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("ana@example.org", "ana@example.org"),
        ("  Ana.Maria+news@Example.ORG ", "Ana.Maria+news@Example.ORG"),
        ("o'hara@mail.example.co.uk", "o'hara@mail.example.co.uk"),
        ("ana@server.test", "ana@server.test"),
        ("ana@bücher.example", "ana@bücher.example"),
        ("ana@xn--bcher-kva.example", "ana@bücher.example"),
    ],
)
def test_an_address_is_kept_as_typed_and_trimmed(typed: str, kept: str) -> None:
    assert address.parse(typed) == kept


@pytest.mark.parametrize(
    "typed",
    [
        "ana", "ana@", "@example.org", "ana@localhost", "ana@@example.org", "a na@example.org", "ana@exam ple.org",
        "ana@[127.0.0.1]", '"ana b"@example.org', "ana@example..org", ".ana@example.org", "ana@-example.org",
        "x" * 65 + "@example.org", "ana@" + "x" * 250 + ".org", "ana@example.org\r\nBcc: eve@example.org",
        "ana@example.org\0", "=?utf-8?q?x?=@example.org", "ana\ud800@example.org", "Ana <ana@example.org>",
        "ánà@example.org",
    ],
)  # fmt: skip
def test_what_is_not_an_address_is_refused(typed: str) -> None:
    with pytest.raises(Refused, match="Email is not a valid address"):
        address.parse(typed)


def test_a_megabyte_is_refused_before_it_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validation takes the square of the length: minutes for a body of this size, while nobody else is answered."""

    def look(*_: object, **__: object) -> None:
        raise AssertionError("it was looked at")

    monkeypatch.setattr(address, "validate_email", look)
    with pytest.raises(Refused, match="Email is not a valid address"):
        address.parse("a@a" + "\u0315\u0300" * 200_000 + ".org")


@pytest.mark.parametrize("typed", [None, "", "  ", 7, ["ana@example.org"], {}])
def test_nothing_is_refused_as_missing(typed: object) -> None:
    with pytest.raises(Refused, match="Email is required"):
        address.parse(typed)


@given(st.text())
def test_any_text_is_an_address_or_refused(typed: str) -> None:
    try:
        kept = address.parse(typed)
    except Refused:
        return
    assert "@" in kept
    assert address.on_the_wire(kept).isascii()


@given(st.emails())
def test_ordinary_addresses_reach_the_wire_unchanged(typed: str) -> None:
    try:
        kept = address.parse(typed)
    except Refused:
        return  # hypothesis also makes forms that we do not take, such as IP literals
    assert address.on_the_wire(kept).lower() == typed.strip().lower()


words = st.from_regex(r"[A-Za-z0-9_+]{1,12}", fullmatch=True)
labels = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9-]{0,20}[A-Za-z0-9])?", fullmatch=True)
plain = st.builds(
    lambda name, domain, top: f"{'.'.join(name)}@{'.'.join(domain)}.{top}",
    st.lists(words, min_size=1, max_size=6),
    st.lists(labels, min_size=1, max_size=6),
    st.from_regex(r"[A-Za-z]{2,20}", fullmatch=True),
)


@given(plain.filter(address.PLAIN.fullmatch))
def test_what_is_taken_at_a_glance_the_validator_takes_too(typed: str) -> None:
    valid = validate_email(typed, check_deliverability=False, allow_smtputf8=False, strict=True)
    assert valid.normalized.lower() == typed.lower()
    assert address.parse(typed) == typed


def test_letters_beyond_ascii_before_the_at_need_a_provider_that_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused, match="Email is not a valid address"):
        address.parse("zoë@example.org")
    monkeypatch.setattr(address.Reach, "international", True)
    assert address.parse(" zoe\u0308@bücher.example") == "zoë@bücher.example"
    assert address.on_the_wire("zoë@bücher.example") == "zoë@xn--bcher-kva.example"
    with pytest.raises(Refused):
        address.parse("zo\u202eë@example.org")


@pytest.mark.parametrize("typed", ["Ünal@example.org", "ΣΑΣ@example.org", "ЖАННА@example.org", "İpek@example.org"])
def test_letters_beyond_ascii_are_small_so_that_every_database_compares_them_alike(
    typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address.Reach, "international", True)
    kept = address.parse(typed)
    only_ascii = "".join(letter.lower() if letter.isascii() else letter for letter in kept)
    assert only_ascii == kept.lower()
    assert address.parse(kept) == kept


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("550 5.1.1 <ana@example.org>: unknown user ana", "550 5.1.1 <…>: unknown user …"),
        ("550-5.1.1 user ana (ana=example.org) is not here", "550-5.1.1 user … (…=…) is not here"),
        ("551 mailbox ana%40example.org", "551 mailbox …%40…"),
        ("452 4.2.2 Ană has a full mailbox at mx.example.org", "452 4.2.2 … has a full mailbox at mx.…"),
        (
            "Given up after 12 attempts: 451 4.7.1 ANA@EXAMPLE.ORG greylisted",
            "Given up after 12 attempts: 451 4.7.1 … greylisted",
        ),
        ("550 banana is not ana", "550 banana is not …"),
    ],
)
def test_nothing_of_a_person_is_left_in_what_a_server_said(said: str, kept: str) -> None:
    assert address.without_person(said, email="ana@example.org", nickname="Ană") == kept


def test_codes_outlive_an_address_of_digits() -> None:
    assert (
        address.without_person("550 5.1.1 no 5 here", email="5@bücher.example", nickname=None) == "550 5.1.1 no … here"
    )
    assert "xn--" not in address.without_person("550 x@xn--bcher-kva.example", email="x@bücher.example", nickname=None)
