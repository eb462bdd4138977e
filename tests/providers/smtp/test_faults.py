"""Servers that misbehave: every mail ends with the right outcome, none with two, and none arrives twice unsaid."""

import asyncio
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest

from gna.mail.compile import Mail
from gna.providers.protocol import Accepted, Outcome, RefusedForGood, TryLater, Unknown
from gna.providers.smtp import Smtp, Timeouts, parse
from tests.providers.mails import Clerk, a_mail, mails, running, sent
from tests.servers.smtp import DROP, ScriptedSmtp

# Short for those who wait for silence to end, and long enough for a busy machine to answer.
QUICK = Timeouts(connect=5, reply=0.5, content=0.5, idle=5, pipelining=0.4)
STAGES = ("MAIL", "RCPT", "DATA", "CONTENT")
ENVELOPE = ("MAIL", "RCPT", "DATA")


@pytest.fixture(params=["pipelining", "one by one"])
def server(request: pytest.FixtureRequest) -> Iterator[ScriptedSmtp]:
    """A server, once with PIPELINING and once without."""
    with ScriptedSmtp() as scripted:
        if request.param == "one by one":
            scripted.extensions.remove("PIPELINING")
        yield scripted


@pytest.fixture
def pipelining() -> Iterator[ScriptedSmtp]:
    with ScriptedSmtp() as scripted:
        yield scripted


def an_smtp(server: ScriptedSmtp, *, connections: int = 1, timeouts: Timeouts = QUICK) -> Smtp:
    return Smtp(parse(server.url), connections=connections, timeouts=timeouts)


def kinds(outcomes: list[Outcome]) -> list[type[Outcome]]:
    return [type(outcome) for outcome in outcomes]


def addresses(mails: list[Mail], outcomes: list[Outcome], kind: type[Outcome] = Accepted) -> list[str]:
    return sorted(mail.to for mail, outcome in zip(mails, outcomes, strict=True) if isinstance(outcome, kind))


# -- Refusals --


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("code", [b"451 4.3.0 not now", b"554 5.6.0 never"])
def test_a_refusal_at_any_stage_concerns_one_mail(server: ScriptedSmtp, stage: str, code: bytes) -> None:
    server.says(stage, code, times=1)
    batch = mails(5)
    outcomes = sent(an_smtp(server), batch)
    about_us = stage == "MAIL" and code.startswith(b"5")
    later = about_us or code.startswith(b"4")
    expected = TryLater(code.decode(), away=about_us) if later else RefusedForGood(code.decode())
    assert outcomes[0] == expected
    assert kinds(outcomes[1:]) == [Accepted] * 4
    assert sorted(server.recipients) == addresses(batch, outcomes)
    assert server.connections == 1


def test_a_refused_address_is_to_blame_and_the_others_arrive(server: ScriptedSmtp) -> None:
    batch = mails(30)
    for mail in batch[::7]:
        server.refuses(mail.to, b"550 5.1.1 no such user")
    outcomes = sent(an_smtp(server, connections=2), batch)
    assert outcomes[::7] == [RefusedForGood("550 5.1.1 no such user", bad_address=True)] * 5
    assert kinds(outcomes).count(Accepted) == 25
    assert sorted(server.recipients) == addresses(batch, outcomes)


def test_a_server_that_wants_content_for_nobody_gets_a_lone_dot(pipelining: ScriptedSmtp) -> None:
    pipelining.refuses("reader1@example.org", b"550 5.1.1 no such user")
    pipelining.says("DATA-WITHOUT-RCPT", b"354 go ahead")
    outcomes = sent(an_smtp(pipelining), mails(3))
    assert kinds(outcomes) == [Accepted, RefusedForGood, Accepted]
    assert pipelining.recipients == ["reader0@example.org", "reader2@example.org"]
    assert pipelining.connections == 1
    assert "RSET" not in pipelining.commands


def test_a_recipient_taken_after_a_refused_sender_gets_no_empty_mail(pipelining: ScriptedSmtp) -> None:
    pipelining.says("MAIL", b"451 4.3.0 no\r\n250 2.1.5 ok\r\n354 go", times=1)
    outcomes = sent(an_smtp(pipelining), mails(3))
    assert kinds(outcomes) == [TryLater, Accepted, Accepted]
    assert len(pipelining.received) == 2


