"""No mail keeps its reader busy: twice as long a mail takes about twice as long, whatever is in it."""

import time
from datetime import UTC, datetime

import pytest

from gna.inbox import bodies, domains, heads, methods
from gna.inbox.ways import Offers
from tests.inbox.costly import MAILS, Mail

NOW = datetime(2026, 11, 16, tzinfo=UTC)
# Bytes; what is longer is cut off before anybody reads it.
LONGEST = 512 * 1024
# Seconds of CPU. What is read in less than `SOON` is not compared: chance is as large. What grows with the square of
# the size takes minutes.
SOON, LIMIT = 1.0, 5.0


def read(raw: bytes) -> bodies.Read:
    """All that a scan does with one mail."""
    try:
        head = heads.read(raw.partition(b"\r\n\r\n")[0], NOW)
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
    assert set(heads.read(field, NOW).subject[:1000]) == {"x"}
    assert time.process_time() - started < LIMIT
