"""Violations: mails that were sent after somebody had left. They are counted from the mails, and can be proven."""

import csv
import io
import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from gna.db import Database
from gna.inbox import counting, violations
from gna.inbox.counting import Refreshed
from gna.inbox.table import s
from gna.inbox.table import subscriptions as table
from gna.inbox.violations import COLUMNS, Grace
from tests.factories import NOW
from tests.inbox.factories import DAY, SENDER, a_mail, a_subscription, an_account, an_attempt, an_unsubscribed

SECOND = timedelta(seconds=1)
LATER = NOW + 30 * DAY


@pytest.fixture
def account(db: Database) -> int:
    return an_account(db)


def refresh(db: Database, account: int) -> Refreshed:
    with db.write() as tx:
        return counting.refresh(tx, account, now=LATER)


def the(db: Database, sender: str = SENDER) -> Any:
    with db.read() as tx:
        return tx.execute(sa.select(table).where(s.sender_email == sender)).one()


def summary(db: Database, *, days: int = 7, now: datetime = LATER) -> dict[str, Any]:
    with db.read() as tx:
        return violations.summary(tx, days=days, now=now)


def evidence(db: Database) -> list[dict[str, Any]]:
    return list(violations.evidence(db))


# Counting


def test_a_mail_that_was_sent_after_the_unsubscribe_is_one(db: Database, account: int) -> None:
    an_unsubscribed(db, account)
    a_mail(db, account, sent=NOW + SECOND)
    assert refresh(db, account).violations == 1
    row = the(db)
    assert (row.violation_count, row.emails_after_unsubscribe, row.last_violation_at) == (1, 1, NOW + SECOND)


def test_one_of_the_same_moment_or_before_is_none(db: Database, account: int) -> None:
    an_unsubscribed(db, account)
    a_mail(db, account, sent=NOW)
    # It came later, but its date counts.
    a_mail(db, account, sent=NOW - SECOND, received_at=NOW + DAY)
    assert refresh(db, account).violations == 0
    assert (the(db).violation_count, the(db).last_violation_at) == (0, None)


def test_mails_of_one_that_nobody_left_are_none(db: Database, account: int) -> None:
    a_subscription(db, account)
    a_mail(db, account, sent=NOW + DAY)
    assert refresh(db, account).violations == 0


def test_each_one_counts_and_the_newest_is_the_last(db: Database, account: int) -> None:
    an_unsubscribed(db, account)
    for day in (3, 9, 5):
        a_mail(db, account, sent=NOW + day * DAY)
    assert refresh(db, account).violations == 3
    a_mail(db, account, sent=NOW + DAY)
    assert refresh(db, account).violations == 1
    row = the(db)
    assert (row.violation_count, row.emails_after_unsubscribe, row.last_violation_at) == (4, 4, NOW + 9 * DAY)


def test_a_second_look_counts_none_again(db: Database, account: int) -> None:
    an_unsubscribed(db, account)
    a_mail(db, account, sent=NOW + DAY)
    refresh(db, account)
    assert refresh(db, account) == Refreshed()
    assert the(db).violation_count == 1


def test_a_copy_in_another_folder_is_no_other_one(db: Database, account: int) -> None:
    an_unsubscribed(db, account)
    a_mail(db, account, sent=NOW + DAY)
    a_mail(db, account, sent=NOW + DAY, folder="Archive", is_copy=True)
    assert refresh(db, account).violations == 1


def test_other_senders_and_other_mailboxes_are_not_blamed(db: Database, account: int) -> None:
    an_unsubscribed(db, account)
    other = an_account(db, "ben@example.org")
    a_mail(db, other, sent=NOW + DAY)
    a_mail(db, account, "deals@shop.example", sent=NOW + DAY)
    assert refresh(db, account).violations == refresh(db, other).violations == 0


# How late


# The unsubscribe is on a Sunday; the tenth business day after it is a Friday.
GRACES = [
    (SECOND, Grace.LATE),
    (2 * DAY, Grace.LATE),
    (2 * DAY + SECOND, Grace.WITHIN_LAW),
    (12 * DAY, Grace.WITHIN_LAW),
    (12 * DAY + SECOND, Grace.VIOLATION),
    (400 * DAY, Grace.VIOLATION),
]


@pytest.mark.parametrize(("after", "wanted"), GRACES, ids=[str(after) for after, _ in GRACES])
def test_how_late_a_mail_is_is_advice(after: timedelta, wanted: Grace) -> None:
    assert violations.grace(NOW, NOW + after) == wanted


