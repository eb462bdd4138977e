"""Opening mails: every one can be opened, and an ordinary one says what the standard library reads in it."""

import base64
import time
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gna.inbox.encoded_words import decoded
from gna.inbox.mime import DEEPEST, opened

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=80)
LINES = st.lists(WORDS, min_size=1, max_size=8).map(lambda lines: "\n".join(lines) + "\n")
ENCODINGS = st.sampled_from(("base64", "quoted-printable", "8bit"))


@st.composite
def mails(draw: st.DrawFn) -> EmailMessage:
    mail = EmailMessage(policy=policy.SMTP if draw(st.booleans()) else policy.default)
    mail["From"] = "news@example.com"
    mail["Subject"] = draw(st.text("abc äöü ёж €", max_size=60))
    mail.set_content(draw(LINES), cte=draw(ENCODINGS))
    if draw(st.booleans()):
        mail.add_alternative(draw(LINES), subtype="html", cte=draw(ENCODINGS))
    for _ in range(draw(st.integers(0, 2))):
        mail.add_attachment(draw(st.binary(max_size=200)), maintype="image", subtype="png", filename="a.png")
    if draw(st.booleans()):
        mail.add_attachment(draw(LINES), subtype="html", filename="b.html")
    return mail


@given(sent=mails())
def test_an_ordinary_mail_reads_as_the_standard_library_reads_it(sent: EmailMessage) -> None:
    raw = sent.as_bytes()
    mail = message_from_bytes(raw, policy=policy.default)
    mine = opened(raw)
    for said, subtype in ((mine.html.decode(), "html"), (mine.text, "plain")):
        part = mail.get_body((subtype,))
        assert _lines(said) == _lines(part.get_content() if part else "")
    assert mine.header["from"] == ["news@example.com"]
    assert decoded(mine.header["subject"][0]).split() == str(mail["subject"]).split()


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").rstrip("\n").split("\n")


PIECES = st.sampled_from(
    (
        b"Content-Type: multipart/mixed; boundary=a\r\n",
        b'Content-Type: multipart/alternative; boundary="a b"\n',
        b"Content-Type: text/html; charset=utf-16\r\n",
        b"Content-Type: text/plain; charset=punycode\r\n",
        b'content-type: TEXT/HTML; charset="x\\"y"\n',
        b"Content-Transfer-Encoding: base64\r\n",
        b"Content-Transfer-Encoding: quoted-printable\n",
        b"Subject: =?utf-8?q?=C3?= =?utf-8?q?=A4?= =?x?b?A?=\r\n",
        b"\r\n",
        b"\n",
        b"\r\n--a\r\n",
        b"\n--a--\n",
        b"--a b\n",
        b"=E4=\xff=",
        b"QUJD=R",
        b"\x00",
        b" folded\r\n",
    )
)


@settings(max_examples=500)
@given(raw=st.lists(PIECES | st.binary(max_size=20), max_size=30).map(b"".join))
def test_nothing_is_too_broken_to_be_opened(raw: bytes) -> None:
    mail = opened(raw)
    assert all(isinstance(decoded(value), str) for values in mail.header.values() for value in values)


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"], ids=ascii)
def test_only_line_ends_end_a_field(end: str) -> None:
    odd = [f"a{letter}List-Unsubscribe: <https://evil.example/>" for letter in "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"]
    lines = ["From: a@b.example", *(f"Subject: {value}" for value in odd), "X-Folded: one", " two", "\tthree"]
    assert opened(end.join(lines).encode()).header == {
        "from": ["a@b.example"],
        "subject": odd,
        "x-folded": ["one two\tthree"],
    }


@pytest.mark.parametrize("end", ["", "=", "=D0", "=D0=", "=D0=B", "=D", "=\r\n"])
def test_letters_that_were_cut_in_two_leave_the_others_as_they_are(end: str) -> None:
    raw = f"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n=D0=B6=D0=B6{end}"
    assert opened(raw.encode()).text == "жж"


def test_half_a_boundary_is_no_text() -> None:
    start = b"Content-Type: multipart/mixed; boundary=12345678\n\n--12345678\nContent-Transfer-Encoding: base64\n\n"
    for end in range(len(b"\n--12345678")):
        assert opened(start + b"YWJj" + b"\n--12345678"[:end]).text == "abc"


