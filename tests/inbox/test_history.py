"""The history of the ways out: every change, newest first, with the mail that brought it."""

from typing import Any

import pytest

from gna.db import Database
from gna.inbox import history, table
from tests.factories import NOW
from tests.inbox.factories import DAY, SENDER, a_mail, a_subscription, a_way, an_account

A, B = "https://shop.example/a?t=1", "https://shop.example/b?t=1"


@pytest.fixture
def account(db: Database) -> int:
    return an_account(db)


def offers(db: Database, account: int, day: int, url: str | None, **columns: Any) -> None:
    """A mail of that day with this in its header, seen an hour later."""
    sent = NOW + day * DAY
    columns = {"seen_at": sent + DAY / 24} | columns
    a_mail(db, account, sent=sent, list_unsubscribe=url and f"<{url}>", **columns)


def changes(db: Database, account: int, **columns: Any) -> list[dict[str, Any]]:
    subscription_id = a_subscription(db, account, **columns)
    with db.read() as tx:
        return history.of(tx, table.subscription(tx, subscription_id))


def test_every_change_is_told_newest_first_with_its_dates(db: Database, account: int) -> None:
    offers(db, account, 0, A)
    offers(db, account, 1, B)
    offers(db, account, 2, "mailto:leave@shop.example")
    assert changes(db, account) == [
        {
            "method": method,
            "url": url,
            "email_date": f"2026-11-{day}T12:00:00.000000Z",
            "changed_at": f"2026-11-{day}T13:00:00.000000Z",
        }
        for method, url, day in (
            ("email_reply", "mailto:leave@shop.example", 17),
            ("http_get", B, 16),
            ("http_get", A, 15),
        )
    ]


def test_mails_with_the_same_way_are_one_change_of_the_first_of_them(db: Database, account: int) -> None:
    for day, url in enumerate([A, A, B, B, B, A]):
        offers(db, account, day, url)
    assert [(one["url"], one["email_date"][8:10]) for one in changes(db, account)] == [(A, "20"), (B, "17"), (A, "15")]


def test_the_same_address_by_another_method_is_a_change(db: Database, account: int) -> None:
    offers(db, account, 0, A)
    offers(db, account, 1, A, list_unsubscribe_post="List-Unsubscribe=One-Click")
    assert [one["method"] for one in changes(db, account)] == ["one_click", "http_get"]


def test_mails_without_a_way_and_copies_change_nothing(db: Database, account: int) -> None:
    offers(db, account, 0, A)
    offers(db, account, 1, None)
    offers(db, account, 2, "")
    offers(db, account, 3, B, is_copy=True)
    offers(db, account, 4, A)
    assert [one["email_date"][8:10] for one in changes(db, account)] == ["15"]


def test_ways_in_bodies_are_part_of_it(db: Database, account: int) -> None:
    offers(db, account, 0, None, body=[a_way(B)])
    assert [one["url"] for one in changes(db, account)] == [B]


def test_other_senders_and_accounts_are_not(db: Database, account: int) -> None:
    a_mail(db, account, "deals@shop.example", list_unsubscribe=f"<{A}>")
    a_mail(db, an_account(db, "ben@example.org"), list_unsubscribe=f"<{A}>")
    assert changes(db, account) == []


def test_of_a_kept_one_only_what_was_seen_before_it_was_kept(db: Database, account: int) -> None:
    offers(db, account, 0, A)
    offers(db, account, 3, B)
    # It was sent before, but nobody had seen it.
    offers(db, account, -3, "https://shop.example/c?t=1", seen_at=NOW + 4 * DAY)
    assert [one["url"] for one in changes(db, account, kept=True, kept_at=NOW + DAY)] == [A]


def test_it_looks_back_so_far_and_no_farther(db: Database, account: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(history, "MOST", 3)
    for day in range(5):
        offers(db, account, day, f"https://shop.example/{day}?t=1")
    assert [one["url"][-5] for one in changes(db, account)] == ["4", "3", "2"]


def test_who_never_offered_anything_has_none(db: Database, account: int) -> None:
    a_mail(db, account, SENDER)
    assert changes(db, account) == []