@pytest.mark.parametrize(("day", "days"), [(16, 14), (20, 14), (21, 13)], ids=["Monday", "Friday", "Saturday"])
def test_ten_business_days_leave_weekends_out(day: int, days: int) -> None:
    left = datetime(2026, 11, day, 12, tzinfo=UTC)
    assert violations.grace(left, left + days * DAY) == Grace.WITHIN_LAW
    assert violations.grace(left, left + days * DAY + SECOND) == Grace.VIOLATION


# Reporting


def test_the_summary_of_nothing_is_empty(db: Database) -> None:
    empty = {"total_violations": 0, "total_violation_emails": 0, "recent": [], "worst_offenders": []}
    assert summary(db) == empty


@pytest.fixture
def offenders(db: Database, account: int) -> None:
    """Three who went on: after 1, 2 and 3 days, with 3, 1 and 2 mails."""
    for number, mails in enumerate([3, 1, 2], start=1):
        sender = f"n{number}@shop.example"
        an_attempt(db, an_unsubscribed(db, account, sender))
        for mail in range(mails):
            a_mail(db, account, sender, sent=NOW + number * DAY - mail * SECOND, subject=f"Mail {mail}")
    an_unsubscribed(db, account, "quiet@shop.example")
    refresh(db, account)


@pytest.mark.usefixtures("offenders")
def test_the_summary_counts_senders_and_mails(db: Database) -> None:
    found = summary(db)
    assert (found["total_violations"], found["total_violation_emails"]) == (3, 6)


@pytest.mark.usefixtures("offenders")
def test_the_worst_have_sent_most(db: Database) -> None:
    worst = summary(db)["worst_offenders"]
    assert [(one["sender_email"], one["emails_after_unsubscribe"]) for one in worst] == [
        ("n1@shop.example", 3),
        ("n3@shop.example", 2),
        ("n2@shop.example", 1),
    ]


@pytest.mark.usefixtures("offenders")
@pytest.mark.parametrize(("days", "recent"), [(7, ["n3", "n2"]), (6, ["n3"]), (1, []), (400, ["n3", "n2", "n1"])])
def test_the_recent_are_of_the_last_days_newest_first(db: Database, days: int, recent: list[str]) -> None:
    found = summary(db, days=days, now=NOW + 9 * DAY)["recent"]
    assert [one["sender_email"].partition("@")[0] for one in found] == recent


@pytest.mark.usefixtures("offenders")
def test_each_is_told_with_all_that_matters(db: Database) -> None:
    assert summary(db)["worst_offenders"][1] == {
        "id": the(db, "n3@shop.example").id,
        "account": "ana@example.org",
        "sender_email": "n3@shop.example",
        "sender_name": "",
        "list_id": None,
        "unsubscribed_at": "2026-11-15T12:00:00.000000Z",
        "last_violation_at": "2026-11-18T12:00:00.000000Z",
        "violation_count": 2,
        "emails_after_unsubscribe": 2,
        "days_after": 3,
        "grace": "within the grace period of most laws",
    }


def test_of_many_the_ten_worst_are_named(db: Database, account: int) -> None:
    for number in range(12):
        columns: dict[str, Any] = {"emails_after_unsubscribe": number, "violation_count": 1, "last_violation_at": NOW}
        an_unsubscribed(db, account, f"n{number}@shop.example", **columns)
    assert [one["emails_after_unsubscribe"] for one in summary(db)["worst_offenders"]] == [*range(11, 1, -1)]


@pytest.mark.usefixtures("offenders")
def test_a_chart_has_them_by_day(db: Database) -> None:
    with db.read() as tx:
        assert violations.by_day(tx, days=30, now=LATER) == {
            date(2026, 11, 16): 3,
            date(2026, 11, 17): 1,
            date(2026, 11, 18): 2,
        }
        assert violations.by_day(tx, days=7, now=NOW + 9 * DAY + DAY / 2) == {date(2026, 11, 18): 2}


# Proving