@pytest.mark.parametrize("code", [530, 534, 535])
def test_a_server_that_wants_a_login_is_away_for_us(server: ScriptedSmtp, code: int) -> None:
    server.says("MAIL", f"{code} 5.7.0 log in first".encode())
    outcomes = sent(an_smtp(server, connections=2), mails(40))
    assert set(outcomes) == {TryLater(f"{code} 5.7.0 log in first", away=True)}
    assert server.connections <= 8


def test_a_wish_to_wait_is_passed_on(server: ScriptedSmtp) -> None:
    server.says("MAIL", b"450 4.7.1 slow down, try again in 60 seconds", after=1)
    outcomes = sent(an_smtp(server), mails(3))
    assert kinds(outcomes) == [Accepted, TryLater, TryLater]
    assert outcomes[1] == TryLater("450 4.7.1 slow down, try again in 60 seconds", after=timedelta(seconds=60))
    assert server.connections == 1


# -- The connection breaks --


def test_a_connection_that_breaks_after_the_content_leaves_its_mail_unknown(server: ScriptedSmtp) -> None:
    server.drops_after_data(times=1)
    outcomes = sent(an_smtp(server), mails(4))
    assert kinds(outcomes) == [Unknown, Accepted, Accepted, Accepted]
    assert sorted(server.recipients) == [f"reader{i}@example.org" for i in (1, 2, 3)]


def test_a_connection_that_breaks_within_the_content_leaves_its_mail_unknown(server: ScriptedSmtp) -> None:
    server.drops_at("MID-CONTENT", times=1)
    outcomes = sent(an_smtp(server), mails(4))
    assert kinds(outcomes) == [Unknown, Accepted, Accepted, Accepted]


def test_a_server_that_always_breaks_after_the_content_is_not_fed_all_mails(server: ScriptedSmtp) -> None:
    server.drops_after_data()
    outcomes = sent(an_smtp(server, connections=2), mails(50))
    assert set(kinds(outcomes)) == {Unknown, TryLater}
    assert kinds(outcomes).count(Unknown) <= 8


@pytest.mark.parametrize("stage", ENVELOPE)
def test_a_connection_that_breaks_before_the_content_harms_no_mail(server: ScriptedSmtp, stage: str) -> None:
    server.drops_at(stage, times=1)
    batch = mails(5)
    assert kinds(sent(an_smtp(server), batch)) == [Accepted] * 5
    assert sorted(server.recipients) == [mail.to for mail in batch]


@pytest.mark.parametrize("stage", ENVELOPE)
def test_a_connection_that_breaks_between_mails_harms_no_mail(server: ScriptedSmtp, stage: str) -> None:
    server.drops_at(stage, times=2, after=2)
    batch = mails(8)
    assert kinds(sent(an_smtp(server), batch)) == [Accepted] * 8
    assert server.recipients == [mail.to for mail in batch]


def test_a_server_that_hangs_up_after_each_mail_gets_them_all(server: ScriptedSmtp) -> None:
    server.closes_between_mails()
    assert kinds(sent(an_smtp(server, connections=2), mails(12))) == [Accepted] * 12
    assert len(server.received) == 12


def test_a_mail_that_the_server_always_hangs_up_on_stops_no_other(server: ScriptedSmtp) -> None:
    batch = mails(10)
    server.refuses(batch[3].to, DROP)
    outcomes = sent(an_smtp(server), batch)
    assert kinds(outcomes) == [Accepted] * 3 + [TryLater] + [Accepted] * 6
    assert outcomes[3] == TryLater("The mail server hung up.")


def test_a_mail_that_comes_back_is_taken_by_a_connection_that_rests(server: ScriptedSmtp) -> None:
    server.stalls_at("RCPT", times=1)
    smtp = an_smtp(server, connections=2, timeouts=Timeouts(reply=0.5, pipelining=0.4))
    assert kinds(sent(smtp, mails(2))) == [Accepted] * 2
    assert server.connections == 2 or "PIPELINING" in server.extensions


def test_a_mail_that_comes_back_to_a_cancelled_call_is_dropped(server: ScriptedSmtp) -> None:
    server.stalls_at("RCPT", times=1)
    smtp, clerk = an_smtp(server), Clerk()

    async def story() -> None:
        sending = asyncio.create_task(smtp.send([a_mail()], clerk))
        await asyncio.sleep(0.05)
        sending.cancel()
        await asyncio.sleep(0.4)

    running(smtp, story)
    assert clerk.heard == []
    assert server.received == []


