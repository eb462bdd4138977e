"""No mail keeps its reader busy: twice as long a mail takes about twice as long, whatever is in it."""

import time
from datetime import UTC, datetime

import pytest

from gna import clock
from gna.inbox import bodies, domains, heads, methods, offers
from gna.inbox.ways import Offers
from tests.inbox.costly import MAILS, Mail

NOW = datetime(2026, 11, 16, tzinfo=UTC)
# Bytes; what is longer is cut off before anybody reads it.
LONGEST = 512 * 1024
# Seconds of CPU. What is read in less than `SOON` is not compared: chance is as large. What grows with the square of
# the size takes minutes.
SOON, LIMIT = 2.0, 5.0
CAME = clock.iso(NOW)


def read(raw: bytes) -> bodies.Read:
    """All that a scan does with one mail."""
    try:
        head = heads.read(raw.partition(b"\r\n\r\n")[0], CAME)
    except heads.Broken:
        return bodies.read(raw, "news@shop.example")
    sender = head.sender_email.rpartition("@")[2]
    if head.list_unsubscribe:
        ways = methods.ways(Offers(tuple(head.list_unsubscribe.split("\n"))), sender=sender)
        domains.is_own(sender, ways)
    return bodies.read(raw, head.sender_email)


def took(raw: bytes) -> float:
    """Seconds of CPU that it takes to read the mail, which is read well."""
    started = time.process_time()
    assert read(raw).well
    return time.process_time() - started


def fastest(raw: bytes) -> float:
    """The same, whatever else the machine does."""
    return min(took(raw) for _ in range(3))


@pytest.mark.parametrize("mail", MAILS.values(), ids=MAILS.keys())
def test_no_mail_keeps_its_reader_busy(mail: Mail) -> None:
    # From the smallest, so that one that does is found out before it takes minutes.
    for size in (LONGEST // 16, LONGEST // 4, LONGEST):
        spent = took(mail(size))
        assert spent < LIMIT
    assert spent < SOON or fastest(mail(LONGEST)) < 3 * fastest(mail(LONGEST // 2))


def test_a_header_of_megabytes_is_read_as_far_as_anybody_reads() -> None:
    field = b"From: a@b.example\r\nSubject: " + b"=?utf-8?q?x?= " * (8 * 1024 * 1024 // 14)
    started = time.process_time()
    assert set(heads.read(field, CAME).subject[:1000]) == {"x"}
    assert time.process_time() - started < LIMIT


SENDERS = {
    '"Shop <news@shop.example>': "news@shop.example",
    '"A \\" <b@c.example>" <news@shop.example>': "news@shop.example",
    '"A" "B \\" <news@shop.example>': "news@shop.example",
    "<@@x@shop.example>": "@@x@shop.example",
    "<x> y@@shop.example z": "y@@shop.example",
}


@pytest.mark.parametrize(("value", "email"), SENDERS.items(), ids=range(len(SENDERS)))
def test_an_odd_sender_is_found(value: str, email: str) -> None:
    found = heads.sender(value)
    assert found
    assert found[0] == email


URL = "https://shop.example/unsubscribe"
FIELDS = (
    f"(open <{URL}>",
    f"(a (b) \\) <https://c.example/>) <{URL}>",
    f"\\(a <{URL}> (\\)",
    f"((\\) <{URL}>",
)


@pytest.mark.parametrize("value", FIELDS, ids=range(len(FIELDS)))
def test_an_address_beside_an_odd_comment_is_found(value: str) -> None:
    assert offers.fields([value]) == [URL]


BODIES = {
    "after forms": "<form" * 10_000 + f"><a href='{URL}'>Unsubscribe</a>",
    "after comments that do not end in a label": f"<a href='{URL}'><!-- a --><!--b>Unsubscribe<!--c></a>",
    "beside a number that no letter has": f"<a href='{URL}'>Unsubscribe</a> <a href='{URL}2'>&#{'9' * 5000};</a>",
    "beside a tag that is none": f"<a href='{URL}'>Unsubscribe</a><a {'x ' * 20_000}href='{URL}2'>Unsubscribe</a>",
}


@pytest.mark.parametrize("html", BODIES.values(), ids=BODIES.keys())
def test_a_link_is_found_beside_what_is_made_to_take_long(html: str) -> None:
    assert [link.url for link in offers.in_body(html.encode(), "") if link.form is None][:1] == [URL]


TEXTS = {
    f"(see {URL}).": URL,
    f"{URL}_(a)).": f"{URL}_(a)",
    f"{URL}[1]}}]": f"{URL}[1]",
    f"<{URL}/\r\n  abc  > to unsubscribe": f"{URL}/abc",
    f"unsubscribe {URL}{'x' * 10_000} {URL}": URL,
    f"{'word ' * 2000}unsubscribe here:\r\nhttps://a.example/": "https://a.example/",
}


@pytest.mark.parametrize(("text", "url"), TEXTS.items(), ids=range(len(TEXTS)))
def test_an_address_in_a_text_ends_where_somebody_would_end_it(text: str, url: str) -> None:
    assert [link.url for link in offers.in_body(b"", text)] == [url]
