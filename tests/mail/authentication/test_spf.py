"""SPF records, judged without asking anybody."""

from itertools import pairwise

import pytest

from gna.mail.authentication import Finding, Level
from gna.mail.authentication.spf import judge, terms, unasked
from gna.outside.dns import Answer, Said

US = "example.org"


def zone(*own: str, **others: str | list[str]) -> dict[str, Answer]:
    """What is in DNS: our own texts, and those of others (`b_org="…"`)."""
    said = {US: list(own)} | {
        name if "." in name else name.replace("_", "."): [text] if isinstance(text, str) else text
        for name, text in others.items()
    }
    return {name: Answer(Said.FOUND if texts else Said.NOTHING, tuple(texts)) for name, texts in said.items()}


def judged(*own: str, host: str = "", **others: str | list[str]) -> dict[str, Finding]:
    return {found.code: found for found in judge(US, zone(*own, **others), host=host)}


def published(found: Finding) -> str:
    assert found.publish
    assert found.publish.name == US
    return found.publish.text


@pytest.mark.parametrize(
    ("record", "codes"),
    [
        ("v=spf1 mx -all", {"spf_ok"}),
        ("v=spf1 mx ~all", {"spf_ok"}),
        ("V=SPF1 MX -ALL", {"spf_ok"}),
        ("v=spf1  mx   -all ", {"spf_ok"}),
        ("v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 a/24 mx:b.org/28//64 -all", {"spf_ok"}),
        ("v=spf1 ip4:192.0.2.1 exp=why.example.org -all", {"spf_ok"}),
        ("v=spf1 a exists:%{i}.spf.example.org include:%{d}.b.org -all", {"spf_ok"}),
        ("v=spf1 mx -all nonsense", {"spf_ok"}),
        ("v=spf1 mx some.thing=else -all", {"spf_ok"}),
        ("v=spf1 mx ?all", {"spf_neutral"}),
        ("v=spf1 mx", {"spf_neutral"}),
        ("v=spf1", {"spf_neutral"}),
        ("v=spf1 mx +all", {"spf_open"}),
        ("v=spf1 mx all", {"spf_open"}),
        ("v=spf1 -all", {"spf_nobody"}),
        ("v=spf1 ~all", {"spf_nobody"}),
        ("v=spf1 ptr mx -all", {"spf_ptr", "spf_ok"}),
        ("v=spf1 mx ptr:example.org ?all", {"spf_ptr", "spf_neutral"}),
        ("v=spf1 mx, -all", {"spf_syntax"}),
        ("v=spf1 ip4:192.0.2.300 -all", {"spf_syntax"}),
        ("v=spf1 ip4:2001:db8::1 -all", {"spf_syntax"}),
        ("v=spf1 ip6:192.0.2.1 -all", {"spf_syntax"}),
        ("v=spf1 ip4 -all", {"spf_syntax"}),
        ("v=spf1 include: -all", {"spf_syntax"}),
        ("v=spf1 include -all", {"spf_syntax"}),
        ("v=spf1 redirect=", {"spf_syntax"}),
        ("v=spf1 mx -all:x", {"spf_syntax"}),
        ("v=spf1 ipv4:192.0.2.1 -all", {"spf_syntax"}),
        ("v=spf1 192.0.2.1 -all", {"spf_syntax"}),
    ],
)
def test_a_record_is_judged(record: str, codes: set[str]) -> None:
    assert set(judged(record)) == codes
    assert set(judged("google-site-verification=x", record)) == codes


@pytest.mark.parametrize("text", ["v=spf1;mx -all", "spf1 mx -all", "v=spf10 mx", '"v=spf1 mx -all"'])
def test_what_only_looks_like_spf_is_told(text: str) -> None:
    found = judged(text)["spf_malformed"]
    assert found.level is Level.PROBLEM
    assert text in found.says


def test_no_record_is_a_problem_with_a_record_to_publish() -> None:
    assert published(judged()["spf_missing"]) == "v=spf1 mx ~all"
    assert published(judged("hello", host="mail.b.org")["spf_missing"]) == "v=spf1 mx a:mail.b.org ~all"
    assert published(judged(host="smtp.gmail.com")["spf_missing"]) == "v=spf1 include:_spf.google.com ~all"


@pytest.mark.parametrize("said", [Said.SILENT, Said.FAILED])
def test_a_silent_dns_is_not_a_missing_record(said: Said) -> None:
    [found] = judge(US, {US: Answer(said)})
    assert (found.code, found.level) == ("spf_unasked", Level.UNKNOWN)


def test_several_records_are_joined_into_one() -> None:
    found = judged("v=spf1 mx include:b.org -all", "v=spf1 include:b.org ip4:192.0.2.1 ~all")
    assert list(found) == ["spf_many"]
    assert published(found["spf_many"]) == "v=spf1 mx include:b.org ip4:192.0.2.1 ~all"


@pytest.mark.parametrize(
    ("code", "record", "better"),
    [
        ("spf_neutral", "v=spf1 mx ?all", "v=spf1 mx ~all"),
        ("spf_neutral", "v=spf1 mx a", "v=spf1 mx a ~all"),
        ("spf_open", "v=spf1 mx +all", "v=spf1 mx ~all"),
        ("spf_ptr", "v=spf1 ptr mx -all", "v=spf1 mx -all"),
        ("spf_ptr", "v=spf1 ptr redirect=b.org", "v=spf1 redirect=b.org"),
    ],
)
def test_what_mends_a_record_is_told_whole(code: str, record: str, better: str) -> None:
    assert published(judged(record)[code]) == better
    assert code not in judged(better)


