"""What a header says, also if it is old, odd or broken."""

import email
import random
from datetime import UTC, datetime, timedelta
from email.header import Header, decode_header, make_header
from email.utils import format_datetime, formataddr, parseaddr, parsedate_to_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna import clock
from gna.inbox import heads, methods, moments
from gna.inbox.encoded_words import decoded
from gna.inbox.heads import Broken, Head
from gna.inbox.signs import Sign, keywords_of
from gna.inbox.ways import Offers
from tests.factories import NOW

EARLIER = "2026-03-01T12:30:05.000000Z"
CAME = clock.iso(NOW)


def read(*lines: str | bytes, received_at: str | None = CAME) -> Head:
    block = b"\r\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
    return heads.read(block + b"\r\n\r\n", received_at)


def a_head(*lines: str | bytes) -> Head:
    return read("From: Ana <ana@example.org>", "Date: Sun, 01 Mar 2026 12:30:05 +0000", *lines)


def test_a_usual_header_is_read_whole() -> None:
    head = a_head(
        "Subject: Our newsletter",
        "Message-ID: <1@example.org>",
        "List-Id: Letters <Letters.Example.ORG>",
        "List-Unsubscribe: <https://example.org/u/1>,",
        " <mailto:leave@example.org>",
        "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
    )
    assert head == Head(
        sender_email="ana@example.org",
        sender_name="Ana",
        subject="Our newsletter",
        date_sent=EARLIER,
        received_at=CAME,
        came_at=min(EARLIER, CAME),
        message_id="<1@example.org>",
        list_id="letters.example.org",
        list_unsubscribe="<https://example.org/u/1>, <mailto:leave@example.org>",
        list_unsubscribe_post="List-Unsubscribe=One-Click",
        keywords=head.keywords,
        signs=0,
    )
    assert keywords_of(head.keywords) == ("newsletter",)


SENDERS = {
    "plain": ("ana@example.org", ("ana@example.org", "")),
    "with a name": ("Ana Pop <ana@example.org>", ("ana@example.org", "Ana Pop")),
    "in capitals": ("ANA@Example.ORG", ("ana@example.org", "")),
    "quoted": ('"Pop, Ana" <ana@example.org>', ("ana@example.org", "Pop, Ana")),
    "with a quote in it": (r'"Ana \"A\" Pop" <ana@example.org>', ("ana@example.org", 'Ana "A" Pop')),
    "encoded": ("=?utf-8?q?Ana_=C8=98erban?= <ana@example.org>", ("ana@example.org", "Ana Șerban")),
    "all of it encoded": ("=?utf-8?q?Ana_=3Cana=40example=2Eorg=3E?=", ("ana@example.org", "Ana")),
    "an address as name": ('"boss@bank.example" <evil@example.org>', ("evil@example.org", "boss@bank.example")),
    "angles in the name": ('"<boss@bank.example>" <evil@example.org>', ("evil@example.org", "<boss@bank.example>")),
    "two of them": ("Ana <ana@example.org>, Bob <bob@example.org>", ("ana@example.org", "Ana")),
    "a comment": ("ana@example.org (Ana Pop)", ("ana@example.org", "Ana Pop")),
    "no domain": ("root", ("root", "root")),
    "without a space": ("Ana<ana@example.org>", ("ana@example.org", "Ana")),
}


@pytest.mark.parametrize(("value", "expected"), SENDERS.values(), ids=SENDERS.keys())
def test_senders(value: str, expected: tuple[str, str]) -> None:
    head = read(f"From: {value}")
    assert (head.sender_email, head.sender_name) == expected


def test_several_senders_count_as_the_first() -> None:
    assert read("From: ana@example.org", "From: bob@example.org").sender_email == "ana@example.org"


def test_without_from_the_sender_field_counts() -> None:
    assert read("Sender: ana@example.org").sender_email == "ana@example.org"


