"""DMARC records, judged without asking anybody."""

import pytest

from gna.mail.authentication import Finding, Level
from gna.mail.authentication.dmarc import judge, places
from gna.outside.dns import Answer, Said

RUA = "rua=mailto:dmarc@example.org"


def judged(domain: str = "example.org", /, signer: str | None = None, **texts: str | list[str]) -> dict[str, Finding]:
    """`org=` is the record of example.org, `news=` that of news.example.org."""
    named = {"org": "example.org", "news": "news.example.org"}
    answers = {place: Answer(Said.NOTHING) for place in places(domain)}
    for name, text in texts.items():
        answers[named[name]] = Answer(Said.FOUND, (text,) if isinstance(text, str) else tuple(text))
    return {found.code: found for found in judge(domain, answers, signer=signer)}


@pytest.mark.parametrize(
    ("domain", "asked"),
    [
        ("example.org", ["example.org"]),
        ("a.b.example.org", ["a.b.example.org", "b.example.org", "example.org"]),
        ("localhost", ["localhost"]),
    ],
)
def test_the_record_is_looked_for_from_the_domain_upwards(domain: str, asked: list[str]) -> None:
    assert places(domain) == asked


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (f"v=DMARC1; p=none; {RUA}", {"dmarc_none"}),
        (f"v=DMARC1;p=NONE;{RUA};", {"dmarc_none"}),
        (f"v=DMARC1; p=quarantine; {RUA}", {"dmarc_ok"}),
        (f"v=DMARC1; p=reject; pct=50; {RUA}; ruf=mailto:a@b.org", {"dmarc_ok"}),
        ("v=DMARC1; p=none", {"dmarc_none", "dmarc_no_reports"}),
        ("v=DMARC1; p=reject", {"dmarc_ok", "dmarc_no_reports"}),
        ("v=DMARC1; p=none; rua=", {"dmarc_none", "dmarc_no_reports"}),
        ("v=DMARC1; p=none; rua=dmarc@example.org", {"dmarc_none", "dmarc_rua"}),
        ("v=DMARC1; p=none; rua=mailto:dmarc", {"dmarc_none", "dmarc_rua"}),
        ("v=DMARC1; p=none; rua=https://b.org/dmarc", {"dmarc_none", "dmarc_rua"}),
        (f"v=DMARC1; p=none; {RUA},reports@b.org", {"dmarc_none", "dmarc_rua"}),
        (f"v=DMARC1; p=none; {RUA}!10m , MAILTO:reports@b.org", {"dmarc_none"}),
        ("v=DMARC1", {"dmarc_malformed"}),
        ("v=DMARC1; p=maybe", {"dmarc_malformed"}),
        ("v=DMARC1; p=none; p=reject", {"dmarc_malformed"}),
        ("v=DMARC1; p", {"dmarc_malformed"}),
        ("p=none; v=DMARC1", {"dmarc_missing"}),
        ("v=dmarc1; p=none", {"dmarc_malformed"}),
        ("v=DMARC2; p=none", {"dmarc_malformed"}),
        ("some other text", {"dmarc_missing"}),
    ],
)
def test_a_record_is_judged(text: str, codes: set[str]) -> None:
    assert set(judged(org=text)) == codes
    assert set(judged(org=["other=text", text])) == codes


@pytest.mark.parametrize(
    ("written", "mended"),
    [
        ("dmarc@example.org", "mailto:dmarc@example.org"),
        ("mailto://dmarc@example.org", "mailto:dmarc@example.org"),
        ("a@b.org!5m, mailto:c@d.org", "mailto:a@b.org!5m,mailto:c@d.org"),
        ("https://b.org/dmarc,a@b.org", "mailto:a@b.org"),
        ("https://b.org/dmarc", "mailto:dmarc@example.org"),
    ],
)
def test_an_address_for_reports_without_its_scheme_is_mended(written: str, mended: str) -> None:
    found = judged(org=f"v=DMARC1; p=none; rua={written}")
    for code, policy in (("dmarc_rua", "none"), ("dmarc_none", "quarantine")):
        publish = found[code].publish
        assert publish
        assert publish.text == f"v=DMARC1; p={policy}; rua={mended}"
    assert found["dmarc_rua"].level is Level.WARNING


def test_no_record_is_a_problem_with_a_record_to_publish() -> None:
    found = judged()["dmarc_missing"]
    assert found.level is Level.PROBLEM
    assert found.publish
    assert (found.publish.name, found.publish.text) == ("_dmarc.example.org", f"v=DMARC1; p=none; {RUA}")


def test_several_records_count_as_none() -> None:
    assert list(judged(org=["v=DMARC1; p=none", "v=DMARC1; p=reject"])) == ["dmarc_many"]


def test_the_next_step_after_watching_is_told() -> None:
    found = judged(org=f"v=DMARC1; p=none; adkim=s; {RUA}")["dmarc_none"]
    assert found.level is Level.OK
    assert found.publish
    assert found.publish.text == f"v=DMARC1; p=quarantine; adkim=s; {RUA}"


def test_reports_need_an_address() -> None:
    found = judged(org="v=DMARC1; p=reject; sp=none")["dmarc_no_reports"]
    assert found.publish
    assert found.publish.text == f"v=DMARC1; p=reject; sp=none; {RUA}"


def test_a_parents_record_holds_for_a_subdomain() -> None:
    found = judged("news.example.org", org=f"v=DMARC1; p=reject; {RUA}")
    assert set(found) == {"dmarc_inherited", "dmarc_ok"}
    assert found["dmarc_inherited"].about == {"name": "news.example.org", "parent": "example.org"}


def test_a_parent_may_have_another_policy_for_subdomains() -> None:
    found = judged("news.example.org", org=f"v=DMARC1; p=reject; sp=none; {RUA}")
    assert found["dmarc_none"].publish
    assert found["dmarc_none"].publish.name == "_dmarc.example.org"
    assert "p=reject; sp=quarantine" in found["dmarc_none"].publish.text


def test_the_nearest_record_counts() -> None:
    found = judged("news.example.org", news=f"v=DMARC1; p=none; {RUA}", org=f"v=DMARC1; p=reject; {RUA}")
    assert set(found) == {"dmarc_none"}


@pytest.mark.parametrize("said", [Said.SILENT, Said.FAILED])
def test_a_silent_dns_is_not_a_missing_record(said: Said) -> None:
    [found] = judge("example.org", {"example.org": Answer(said)})
    assert (found.code, found.level) == ("dmarc_unasked", Level.UNKNOWN)
    below = {"news.example.org": Answer(Said.NOTHING), "example.org": Answer(said)}
    assert [found.code for found in judge("news.example.org", below)] == ["dmarc_unasked"]


@pytest.mark.parametrize(
    ("domain", "signer", "strictly", "aligned"),
    [
        ("example.org", None, False, True),
        ("example.org", "example.org", True, True),
        ("example.org", "mail.example.org", False, True),
        ("example.org", "mail.example.org", True, False),
        ("news.example.org", "example.org", False, True),
        ("news.example.org", "example.org", True, False),
        ("news.example.org", "mail.example.org", False, True),
        ("example.org", "example.net", False, False),
        ("example.org", "notexample.org", False, False),
    ],
)
def test_the_signature_must_belong_to_the_sender(
    domain: str, signer: str | None, strictly: bool, aligned: bool
) -> None:
    text = f"v=DMARC1; p=reject; {RUA}" + ("; adkim=s" if strictly else "")
    assert ("dmarc_unaligned" not in judged(domain, signer, org=text)) is aligned
