from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.providers.protocol import Accepted, Outcome, RefusedForGood, TryLater
from gna.providers.smtp.offers import Offers, offers
from gna.providers.smtp.replies import GARBAGE, LONGEST_REPLY, Reader, Reply, Stage, outcome

MAIL, RCPT, DATA, CONTENT = Stage


@pytest.mark.parametrize(
    ("stage", "reply", "expected"),
    [
        (CONTENT, "250 2.0.0 Ok: queued as 4F1B2", Accepted("4F1B2")),
        (CONTENT, "250 2.0.0 Ok", Accepted(None)),
        (CONTENT, "250 queued as ", Accepted(None)),
        (CONTENT, "250 2.0.0 Ok: queued as ABC; thank you", Accepted("ABC")),
        (RCPT, "450 4.2.1 busy", TryLater("450 4.2.1 busy")),
        (CONTENT, "451 4.3.0 disk", TryLater("451 4.3.0 disk")),
        (MAIL, "452 full", TryLater("452 full")),
        (RCPT, "452 4.2.2 over quota", TryLater("452 4.2.2 over quota")),
        # Waiting as long as the server asks.
        (MAIL, "421 4.7.0 try again in 60 seconds", TryLater("", timedelta(seconds=60))),
        (RCPT, "451 4.7.1 Greylisted, please wait 300 s", TryLater("", timedelta(seconds=300))),
        (RCPT, "450 4.7.25 Retry after 5 sec", TryLater("", timedelta(seconds=5))),
        (RCPT, "451 4.7.1 Greylisted for 300 seconds", TryLater("")),
        (RCPT, "450 4.2.1 try again in 60 seconds", TryLater("")),
        (RCPT, "450 4.7.1 see RFC 5321 and try later", TryLater("")),
        # Refused, and who is to blame.
        (RCPT, "550 5.1.1 no such user", RefusedForGood("", bad_address=True)),
        (RCPT, "550 5.1.10 null MX", RefusedForGood("", bad_address=True)),
        (RCPT, "550 5.2.1 disabled", RefusedForGood("", bad_address=True)),
        (RCPT, "550 no such user", RefusedForGood("", bad_address=True)),
        (RCPT, "551 moved", RefusedForGood("", bad_address=True)),
        (RCPT, "553 what?", RefusedForGood("", bad_address=True)),
        (RCPT, "552 full", RefusedForGood("")),
        (RCPT, "554 no", RefusedForGood("")),
        (RCPT, "550 5.0.0 no", RefusedForGood("", bad_address=True)),
        (RCPT, "554 5.0.0 no", RefusedForGood("")),
        (RCPT, "550 5.7.1 relaying denied", RefusedForGood("")),
        (RCPT, "550 5.7.26 not authenticated", RefusedForGood("")),
        (RCPT, "552 5.2.2 mailbox full", RefusedForGood("")),
        (RCPT, "552 5.2.3 too large", RefusedForGood("")),
        (RCPT, "550 5.3.0 hm", RefusedForGood("")),
        (RCPT, "550 5.4.1 no route", RefusedForGood("")),
        (RCPT, "550 5.5.4 syntax", RefusedForGood("")),
        (RCPT, "550 5.6.7 no SMTPUTF8", RefusedForGood("")),
        (RCPT, "550 5.1.8 the sender's domain does not exist", RefusedForGood("")),
        (MAIL, "550 no", TryLater("", away=True)),
        (MAIL, "550 5.7.1 go away", TryLater("", away=True)),
        (MAIL, "550 5.4.5 Daily user sending quota exceeded", TryLater("", away=True)),
        (MAIL, "552 5.3.4 too large", RefusedForGood("")),
        (DATA, "554 no valid recipients", RefusedForGood("")),
        (CONTENT, "550 spam", RefusedForGood("")),
        (CONTENT, "550 5.2.2 full", RefusedForGood("")),
        *((CONTENT, f"550 5.{code} no", RefusedForGood("", True)) for code in ("1.1", "1.2", "1.3", "1.6", "2.1")),
        (MAIL, "550 5.1.10 no", TryLater("", away=True)),
        # Nobody's mail would be taken.
        (MAIL, "530 5.7.0 must issue STARTTLS first", TryLater("", away=True)),
        (MAIL, "535 5.7.8 login", TryLater("", away=True)),
        (RCPT, "530 login first", TryLater("", away=True)),
        (MAIL, "503 5.5.1 EHLO first", TryLater("")),
    ],
)
def test_a_reply_decides_a_mail(stage: Stage, reply: str, expected: Outcome) -> None:
    [heard] = Reader().feed(f"{reply}\r\n".encode())
    if not isinstance(expected, Accepted):
        expected = expected._replace(reason=reply)
    assert outcome(stage, heard) == expected