def test_every_mail_is_proven_with_where_it_is_and_how_it_was_left(db: Database, account: int) -> None:
    left = an_unsubscribed(db, account)
    an_attempt(db, left, status="failed", outcome="refused", response_code=500, at=NOW - DAY)
    an_attempt(db, left, method_used="http_post", outcome="accepted", response_code=202)
    an_attempt(db, left, status="failed", outcome="unknown", response_code=None, at=NOW + DAY)
    a_mail(db, account, sent=NOW - DAY)
    a_mail(db, account, sent=NOW + 20 * DAY, received_at=NOW + 21 * DAY, list_id="shop.example", subject="Buy")
    assert evidence(db) == [
        {
            "account": "ana@example.org",
            "sender_email": SENDER,
            "list_id": "shop.example",
            "subject": "Buy",
            "message_id": "<INBOX-2@shop.example>",
            "date_sent": "2026-12-05T12:00:00.000000Z",
            "received_at": "2026-12-06T12:00:00.000000Z",
            "folder": "INBOX",
            "uid": 2,
            "unsubscribed_at": "2026-11-15T12:00:00.000000Z",
            "method_used": "http_post",
            "response_code": 202,
            "attempted_at": "2026-11-15T12:00:00.000000Z",
            "days_after": 20,
            "grace": "violation",
        }
    ]


def test_a_date_in_the_future_makes_no_mail_later_than_it_came(db: Database, account: int) -> None:
    an_unsubscribed(db, account)
    a_mail(db, account, sent=NOW + 9999 * DAY, received_at=NOW - DAY)
    [told] = evidence(db)
    assert (told["days_after"], told["grace"]) == (0, "late")


@pytest.mark.usefixtures("offenders")
def test_the_evidence_is_by_sender_and_in_order(db: Database) -> None:
    found = [(row["sender_email"][:2], row["date_sent"]) for row in evidence(db)]
    assert len(found) == 6
    assert found == sorted(found)


@pytest.mark.usefixtures("offenders")
def test_the_latest_of_one_sender_are_told_newest_first(db: Database) -> None:
    number = the(db, "n1@shop.example").id
    theirs = [row for row in evidence(db) if row["sender_email"] == "n1@shop.example"]
    with db.read() as tx:
        assert violations.latest(tx, number, most=50) == theirs[::-1]
        assert violations.latest(tx, number, most=1) == theirs[-1:]


def test_more_mails_than_are_read_at_once_are_all_proven(db: Database, account: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(violations, "PAGE", 2)
    an_unsubscribed(db, account)
    an_unsubscribed(db, account, "other@shop.example")
    for day in (1, 2, 2, 2, 3):
        a_mail(db, account, sent=NOW + day * DAY)
        a_mail(db, account, "other@shop.example", sent=NOW + day * DAY)
    found = evidence(db)
    assert [row["days_after"] for row in found] == [1, 2, 2, 2, 3] * 2
    assert len({row["uid"] for row in found}) == 10


def test_between_two_pages_nothing_is_held(db: Database, account: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(violations, "PAGE", 1)
    left = an_unsubscribed(db, account)
    for day in (1, 2, 3):
        a_mail(db, account, sent=NOW + day * DAY)
    pieces = violations.as_csv(violations.evidence(db))
    assert next(pieces).count("\n") == 2
    with db.write() as tx:
        tx.execute(sa.delete(table).where(s.id == left))
    assert [*pieces] == []


def test_a_mail_is_proven_also_if_nobody_knows_how_it_was_left(db: Database, account: int) -> None:
    an_unsubscribed(db, account)
    a_mail(db, account, sent=NOW + DAY)
    [row] = evidence(db)
    assert (row["method_used"], row["response_code"], row["attempted_at"]) == (None, None, None)


def test_the_csv_report_is_safe_in_a_spreadsheet(db: Database, account: int) -> None:
    an_unsubscribed(db, account)
    a_mail(db, account, sent=NOW + DAY, subject='=HYPERLINK("https://evil.test")', message_id=None)
    file = "".join(violations.as_csv(violations.evidence(db)))
    head, *rows = csv.reader(io.StringIO(file.removeprefix("\ufeff")))
    assert tuple(head) == COLUMNS
    [row] = (dict(zip(head, row, strict=True)) for row in rows)
    assert row["subject"] == '\'=HYPERLINK("https://evil.test")'
    assert (row["message_id"], row["days_after"], row["grace"]) == ("", "1", "late")


@pytest.mark.usefixtures("offenders")
@pytest.mark.parametrize("page", [1, 4, 500])
def test_the_json_report_is_one_document(db: Database, page: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(violations, "PAGE", page)
    assert json.loads("".join(violations.as_json(violations.evidence(db))))["items"] == evidence(db)


def test_a_report_of_nothing_is_empty(db: Database) -> None:
    assert len([*violations.as_csv(violations.evidence(db))]) == 1
    assert json.loads("".join(violations.as_json(violations.evidence(db)))) == {"items": []}