@pytest.mark.parametrize("lines", [["Subject: Hello"], ["From:"], ["From: <>"], [""]], ids=repr)
def test_a_mail_of_nobody_is_broken(lines: list[str]) -> None:
    with pytest.raises(Broken):
        read(*lines)


def test_without_a_date_the_servers_counts_and_without_both_it_is_broken() -> None:
    assert read("From: ana@example.org").date_sent == CAME
    with pytest.raises(Broken):
        read("From: ana@example.org", received_at=None)


ABSURD = (
    "Mon, 01 Jan 0000 00:00:00 +0000",
    "Fri, 31 Dec 9999 23:59:59 -1200",
    "Sun, 01 Mar 2026 12:30:05 +9999",
    "Sun, 32 Mar 2026 12:30:05 +0000",
    "Sun, 01 Mar 2026 25:30:05 +0000",
    "Thu, 01 Jan 1970 00:00:00 +0000",
    "yesterday",
    "-1 -1 -1 -1:-1:-1 -1",
    "Sun, 01 Mar 99999 12:30:05 +0000",
)


@pytest.mark.parametrize("value", ABSURD)
def test_a_date_that_no_clock_shows_is_not_believed(value: str) -> None:
    assert read("From: ana@example.org", f"Date: {value}").date_sent == CAME


ODD = (
    "1 Mar 2026 12:30:05 +0000",
    "Sun, 1 Mar 2026 12:30:05 GMT",
    "Sun, 01 Mar 2026 14:30:05 +0200 (EET)",
    "Sun, 01 Mar 26 12:30:05 +0000",
    "Sun,  1 Mar 2026 12:30:05 +0000",
    "Sun, 01 Mar 2026 07:00:05 -0530",
    "Sun, 01 Mar 2026 12:30:05 -0000",
    "Sun, 01 Mar 2026 12:30:05",
)


@pytest.mark.parametrize("value", ODD)
def test_dates_are_read_in_every_form_that_is_in_use(value: str) -> None:
    assert read("From: ana@example.org", f"Date: {value}").date_sent == EARLIER


@given(
    st.datetimes(datetime(1972, 1, 1), datetime(2098, 12, 31)),  # noqa: DTZ001
    st.integers(-1439, 1439),
)
def test_the_quick_reader_of_dates_agrees_with_the_library(moment: datetime, minutes: int) -> None:
    sign, offset = "-" if minutes < 0 else "+", abs(minutes)
    there = moment.replace(tzinfo=UTC) + timedelta(minutes=minutes)
    written = format_datetime(there).rpartition(" ")[0] + f" {sign}{offset // 60:02}{offset % 60:02}"
    expected = parsedate_to_datetime(written)
    for _ in range(2):  # the second time from what it remembers
        assert moments.sent(written) == clock.iso(expected.replace(tzinfo=expected.tzinfo or UTC))


DAYS = ("16 Nov 2026", "31 Feb 2026", " 1 Jan 1971", "31 Dec 2099", "16 nov 2026", "١٦ Nov 2026")
HOURS, RESTS = ("17", "23", "00", "24", "1٧"), (":23:03", ":59:60", ":2303", ":23:0", "2303.5")
ZONES = (" +0000", " -0000", " +0200", " -1200", " +0530", " +0530:00", " +05300", " +2400", "+00000", " GMT")
PARTS = st.tuples(*map(st.sampled_from, (DAYS, HOURS, RESTS, ZONES)))


@given(st.lists(PARTS, max_size=6), PARTS)
def test_what_another_mail_says_changes_no_date(others: list[tuple[str, ...]], mine: tuple[str, ...]) -> None:
    """Whatever is remembered: a moment is read as if it were the first."""

    def read(parts: tuple[str, ...]) -> tuple[str | None, str | None]:
        day, hour, rest, zone = parts
        internal = f"{day.replace(' ', '-')} {hour}{rest}{zone}".encode()
        return moments.sent(f"Mon, {day} {hour}{rest}{zone}"), moments.received(internal)

    def forget() -> None:
        moments._hours.clear()
        moments._minutes.clear()

    forget()
    alone = read(mine)
    forget()
    for other in others:
        read(other)
    assert read(mine) == alone
    assert len(moments._minutes) <= 2 * 3600


names = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=30).map(
    lambda text: " ".join(text.split())
)


@given(names, st.from_regex(r"[a-z][a-z0-9.+-]{0,20}[a-z0-9]@[a-z0-9]{1,20}\.example", fullmatch=True))
def test_senders_agree_with_the_library(name: str, address: str) -> None:
    written = formataddr((name, address))
    expected = parseaddr(written)
    head = read(f"From: {written}")
    assert head.sender_email == expected[1].lower()
    assert head.sender_name == " ".join(str(make_header(decode_header(expected[0]))).split())[:200]


@given(names)
def test_subjects_agree_with_the_library(subject: str) -> None:
    written = Header(subject, "utf-8", header_name="Subject", maxlinelen=60).encode(linesep="\r\n")
    block = f"From: ana@example.org\r\nSubject: {written}\r\n\r\n".encode()
    library = email.message_from_bytes(block)["Subject"]
    expected = str(make_header(decode_header(library)))
    assert heads.read(block, CAME).subject == expected.replace("\r\n", "")


WORDS = {
    "two words are one": ("=?utf-8?q?caf=C3?= =?utf-8?q?=A9?=", "café"),
    "text between": ("Un =?iso-8859-1?q?caf=E9?= noir", "Un café noir"),
    "an unknown charset": ("=?klingon?q?caf=C3=A9?=", "café"),
    "broken base64": ("=?utf-8?b?Y2Fmw6k?=", "café"),
    "not base64 at all": ("=?utf-8?b?!?=", ""),
    "a question mark": ("=?utf-8?q?<https://example.com/?a=3D1>?=", "<https://example.com/?a=1>"),
    "no end": ("=?utf-8?q?caf", "=?utf-8?q?caf"),
    "a language": ("=?utf-8*en?q?caf=C3=A9?=", "café"),
    "NUL": ("=?utf-8?q?a=00b?=", "a\ufffdb"),
    "half a letter of UTF-16": ("=?utf-7?q?+2AA-?=", "?"),
    "a line in it": ("=?utf-8?q?a=0D=0ABcc:_x?=", "a  Bcc: x"),
    "not a charset": ("=?unicode_escape?q?=5Cud800?=", r"\ud800"),
    "another kind of codec": ("=?hex?q?6162?=", "6162"),
}


@pytest.mark.parametrize(("written", "expected"), WORDS.values(), ids=WORDS.keys())
def test_encoded_words(written: str, expected: str) -> None:
    assert decoded(written) == expected


def test_letters_that_should_have_been_encoded_are_read() -> None:
    assert a_head("Subject: café").subject == "café"
    assert a_head(b"Subject: caf\xe9").subject == "café"


def test_what_no_database_keeps_is_left_out() -> None:
    assert a_head(b"Subject: a\0b").subject == "ab"


def test_what_is_absurdly_long_is_cut() -> None:
    head = a_head("Subject: " + "sale " * 200_000, "List-Unsubscribe: <https://x.example/" + "y" * 1_000_000 + ">")
    assert len(head.subject) == heads.LONGEST_TEXT
    assert head.list_unsubscribe == heads.TOO_LONG


def test_fields_that_are_there_twice_are_both_kept() -> None:
    head = a_head("List-Unsubscribe: <https://evil.example/>", "list-unsubscribe: <https://example.org/>")
    assert head.list_unsubscribe == "<https://evil.example/>\n<https://example.org/>"


