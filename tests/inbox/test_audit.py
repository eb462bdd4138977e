"""An audit of mails on this machine finds what a scan of the same mails finds, and writes nothing."""

from datetime import timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gna.db import Database
from gna.inbox import audit, bodies, counting, seals, subscriptions
from gna.inbox.heads import Head
from gna.inbox.moments import parsed
from gna.inbox.sources import files
from gna.inbox.table import folders, mails
from tests.factories import NOW
from tests.inbox.factories import SENDER, an_account

WEB = "<https://shop.example/u?t=1>"
LINK = '<p>You may <a href="https://shop.example/unsubscribe?u=1">unsubscribe</a>.</p>'
numbers = count()


def a_raw(sender: str = SENDER, *, day: float = 0, subject: str = "Hello", html: str = "", **fields: str) -> bytes:
    """A mail as it lies in a file; `List_Post="NO"` is the field `List-Post`."""
    mail = EmailMessage()
    mail["From"], mail["Subject"], mail["Date"] = sender, subject, format_datetime(NOW + timedelta(days=day))
    for name, value in fields.items():
        mail[name.replace("_", "-")] = value
    mail.set_content("Hello")
    if html:
        mail.add_alternative(html, subtype="html")
    return mail.as_bytes()


def an_mbox(folder: Path, *raws: bytes) -> Path:
    path = folder / f"{next(numbers)}.mbox"
    path.write_bytes(b"".join(b"From somebody Sun Nov 15 12:00:00 2026\n" + raw + b"\n\n" for raw in raws))
    return path


