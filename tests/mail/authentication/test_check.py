"""The whole check, against a DNS server."""

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import run

import dns.resolver as dns_resolver
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gna import config
from gna.config import Settings
from gna.errors import CannotStart, Refused
from gna.mail.authentication import SAYS, Report, Sending, check, examine, parse_selector
from gna.mail.authentication.findings import PARTS
from gna.mail.dkim import record
from gna.outside.dns import Answer, Asking, Said, endpoint
from tests.servers import HOST, free_port
from tests.servers.dns import Dns

SPF, DMARC = "v=spf1 mx -all", "v=DMARC1; p=reject; rua=mailto:dmarc@example.org"


@pytest.fixture
def dns() -> Iterator[Dns]:
    """A DNS server that knows nothing yet."""
    with Dns() as server:
        yield server


@pytest.fixture(scope="module")
def pem() -> str:
    key = rsa.generate_private_key(65537, 2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def settings_for(*servers: str, **environ: str) -> Settings:
    given = {"DNS_SERVERS": ",".join(servers), "EMAIL_FROM_ADDRESS": "News <news@example.org>"} | environ
    return config.load(given, dotenv=Path("/nonexistent/.env"))


def checked(settings: Settings, selector: str | None = None) -> Report:
    return asyncio.run(check(settings, selector=selector))


def codes(report: Report) -> set[str]:
    return {found.code for found in report.findings}


def texts(name: str, *servers: str, within: float = 10) -> Answer:
    return asyncio.run(Asking(servers, within=within).texts(name))


def test_a_domain_that_is_fit_for_everything(dns: Dns, pem: str) -> None:
    dns.says("example.org", "TXT", "other=text", SPF)
    dns.says("gna._domainkey.example.org", "TXT", record(pem))
    dns.says("_dmarc.example.org", "TXT", DMARC)
    report = checked(settings_for(dns.address, DKIM_SELECTOR="gna", DKIM_PRIVATE_KEY=pem))
    assert codes(report) == {"spf_ok", "dkim_ok", "dkim_ours", "dmarc_ok", "rules_ok"}
    assert report.texts == {
        "example.org": (SPF,),
        "gna._domainkey.example.org": (record(pem),),
        "_dmarc.example.org": (DMARC,),
    }
    assert list(report.parts) == list(PARTS)


def test_a_key_is_longer_than_a_string_of_dns_and_than_a_datagram(dns: Dns, pem: str) -> None:
    long = record(pem) + "; n=" + "x" * 600
    dns.says("gna._domainkey.example.org", "TXT", long)
    assert texts("gna._domainkey.example.org", dns.address) == Answer(Said.FOUND, (long,))
    assert dns.asked_by_tcp == ["gna._domainkey.example.org"]


def test_a_domain_that_has_nothing(dns: Dns, pem: str) -> None:
    report = checked(settings_for(dns.address, DKIM_SELECTOR="gna", DKIM_PRIVATE_KEY=pem))
    assert codes(report) == {"spf_missing", "dkim_missing", "dmarc_missing", "rules_broken"}
    publish = {found.publish.name: found.publish.text for found in report.findings if found.publish}
    assert publish["gna._domainkey.example.org"] == record(pem)
    assert set(publish) == {"example.org", "gna._domainkey.example.org", "_dmarc.example.org"}


def test_what_is_told_to_publish_is_well_once_it_is_published(dns: Dns, pem: str) -> None:
    settings = settings_for(dns.address, DKIM_SELECTOR="gna", DKIM_PRIVATE_KEY=pem)
    for found in checked(settings).findings:
        if found.publish:
            dns.says(found.publish.name, "TXT", found.publish.text)
    assert codes(checked(settings)) == {"spf_ok", "dkim_ok", "dkim_ours", "dmarc_none", "rules_ok"}


def test_a_name_without_texts_has_no_record_either(dns: Dns) -> None:
    dns.says("example.org", "A", "192.0.2.1")
    assert texts("example.org", dns.address) == Answer(Said.NOTHING)
    assert texts("example.com", dns.address) == Answer(Said.NOTHING)


def test_dns_that_fails_is_not_a_missing_record(dns: Dns, pem: str) -> None:
    dns.fails()
    report = checked(settings_for(dns.address, DKIM_SELECTOR="gna", DKIM_PRIVATE_KEY=pem))
    assert codes(report) == {"spf_unasked", "dkim_unasked", "dmarc_unasked", "rules_unsure"}


def test_dns_that_is_not_there_is_not_a_missing_record() -> None:
    assert not texts("example.org", f"{HOST}:{free_port()}", within=0.3).is_sure


def test_dns_that_stays_silent_ends_in_time(dns: Dns) -> None:
    dns.stays_silent()
    start = time.monotonic()

    async def ask() -> list[Answer]:
        asking = Asking([dns.address], within=0.3)
        some = await asyncio.gather(*(asking.texts(f"{name}.example.org") for name in "abc"))
        return [*some, await asking.texts("example.org")]

    assert {answer.said for answer in asyncio.run(ask())} == {Said.SILENT}
    # Each for itself would take four times as long; the machine may be slow, so there is room.
    assert time.monotonic() - start < 5
    assert "example.org" not in dns.asked


def test_one_record_that_cannot_be_asked_leaves_the_others(dns: Dns) -> None:
    dns.says("example.org", "TXT", SPF)
    dns.says("_dmarc.example.org", "TXT", DMARC)
    dns.fails("_dmarc.example.org")
    assert codes(checked(settings_for(dns.address))) == {"spf_ok", "dkim_elsewhere", "dmarc_unasked", "rules_unsure"}


def test_another_server_is_asked_when_the_first_one_fails(dns: Dns) -> None:
    dns.says("example.org", "TXT", SPF)
    with Dns() as other:
        other.fails()
        assert texts("example.org", other.address, dns.address) == Answer(Said.FOUND, (SPF,))


def test_included_records_are_followed(dns: Dns) -> None:
    dns.says("example.org", "TXT", "v=spf1 include:a.org -all")
    dns.says("a.org", "TXT", "v=spf1 include:b.org include:c.org -all")
    dns.says("b.org", "TXT", "v=spf1 ip4:192.0.2.1 -all")
    report = checked(settings_for(dns.address))
    assert "spf_include_broken" in codes(report)
    dns.says("c.org", "TXT", "v=spf1 a -all")
    spf = next(found for found in checked(settings_for(dns.address)).of("spf"))
    assert (spf.code, spf.about["count"]) == ("spf_ok", "4")


def test_a_flood_of_includes_is_not_asked_for(dns: Dns) -> None:
    many = " ".join(f"include:a{number}.org" for number in range(40))
    dns.says("example.org", "TXT", f"v=spf1 {many} -all")
    for number in range(40):
        dns.says(f"a{number}.org", "TXT", "v=spf1 -all")
    assert "spf_lookups" in codes(checked(settings_for(dns.address)))
    assert len([name for name in dns.asked if name.startswith("a")]) == 10


def test_a_record_that_is_followed_slowly_ends_in_time(dns: Dns) -> None:
    dns.says("example.org", "TXT", "v=spf1 include:a.org include:b.org -all")
    dns.stays_silent("a.org")
    dns.stays_silent("b.org")
    start = time.monotonic()
    report = asyncio.run(examine(Sending("example.org"), Asking([dns.address], within=0.5)))
    assert time.monotonic() - start < 5
    assert "spf_unfollowed" in codes(report)
    assert "b.org" not in dns.asked


def test_the_process_keeps_its_own_resolver(dns: Dns) -> None:
    dns.says("example.org", "TXT", SPF)
    before = dns_resolver.default_resolver
    checked(settings_for(dns.address))
    assert dns_resolver.default_resolver is before


def test_a_name_that_dns_cannot_have_is_no_failure_of_ours(dns: Dns) -> None:
    dns.says("example.org", "TXT", f"v=spf1 include:{'x' * 64}.org include:a..b -all")
    assert "spf_syntax" in codes(checked(settings_for(dns.address)))


def test_a_selector_can_be_typed_in(dns: Dns, pem: str) -> None:
    dns.says("s1._domainkey.example.org", "CNAME", "s1.provider.net.")
    dns.says("s1.provider.net", "TXT", record(pem))
    assert "dkim_ok" in codes(checked(settings_for(dns.address), "s1"))
    assert "dkim_missing" in codes(checked(settings_for(dns.address), "s2"))
    # Another one than that of Gna itself is not compared with its key.
    signs = {"DKIM_SELECTOR": "gna", "DKIM_PRIVATE_KEY": pem}
    dns.says("s3._domainkey.example.org", "TXT", "v=DKIM1; p=")
    found = checked(settings_for(dns.address, **signs), "s3").of("dkim")
    assert [(one.code, one.publish) for one in found] == [("dkim_revoked", None)]


def test_an_international_domain_is_asked_for_in_ascii(dns: Dns) -> None:
    settings = settings_for(dns.address, EMAIL_FROM_ADDRESS="Știri <contact@știri.example>")
    report = checked(settings)
    assert report.domain == "xn--tiri-pxb.example"
    assert {"xn--tiri-pxb.example", "_dmarc.xn--tiri-pxb.example"} <= set(dns.asked)


def test_a_subdomain_asks_its_parents_for_dmarc(dns: Dns) -> None:
    dns.says("_dmarc.example.org", "TXT", DMARC)
    report = checked(settings_for(dns.address, EMAIL_FROM_ADDRESS="news@a.news.example.org"))
    assert {"dmarc_inherited", "dmarc_ok"} <= codes(report)
    assert "_dmarc.news.example.org" in dns.asked
    assert "_dmarc.org" not in dns.asked


@pytest.mark.parametrize(
    ("environ", "host"),
    [
        ({}, ""),
        ({"EMAIL_PROVIDER": "smtp", "SMTP_URL": "smtp://u:p@smtp.gmail.com:587"}, "smtp.gmail.com"),
        ({"EMAIL_PROVIDER": "smtp", "SMTP_URL": "smtp://127.0.0.1"}, "news.example.org"),
        ({"EMAIL_PROVIDER": "smtp", "SMTP_URL": "smtp://192.0.2.1"}, ""),
        ({"EMAIL_PROVIDER": "smtp", "SMTP_URL": "smtp://[2001:db8::1]"}, ""),
    ],
)
def test_the_server_that_the_mail_is_given_to(environ: dict[str, str], host: str) -> None:
    settings = settings_for(PLATFORM_BASE_URL="https://news.example.org", **environ)
    assert Sending.of(settings) == Sending("example.org", host)


def test_gna_may_sign_for_another_domain(pem: str) -> None:
    signs = {"DKIM_SELECTOR": "gna", "DKIM_PRIVATE_KEY": pem, "DKIM_DOMAIN": "Mail.Example.org"}
    sending = Sending.of(settings_for(**signs))
    assert (sending.signer, sending.selector, sending.record) == ("mail.example.org", "gna", record(pem))


@pytest.mark.parametrize("typed", ["s 1", "s1;x", "../x", "-", "ș1", "a" * 300, "a..b"])
def test_a_selector_that_cannot_be_one_is_refused(typed: str) -> None:
    with pytest.raises(Refused):
        parse_selector(typed)


def test_a_selector_is_tidied() -> None:
    assert [parse_selector(typed) for typed in ("", "  ", " S1 ", "a.b.")] == [None, None, "s1", "a.b"]


@pytest.mark.parametrize(
    ("server", "place"),
    [
        ("9.9.9.9", ("9.9.9.9", 53)),
        ("127.0.0.1:5353", ("127.0.0.1", 5353)),
        ("::1", ("::1", 53)),
        ("[::1]:5353", ("::1", 5353)),
        ("[::1]", ("::1", 53)),
    ],
)
def test_a_server_is_an_address_with_or_without_a_port(server: str, place: tuple[str, int]) -> None:
    assert endpoint(server) == place


@pytest.mark.parametrize("server", ["dns.example.org", "9.9.9.9:0", "9.9.9.9:70000", "9.9.9:53", "[::1", "x:53"])
def test_a_server_that_is_no_address_stops_the_start(server: str) -> None:
    with pytest.raises(CannotStart, match=r"^DNS_SERVERS must be a comma list of IP addresses"):
        settings_for("9.9.9.9", server)


def test_every_sentence_can_be_said() -> None:
    for code, (_, text) in SAYS.items():
        assert code.partition("_")[0] in PARTS
        assert text.endswith(".")
        assert text.count("%") == text.count("%(") == text.count(")s")


def test_a_server_carries_none_of_it_before_somebody_asks() -> None:
    code = (
        "import sys, gna.web.app; assert 'gna.mail.authentication' not in sys.modules; "
        "import gna.mail.authentication; from gna.outside.dns import Asking; Asking(); assert 'dns' not in sys.modules"
    )
    run([sys.executable, "-c", code], check=True)