@pytest.mark.parametrize("stage", STAGES)
def test_a_server_that_stalls_once_is_left_for_another_connection(server: ScriptedSmtp, stage: str) -> None:
    server.stalls_at(stage, times=1)
    outcomes = sent(an_smtp(server), mails(4))
    assert kinds(outcomes) == [Unknown if stage == "CONTENT" else Accepted, Accepted, Accepted, Accepted]
    assert len(server.received) == kinds(outcomes).count(Accepted)


@pytest.mark.parametrize("stage", ENVELOPE)
def test_a_server_that_always_stalls_is_left_in_peace(server: ScriptedSmtp, stage: str) -> None:
    server.stalls_at(stage)
    outcomes = sent(an_smtp(server, connections=2), mails(20))
    assert set(kinds(outcomes)) == {TryLater}
    assert any(outcome.away for outcome in outcomes if isinstance(outcome, TryLater))
    assert server.connections <= 8


@pytest.mark.parametrize("stage", ["BANNER", "EHLO"])
def test_a_server_that_stalls_at_the_greeting_is_away(server: ScriptedSmtp, stage: str) -> None:
    server.stalls_at(stage)
    outcomes = sent(an_smtp(server, connections=2), mails(3))
    assert set(outcomes) == {
        TryLater(
            f"127.0.0.1:{server.port} does not answer in time. "
            "Does it want TLS from the start? Then write ?tls=implicit.",
            away=True,
        )
    }


def test_a_content_that_never_left_was_certainly_not_taken(server: ScriptedSmtp) -> None:
    server.stalls_at("MID-CONTENT", times=1)
    huge = a_mail(raw=b"Subject: x\r\n\r\n" + b"x" * 70 + b"\r\n" + (b"y" * 998 + b"\r\n") * 20_000)
    server.extensions.remove("SIZE 100000")
    server.stops_reading = True
    outcomes = sent(an_smtp(server), [huge])
    assert outcomes == [TryLater("The mail server did not answer in time.")]


# -- 421 and limits --


@pytest.mark.parametrize("stage", ENVELOPE)
def test_a_421_before_the_content_sends_the_mail_by_another_connection(server: ScriptedSmtp, stage: str) -> None:
    server.says(stage, b"421 4.3.2 shutting down\0drop", times=1)
    assert kinds(sent(an_smtp(server), mails(4))) == [Accepted] * 4
    assert len(server.received) == 4
    assert server.connections == 2


def test_after_a_421_the_connection_is_not_used(server: ScriptedSmtp) -> None:
    server.says("CONTENT", b"421 4.3.0 out of memory", times=1)
    assert kinds(sent(an_smtp(server), mails(4))) == [TryLater, Accepted, Accepted, Accepted]
    assert {mail.connection for mail in server.received} == {2}


def test_a_421_after_the_content_means_later(server: ScriptedSmtp) -> None:
    server.says("CONTENT", b"421 4.3.0 out of memory\0drop", times=1)
    outcomes = sent(an_smtp(server), mails(4))
    assert outcomes[0] == TryLater("421 4.3.0 out of memory")
    assert kinds(outcomes[1:]) == [Accepted] * 3


@pytest.mark.parametrize("stage", ENVELOPE)
def test_a_server_that_only_says_421_is_left_in_peace(server: ScriptedSmtp, stage: str) -> None:
    server.says(stage, b"421 4.3.2 come back tomorrow\0drop")
    outcomes = sent(an_smtp(server, connections=2), mails(30))
    assert {outcome.reason for outcome in outcomes if isinstance(outcome, TryLater)} == {"421 4.3.2 come back tomorrow"}
    assert set(kinds(outcomes)) == {TryLater}
    assert server.connections <= 8


@pytest.mark.parametrize("refusal", [b"421 4.7.0 enough\0drop", b"452 4.5.3 too many mails"])
def test_a_limit_of_mails_per_connection_is_learned(server: ScriptedSmtp, refusal: bytes) -> None:
    server.says("MAIL", refusal, after=3)
    smtp = an_smtp(server)
    assert kinds(sent(smtp, mails(10))) == [Accepted] * 10
    assert [mail.connection for mail in server.received] == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]
    refused = server.commands.count("QUIT")
    sent(smtp, mails(9))
    assert len(server.received) == 19
    # Only the first connection was told; all others were closed politely before.
    assert server.commands.count("QUIT") >= refused + 3