OURS, PROMISE = "<https://example.org/u>", "List-Unsubscribe=One-Click"
PAGE = {"https://example.org/u": "http_get"}
LONG = "x" * heads.LONGEST_FIELD
# What a field of a stranger does to that of the sender, and to the sender's promise.
FIELDS = {
    "alone": ([OURS], [PROMISE], {"https://example.org/u": "one_click"}),
    "long comment before it": ([f"<https://evil.example/> ({LONG})", OURS], [PROMISE], PAGE),
    "long comment after it": ([OURS, f"<https://evil.example/> ({LONG})"], [PROMISE], PAGE),
    "long address": ([f"<https://example.org/{LONG}>"], [PROMISE], {heads.TOO_LONG: "invalid"}),
    "long promise before it": ([OURS], [f"{PROMISE} {LONG}", PROMISE], PAGE),
    "empty": (["", OURS], [PROMISE], PAGE),
    "many": ([""] * 500 + [OURS], [PROMISE], {}),
}


@pytest.mark.parametrize(("fields", "promises", "expected"), FIELDS.values(), ids=FIELDS.keys())
def test_no_field_hides_that_there_is_another(fields: list[str], promises: list[str], expected: dict[str, str]) -> None:
    lines = [f"List-Unsubscribe: {value}" for value in fields]
    head = a_head(*lines, *(f"List-Unsubscribe-Post: {value}" for value in promises))
    field, post = ((said or "").split("\n") for said in (head.list_unsubscribe, head.list_unsubscribe_post))
    offers = Offers(tuple(field), tuple(post))
    assert {way.url: way.method for way in methods.ways(offers)} == expected
    assert len(offers.list_unsubscribe) == min(len(fields), heads.MOST_FIELDS)
    assert len(head.list_unsubscribe or "") < heads.MOST_FIELDS * heads.LONGEST_FIELD


SIGNS = {
    "List-Post: <mailto:all@example.org>": Sign.DISCUSSION,
    "List-Post: NO (announcements)": Sign.ANNOUNCEMENTS,
    "Precedence: Bulk": Sign.BULK,
    "Precedence: first-class": 0,
    "Feedback-ID: 1:2:3": Sign.BULK,
    "X-CSA-Complaints: abuse@example.org": Sign.BULK,
    "Auto-Submitted: auto-generated": Sign.AUTOMATIC,
    "Auto-Submitted: no": 0,
    "In-Reply-To: <1@example.org>": Sign.REPLY,
    "IN-REPLY-TO: <1@example.org>": Sign.REPLY,
}


@pytest.mark.parametrize(("line", "sign"), SIGNS.items(), ids=SIGNS.keys())
def test_signs(line: str, sign: int) -> None:
    assert a_head(line).signs == sign


def test_lines_may_end_in_any_way() -> None:
    block = b"From: ana@example.org\nSubject: a\n b\n\nSubject: of the body\n"
    assert heads.read(block, CAME).subject == "a b"


@given(st.binary(max_size=400), st.integers(0, 2**32))
def test_nothing_that_a_stranger_writes_raises_anything_else(noise: bytes, seed: int) -> None:
    chance = random.Random(seed)
    block = bytearray(
        b"From: =?utf-8?b?QW5h?= <ana@example.org>\r\nDate: Sun, 01 Mar 2026 12:30:05 +0000\r\n"
        b"Subject: =?utf-8?q?caf=C3=A9?= sale\r\nList-Id: x <y.z>\r\nList-Unsubscribe: <https://e>,\r\n <mailto:x@y>"
    )
    for _ in range(10):
        place = chance.randrange(len(block))
        block[place : place + chance.randrange(3)] = noise[: chance.randrange(5)]
    for sent in (
        bytes(block),
        noise,
        b"From: " + noise,
        b"From: a@b\r\nDate: " + noise,
        b"From: a@b\r\nSubject: " + noise,
    ):
        try:
            head = heads.read(sent, CAME)
        except Broken:
            continue
        for value in head:
            if isinstance(value, str):
                value.encode()  # as the database will
                assert "\0" not in value
