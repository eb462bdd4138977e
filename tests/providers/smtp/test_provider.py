import asyncio
import socket
import time
from collections.abc import Iterator

import pytest

from gna.errors import CannotStart, ProviderAway
from gna.mail.compile import Mail
from gna.providers.protocol import Accepted, RefusedForGood, TryLater
from gna.providers.smtp import Smtp, Timeouts, parse
from tests.providers.mails import Clerk, a_mail, mails, running, sent
from tests.servers import certificates
from tests.servers.certificates import Certificate
from tests.servers.smtp import ScriptedSmtp

QUICK = Timeouts(connect=5, reply=0.5, content=0.5, idle=5, pipelining=0.4)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificates.make(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def server(certificate: Certificate) -> Iterator[ScriptedSmtp]:
    with ScriptedSmtp(certificate.for_server()) as scripted:
        yield scripted


def an_smtp(server: ScriptedSmtp, options: str = "", *, connections: int = 1, timeouts: Timeouts = QUICK) -> Smtp:
    return Smtp(parse(server.url + options), connections=connections, timeouts=timeouts)


# -- Connections --


def test_connections_are_opened_on_demand_and_kept(server: ScriptedSmtp) -> None:
    smtp, clerk = an_smtp(server, connections=3), Clerk()

    async def story() -> None:
        for _ in range(5):
            await smtp.send([a_mail()], clerk)
        assert server.connections == 1
        await smtp.send(mails(50), clerk)

    running(smtp, story)
    assert server.connections == 3
    assert len(server.received) == 55
    assert server.commands.count("QUIT") == 3


def test_what_was_not_begun_can_be_recalled(server: ScriptedSmtp) -> None:
    smtp, clerk, batch = an_smtp(server), Clerk(), mails(20)
    server.delays(0.02)
    recalled: list[Mail] = []

    async def story() -> None:
        sending = asyncio.create_task(smtp.send(batch, clerk))
        while len(clerk.heard) < 3:
            await asyncio.sleep(0.005)
        recalled.extend(smtp.recall())
        await sending

    running(smtp, story)
    assert len(recalled) >= 14
    assert len(server.received) == len(clerk.heard) == 20 - len(recalled)
    assert not {mail.id for mail in recalled} & {mail.id for mail, _ in clerk.heard}


def test_workers_share_the_connections(server: ScriptedSmtp) -> None:
    smtp, clerk = an_smtp(server, connections=6), Clerk()
    server.delays(0.01)

    async def story() -> None:
        sending = asyncio.create_task(smtp.send(mails(100), clerk))
        while len(clerk.heard) < 10:
            await asyncio.sleep(0.005)
        assert len(server.clients) == 6
        smtp.share(3)
        await asyncio.sleep(0.1)
        assert len(server.clients) == 2
        smtp.share(1)
        await sending

    running(smtp, story)
    assert server.connections == 10
    assert len(server.received) == 100


def test_a_connection_without_work_is_closed_politely(server: ScriptedSmtp) -> None:
    smtp = an_smtp(server, timeouts=Timeouts(idle=0.05))

    async def story() -> None:
        await smtp.send([a_mail()], Clerk())
        await asyncio.sleep(0.2)
        assert server.commands[-1] == "QUIT"
        assert not server.clients
        await smtp.send([a_mail()], Clerk())

    running(smtp, story)
    assert server.connections == 2


def test_goodbye_does_not_wait_for_a_server_that_says_nothing(server: ScriptedSmtp) -> None:
    server.says_nothing_to_quit = True
    smtp = an_smtp(server, timeouts=Timeouts(goodbye=0.1))
    began = 0.0

    async def story() -> None:
        nonlocal began
        await smtp.send([a_mail()], Clerk())
        began = time.perf_counter()

    running(smtp, story)
    # The loop counts from where its round began, some time before.
    assert 0.05 < time.perf_counter() - began < Timeouts().goodbye


def test_it_can_be_used_in_one_event_loop_after_another(server: ScriptedSmtp) -> None:
    smtp = an_smtp(server)
    asyncio.run(smtp.check())
    assert sent(smtp, [a_mail()]) == [Accepted("1")]
    asyncio.run(smtp.check())
    assert sent(smtp, [a_mail()]) == [Accepted("2")]


def test_we_name_ourselves_by_our_address(server: ScriptedSmtp) -> None:
    asyncio.run(an_smtp(server).check())
    assert server.commands == ["EHLO [127.0.0.1]", "QUIT"]


def test_ipv6() -> None:
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
    with ScriptedSmtp(host="::1") as server:
        smtp = Smtp(parse(f"smtp://[::1]:{server.port}"), connections=1)
        assert asyncio.run(smtp.check()) == f"[::1]:{server.port} answers (pipelining, SMTPUTF8)"
        assert server.commands[0] == "EHLO [IPv6:::1]"


def test_a_server_that_knows_helo_alone_gets_the_mail(server: ScriptedSmtp) -> None:
    server.says("EHLO", b"502 5.5.1 what?")
    assert sent(an_smtp(server), mails(3)) == [Accepted("1"), Accepted("2"), Accepted("3")]
    assert "MAIL FROM:<news@example.org>" in server.commands


# -- The queue --


def test_urgent_mails_overtake_those_of_an_earlier_call(server: ScriptedSmtp) -> None:
    server.delays(0.002)
    smtp, clerk = an_smtp(server), Clerk()
    many, urgent = mails(50), a_mail(urgent=True)

    async def story() -> None:
        sending = asyncio.create_task(smtp.send(many, clerk))
        await asyncio.sleep(0.02)
        await smtp.send([urgent], clerk)
        assert len(clerk.heard) < 40
        await sending

    running(smtp, story)
    assert len(clerk.of([*many, urgent])) == 51


def test_a_cancelled_call_takes_back_what_was_not_begun(server: ScriptedSmtp) -> None:
    server.delays(0.005)
    smtp, clerk, other = an_smtp(server), Clerk(), Clerk()
    many, rest = mails(100), mails(3)

    async def story() -> None:
        sending = asyncio.create_task(smtp.send(many, clerk))
        await asyncio.sleep(0.05)
        staying = asyncio.create_task(smtp.send(rest, other))
        await asyncio.sleep(0)
        sending.cancel()
        await staying
        assert sending.cancelled()

    running(smtp, story)
    assert len(other.of(rest)) == 3
    assert len(server.received) < 50
    assert len(clerk.heard) == len(server.received) - 3


def test_never_more_than_two_mails_per_connection_are_composed(server: ScriptedSmtp) -> None:
    composed, most, clerk = set(), [0], Clerk()

    class Counted(type(a_mail())):  # type: ignore[misc]
        __slots__ = ()
        is_ascii = True

        def pieces(self) -> list[bytes]:
            composed.add(self.id)
            most[0] = max(most[0], len(composed))
            return [b"Subject: x\r\n\r\nx\r\n"]

    def report(mail: Mail, outcome: object) -> None:
        composed.discard(mail.id)

    batch = [Counted(mail.compiled, mail.id, mail.to, {}) for mail in mails(60)]
    smtp = an_smtp(server, connections=2)
    running(smtp, lambda: smtp.send(batch, report))
    assert not clerk.heard
    assert 1 < most[0] <= 4


def test_a_report_that_fails_is_told_at_the_end_and_stops_no_other(server: ScriptedSmtp) -> None:
    heard = []

    def report(mail: Mail, _: object) -> None:
        heard.append(mail)
        if len(heard) == 2:
            raise LookupError("by the caller")

    smtp = an_smtp(server)
    with pytest.raises(LookupError, match="by the caller"):
        running(smtp, lambda: smtp.send(mails(5), report))
    assert len(heard) == 5


def test_closing_in_the_middle_still_says_what_became_of_each_mail(server: ScriptedSmtp) -> None:
    server.delays(0.01)
    smtp, clerk, batch = an_smtp(server, connections=2), Clerk(), mails(30)

    async def story() -> None:
        sending = asyncio.create_task(smtp.send(batch, clerk))
        await asyncio.sleep(0.1)
        await smtp.close()
        await sending

    running(smtp, story)
    assert len(clerk.of(batch)) == 30
    assert {type(outcome).__name__ for outcome in clerk.of(batch)} == {"Accepted", "Unknown", "TryLater"}


# -- The envelope --


def test_the_size_is_told_and_a_mail_too_large_is_not_even_tried(server: ScriptedSmtp) -> None:
    large = a_mail(raw=b"Subject: x\r\n\r\n" + b"x" * 100_000 + b"\r\n")
    small = a_mail(raw=b"Subject: x\r\n\r\nx\r\n")
    refused, accepted = sent(an_smtp(server), [large, small])
    assert refused == RefusedForGood("The mail has 100016 bytes; the mail server takes 100000 at most.")
    assert isinstance(accepted, Accepted)
    assert [mail.options for mail in server.received] == [" SIZE=17"]


def test_eight_bits_are_announced_only_when_they_come(server: ScriptedSmtp) -> None:
    server.extensions.remove("SIZE 100000")
    sent(an_smtp(server), [a_mail(), a_mail(raw="Subject: x\r\n\r\n\N{SNOWMAN}\r\n".encode())])
    assert sorted(mail.options for mail in server.received) == ["", " BODY=8BITMIME"]


def test_letters_beyond_ascii_before_the_at_need_a_server_that_can(server: ScriptedSmtp) -> None:
    server.extensions.remove("SIZE 100000")
    smtp, pair = an_smtp(server), [a_mail("żółw@example.org"), a_mail("ana@żółw.example")]
    sent(smtp, pair)
    assert smtp.international
    assert sorted((mail.recipient, mail.options) for mail in server.received) == [
        ("ana@xn--w-uga1v8h.example", ""),
        ("żółw@example.org", " SMTPUTF8"),
    ]
    server.extensions.remove("SMTPUTF8")
    refused, accepted = sent(smtp, pair)
    assert isinstance(refused, RefusedForGood)
    assert "SMTPUTF8" in refused.reason
    assert not refused.bad_address
    assert isinstance(accepted, Accepted)
    assert not smtp.international


def test_an_address_cannot_smuggle_in_a_command(server: ScriptedSmtp) -> None:
    [outcome] = sent(an_smtp(server), [a_mail("ana@example.org>\r\nRCPT TO:<eve@example.org")])
    assert isinstance(outcome, RefusedForGood)
    assert server.received == []


# -- Encryption and login --


def encrypted(server: ScriptedSmtp, certificate: Certificate, options: str) -> Smtp:
    return Smtp(parse(server.url + options), connections=2, timeouts=QUICK, tls=certificate.for_client())


def test_starttls_and_login(server: ScriptedSmtp, certificate: Certificate) -> None:
    server.extensions.append("STARTTLS")
    server.wants_login("ana", "pass word")
    url = f"smtp://ana:pass%20word@localhost:{server.port}?tls=starttls"
    smtp = Smtp(parse(url), connections=2, timeouts=QUICK, tls=certificate.for_client())
    said = asyncio.run(smtp.check())
    assert said == f"localhost:{server.port} answers (STARTTLS, login accepted, pipelining, SMTPUTF8)"
    assert all(isinstance(outcome, Accepted) for outcome in sent(smtp, mails(20)))
    assert server.commands[:4] == ["EHLO [127.0.0.1]", "STARTTLS", "EHLO [127.0.0.1]", server.commands[3]]
    assert server.commands[3].startswith("AUTH PLAIN")


def test_encrypted_from_the_first_byte(server: ScriptedSmtp, certificate: Certificate) -> None:
    server.goes_away()
    server.implicit = True
    server.comes_back()
    smtp = encrypted(server, certificate, "?tls=implicit")
    assert asyncio.run(smtp.check()) == f"127.0.0.1:{server.port} answers (TLS, pipelining, SMTPUTF8)"
    assert all(isinstance(outcome, Accepted) for outcome in sent(smtp, mails(20)))


def test_the_standard_event_loop_will_do(server: ScriptedSmtp, certificate: Certificate) -> None:
    server.extensions.append("STARTTLS")
    clerk, batch = Clerk(), mails(20)

    async def story(smtp: Smtp) -> None:
        await smtp.send(batch, clerk)
        await smtp.close()

    asyncio.run(story(an_smtp(server, connections=2)))
    asyncio.run(story(encrypted(server, certificate, "?tls=starttls")))
    assert len(server.received) == len(clerk.heard) == 40


@pytest.mark.parametrize("way", ["starttls", "implicit"])
def test_a_certificate_that_does_not_verify_stops_us(server: ScriptedSmtp, way: str) -> None:
    server.goes_away()
    server.implicit = way == "implicit"
    server.extensions.append("STARTTLS")
    server.comes_back()
    smtp = an_smtp(server, f"?tls={way}")
    with pytest.raises(CannotStart, match=r"The certificate of .* does not verify: self-signed .* SSL_CERT_FILE"):
        asyncio.run(smtp.check())
    [outcome] = sent(smtp, [a_mail()])
    assert isinstance(outcome, TryLater)
    assert outcome.away


def test_without_starttls_nothing_is_sent_in_the_clear(server: ScriptedSmtp) -> None:
    server.wants_login("ana", "secret")
    smtp = Smtp(parse(f"smtp://ana:secret@127.0.0.1:{server.port}?tls=starttls"), connections=1)
    with pytest.raises(CannotStart, match=r"does not offer STARTTLS.*\?tls=none"):
        asyncio.run(smtp.check())
    assert server.commands == ["EHLO [127.0.0.1]"]


def test_what_was_said_between_starttls_and_encryption_is_not_believed(
    server: ScriptedSmtp, certificate: Certificate
) -> None:
    server.extensions.append("STARTTLS")
    server.speaks_before_tls = True
    with pytest.raises(ProviderAway, match="spoke between STARTTLS and the encryption"):
        asyncio.run(encrypted(server, certificate, "?tls=starttls").check())


@pytest.mark.parametrize(("reply", "error"), [(b"454 4.7.0 not now", ProviderAway), (b"501 5.5.4 never", CannotStart)])
def test_a_refused_starttls(server: ScriptedSmtp, reply: bytes, error: type[Exception]) -> None:
    server.extensions.append("STARTTLS")
    server.says("STARTTLS", reply)
    with pytest.raises(error, match=reply.decode()):
        asyncio.run(an_smtp(server, "?tls=starttls").check())


@pytest.mark.parametrize(
    ("offered", "auth", "used"),
    [
        ("PLAIN LOGIN", "", "AUTH PLAIN"),
        ("LOGIN XOAUTH2", "", "AUTH LOGIN"),
        ("PLAIN LOGIN", "?auth=login", "AUTH LOGIN"),
        ("PLAIN XOAUTH2", "?auth=xoauth2", "AUTH XOAUTH2"),
    ],
)
def test_ways_to_log_in(server: ScriptedSmtp, offered: str, auth: str, used: str) -> None:
    server.wants_login("zoë@example.org", "p:w", offered)
    right = Smtp(parse(f"smtp://zo%C3%AB%40example.org:p%3Aw@127.0.0.1:{server.port}{auth}"), connections=1)
    assert "login accepted" in asyncio.run(right.check())
    assert any(command.startswith(used) for command in server.commands)
    wrong = Smtp(parse(f"smtp://zo%C3%AB%40example.org:hunter2@127.0.0.1:{server.port}{auth}"), connections=2)
    with pytest.raises(CannotStart, match=r"refuses the login: 535 5.7.8. Check the user") as refused:
        asyncio.run(wrong.check())
    assert "hunter2" not in str(refused.value)
    outcomes = sent(wrong, mails(4))
    assert all(isinstance(outcome, TryLater) and outcome.away for outcome in outcomes)


def test_a_server_that_repeats_the_password_is_not_quoted(server: ScriptedSmtp) -> None:
    server.wants_login("ana", "x")
    server.says("AUTH", b"500 5.5.1 Command unrecognized: AUTH PLAIN AGFuYQBodW50ZXIy")
    with pytest.raises(CannotStart) as refused:
        asyncio.run(Smtp(parse(f"smtp://ana:hunter2@127.0.0.1:{server.port}"), connections=1).check())
    assert "AGFuYQBodW50ZXIy" not in str(refused.value)


def test_check_tries_whether_the_sender_may_send(server: ScriptedSmtp) -> None:
    smtp = Smtp(parse(server.url), connections=1, sender="news@example.org")
    asyncio.run(smtp.check())
    assert "MAIL FROM:<news@example.org>" in server.commands
    server.says("MAIL", b"530 5.7.0 Authentication required")
    with pytest.raises(CannotStart, match=r"takes no mail from news@example.org: 530 .* Is a user missing in SMTP_URL"):
        asyncio.run(smtp.check())


def test_a_login_that_is_refused_for_now(server: ScriptedSmtp) -> None:
    server.wants_login("ana", "x")
    server.says("AUTH", b"454 4.7.0 later")
    with pytest.raises(ProviderAway, match=r"refuses the login: 454 4.7.0\.$"):
        asyncio.run(Smtp(parse(f"smtp://ana:x@127.0.0.1:{server.port}"), connections=1).check())


def test_a_server_without_a_way_to_log_in_that_we_know(server: ScriptedSmtp) -> None:
    server.wants_login("ana", "x", "CRAM-MD5 GSSAPI")
    with pytest.raises(CannotStart, match=r"it offers: cram-md5, gssapi"):
        asyncio.run(Smtp(parse(f"smtp://ana:x@127.0.0.1:{server.port}"), connections=1).check())


def test_a_server_that_is_away_may_come_back_by_itself(server: ScriptedSmtp) -> None:
    server.goes_away()
    with pytest.raises(ProviderAway, match=r"cannot be reached: Connection refused\."):
        asyncio.run(an_smtp(server).check())
    with pytest.raises(ProviderAway, match=r"nowhere.invalid:587 cannot be reached: "):
        asyncio.run(Smtp(parse("smtp://nowhere.invalid"), connections=1).check())
    server.comes_back()
    server.stalls_at("BANNER", times=1)
    with pytest.raises(ProviderAway, match="does not answer in time"):
        asyncio.run(an_smtp(server).check())
    server.says("BANNER", b"421 4.3.2 busy", times=1)
    with pytest.raises(ProviderAway, match=r"421 4.3.2 busy"):
        asyncio.run(an_smtp(server).check())


def test_a_server_that_speaks_no_tls_where_it_should(server: ScriptedSmtp) -> None:
    with pytest.raises(CannotStart, match=r"cannot be spoken to encrypted: .*Check tls and the port"):
        asyncio.run(an_smtp(server, "?tls=implicit").check())