def items(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = audit.audit(path)["items"]
    return found


def test_the_items_are_subscriptions_without_a_number(tmp_path: Path) -> None:
    path = an_mbox(tmp_path, a_raw("The Shop <News@Shop.example>", List_Unsubscribe=WEB, subject="SALE!"))
    found = audit.audit(path)
    assert (found["messages"], found["errors"]) == (1, 0)
    [item] = found["items"]
    assert set(item) == {*subscriptions.SHOWN, "methods"} - {"id"}
    assert item["reasons"][1:] == [
        "+2: 1 email",
        "+10: sale in subjects",
        "+15: List-Unsubscribe in the header",
        "+5: the link is on the sender's own domain",
    ]
    assert (item["sender_email"], item["sender_name"], item["kind"]) == (SENDER, "The Shop", "newsletter")
    assert (item["unsubscribe_method"], item["unsubscribe_link"]) == ("http_get", WEB.strip("<>"))
    assert (item["last_seen"], item["unsubscribe_status"]) == ("2026-11-15T12:00:00.000000Z", "active")


def test_an_item_has_all_ways_out_of_its_newest_mail_the_best_first(tmp_path: Path) -> None:
    field = f"{WEB}, <mailto:leave@shop.example?subject=stop>"
    old = a_raw(day=-1, List_Unsubscribe="<https://shop.example/old>")
    [item] = items(an_mbox(tmp_path, a_raw(List_Unsubscribe=field, html=LINK), old))
    assert [(way["method"], way["url"], way["source"]) for way in item["methods"]] == [
        ("http_get", "https://shop.example/u?t=1", "header"),
        ("http_get", "https://shop.example/unsubscribe?u=1", "html"),
        ("email_reply", "mailto:leave@shop.example?subject=stop", "header"),
    ]
    mail = item["methods"][2]
    assert (mail["safe"], mail["to"], mail["subject"]) == (True, "leave@shop.example", "stop")


def test_a_one_click_that_is_not_signed_has_a_warning(tmp_path: Path) -> None:
    post = "List-Unsubscribe=One-Click"
    signature = "v=1; d=shop.example; h=from:list-unsubscribe:list-unsubscribe-post; b=x"
    [unsigned] = items(an_mbox(tmp_path, a_raw(List_Unsubscribe=WEB, List_Unsubscribe_Post=post)))
    mail = a_raw(List_Unsubscribe=WEB, List_Unsubscribe_Post=post, DKIM_Signature=signature)
    [signed] = items(an_mbox(tmp_path, mail))
    assert [way["method"] for way in unsigned["methods"]] == ["one_click"]
    assert [way["warnings"] for way in unsigned["methods"]] == [[seals.why_not(None)]]
    assert [way["warnings"] for way in signed["methods"]] == [[]]


def test_a_sender_without_a_way_out_has_no_methods(tmp_path: Path) -> None:
    [item] = items(an_mbox(tmp_path, a_raw()))
    assert (item["methods"], item["unsubscribe_method"]) == ([], None)


def test_the_surest_comes_first_then_by_sender(tmp_path: Path) -> None:
    senders = ("b@shop.example", "a@shop.example")
    path = an_mbox(tmp_path, *map(a_raw, senders), a_raw("c@shop.example", subject="sale"))
    assert [item["sender_email"][0] for item in items(path)] == ["c", "a", "b"]


def test_there_is_no_limit_of_days(tmp_path: Path) -> None:
    [item] = items(an_mbox(tmp_path, a_raw(day=-9000), a_raw(day=-3000)))
    assert (item["email_count"], item["first_seen"][:4]) == (2, "2002")


def test_a_broken_mail_is_counted_and_stops_nothing(tmp_path: Path) -> None:
    found = audit.audit(an_mbox(tmp_path, a_raw(), b"Subject: nobody sent this\n\nHello\n", a_raw()))
    assert (found["messages"], found["errors"], found["items"][0]["email_count"]) == (2, 1, 2)


def test_an_empty_file_has_nothing_in_it(tmp_path: Path) -> None:
    assert audit.audit(an_mbox(tmp_path)) == {"messages": 0, "errors": 0, "items": []}


def test_nothing_is_written(tmp_path: Path) -> None:
    path = an_mbox(tmp_path, a_raw(html=LINK))
    before = path.read_bytes(), path.stat().st_mtime_ns
    items(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [*tmp_path.iterdir()] == [path]


def test_it_is_told_how_far_it_is(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(audit, "OFTEN", 2)
    told: list[int] = []
    audit.audit(an_mbox(tmp_path, *(a_raw(day=day) for day in range(5))), tell=told.append)
    assert told == [2, 4, 5]


def test_bodies_are_read_for_links(tmp_path: Path) -> None:
    [item] = items(an_mbox(tmp_path, a_raw(html=LINK)))
    assert item["unsubscribe_link"] == "https://shop.example/unsubscribe?u=1"
    assert "+10: a link to unsubscribe in the body" in item["reasons"]


def test_of_a_sender_without_fields_the_newest_ten_bodies_are_read(tmp_path: Path) -> None:
    with_link, without = a_raw(html=LINK), [a_raw(day=day) for day in range(1, 11)]
    [item] = items(an_mbox(tmp_path, *without, with_link))
    assert item["unsubscribe_link"] is None
    [item] = items(an_mbox(tmp_path, *without[1:], with_link))
    assert item["unsubscribe_link"] is not None


def test_what_is_remembered_of_a_sender_stays_small(tmp_path: Path) -> None:
    fields: list[dict[str, str]] = [{}, {"List_Unsubscribe": WEB}]
    path = an_mbox(tmp_path, *(a_raw(day=day, **fields[day % 2]) for day in range(60)))
    found, _ = audit._headers(path, None)
    [sums] = found.values()
    assert (sums.count, len(sums.subjects), len([*sums.wanted()])) == (60, 5, 11)


# The same mails by way of the database


def scanned(db: Database, path: Path) -> list[dict[str, Any]]:
    """What a scan makes of these mails."""
    account = an_account(db, f"{next(numbers)}@example.org")
    with db.write() as tx:
        folder = tx.execute(sa.insert(folders).values(account_id=account, name="INBOX", uid_validity=1))
        assert folder.inserted_primary_key
        same = {"account_id": account, "folder_id": folder.inserted_primary_key[0], "seen_at": NOW}
        found = dict(enumerate(files.mails(path), start=1))
        heads = {uid: head for uid, (head, _) in found.items() if isinstance(head, Head)}
        for uid, head in heads.items():
            # What a file says of when it was received, no server has said.
            came = {name: parsed(head.date_sent) for name in ("date_sent", "came_at")}
            tx.execute(sa.insert(mails).values(**head._asdict() | came | {"received_at": None}, **same, uid=uid))
        for some in bodies.wanted(tx, account).values():
            bodies.store(tx, account, {mail.id: bodies.read(found[mail.uid][1](), mail.sender_email) for mail in some})
        counting.refresh(tx, account, now=NOW)
        listed, _ = subscriptions.listed(tx, subscriptions.Wanted(account=account), page=1, per_page=100)
        shown = [one | {"methods": subscriptions.show(tx, one["id"])["methods"]} for one in listed]
    return [{name: value for name, value in one.items() if name not in ("id", "account")} for one in shown]


what_is_written = st.builds(
    lambda fields, **rest: rest | fields,
    sender=st.sampled_from(["A Shop <a@shop.example>", "a@shop.example", "b@lists.shop.example", "c@gmail.com"]),
    day=st.sampled_from([0, 1, 1.5, 3]),
    subject=st.sampled_from(["Hello", "SALE!", "Your order 12", "The newsletter: a deal"]),
    html=st.sampled_from(["", LINK, "<p>Hello</p>", LINK.replace("shop.example", "elsewhere.example")]),
    fields=st.fixed_dictionaries(
        {},
        optional={
            "List_Unsubscribe": st.sampled_from([WEB, "<mailto:leave@shop.example>", "nothing", f"{WEB}, <ftp://x/>"]),
            "List_Unsubscribe_Post": st.just("List-Unsubscribe=One-Click"),
            "DKIM_Signature": st.just("v=1; d=shop.example; h=from:list-unsubscribe:list-unsubscribe-post; b=x"),
            "List_Id": st.sampled_from(["Shop <shop.example>", "<other.example>"]),
            "List_Post": st.sampled_from(["NO", "<mailto:all@shop.example>"]),
            "Auto_Submitted": st.just("auto-generated"),
            "Precedence": st.just("bulk"),
            "In_Reply_To": st.just("<1@shop.example>"),
        },
    ),
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=st.lists(st.none() | what_is_written, max_size=25))
def test_an_audit_and_a_scan_agree(db: Database, tmp_path: Path, written: list[dict[str, Any] | None]) -> None:
    path = an_mbox(tmp_path, *(a_raw(**one) if one else b"Subject: broken\n\n" for one in written))
    assert items(path) == scanned(db, path)


@pytest.mark.parametrize("day", [0, 1, 2])
def test_they_agree_also_when_a_sender_has_many(db: Database, tmp_path: Path, day: int) -> None:
    fields: list[dict[str, str]] = [{}, {"List_Unsubscribe": WEB}, {"List_Unsubscribe": "nothing"}]
    path = an_mbox(
        tmp_path, *(a_raw(day=(number * 7) % 40, html=LINK, **fields[number % (day + 1)]) for number in range(40))
    )
    [item] = items(path)
    assert [item] == scanned(db, path)
    assert item["email_count"] == 40
    assert item["unsubscribe_link"]