@settings(max_examples=50)
@given(sent=mails(), data=st.data())
def test_a_mail_may_end_anywhere(sent: EmailMessage, data: st.DataObject) -> None:
    raw = sent.as_bytes()
    whole = opened(raw)
    cut = opened(raw[: data.draw(st.integers(0, len(raw)))])
    # What is there of its text is the start of the text; the last letter may be lost.
    assert whole.text.replace("\r\n", "\n").startswith(cut.text.replace("\r\n", "\n").rstrip("\r\n=-")[:-3])


def test_several_texts_follow_each_other() -> None:
    mail = MIMEMultipart()
    for text, kind in (("one", "plain"), ("<p>two", "html"), ("three", "plain"), ("<p>four", "html")):
        mail.attach(MIMEText(text, kind))
    assert (opened(mail.as_bytes()).text, opened(mail.as_bytes()).html) == ("one\nthree", b"<p>two\n<p>four")


def test_a_boundary_may_start_like_another() -> None:
    raw = (
        b"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: multipart/mixed; boundary=x-1\n\n"
        b"--x-1\n\none\n--x-1--\n--x\n\ntwo\n--x--\n--x\n\nafter the end\n"
    )
    assert opened(raw).text == "one\ntwo"


def test_a_mail_within_a_mail_is_not_read() -> None:
    outer = EmailMessage()
    outer.set_content("mine\n")
    inner = EmailMessage()
    inner.set_content("somebody else's\n")
    outer.add_attachment(inner)
    assert opened(outer.as_bytes()).text.strip() == "mine"


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("utf-8", "für €".encode(), "für €"),
        ("windows-1252", "für €".encode("cp1252"), "für €"),
        ("utf-8", "für".encode("latin-1"), "für"),
        ("us-ascii", "für".encode(), "für"),
        ("no-such-charset", "für".encode(), "für"),
        ("no-such-charset", "für".encode("latin-1"), "für"),
        ("punycode", "für".encode(), "für"),
        ("rot13", b"fuer", "fuer"),
        ("koi8-r", "Привет".encode("koi8-r"), "Привет"),
        ("iso-2022-jp", "配信停止".encode("iso-2022-jp"), "配信停止"),
        ("utf-8", "für €".encode()[:-1], "für "),
        ("x" * 500, b"a", "a"),
    ],
)
def test_a_charset_may_be_wrong_or_unknown(charset: str, data: bytes, text: str) -> None:
    assert opened(f"Content-Type: text/plain; charset={charset}\n\n".encode() + data).text == text


@pytest.mark.parametrize("cut", range(12))
def test_base64_may_end_anywhere(cut: int) -> None:
    data = base64.encodebytes(b"unsubscribe here, or there")
    raw = b"Content-Type: text/html\nContent-Transfer-Encoding: BASE64\n\n" + data[: len(data) - cut]
    assert opened(raw).html.startswith(b"unsubscribe here")


def nested(depth: int) -> bytes:
    """A mail of parts within parts within parts."""
    opening = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(depth))
    return opening + b"Content-Type: text/plain\n\ndeep inside"


def test_parts_within_parts_are_read_to_some_depth() -> None:
    assert opened(nested(DEEPEST)).text == "deep inside"
    assert opened(nested(DEEPEST + 1)).text == ""


HOSTILE = {
    "ten thousand parts within parts": nested(10_000),
    "a hundred thousand parts": b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 100_000,
    "a header without an end": b"Subject: " + b"=?a?q?b" * 100_000,
    "a header of a million folds": b"Subject: a\n" + b" \n" * 1_000_000,
    "a million parameters": b"Content-Type: text/plain" + b"; charset" * 50_000 + b"\n\nx",
    "quotes without an end": b'Content-Type: multipart/mixed; boundary="' + b"\\" * 200_000 + b"\n\nx",
    "blanks": b"Content-Type: multipart/mixed; boundary" + b" " * 200_000 + b"\n\nx",
    "only equal signs": b"Content-Transfer-Encoding: quoted-printable\n\n" + b"=\n" * 500_000,
    "punycode": b"Content-Type: text/plain; charset=punycode\n\n" + b"a-" * 100_000,
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE)
def test_a_mail_that_is_made_to_take_long_does_not(raw: bytes) -> None:
    before = time.process_time()
    decoded(opened(raw).header.get("subject", [""])[0])
    # They take hundredths of a second; what grows with the square of its length would take minutes.
    assert time.process_time() - before < 3