def test_a_limit_that_was_but_a_mood_is_forgotten(server: ScriptedSmtp) -> None:
    server.says("MAIL", b"450 4.7.1 not so fast", times=1, after=1)
    assert kinds(sent(an_smtp(server), mails(40))) == [Accepted] * 40
    assert server.connections == 1 + 20 + 1


def test_a_421_does_not_put_pipelining_in_doubt(pipelining: ScriptedSmtp) -> None:
    pipelining.says("MAIL", b"421 4.3.2 restarting\0drop", times=1)
    pipelining.delays(0.05)
    assert kinds(sent(an_smtp(pipelining), mails(20))) == [Accepted] * 20
    assert pipelining.round_trips < 2 * 20  # without pipelining it is four for each mail


def test_a_limit_is_kept_by_many_connections_at_once(server: ScriptedSmtp) -> None:
    server.says_421_after(4)
    assert kinds(sent(an_smtp(server, connections=5), mails(100))) == [Accepted] * 100
    assert len(server.received) == 100


# -- Broken pipelining --


@pytest.mark.parametrize("how", ["loses", "503", "hangs up", "says more"])
@pytest.mark.parametrize("connections", [1, 4])
def test_broken_pipelining_is_noticed_and_done_without(pipelining: ScriptedSmtp, how: str, connections: int) -> None:
    pipelining.breaks_pipelining(how)
    batch = mails(12)
    smtp = an_smtp(pipelining, connections=connections)
    assert kinds(sent(smtp, batch)) == [Accepted] * 12
    assert sorted(pipelining.recipients) == sorted(mail.to for mail in batch)
    before = pipelining.connections
    assert kinds(sent(smtp, mails(2))) == [Accepted] * 2
    assert pipelining.connections <= before + 2


@pytest.mark.parametrize("how", ["loses", "503"])
def test_pipelining_that_breaks_behind_a_content_is_noticed(pipelining: ScriptedSmtp, how: str) -> None:
    pipelining.breaks_pipelining(how)
    pipelining.breaks_only_behind_content = True
    assert kinds(sent(an_smtp(pipelining), mails(6))) == [Accepted] * 6
    assert len(pipelining.received) == 6


def test_lost_commands_are_noticed_long_before_other_silence(pipelining: ScriptedSmtp) -> None:
    pipelining.breaks_pipelining("loses")
    smtp = an_smtp(pipelining, timeouts=Timeouts(pipelining=0.1))
    began = time.perf_counter()
    assert kinds(sent(smtp, mails(3))) == [Accepted] * 3
    assert time.perf_counter() - began < Timeouts().pipelining


def test_a_server_that_can_pipeline_may_take_its_time(pipelining: ScriptedSmtp) -> None:
    smtp, clerk, batch = an_smtp(pipelining, timeouts=Timeouts(pipelining=0.4)), Clerk(), mails(4)

    async def story() -> None:
        await smtp.send(batch[:2], clerk)
        pipelining.delays(0.6)
        await smtp.send(batch[2:], clerk)

    running(smtp, story)
    assert kinds(clerk.of(batch)) == [Accepted] * 4
    assert pipelining.connections == 1


def test_with_pipelining_a_mail_is_one_round_trip(pipelining: ScriptedSmtp) -> None:
    pipelining.delays(0.05)
    sent(an_smtp(pipelining), mails(20))
    assert pipelining.round_trips < 2 * 20  # without pipelining it is four for each mail


# -- Nonsense --


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("nonsense", [b"hello?", b"", b"999 9", b"\xff\xfe\0", b"250-a\r\n550 b", b"334 what"])
def test_nonsense_once_harms_no_other_mail(server: ScriptedSmtp, stage: str, nonsense: bytes) -> None:
    server.says(stage, nonsense, times=1)
    outcomes = sent(an_smtp(server), mails(3))
    assert kinds(outcomes) == [Unknown if stage == "CONTENT" else Accepted, Accepted, Accepted]


