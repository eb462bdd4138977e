"""Subscriptions: one for each sender, whatever is scanned how often; the newest way out; and those that are kept."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import clock
from gna.db import Database
from gna.errors import NotFound
from gna.inbox import counting, methods, offered, subscriptions
from gna.inbox.counting import Refreshed
from gna.inbox.signs import Sign
from gna.inbox.subscriptions import Wanted
from gna.inbox.table import a, accounts, attempts, m, mails, s
from gna.inbox.table import subscriptions as table
from gna.inbox.ways import Form, Link, Offers, Source
from tests.factories import NOW, count
from tests.inbox.factories import DAY, SENDER, a_mail, a_subscription, a_way, an_account, an_attempt, an_unsubscribed

LATER = NOW + 30 * DAY
WEB, ANOTHER = "<https://shop.example/u?t=1>", "<https://lists.shop.example/leave?t=2>"
ONE_CLICK = "List-Unsubscribe=One-Click"


@pytest.fixture
def account(db: Database) -> int:
    return an_account(db)


def refresh(db: Database, account: int) -> Refreshed:
    with db.write() as tx:
        return counting.refresh(tx, account, now=LATER)


def recount(db: Database, account: int) -> Refreshed:
    """As if no mail had been counted before."""
    with db.write() as tx:
        tx.execute(sa.update(accounts).values(counted_to=0))
    return refresh(db, account)


def rows(db: Database) -> list[Any]:
    with db.read() as tx:
        return list(tx.execute(sa.select(table).order_by(s.sender_email)).all())


def the(db: Database, sender: str = SENDER) -> Any:
    [row] = [row for row in rows(db) if row.sender_email == sender]
    return row


def show(db: Database, sender: str = SENDER) -> dict[str, Any]:
    with db.read() as tx:
        return subscriptions.show(tx, the(db, sender).id)


def keep(db: Database, *ids: int) -> int:
    with db.write() as tx:
        return subscriptions.keep(tx, ids, now=NOW + DAY)


def unkeep(db: Database, *ids: int) -> int:
    with db.write() as tx:
        return subscriptions.unkeep(tx, ids, now=LATER)


# Finding them


def test_one_mail_is_enough_for_a_subscription(db: Database, account: int) -> None:
    a_mail(db, account, sender_name="The Shop")
    assert refresh(db, account) == Refreshed(new=1)
    row = the(db)
    assert (row.email_count, row.sender_domain, row.sender_name) == (1, "shop.example", "The Shop")


def test_no_mail_is_no_subscription(db: Database, account: int) -> None:
    assert refresh(db, account) == Refreshed()
    assert rows(db) == []


def test_a_new_one_is_active_and_not_kept(db: Database, account: int) -> None:
    a_mail(db, account)
    refresh(db, account)
    row = the(db)
    assert row.active
    assert not row.keep_subscription
    assert (row.unsubscribe_status, row.unsubscribed_at, row.violation_count) == ("active", None, 0)


def test_there_is_one_for_each_account_and_sender(db: Database, account: int) -> None:
    other = an_account(db, "ben@example.org")
    for number in range(3):
        a_mail(db, account, sent=NOW + number * DAY)
        a_mail(db, account, "deals@shop.example")
    a_mail(db, other)
    refresh(db, account)
    refresh(db, other)
    found = [(row.account_id, row.sender_email, row.email_count) for row in rows(db)]
    assert sorted(found) == [(account, "deals@shop.example", 3), (account, SENDER, 3), (other, SENDER, 1)]


def test_mails_of_one_account_are_not_counted_for_another(db: Database, account: int) -> None:
    a_mail(db, an_account(db, "ben@example.org"))
    assert refresh(db, account) == Refreshed()


def test_a_second_refresh_changes_nothing(db: Database, account: int) -> None:
    a_mail(db, account, list_unsubscribe=WEB)
    a_mail(db, account, "maria@firm.example")
    refresh(db, account)
    before = rows(db)
    assert refresh(db, account) == Refreshed()
    assert rows(db) == before


def test_counting_everything_anew_changes_nothing(db: Database, account: int) -> None:
    an_unsubscribed(db, account)
    for number in range(5):
        a_mail(db, account, sent=NOW + number * DAY, list_unsubscribe=WEB, body=[a_way()], subject="Sale")
    refresh(db, account)
    before = rows(db)
    assert recount(db, account) == Refreshed()
    assert rows(db) == before


def test_new_mails_update_what_is_there(db: Database, account: int) -> None:
    a_mail(db, account, list_id="old.shop.example")
    refresh(db, account)
    first = the(db)
    a_mail(db, account, sent=NOW + DAY, sender_name="New name", subject="SALE!", list_id="new.shop.example")
    assert refresh(db, account) == Refreshed(new=0)
    row = the(db)
    assert (row.id, row.email_count, row.first_seen, row.last_seen) == (first.id, 2, NOW, NOW + DAY)
    assert (row.confidence, row.sender_name, row.list_id) == (15 + 4 + 10, "New name", "new.shop.example")


def test_an_older_mail_that_comes_later_changes_neither_name_nor_last_seen(db: Database, account: int) -> None:
    a_mail(db, account, sender_name="Now", list_id="now.example")
    refresh(db, account)
    a_mail(db, account, sent=NOW - DAY, sender_name="Before", list_id="before.example")
    refresh(db, account)
    row = the(db)
    assert (row.sender_name, row.list_id, row.first_seen, row.last_seen) == ("Now", "now.example", NOW - DAY, NOW)


def test_a_name_and_a_list_are_kept_when_the_newest_mail_has_none(db: Database, account: int) -> None:
    a_mail(db, account, sender_name="The Shop", list_id="shop.example")
    a_mail(db, account, sent=NOW + DAY)
    refresh(db, account)
    assert (the(db).sender_name, the(db).list_id) == ("The Shop", "shop.example")


def test_a_copy_in_another_folder_is_not_counted(db: Database, account: int) -> None:
    a_mail(db, account)
    a_mail(db, account, folder="Archive", is_copy=True, subject="sale", list_unsubscribe=WEB)
    refresh(db, account)
    row = the(db)
    assert (row.email_count, row.confidence, row.unsubscribe_link) == (1, 17, None)


def test_the_database_adds_up_all_that_is_scored(db: Database, account: int) -> None:
    a_mail(db, account, subject="Our newsletter, and a SALE", list_unsubscribe=WEB, signs=Sign.BULK)
    a_mail(db, account, subject="Wholesale sale", sent=NOW + DAY, body=[a_way()])
    a_mail(db, account, subject="Free shipping", sent=NOW + 2 * DAY, body=[])
    refresh(db, account)
    row = the(db)
    assert row.confidence == 15 + 6 + 30 + 15 + 10 + 5
    assert row.reasons[2] == "+30: sale, free shipping, newsletter in subjects"
    assert row.kind == "newsletter"


def test_a_keyword_counts_once_however_many_mails_have_it(db: Database, account: int) -> None:
    for number in range(4):
        a_mail(db, account, subject="Sale", sent=NOW + number * DAY)
    refresh(db, account)
    assert the(db).confidence == 15 + 8 + 10


def test_the_domain_is_consistent_by_the_newest_mails_link(db: Database, account: int) -> None:
    a_mail(db, account, list_unsubscribe=WEB)
    refresh(db, account)
    assert the(db).confidence == 15 + 2 + 15 + 5
    a_mail(db, account, sent=NOW + DAY, list_unsubscribe="<https://elsewhere.example/u?t=1>")
    refresh(db, account)
    assert the(db).confidence == 15 + 4 + 15


KINDS: list[tuple[str, dict[str, Any]]] = [
    ("newsletter", {"list_unsubscribe": WEB}),
    ("discussion", {"list_unsubscribe": WEB, "signs": Sign.DISCUSSION}),
    ("notification", {"sender": "build@ci.example", "signs": Sign.AUTOMATIC}),
    ("transactional", {"sender": "hello@ci.example", "subject": "Your invoice"}),
    ("personal", {"sender": "maria@firm.example", "subject": "Lunch?"}),
]


@pytest.mark.parametrize(("kind", "mail"), KINDS, ids=[kind for kind, _ in KINDS])
def test_the_kind_is_stored_as_advice(db: Database, account: int, kind: str, mail: dict[str, Any]) -> None:
    a_mail(db, account, **mail)
    refresh(db, account)
    [row] = rows(db)
    assert row.kind == kind
    assert show(db, row.sender_email)["advice"]


def test_many_senders_are_counted_in_chunks_and_rounds(db: Database, account: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(counting, "CHUNK", 2)
    monkeypatch.setattr(counting, "ROUND", 3)
    for number in range(14):
        a_mail(db, account, f"n{number % 7}@shop.example")
    assert refresh(db, account).new == 7
    assert [row.email_count for row in rows(db)] == [2] * 7
    with db.read() as tx:
        assert tx.scalar(sa.select(a.counted_to)) == tx.scalar(sa.select(sa.func.max(m.id)))


def test_an_account_that_is_gone_cannot_be_counted(db: Database) -> None:
    with pytest.raises(NotFound):
        refresh(db, 99)


# The way out


def test_the_most_recent_mail_wins(db: Database, account: int) -> None:
    a_mail(db, account, list_unsubscribe=WEB, list_unsubscribe_post=ONE_CLICK)
    newest = a_mail(db, account, sent=NOW + DAY, list_unsubscribe="<mailto:leave@shop.example>")
    a_mail(db, account, sent=NOW - DAY, list_unsubscribe=ANOTHER)
    refresh(db, account)
    row = the(db)
    assert (row.unsubscribe_method, row.unsubscribe_link) == ("email_reply", "mailto:leave@shop.example")
    assert row.way_mail_id == newest


def test_a_mail_that_claims_to_be_from_the_future_is_as_old_as_it_is(db: Database, account: int) -> None:
    in_future = NOW.replace(year=2098)
    names: dict[str, Any] = {"sender_name": "Old", "list_id": "old.shop.example", "list_unsubscribe": WEB}
    a_mail(db, account, sent=in_future, received_at=NOW, **names)
    a_mail(db, account, sent=NOW + DAY, sender_name="New", list_id="new.shop.example", list_unsubscribe=ANOTHER)
    refresh(db, account)
    row = the(db)
    assert row.unsubscribe_link == ANOTHER.strip("<>")
    assert (row.sender_name, row.list_id) == ("New", "new.shop.example")
    assert (row.first_seen, row.last_seen) == (NOW, NOW + DAY)
    told = show(db)["history"]
    assert [was["url"] for was in told] == [ANOTHER.strip("<>"), WEB.strip("<>")]
    assert told[1]["email_date"] == clock.iso(in_future)


def test_of_two_at_the_same_moment_the_one_that_came_later_wins(db: Database, account: int) -> None:
    a_mail(db, account, list_unsubscribe=WEB)
    a_mail(db, account, list_unsubscribe=ANOTHER)
    refresh(db, account)
    assert the(db).unsubscribe_link == ANOTHER.strip("<>")


def test_a_newer_mail_without_a_way_leaves_the_older_one(db: Database, account: int) -> None:
    a_mail(db, account, list_unsubscribe=WEB)
    a_mail(db, account, sent=NOW + DAY)
    a_mail(db, account, sent=NOW + 2 * DAY, body=[])
    refresh(db, account)
    assert the(db).unsubscribe_link == WEB.strip("<>")


def test_a_field_that_says_nothing_is_passed_over(db: Database, account: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(offered, "PAGE", 2)
    a_mail(db, account, list_unsubscribe=WEB)
    for number in range(1, 6):
        a_mail(db, account, sent=NOW + (number % 3) * DAY, list_unsubscribe="")
    refresh(db, account)
    assert the(db).unsubscribe_link == WEB.strip("<>")
    assert the(db).email_count == 6


def test_of_several_ways_in_one_mail_the_best_method_is_first(db: Database, account: int) -> None:
    form = a_way("https://shop.example/form", "http_post", Source.HTML, fields=(("u", "1"), ("u", "2")))
    a_mail(db, account, list_unsubscribe=f"<mailto:leave@shop.example>, {WEB}", body=[a_way(), form])
    refresh(db, account)
    assert [(way["method"], way["source"]) for way in show(db)["methods"]] == [
        ("http_post", "html"),
        ("http_get", "header"),
        ("http_get", "html"),
        ("email_reply", "header"),
    ]
    assert (the(db).unsubscribe_method, the(db).unsubscribe_link) == ("http_post", "https://shop.example/form")


def test_one_click_is_the_best(db: Database, account: int) -> None:
    form = a_way("https://shop.example/form", "http_post", Source.HTML)
    a_mail(db, account, list_unsubscribe=WEB, list_unsubscribe_post=ONE_CLICK, body=[form])
    refresh(db, account)
    assert the(db).unsubscribe_method == "one_click"


def test_two_fields_are_two(db: Database, account: int) -> None:
    a_mail(db, account, list_unsubscribe=f"{ANOTHER}\n{WEB}", list_unsubscribe_post=ONE_CLICK)
    refresh(db, account)
    assert [way["method"] for way in show(db)["methods"]] == ["http_get", "http_get"]


def test_the_same_address_in_header_and_body_is_one_way(db: Database, account: int) -> None:
    a_mail(db, account, list_unsubscribe=WEB, body=[a_way(WEB.strip("<>"))])
    refresh(db, account)
    assert [way["source"] for way in show(db)["methods"]] == ["header"]


def test_a_mail_with_nothing_but_an_invalid_way_says_so(db: Database, account: int) -> None:
    a_mail(db, account, body=[a_way("http://", "invalid", safe=False, error="It names no host")])
    refresh(db, account)
    assert (the(db).unsubscribe_method, the(db).unsubscribe_link) == ("invalid", "http://")


def test_a_private_host_is_safe_where_it_is_allowed(db: Database, account: int) -> None:
    a_mail(db, account, list_unsubscribe="<https://127.0.0.1/u?t=1>")
    refresh(db, account)
    assert not show(db)["methods"][0]["safe"]
    with db.write() as tx:
        assert subscriptions.show(tx, the(db).id, allowed=["127.0.0.1"])["methods"][0]["safe"]
        tx.execute(sa.update(accounts).values(counted_to=0))
        counting.refresh(tx, account, now=LATER, allowed=["127.0.0.1"])
    assert show(db)["methods"][0]["safe"]


def test_a_safe_way_is_taken_before_an_unsafe_one_of_a_better_method(db: Database, account: int) -> None:
    a_mail(db, account, list_unsubscribe="<https://bit.ly/x>, <mailto:leave@shop.example>")
    refresh(db, account)
    assert (the(db).unsubscribe_method, the(db).unsubscribe_link) == ("email_reply", "mailto:leave@shop.example")
    assert [(way["method"], way["safe"]) for way in show(db)["methods"]] == [("email_reply", True), ("http_get", False)]


def test_where_a_host_is_allowed_its_way_is_the_best_in_header_body_and_history(db: Database, account: int) -> None:
    [private] = methods.ways(Offers(body=(Link("https://127.0.0.1/u?t=1", Source.HTML, Form("post", ())),)))
    a_mail(db, account, body=[private], list_unsubscribe="<mailto:leave@shop.example>")
    refresh(db, account)
    assert (the(db).unsubscribe_method, show(db)["history"][0]["method"]) == ("email_reply", "email_reply")
    with db.write() as tx:
        tx.execute(sa.update(accounts).values(counted_to=0))
        counting.refresh(tx, account, now=LATER, allowed=["127.0.0.1"])
        [(one,)] = tx.execute(sa.select(s.id))
        found = subscriptions.show(tx, one, allowed=["127.0.0.1"])
    assert (found["unsubscribe_method"], found["history"][0]["method"]) == ("http_post", "http_post")
    assert [way["safe"] for way in found["methods"]] == [True, True]


def test_a_body_is_enough(db: Database, account: int) -> None:
    a_mail(db, account, body=[a_way()])
    refresh(db, account)
    assert (the(db).unsubscribe_method, the(db).unsubscribe_link) == ("http_get", a_way().url)


def test_no_way_out_is_none(db: Database, account: int) -> None:
    a_mail(db, account, body=[])
    refresh(db, account)
    row = the(db)
    assert (row.unsubscribe_method, row.unsubscribe_link, row.ways) == (None, None, [])


def test_the_way_out_is_found_without_reading_all_mails(db: Database, account: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(offered, "PAGE", 5)
    for number in range(30):
        a_mail(db, account, sent=NOW + number * DAY, list_unsubscribe="" if number > 21 else WEB)
    with db.read() as tx, statements(tx) as run:
        found = offered.newest(tx, account, SENDER)
    assert found is not None
    assert len(run) == 2
    assert all("LIMIT" in statement for statement in run)


@contextmanager
def statements(tx: Connection) -> Iterator[list[str]]:
    """What the database is asked meanwhile."""
    asked: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        asked.append(statement)

    sa.event.listen(tx, "before_cursor_execute", note)
    yield asked
    sa.event.remove(tx, "before_cursor_execute", note)


# Keeping


def test_a_kept_one_keeps_its_way_out(db: Database, account: int) -> None:
    a_mail(db, account, list_unsubscribe=WEB)
    a_mail(db, account, list_unsubscribe=WEB)
    refresh(db, account)
    frozen = show(db)
    keep(db, the(db).id)
    a_mail(db, account, sent=NOW + 2 * DAY, list_unsubscribe=ANOTHER, subject="Sale", seen_at=NOW + 2 * DAY)
    refresh(db, account)
    shown = show(db)
    for name in ("unsubscribe_link", "unsubscribe_method", "methods", "history"):
        assert shown[name] == frozen[name]
    assert (shown["email_count"], shown["last_seen"] > frozen["last_seen"]) == (3, True)


def test_unkeep_takes_the_newest_way_at_once(db: Database, account: int) -> None:
    a_mail(db, account, list_unsubscribe=WEB)
    refresh(db, account)
    keep(db, the(db).id)
    a_mail(db, account, sent=NOW + 2 * DAY, list_unsubscribe=ANOTHER, seen_at=NOW + 2 * DAY)
    refresh(db, account)
    assert unkeep(db, the(db).id) == 1
    row = the(db)
    assert (row.keep_subscription, row.kept_at) == (False, None)
    assert row.unsubscribe_link == ANOTHER.strip("<>")
    assert [change["url"] for change in show(db)["history"]] == [ANOTHER.strip("<>"), WEB.strip("<>")]


def test_who_keeps_it_while_a_scan_counts_keeps_the_way_that_they_saw(db: Database, account: int) -> None:
    a_mail(db, account, list_unsubscribe=WEB)
    refresh(db, account)
    a_mail(db, account, sent=NOW + DAY, list_unsubscribe=ANOTHER)
    subscription, reached = the(db).id, threading.Event()

    def count_them() -> None:
        with db.write() as tx:
            sa.event.listen(tx, "before_cursor_execute", lambda *told: reached.set() if is_at_it(told[2]) else None)
            counting.refresh(tx, account, now=LATER)

    def is_at_it(statement: str) -> bool:
        """Whether the row that somebody holds would be taken now."""
        return "inbox_subscriptions" in statement and ("FOR UPDATE" in statement or statement.startswith("UPDATE"))

    counting_thread = threading.Thread(target=count_them)
    with db.write() as tx:
        subscriptions.keep(tx, [subscription], now=NOW + DAY)
        counting_thread.start()
        # SQLite has one writer at a time anyway.
        assert tx.dialect.name == "sqlite" or reached.wait(30)
    counting_thread.join(30)
    row = the(db)
    assert row.keep_subscription
    assert (row.unsubscribe_link, row.email_count) == (WEB.strip("<>"), 2)


def test_keep_can_be_toggled_and_twice_is_once(db: Database, account: int) -> None:
    first, second = a_subscription(db, account), a_subscription(db, account, "deals@shop.example")
    assert keep(db, first, second, first) == 2
    assert keep(db, first) == 0
    assert the(db).kept_at == NOW + DAY
    assert unkeep(db, first) == 1
    assert unkeep(db, first) == 0
    assert [row.keep_subscription for row in rows(db)] == [True, False]


def test_keeping_is_independent_of_the_status(db: Database, account: int) -> None:
    left = an_unsubscribed(db, account)
    keep(db, left)
    row = the(db)
    assert (row.keep_subscription, row.unsubscribe_status, row.unsubscribed_at) == (True, "unsubscribed", NOW)


@pytest.mark.parametrize("act", [keep, unkeep])
def test_an_unknown_one_is_named_and_nothing_is_changed(db: Database, account: int, act: Any) -> None:
    known = [a_subscription(db, account), a_subscription(db, account, "deals@shop.example", kept=True)]
    before = rows(db)
    with pytest.raises(NotFound, match="99"):
        act(db, *known, 99)
    assert rows(db) == before


def test_a_subscription_that_was_left_stays_so(db: Database, account: int) -> None:
    an_unsubscribed(db, account)
    a_mail(db, account, sent=NOW - DAY, list_unsubscribe=WEB)
    refresh(db, account)
    row = the(db)
    assert (row.unsubscribe_status, row.unsubscribed_at, row.active) == ("unsubscribed", NOW, True)
    assert row.unsubscribe_link == WEB.strip("<>")


# Looking at them


def test_show_has_everything_that_is_known(db: Database, account: int) -> None:
    seal = {"covered": True, "passed": None, "by": "shop.example"}
    a_mail(db, account, list_unsubscribe=WEB, list_id="shop.example", sender_name="The Shop", seal=seal)
    refresh(db, account)
    id = the(db).id
    for number in range(2):
        an_attempt(db, id, at=NOW + number * DAY, response_code=500 + number, status="failed", error_message="No")
    shown = show(db)
    assert {
        "id": id,
        "account": "ana@example.org",
        "sender_email": SENDER,
        "sender_name": "The Shop",
        "sender_domain": "shop.example",
        "list_id": "shop.example",
        "kind": "newsletter",
        "email_count": 1,
        "confidence": 37,
        "first_seen": "2026-11-15T12:00:00.000000Z",
        "last_seen": "2026-11-15T12:00:00.000000Z",
        "active": True,
        "keep_subscription": False,
        "unsubscribe_status": "active",
        "unsubscribe_method": "http_get",
        "unsubscribe_link": WEB.strip("<>"),
        "unsubscribed_at": None,
        "violation_count": 0,
        "emails_after_unsubscribe": 0,
        "last_violation_at": None,
        "seal": seal,
    }.items() <= shown.items()
    [way] = shown["methods"]
    assert set(way) == {"method", "url", "source", "safe", "warnings", "error", "fields", "to", "subject", "body"}
    assert [attempt["response_code"] for attempt in shown["attempts"]] == [501, 500]
    assert set(shown["attempts"][0]) == set(attempts.c.keys())
    assert shown["attempts"][0]["attempted_at"] == "2026-11-16T12:00:00.000000Z"


def test_an_unknown_one_cannot_be_shown(db: Database) -> None:
    with db.read() as tx, pytest.raises(NotFound, match="7"):
        subscriptions.show(tx, 7)


@pytest.fixture
def three(db: Database, account: int) -> list[int]:
    other = an_account(db, "Ben@Example.org")
    return [
        a_subscription(db, account, "news@shop.example", confidence=40, sender_name="The Shop"),
        an_unsubscribed(db, account, "talk@lists.example", confidence=90, kind="discussion", list_id="talk.example"),
        a_subscription(db, other, "a_b@firm.example", confidence=40, kind="personal", kept=True),
    ]


LISTS: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [1, 2, 0]),
    ({"kind": "discussion"}, [1]),
    ({"kept": True}, [2]),
    ({"kept": False}, [1, 0]),
    ({"status": "unsubscribed"}, [1]),
    ({"status": "active"}, [2, 0]),
    ({"q": "the sHop"}, [0]),
    ({"q": "TALK.example"}, [1]),
    ({"q": "example"}, [1, 2, 0]),
    ({"q": "_"}, [2]),
    ({"q": "%"}, []),
    ({"q": "shop", "kind": "personal"}, []),
]


@pytest.mark.parametrize(("wanted", "which"), LISTS, ids=[str(wanted) for wanted, _ in LISTS])
def test_the_list_is_narrowed_and_the_surest_comes_first(
    db: Database, three: list[int], wanted: dict[str, Any], which: list[int]
) -> None:
    with db.read() as tx:
        found, total = subscriptions.listed(tx, Wanted(**wanted), page=1, per_page=20)
    assert [one["id"] for one in found] == [three[number] for number in which]
    assert total == len(which)


def test_the_list_has_pages_and_can_be_of_one_account(db: Database, account: int, three: list[int]) -> None:
    with db.read() as tx:
        found, total = subscriptions.listed(tx, page=2, per_page=2)
        assert ([one["id"] for one in found], total) == ([three[0]], 3)
        assert subscriptions.listed(tx, Wanted(account=account), page=1, per_page=9)[1] == 2


def test_several_are_found_in_the_order_asked_for(db: Database, three: list[int]) -> None:
    with db.read() as tx:
        found = subscriptions.find_many(tx, three[::-1])
    assert [(one["id"], one["account"]) for one in found] == [
        (three[2], "Ben@Example.org"),
        (three[1], "ana@example.org"),
        (three[0], "ana@example.org"),
    ]


def test_the_sums_count_everything(db: Database, account: int, three: list[int]) -> None:
    del three
    for number in range(2):
        a_mail(db, account, "talk@lists.example", sent=NOW + (number + 1) * DAY)
    refresh(db, account)
    with db.read() as tx:
        assert subscriptions.stats(tx) == {
            "accounts": 2,
            "messages": 2,
            "subscriptions": 3,
            "kept": 1,
            "unsubscribed": 1,
            "violations": 1,
        }


def test_the_sums_of_nothing_are_zero(db: Database) -> None:
    with db.read() as tx:
        assert set(subscriptions.stats(tx).values()) == {0}


# Consistency


def test_nothing_is_ever_deleted_by_counting(db: Database, account: int) -> None:
    a_mail(db, account)
    old = a_subscription(db, account, "quiet@shop.example", last_seen=NOW - timedelta(days=900))
    refresh(db, account)
    with db.read() as tx:
        assert (count(tx, mails), tx.scalar(sa.select(s.active).where(s.id == old))) == (1, True)


def test_an_accounts_mails_and_subscriptions_belong_to_it(db: Database, account: int) -> None:
    a_mail(db, account)
    refresh(db, account)
    an_attempt(db, the(db).id)
    with db.write() as tx:
        tx.execute(sa.delete(accounts))
        assert [count(tx, one) for one in (mails, table, attempts)] == [0, 0, 0]


def test_changes_are_dated(db: Database, account: int) -> None:
    subscription = a_subscription(db, account)
    keep(db, subscription)
    assert (the(db).created_at, the(db).updated_at) == (NOW, NOW + DAY)
