"""Against a real mail server."""

import asyncio
from collections.abc import Iterator

import pytest

from gna.errors import CannotStart
from gna.providers.protocol import Accepted, RefusedForGood, TryLater
from gna.providers.smtp import Smtp, parse
from tests.providers.mails import a_mail, mails, sent
from tests.servers import HOST, certificates, wait_until
from tests.servers.certificates import Certificate
from tests.servers.postfix import Postfix, why_missing

pytestmark = pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificates.make(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="module")
def postfix(certificate: Certificate) -> Iterator[Postfix]:
    settings = {
        "smtpd_tls_security_level": "may",
        "smtpd_tls_cert_file": certificate.file,
        "smtpd_tls_key_file": certificate.key,
        "message_size_limit": 50_000,
    }
    with Postfix(**settings) as server:
        yield server


def body_of(mail: bytes) -> bytes:
    """Postfix adds headers and leaves the body alone."""
    return mail.partition(b"\n\n")[2]


def test_mails_arrive_whole_and_their_queue_ids_are_known(postfix: Postfix) -> None:
    smtp = Smtp(parse(f"smtp://{HOST}:{postfix.port}"), connections=4)
    lines = b"".join(b"line %d\r\n" % i for i in range(2000))
    batch = [a_mail(f"plain{i}@example.org", raw=b"Subject: x\r\n\r\n%d\r\n" % i + lines) for i in range(30)]
    outcomes = sent(smtp, batch)
    assert all(isinstance(outcome, Accepted) and outcome.provider_id for outcome in outcomes)
    wanted = {body_of(mail.raw().replace(b"\r\n", b"\n")) for mail in batch}

    def arrived() -> bool:
        return wanted <= {body_of(mail) for mail in postfix.received()}

    wait_until(arrived, "the mails are delivered")


def test_an_address_elsewhere_is_refused_but_not_to_blame(postfix: Postfix) -> None:
    smtp = Smtp(parse(f"smtp://{HOST}:{postfix.port}"), connections=1)
    refused, accepted = sent(smtp, [a_mail("ana@elsewhere.example"), a_mail()])
    assert isinstance(refused, RefusedForGood)
    assert "Relay access denied" in refused.reason
    assert not refused.bad_address
    assert isinstance(accepted, Accepted)


def test_with_starttls_and_a_certificate_that_we_trust(postfix: Postfix, certificate: Certificate) -> None:
    server = parse(f"smtp://localhost:{postfix.port}?tls=starttls")
    smtp = Smtp(server, connections=2, tls=certificate.for_client())
    said = asyncio.run(smtp.check())
    assert said == f"localhost:{postfix.port} answers (STARTTLS, pipelining, SMTPUTF8)"
    assert all(isinstance(outcome, Accepted) for outcome in sent(smtp, mails(20)))


def test_with_a_certificate_that_we_do_not_trust(postfix: Postfix) -> None:
    smtp = Smtp(parse(f"smtp://localhost:{postfix.port}?tls=starttls"), connections=2)
    with pytest.raises(CannotStart, match="does not verify"):
        asyncio.run(smtp.check())
    assert all(isinstance(outcome, TryLater) and outcome.away for outcome in sent(smtp, mails(3)))


def test_letters_beyond_ascii_before_the_at(postfix: Postfix) -> None:
    smtp = Smtp(parse(f"smtp://{HOST}:{postfix.port}"), connections=1)
    raw = "Subject: x\r\nTo: żółw@example.org\r\n\r\nturtle\r\n".encode()
    [outcome] = sent(smtp, [a_mail("żółw@example.org", raw=raw)])
    assert isinstance(outcome, Accepted)
    assert smtp.international
    wait_until(lambda: any("żółw@example.org".encode() in mail for mail in postfix.received()), "it is delivered")


def test_a_mail_that_is_too_large(postfix: Postfix) -> None:
    smtp = Smtp(parse(f"smtp://{HOST}:{postfix.port}"), connections=1)
    large = a_mail(raw=b"Subject: x\r\n\r\n" + (b"x" * 70 + b"\r\n") * 1000)
    assert sent(smtp, [large]) == [RefusedForGood("The mail has 72014 bytes; the mail server takes 50000 at most.")]


def test_a_server_that_is_killed_and_started_again(postfix: Postfix) -> None:
    smtp = Smtp(parse(f"smtp://{HOST}:{postfix.port}"), connections=2)
    postfix.kill()
    assert all(isinstance(outcome, TryLater) and outcome.away for outcome in sent(smtp, mails(3)))
    postfix.start()
    assert all(isinstance(outcome, Accepted) for outcome in sent(smtp, mails(3)))
