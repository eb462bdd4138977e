"""SPF records, evaluated against a real DNS server, and the advice that follows."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gna.mail.authentication import Finding, Level
from gna.mail.authentication.spf import Evaluation, judge, terms
from gna.mail.authentication.spf_evaluation import evaluate
from gna.outside.dns import Answer, Asking, Said
from tests.servers.dns import Dns

US = "example.org"
MX = "mail.example.org"


def publish(dns: Dns, name: str, *texts: str) -> None:
    """A domain with these texts, which receives mail and has an address."""
    dns.says(name, "TXT", *texts)
    dns.says(name, "A", "192.0.2.1")
    dns.says(name, "MX", f"10 {MX}.")


def evaluated(dns: Dns, within: float = 5) -> tuple[Answer, Evaluation]:
    async def run() -> tuple[Answer, Evaluation]:
        asking = Asking([dns.address], within=within)
        return await asking.texts(US), await evaluate(US, asking)

    return asyncio.run(run())


def judged(*own: str, host: str = "", **others: str | list[str]) -> dict[str, Finding]:
    """The findings by code, with our own texts in DNS and those of others (`b_org="…"`)."""
    with Dns() as dns:
        dns.says(MX, "A", "192.0.2.25")
        publish(dns, US, *own)
        for name, texts in others.items():
            at = name if "." in name else name.replace("_", ".")
            publish(dns, at, *([texts] if isinstance(texts, str) else texts))
        answer, evaluation = evaluated(dns)
    return {found.code: found for found in judge(US, answer, evaluation, host=host)}


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
        ("v=spf1 a exists:%{i}.spf.example.org include:%{ir}.%{v}.b.org -all", {"spf_ok"}),
        ("v=spf1 redirect=%{l}.b.org", {"spf_ok"}),
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
    assert set(judged("google-site-verification=x", record)) == codes


@pytest.mark.parametrize(
    ("record", "term"),
    [
        ("v=spf1 a:1.2.3.4 -all", "a:1.2.3.4"),
        ("v=spf1 a:foo-bar -all", "foo-bar"),
        ("v=spf1 a:museum -all", "museum"),
        ("v=spf1 a:b.org:8080 -all", "b.org:8080"),
        ("v=spf1 mx:abc.123 -all", "abc.123"),
        ("v=spf1 mx:b.-org -all", "b.-org"),
        ("v=spf1 a/33 -all", "a/33"),
        ("v=spf1 mx//129 -all", "mx//129"),
        ("v=spf1 a/24/64 -all", "a/24/64"),
        ("v=spf1 ip4:192.0.2.1/032 -all", "ip4:192.0.2.1/032"),
        ("v=spf1 ip4:192.0.2.1//32 -all", "ip4:192.0.2.1//32"),
        ("v=spf1 ptr/0 -all", "ptr/0"),
        ("v=spf1 exists:mail.example.org/24 -all", "exists:mail.example.org/24"),
        ("v=spf1 include:b.org/24 -all", "include:b.org/24"),
        ("v=spf1 mx -all nonsense", "nonsense"),
        ("v=spf1 -all ip6", "ip6"),
        ("v=spf1 mx ?all redirect=", "redirect"),
        ("v=spf1 mx redirect=-all ?all", "-all"),
        ("v=spf1 exp=-all", "-all"),
        ("v=spf1 exp=e.example.org -all exp=f.example.org", "exp="),
        ("v=spf1 redirect=b.org -all redirect=b.org", "redirect="),
        ("v=spf1 mx -all some=%abc", "%abc"),
        ("v=spf1 -exists:%(ir).b.org ?all", "%(ir)"),
        ("v=spf1 exists:foo%.b.org ?all", "%"),
        ("v=spf1 a:%{a}.b.org -all", "%{a}"),
        ("v=spf1 exp=%{r}.b.org -all", "%{r}"),
        ("v=spf1 mx\ta -all", "“mx\\ta”"),
        ("v=spf1 mx\r\n -all", "mx"),
        ("v=spf1 a:foo.b.org\x00 -all", "“foo.b.org\\x00”"),
        ("v=spf1 a:b\u00fccher.org -all", "Non-ascii"),
        ("v=spf1 include:example.org -all", "include:example.org"),
        (f"v=spf1 ip4:192.0.2.1/{'9' * 4000} -all", ""),
        (f"v=spf1 a:.{'a' * 60_000}! -all", "longer than 4096"),
    ],
)
def test_what_receivers_answer_with_a_permerror_is_told_with_the_term(record: str, term: str) -> None:
    found = judged(record, b_org="v=spf1 -all")
    assert list(found) == ["spf_syntax"]
    assert found["spf_syntax"].level is Level.PROBLEM
    assert term in found["spf_syntax"].about["problem"]


@pytest.mark.parametrize(
    ("there", "problem"),
    [
        ("v=spf1 mx -all nonsense", "nonsense"),
        ("v=spf1 a/33", "a/33"),
        ("v=spf1 include:c.org -all", "include:c.org"),
        (["v=spf1 -all", "v=spf1 mx -all"], "Two or more"),
        ("v=spf1 a:b\u00fccher.org -all", "Non-ascii"),
    ],
)
@pytest.mark.parametrize("own", ["v=spf1 mx include:b.org -all", "v=spf1 mx redirect=b.org"])
def test_a_mistake_in_a_record_that_ours_leads_to_breaks_ours(own: str, there: str | list[str], problem: str) -> None:
    found = judged(own, b_org=there)
    assert list(found) == ["spf_include_broken"]
    assert found["spf_include_broken"].about["target"] == "b.org"
    assert problem in found["spf_include_broken"].about["problem"]


def test_more_than_two_look_ups_that_find_nothing_break_the_record() -> None:
    assert "spf_ok" in judged("v=spf1 a:no1.org a:no2.org -all")
    found = judged("v=spf1 a:no1.org mx:no2.org a:no3.org -all")
    assert list(found) == ["spf_void"]
    assert found["spf_void"].about == {"names": "no1.org, no2.org, no3.org"}


def test_more_than_ten_mail_servers_break_the_record() -> None:
    with Dns() as dns:
        publish(dns, US, "v=spf1 mx -all")
        dns.says(US, "MX", *(f"10 m{number}.example.org." for number in range(11)))
        found = judge(US, *evaluated(dns))
    assert [one.code for one in found] == ["spf_syntax"]


PIECES = ("a", "mx", "ptr", "all", "ip4:", "ip6:", "redirect=", "exp=", "b.org", "9", "d", *":/%{}.=-+? ")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
@example("a:%{" + "d" * 300 + "}")
@example("a:%{d" + "9" * 4000 + "}.b.org")
def test_no_record_makes_the_check_fail(words: str) -> None:
    found = judged(f"v=spf1 {words}", b_org="v=spf1 -all")
    assert {one.part for one in found.values()} == {"spf"}


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
    [found] = judge(US, Answer(said))
    assert (found.code, found.level) == ("spf_unasked", Level.UNKNOWN)


def test_several_records_are_joined_into_one() -> None:
    texts = ("v=spf1 mx include:b.org -all", "v=spf1 include:b.org ip4:192.0.2.1 ~all")
    [found] = judge(US, Answer(Said.FOUND, texts))
    assert found.code == "spf_many"
    assert published(found) == "v=spf1 mx include:b.org ip4:192.0.2.1 ~all"


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
    there = "v=spf1 mx -all"
    assert published(judged(record, b_org=there)[code]) == better
    assert code not in judged(better, b_org=there)


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
    assert found["spf_lookups"].about == {"terms": "mx, a"}


def test_look_ups_of_included_records_count_towards_the_limit() -> None:
    eight = "v=spf1 " + "a " * 8 + "-all"
    assert "spf_lookups" in judged("v=spf1 include:b.org mx a -all", b_org=eight)
    assert "spf_lookups" not in judged("v=spf1 include:b.org mx -all", b_org=eight)


def test_records_that_lead_to_each_other_in_many_ways_are_not_followed_for_ever() -> None:
    names = [f"n{number}.org" for number in range(30)]
    others = {name: "v=spf1 " + f"include:{following} " * 9 + "-all" for name, following in pairwise(names)}
    assert list(judged("v=spf1 " + "include:n0.org " * 9 + "-all", **others)) == ["spf_lookups"]


def test_a_circle_is_told_and_left() -> None:
    found = judged("v=spf1 include:b.org -all", b_org="v=spf1 include:example.org -all")
    assert found["spf_lookups"].about == {"terms": "include:b.org"}
    assert list(judged("v=spf1 redirect=example.org")) == ["spf_lookups"]


@pytest.mark.parametrize("there", [[], ["some text"]])
@pytest.mark.parametrize("own", ["v=spf1 include:B.org. -all", "v=spf1 redirect=B.org"])
def test_a_record_that_leads_to_none_is_broken(own: str, there: list[str]) -> None:
    found = judged(own, b_org=there)
    assert list(found) == ["spf_syntax"]
    assert "B.org" in found["spf_syntax"].about["problem"]


@pytest.mark.parametrize("own", ["v=spf1 include:b.org -all", "v=spf1 a:b.org -all", "v=spf1 mx:b.org -all"])
def test_what_dns_does_not_answer_is_not_missing(own: str) -> None:
    with Dns() as dns:
        publish(dns, US, own)
        dns.fails("b.org")
        [found] = judge(US, *evaluated(dns))
    assert (found.code, found.level) == ("spf_unfollowed", Level.UNKNOWN)
    assert found.about == {"target": "b.org"}


def test_an_explanation_that_dns_does_not_answer_changes_nothing() -> None:
    with Dns() as dns:
        publish(dns, US, "v=spf1 a exp=b.org -all")
        dns.fails("b.org")
        assert [found.code for found in judge(US, *evaluated(dns))] == ["spf_ok"]


def test_a_record_that_lets_everybody_in_elsewhere_is_open() -> None:
    found = judged("v=spf1 include:b.org -all", b_org="v=spf1 +all")
    assert found["spf_open"].about == {"term": "include:b.org"}
    assert "spf_open" in judged("v=spf1 ip4:0.0.0.0/0 -all")
    assert "spf_neutral" in judged("v=spf1 redirect=b.org", b_org="v=spf1 mx ?all")


def test_a_redirect_is_followed() -> None:
    found = judged("v=spf1 redirect=b.org", b_org="v=spf1 mx -all")["spf_ok"]
    assert found.about == {"count": "2", "end": "-all"}


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


def test_words_behind_all_do_not_count() -> None:
    assert [term.name for term in terms("v=spf1 mx -all include:b.org")] == ["mx", "all"]