def test_a_reason_is_one_short_line_without_control_characters() -> None:
    [reply] = Reader().feed(b"550-5.1.1 No\x07such\r\n550-5.1.1 user\x00 \xff\r\n550 5.1.1 " + b"x" * 400 + b"\r\n")
    meaning = outcome(RCPT, reply)
    assert isinstance(meaning, RefusedForGood)
    assert meaning.reason.startswith("550 5.1.1 No such user \N{REPLACEMENT CHARACTER} xxx")
    assert len(meaning.reason) == 300
    assert meaning.bad_address


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (b"250 ok\r\n", [(250, b"ok\r")]),
        (b"250 ok\n", [(250, b"ok")]),
        (b"250\r\n", [(250, b"")]),
        (b"250-one\r\n250-two\r\n250 three\r\n", [(250, b"one\ntwo\nthree")]),
        (b"250-one\n250\n", [(250, b"one\n")]),
        (b"250 a\r\n354 b\r\n", [(250, b"a\r"), (354, b"b\r")]),
        (b"250-one\r\n", []),
        (b"250 o", []),
        (b"hello\r\n", [(GARBAGE, b"hello\r")]),
        (b"\r\n", [(GARBAGE, b"\r")]),
        (b"2500 x\r\n", [(GARBAGE, b"2500 x\r")]),
        (b"999 x\r\n", [(GARBAGE, b"999 x\r")]),
        (b"250-one\r\n550 two\r\n", [(GARBAGE, b"550 two\r")]),
    ],
)
def test_replies_are_read_whole_and_byte_by_byte(said: bytes, heard: list[tuple[int, bytes]]) -> None:
    assert Reader().feed(said) == heard
    reader = Reader()
    assert [reply for byte in said for reply in reader.feed(bytes([byte]))] == heard


@pytest.mark.parametrize("said", [b"x" * LONGEST_REPLY, b"250-x\r\n" * (LONGEST_REPLY // 5)])
def test_a_reply_without_an_end_is_given_up(said: bytes) -> None:
    reader = Reader()
    replies = [reply for start in range(0, len(said), 999) for reply in reader.feed(said[start : start + 999] + b"y")]
    assert replies
    assert replies[0].code == GARBAGE


@given(st.lists(st.binary(max_size=50)))
def test_any_bytes_in_any_pieces_are_the_same_replies_and_each_has_a_meaning(pieces: list[bytes]) -> None:
    reader = Reader()
    replies = [reply for piece in pieces for reply in reader.feed(piece)]
    assert [(code, text.strip()) for code, text in replies] == [
        (code, text.strip()) for code, text in Reader().feed(b"".join(pieces))
    ]
    for stage in Stage:
        for reply in replies:
            outcome(stage, reply)


@pytest.mark.parametrize(
    ("said", "offered"),
    [
        (b"mail.example.org", Offers()),
        (b"PIPELINING", Offers()),
        (b"hello\nPIPELINING\n8bitmime\nSMTPUTF8\nSTARTTLS", Offers(True, True, True, True)),
        (b"hello\nSIZE 1000", Offers(size=1000)),
        (b"hello\nSIZE", Offers(size=0)),
        (b"hello\nSIZE lots", Offers(size=0)),
        (b"hello\nAUTH PLAIN login\nAUTH=PLAIN", Offers(auth=frozenset({"PLAIN", "LOGIN"}))),
        (b"hello\nAUTH\n\n \xff", Offers()),
    ],
)
def test_the_answer_to_ehlo_says_what_a_server_can_do(said: bytes, offered: Offers) -> None:
    assert offers(Reply(250, said)) == offered