def test_one_record_mends_everything_and_is_told_once() -> None:
    found = judged("v=spf1 ptr mx +all", host="smtp.gmail.com")
    assert {code for code, one in found.items() if one.publish} == {"spf_not_included"}
    better = published(found["spf_not_included"])
    assert better == "v=spf1 include:_spf.google.com mx ~all"
    assert "spf_ok" in judged(better, host="smtp.gmail.com", **{"_spf.google.com": "v=spf1 ip4:192.0.2.1 ~all"})


def test_included_records_are_followed_and_their_look_ups_counted() -> None:
    found = judged("v=spf1 include:b.org mx -all", b_org="v=spf1 a include:c.org ~all", c_org="v=spf1 mx ?all")
    assert list(found) == ["spf_ok"]
    assert found["spf_ok"].about["count"] == "5"


def test_ten_look_ups_are_well_and_eleven_are_not() -> None:
    ten = "v=spf1 " + "mx " * 10 + "-all"
    assert judged(ten)["spf_ok"].about["count"] == "10"
    found = judged(ten.replace("-all", "a -all"))
    assert "spf_ok" not in found
    assert found["spf_lookups"].about == {"count": "11", "terms": "mx, a"}


def test_look_ups_of_included_records_count_towards_the_limit() -> None:
    eight = "v=spf1 " + "a " * 8 + "-all"
    assert "spf_lookups" in judged("v=spf1 include:b.org mx a -all", b_org=eight)
    assert "spf_lookups" not in judged("v=spf1 include:b.org mx -all", b_org=eight)


def test_records_that_lead_to_each_other_in_many_ways_are_not_followed_for_ever() -> None:
    names = [f"n{number}.org" for number in range(30)]
    answers = zone("v=spf1 " + "include:n0.org " * 9 + "-all")
    for name, following in pairwise(names):
        answers[name] = Answer(Said.FOUND, ("v=spf1 " + f"include:{following} " * 9 + "-all",))
    answers[names[-1]] = Answer(Said.NOTHING)
    codes = {found.code: found for found in judge(US, answers)}
    assert codes["spf_lookups"].about["count"] == "50+"


def test_a_circle_is_told_and_left() -> None:
    found = judged("v=spf1 include:b.org -all", b_org="v=spf1 include:example.org -all")
    assert list(found) == ["spf_circle"]
    assert judged("v=spf1 redirect=example.org")["spf_circle"].about["term"] == "redirect=example.org"


@pytest.mark.parametrize(
    ("there", "code"),
    [
        ([], "spf_include_missing"),
        (["some text"], "spf_include_missing"),
        (["v=spf1 -all", "v=spf1 mx -all"], "spf_include_many"),
    ],
)
def test_an_include_that_leads_nowhere_breaks_the_record(there: list[str], code: str) -> None:
    found = judged("v=spf1 include:B.org. -all", b_org=there)
    assert list(found) == [code]
    assert found[code].about["target"] == "b.org"


def test_an_include_that_could_not_be_asked_is_not_missing() -> None:
    answers = zone("v=spf1 include:b.org -all") | {"b.org": Answer(Said.SILENT)}
    assert [(found.code, found.level) for found in judge(US, answers)] == [("spf_include_unasked", Level.UNKNOWN)]


def test_a_redirect_counts_only_without_an_all() -> None:
    other = "v=spf1 mx -all"
    assert judged("v=spf1 redirect=b.org", b_org=other)["spf_ok"].about["count"] == "2"
    assert judged("v=spf1 mx redirect=b.org -all", b_org=other)["spf_ok"].about["count"] == "1"
    assert list(judged("v=spf1 redirect=b.org", b_org=[])) == ["spf_include_missing"]


def test_a_service_that_is_not_named_is_told() -> None:
    found = judged("v=spf1 mx -all", host="email-smtp.eu-west-1.amazonaws.com")["spf_not_included"]
    assert published(found) == "v=spf1 include:amazonses.com mx -all"
    allowed = {"b_org": "v=spf1 include:amazonses.com ~all", "amazonses_com": "v=spf1 a -all"}
    within = judged("v=spf1 include:b.org -all", host="email-smtp.eu-west-1.amazonaws.com", **allowed)
    assert "spf_not_included" not in within


def test_who_is_allowed_is_said_for_a_server_that_we_do_not_know() -> None:
    found = judged("v=spf1 mx ip4:192.0.2.1 -a:x.org ?mx:y.org exp=e.org -all", host="mail.b.org")
    assert found["spf_allows"].about == {"allowed": "mx, ip4:192.0.2.1", "host": "mail.b.org"}
    assert "spf_allows" not in judged("v=spf1 mx -all")
    assert "spf_not_included" not in judged("v=spf1 mx -all", host="notamazonaws.com")


def test_what_must_be_asked_next() -> None:
    asked = zone("v=spf1 include:b.org include:c.org include:%{d}.x.org -all", c_org="v=spf1 redirect=d.org")
    assert unasked(US, asked) == {"b.org", "d.org"}
    assert unasked(US, zone("v=spf1 " + "mx " * 11 + "include:b.org -all")) == set()
    assert unasked(US, zone()) == unasked(US, {US: Answer(Said.SILENT)}) == set()


def test_words_behind_all_do_not_count() -> None:
    assert [term.name for term in terms("v=spf1 mx -all include:b.org")] == ["mx", "all"]
