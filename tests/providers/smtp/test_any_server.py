"""Whatever a server says: nothing breaks, every mail is reported once, and no content is written twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.mail.compile import Mail
from gna.providers.protocol import Accepted, TryLater, Unknown
from tests.providers.mails import Clerk, a_mail
from tests.providers.smtp.wire import talk

USUAL = [b"250 2.1.0 ok\r\n", b"250 ok\r\n250 ok\r\n354 go\r\n", b"354 go\r\n", b"250 queued as X\r\n"]
UNUSUAL = [
    *[b"421 bye\r\n", b"451 4.7.1 wait 5 seconds\r\n", b"452 no\r\n", b"550 5.1.1 no\r\n", b"503 what\r\n"],
    *[b"530 login\r\n", b"250-", b"25", b"\n", b"999 x\r\n", b"\0" * 70_000],
]
PIECES = st.one_of(st.sampled_from(USUAL), st.sampled_from(USUAL), st.sampled_from(UNUSUAL), st.binary(max_size=9))
CONVERSATIONS = st.lists(st.lists(PIECES, max_size=25), max_size=6)


@given(CONVERSATIONS, st.booleans(), st.integers(1, 3), st.integers(1, 8))
def test_whatever_a_server_says(said: list[list[bytes]], pipelining: bool, connections: int, number: int) -> None:
    batch: list[Mail] = [a_mail(raw=f"Subject: mail {i};\r\n\r\n".encode()) for i in range(number)]
    clerk = Clerk()
    wires, complaints = talk(batch, clerk, said, pipelining=pipelining, connections=connections)
    assert not complaints
    written = b"".join(wire.written for wire in wires)
    for mail, outcome in zip(batch, clerk.of(batch), strict=True):
        times = written.count(mail.raw() + b".\r\n")
        assert times <= 1
        assert times == 1 or not isinstance(outcome, Accepted | Unknown)


GROUP = b"250 ok\r\n250 ok\r\n354 go\r\n"


@pytest.mark.parametrize("said", [[GROUP + b"250 early\r\n"], [GROUP + b"25", b"0 early\r\n"], [b"250 ok\r\n" + GROUP]])
def test_a_reply_too_many_before_the_content_is_not_taken_for_the_one_to_it(said: list[bytes]) -> None:
    mail, clerk = a_mail(), Clerk()
    [wire], _ = talk([mail], clerk, [said])
    assert mail.raw() not in wire.written
    assert clerk.of([mail]) == [TryLater("no more", away=True)]


def test_a_recipient_without_a_sender_gets_no_empty_mail() -> None:
    mail, clerk = a_mail(), Clerk()
    [wire], _ = talk([mail], clerk, [[b"451 4.3.0 no\r\n250 ok\r\n354 go\r\n"]])
    assert wire.written.endswith(b"DATA\r\n")
    assert clerk.of([mail]) == [TryLater("451 4.3.0 no")]


def test_everything_goes_well_in_one_write_for_each_mail() -> None:
    batch: list[Mail] = [a_mail(f"reader{i}@example.org") for i in range(3)]
    clerk = Clerk()
    [wire], _ = talk(batch, clerk, [[GROUP, b"250 a\r\n" + GROUP, b"250 queued as b\r\n" + GROUP, b"250 c\r\n"]])
    assert clerk.of(batch) == [Accepted(), Accepted("b"), Accepted()]
    assert len(wire.writes) == 4 + 1
    assert wire.writes[1] == batch[0].raw() + (
        b".\r\nMAIL FROM:<news@example.org>\r\nRCPT TO:<reader1@example.org>\r\nDATA\r\n"
    )
    assert wire.writes[4] == b"QUIT\r\n"