@pytest.mark.parametrize("stage", ["BANNER", "EHLO", *STAGES])
def test_a_reply_without_end_is_cut(server: ScriptedSmtp, stage: str) -> None:
    server.says(stage, b"250 " + b"x" * 200_000, times=1)
    outcomes = sent(an_smtp(server), mails(3))
    taken = [outcome for outcome in outcomes if isinstance(outcome, Accepted | Unknown)]
    assert len(server.received) == len(taken)
    expected = {"BANNER": [TryLater] * 3, "EHLO": [TryLater] * 3, "CONTENT": [Unknown, Accepted, Accepted]}
    assert kinds(outcomes) == expected.get(stage, [Accepted] * 3)


def test_replies_of_many_lines_in_single_bytes_are_understood(server: ScriptedSmtp) -> None:
    server.in_bytes = True
    for stage, code in (("BANNER", 220), ("MAIL", 250), ("RCPT", 250), ("DATA", 354), ("CONTENT", 250)):
        server.says(stage, f"{code}-one\r\n{code}-two\r\n{code} three".encode())
    server.refuses("reader1@example.org", b"550-5.1.1 no such\r\n550 5.1.1 user")
    outcomes = sent(an_smtp(server, timeouts=Timeouts()), mails(4))
    assert outcomes[1] == RefusedForGood("550 5.1.1 no such user", bad_address=True)
    assert kinds(outcomes) == [Accepted, RefusedForGood, Accepted, Accepted]


def test_a_server_that_says_more_than_it_was_asked_at_the_greeting_is_away(server: ScriptedSmtp) -> None:
    server.says("EHLO", b"250 hello\r\n250 are you there?")
    assert kinds(sent(an_smtp(server), mails(2))) == [TryLater] * 2


# -- The server is away --


def test_a_server_that_is_away_means_later_for_all(server: ScriptedSmtp) -> None:
    server.goes_away()
    outcomes = sent(an_smtp(server, connections=3), mails(5))
    assert {type(outcome) for outcome in outcomes} == {TryLater}
    assert all(outcome.away and "cannot be reached" in outcome.reason for outcome in outcomes)  # type: ignore[union-attr]


def test_a_server_that_comes_back_is_used_again(server: ScriptedSmtp) -> None:
    smtp, clerk, batch = an_smtp(server, connections=2), Clerk(), mails(9)

    async def story() -> None:
        await smtp.send(batch[:3], clerk)
        server.goes_away()
        await smtp.send(batch[3:6], clerk)
        server.comes_back()
        await smtp.send(batch[6:], clerk)

    running(smtp, story)
    assert kinds(clerk.of(batch)) == [Accepted] * 3 + [TryLater] * 3 + [Accepted] * 3


@pytest.mark.parametrize("banner", [b"421 4.3.2 too many connections\0drop", b"554 5.7.1 you are listed", b"\0drop"])
def test_a_banner_that_is_no_welcome_means_later(server: ScriptedSmtp, banner: bytes) -> None:
    server.says("BANNER", banner)
    outcomes = sent(an_smtp(server, connections=2), mails(4))
    assert all(isinstance(outcome, TryLater) and outcome.away for outcome in outcomes)
    assert server.connections <= 2


def test_when_half_of_the_connections_are_refused_the_others_carry_on(server: ScriptedSmtp) -> None:
    server.says("BANNER", b"421 4.3.2 too many connections\0drop", connections=lambda number: number % 2 == 0)
    server.delays(0.001)
    assert kinds(sent(an_smtp(server, connections=6), mails(60))) == [Accepted] * 60
    assert len({mail.connection for mail in server.received}) == 3
    assert server.connections == 6


# -- The process is stopped --


class Expiring(Mail):
    """A mail that may not be sent any more once its envelope has left."""

    asked = False

    def may_be_sent(self) -> bool:
        return False

    def pieces(self) -> list[bytes]:
        # The provider composes a mail again when it has a new connection.
        if self.asked:
            raise RuntimeError("the lease is over")
        self.asked = True
        return super().pieces()


def test_a_mail_that_was_lost_to_another_worker_after_its_envelope_is_not_sent(server: ScriptedSmtp) -> None:
    first, lost, last = mails(3)
    expiring = Expiring(lost.compiled, lost.id, lost.to, lost.values)
    outcomes = sent(an_smtp(server), [first, expiring, last])
    assert kinds(outcomes) == [Accepted, TryLater, Accepted]
    assert sorted(server.recipients) == sorted([first.to, last.to])
