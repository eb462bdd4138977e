"""What every provider promises. A new one adds itself to PROVIDERS."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gna.mail.compile import Mail
from gna.providers.mailbox import Mailbox
from gna.providers.protocol import Accepted, Provider, TryLater
from gna.providers.smtp import Smtp, parse
from tests.providers.mails import Clerk, a_mail, mails, running, sent
from tests.servers.smtp import ScriptedSmtp


@dataclass(frozen=True)
class Subject:
    """A provider and the mails that have arrived by it."""

    provider: Provider
    arrived: Callable[[], list[bytes]]


@contextmanager
def a_mailbox(folder: Path) -> Iterator[Subject]:
    yield Subject(Mailbox(folder), lambda: [file.read_bytes() for file in folder.iterdir()])


@contextmanager
def an_smtp(_: Path) -> Iterator[Subject]:
    with ScriptedSmtp() as server:
        yield Subject(Smtp(parse(server.url), connections=3), lambda: [mail.content for mail in server.received])


PROVIDERS: dict[str, Callable[[Path], AbstractContextManager[Subject]]] = {"mailbox": a_mailbox, "smtp": an_smtp}


@pytest.fixture(params=PROVIDERS)
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    with PROVIDERS[request.param](tmp_path) as made:
        yield made


def test_every_mail_is_reported_once_and_arrives_whole(subject: Subject) -> None:
    many = mails(120)
    assert all(isinstance(outcome, Accepted) for outcome in sent(subject.provider, many))
    assert sorted(subject.arrived()) == sorted(mail.raw() for mail in many)


def test_a_large_mail_with_letters_beyond_ascii_arrives_whole(subject: Subject) -> None:
    mail = a_mail(raw=b"Subject: x\r\n\r\n" + ("\N{SNOWMAN}" * 300 + "\r\n").encode() * 90)
    assert isinstance(sent(subject.provider, [mail])[0], Accepted)
    assert subject.arrived() == [mail.raw()]


def test_the_same_id_twice_is_reported_twice(subject: Subject) -> None:
    pair = [a_mail(id="same"), a_mail(id="same")]
    assert all(isinstance(outcome, Accepted) for outcome in sent(subject.provider, pair))
    assert len(subject.arrived()) == (1 if subject.provider.exactly_once else 2)


def test_an_empty_batch_is_done_at_once(subject: Subject) -> None:
    assert sent(subject.provider, []) == []


def test_a_mail_that_cannot_be_composed_stops_no_other(subject: Subject) -> None:
    batch: list[Mail] = [a_mail(), a_mail(raw=KeyError("a secret")), a_mail(), a_mail(raw=ValueError())]
    first, second, third, fourth = sent(subject.provider, batch)
    assert isinstance(first, Accepted)
    assert isinstance(third, Accepted)
    assert second == TryLater("The mail could not be composed: KeyError")
    assert fourth == TryLater("The mail could not be composed: ValueError")
    assert len(subject.arrived()) == 2


def test_two_calls_at_the_same_time_hear_of_their_own_mails(subject: Subject) -> None:
    one, other, first, second = mails(40), mails(40), Clerk(), Clerk()

    async def both() -> None:
        await asyncio.gather(subject.provider.send(one, first), subject.provider.send(other, second))

    running(subject.provider, both)
    assert all(isinstance(outcome, Accepted) for outcome in first.of(one) + second.of(other))
    assert len(subject.arrived()) == 80


def test_urgent_mails_are_the_first_of_a_call(subject: Subject) -> None:
    clerk = Clerk()
    batch = [*mails(300), a_mail(urgent=True)]
    running(subject.provider, lambda: subject.provider.send(batch, clerk))
    clerk.of(batch)
    assert batch[-1] in [mail for mail, _ in clerk.heard[:10]]


def test_after_goodbye_it_can_be_used_again(subject: Subject) -> None:
    for _ in range(2):
        assert isinstance(sent(subject.provider, [a_mail()])[0], Accepted)
    assert len(subject.arrived()) == 2


def test_a_check_says_that_it_is_ready_and_sends_nothing(subject: Subject) -> None:
    assert asyncio.run(subject.provider.check())
    assert subject.arrived() == []
