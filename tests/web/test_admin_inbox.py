"""The pages of the inbox: what they show, what their forms do, and that nothing a stranger wrote can do any harm."""

import csv
import io
import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna import clock
from gna.activity import Verb, activity
from gna.config import Settings
from gna.db import Database
from gna.inbox import detect, seals, unsubscribe
from gna.inbox.doubts import STRANGER
from gna.inbox.method import What
from gna.inbox.request import CONFIRM
from gna.inbox.scan import Scanned
from gna.inbox.table import s, subscriptions
from gna.inbox.violations import Grace
from gna.inbox.ways import Source
from gna.web.desk import inbox as desk
from gna.web.pages.admin.inbox_reasons import ADVICE, HINTS, REFUSALS, in_words
from gna.web.pages.admin.inbox_words import GRACE, KINDS, METHODS, OUTCOMES, SOURCES, state_of
from gna.web.pages.admin.words import UNSEEN, plain
from tests.conftest import settings_for
from tests.inbox.factories import a_mail, a_subscription, a_way, an_account, an_attempt, an_unsubscribed
from tests.running import until
from tests.servers import HOST
from tests.servers.web import Web

HTML = {"Accept": "text/html"}
PAGES = "/admin/inbox"
HOSTILE = (
    "<script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    '"><a href="javascript:alert(1)">x</a>',
    "{{ 7 * 7 }}{% raw %}%(num)s %s",
    "\u202egnp.exe\u202c\u2066\u200f",
    "\x1b[31mred\x1b[0m\x07\x08",
    "N" * 10_000,
    "&lt;b&gt; &amp; <b>",
)


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return settings_for(database_url, tmp_path, INBOX_ALLOW_PRIVATE_HOSTS=HOST, INBOX_REQUEST_DELAY="0")


@pytest.fixture
def shop() -> Iterator[Web]:
    with Web() as web:
        yield web


def shown(client: TestClient, path: str = "", **headers: str) -> str:
    answer = client.get(f"{PAGES}{path}", headers=HTML | headers)
    assert answer.status_code == 200, answer.text
    return answer.text


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def send(client: TestClient, path: str, **fields: Any) -> Any:
    return client.post(f"{PAGES}{path}", data=fields, headers=HTML)


def leave(client: TestClient, db: Database, subscription: int) -> Any:
    """Press the button that belongs to what the page shows."""
    row = stored(db, subscription)
    return send(client, f"/{subscription}/unsubscribe", method=row.unsubscribe_method, url=row.unsubscribe_link)


def said(client: TestClient, answer: Any) -> str:
    """The message that the next page shows."""
    assert answer.status_code == 303, answer.text
    page = client.get(answer.headers["location"], headers=HTML)
    assert page.status_code == 200
    return " ".join(re.findall(r'<p class="note said[^>]*>(.*?)</p>', page.text))


def noted(db: Database) -> list[tuple[str, str, str | None]]:
    with db.read() as tx:
        rows = tx.execute(sa.select(activity).order_by(activity.c.id)).all()
    return [(row.verb, row.about, row.target) for row in rows]


def stored(db: Database, subscription: int) -> Any:
    with db.read() as tx:
        return tx.execute(sa.select(subscriptions).where(s.id == subscription)).one()


def test_an_empty_inbox_teaches_the_commands(client: TestClient) -> None:
    page = shown(client)
    for command in ("gna inbox account add", "gna inbox scan", "gna inbox audit"):
        assert command in page
    assert "Scan now" not in page


def test_a_mailbox_without_subscriptions_says_how_to_find_them(client: TestClient, db: Database) -> None:
    an_account(db, "ana@example.org")
    page = shown(client)
    assert "No subscription was found yet" in page
    assert "ana@example.org" in page
    assert "Scan now" in page


def test_a_subscription_is_shown_with_all_that_matters(client: TestClient, db: Database) -> None:
    account = an_account(db)
    unsafe = a_way("http://shop.example/setup.exe", safe=False, error="The address leads to a download (.exe)")
    its: dict[str, Any] = {"sender_name": "The Shop", "confidence": 87, "email_count": 1234, "way": unsafe}
    one = a_subscription(db, account, "news@shop.example", **its)
    page = words(shown(client))
    for text in ("The Shop", "news@shop.example", "Newsletter", "87", "1,234", "Link Not safe to use", "Active"):
        assert text in page
    assert f'href="/admin/inbox/{one}"' in shown(client)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"plain", "kept", "left", "sends"}),
        ("?state=active", {"plain"}),
        ("?state=kept", {"kept"}),
        ("?state=unsubscribed", {"left", "sends"}),
        ("?state=sending", {"sends"}),
        ("?kind=discussion", {"kept"}),
        ("?kind=personal", set()),
        ("?q=LEFT", {"left"}),
        ("?q=%25", set()),
        ("?kind=newsletter&state=unsubscribed&q=sends", {"sends"}),
    ],
)
def test_the_list_is_narrowed_by_state_kind_and_text(
    client: TestClient, db: Database, query: str, found: set[str]
) -> None:
    account = an_account(db)
    a_subscription(db, account, "plain@shop.example")
    a_subscription(db, account, "kept@shop.example", kept=True, kind="discussion")
    an_unsubscribed(db, account, "left@shop.example")
    an_unsubscribed(db, account, "sends@shop.example", violation_count=2, emails_after_unsubscribe=2)
    assert set(re.findall(r"(\w+)@shop\.example", shown(client, query))) == found


def test_the_list_is_by_score_or_newest_first_and_in_pages(client: TestClient, db: Database) -> None:
    account, now = an_account(db), clock.now()
    for number in range(4):
        seen = now - timedelta(days=number)
        a_subscription(db, account, f"n{number}@shop.example", confidence=20 + number, last_seen=seen)

    def order(query: str) -> list[str]:
        return re.findall(r'class="row"[^>]*><bdi>(n\d)@', shown(client, query))

    assert order("") == ["n3", "n2", "n1", "n0"]
    assert order("?sort=newest") == ["n0", "n1", "n2", "n3"]
    assert order("?per_page=3&page=2") == ["n0"]
    assert client.get(f"{PAGES}?per_page=3&page=9", headers=HTML).headers["location"].endswith("page=2")


@pytest.mark.parametrize(
    "query", ["?kind=spam", "?state=gone", "?sort=worst", f"?q={'x' * 201}", "?q=%00", "?page=0", "?page=x"]
)
def test_what_cannot_be_asked_for_is_refused(client: TestClient, query: str) -> None:
    assert client.get(PAGES + query, headers=HTML).status_code == 400


@pytest.mark.parametrize("path", ["/0", "/99", "/x", "/99999999999", "/-1", "/1%00", "/%F0%9F%99%82"])
def test_what_is_not_there_is_not_found(client: TestClient, db: Database, path: str) -> None:
    assert client.get(PAGES + path, headers=HTML).status_code == 404
    for action in ("keep", "unkeep", "unsubscribe"):
        assert client.post(f"{PAGES}{path}/{action}").status_code == 404
    assert client.post(f"{PAGES}/accounts{path}/scan").status_code == 404
    assert noted(db) == []


def test_keeping_is_a_switch_and_is_written_down(client: TestClient, db: Database) -> None:
    one = a_subscription(db, an_account(db), way=a_way())
    assert said(client, send(client, f"/{one}/keep")).startswith("It is kept")
    assert stored(db, one).keep_subscription
    page = shown(client, f"/{one}")
    assert "You cannot be unsubscribed now: Subscription marked to keep (skip unsubscribe)." in page
    assert f"{PAGES}/{one}/unsubscribe" not in page
    assert said(client, send(client, f"/{one}/unkeep")) == "It is no longer kept."
    assert not stored(db, one).keep_subscription
    about = (str(one), str(one))
    assert noted(db) == [(Verb.INBOX_KEPT, *about), (Verb.INBOX_UNKEPT, *about)]
    assert f'href="/admin/inbox/{one}"' in client.get("/admin/activity?area=inbox", headers=HTML).text


def test_hosts_that_are_allowed_are_safe_in_the_list_and_when_one_is_kept_no_more(
    client: TestClient, db: Database
) -> None:
    account = an_account(db)
    private = a_way(f"https://{HOST}/u?t=1", safe=False, error="The address is a number instead of a name")
    kept = a_subscription(db, account, way=private, kept=True)
    a_mail(db, account, list_unsubscribe=f"<mailto:leave@shop.example>, <https://{HOST}/u?t=1>")
    assert "Not safe" not in shown(client)
    send(client, f"/{kept}/unkeep")
    assert stored(db, kept).unsubscribe_link == f"https://{HOST}/u?t=1"


def test_several_are_kept_at_once(client: TestClient, db: Database) -> None:
    account = an_account(db)
    some = [a_subscription(db, account, f"news@shop{number}.example") for number in range(3)]
    assert said(client, send(client, "/some", id=[*some[:2], some[0]], do="keep")) == "2 subscriptions are kept."
    assert [stored(db, one).keep_subscription for one in some] == [True, True, False]
    back = {"Referer": f"http://127.0.0.1:8000{PAGES}?state=kept", **HTML}
    answer = client.post(f"{PAGES}/some", data={"id": some[:2], "do": "unkeep"}, headers=back)
    assert said(client, answer) == "2 subscriptions are no longer kept."
    assert noted(db)[0] == (Verb.INBOX_KEPT, f"{some[0]}, {some[1]}", None)
    refused = client.post(f"{PAGES}/some", data={"do": "keep"}, headers=back)
    assert said(client, refused) == "Choose something first."


def test_one_subscription_says_why_it_is_one_and_how_to_leave(client: TestClient, db: Database) -> None:
    account = an_account(db, "ana@example.org")
    reasons = ["15: every sender starts here", "+30: 24 emails", "+10: sale in subjects"]
    one = a_subscription(
        db, account, confidence=55, reasons=reasons, list_id="news.shop.example", kind="transactional", way=a_way()
    )
    page = words(shown(client, f"/{one}"))
    for text in (
        "every sender starts here 15",
        "mails: 24 +30",
        "sale in subjects +10",
        "news.shop.example",
        "Orders, receipts",
        "This is advice",
        "ana@example.org",
        "https://shop.example/unsubscribe?u=1",
        "None yet.",
    ):
        assert text in page


def test_the_dialog_says_exactly_what_is_sent(client: TestClient, db: Database) -> None:
    account = an_account(db, "ana@example.org", smtp_url="smtp://mail.example.org:587")
    one_click = a_way("https://shop.example/u/1", "one_click", Source.HEADER)
    form = a_way("https://shop.example/leave", "http_post", fields=(("id", "1"), ("id", "2")))
    mail = a_way(
        "mailto:leave@shop.example?subject=off", "email_reply", to="leave@shop.example", subject="off", body="Please"
    )
    said_of = {
        a_subscription(db, account, "a@shop.example", way=one_click): "POST Host shop.example Address "
        "https://shop.example/u/1 Sent along List-Unsubscribe=One-Click",
        a_subscription(db, account, "b@shop.example", way=form): "POST Host shop.example Address "
        "https://shop.example/leave Sent along id=1 id=2",
        a_subscription(db, account, "c@shop.example", way=a_way()): "GET Host shop.example Address "
        "https://shop.example/unsubscribe?u=1",
        a_subscription(db, account, "d@shop.example", way=mail): "From ana@example.org To leave@shop.example "
        "Subject off Text Please",
    }
    for one, text in said_of.items():
        page = shown(client, f"/{one}")
        assert text in words(page[page.index('id="leave"') :])


def dialog(client: TestClient, one: int, **headers: str) -> str:
    page = shown(client, f"/{one}", **headers)
    return words(page[page.index('id="leave"') :])


def test_the_dialog_names_the_sender_and_every_warning(client: TestClient, db: Database) -> None:
    account = an_account(db)
    way = a_way("https://shop.example/u/1", "one_click", Source.HEADER, warnings=("mind this",))
    one = a_subscription(db, account, way=way, sender_name="The Shop", kind="transactional", email_count=1)
    asked = dialog(client, one)
    for text in ("The Shop news@shop.example", "Transactional Orders, receipts", "mind this", seals.why_not(None)):
        assert str(text) in asked
    assert STRANGER in asked
    assert "S-a văzut un singur mesaj" in dialog(client, one, **{"Accept-Language": "ro"})
    sealed = a_mail(db, account, seal={"covered": True, "passed": True, "by": "shop.example"})
    other = a_subscription(db, account, "b@shop.example", way=way, email_count=2, way_mail_id=sealed)
    assert "DKIM" not in dialog(client, other)
    assert STRANGER not in dialog(client, other)


def test_the_dialog_shows_the_last_three_attempts(client: TestClient, db: Database) -> None:
    one = a_subscription(db, an_account(db), way=a_way())
    assert "tried before" not in dialog(client, one)
    for code in (501, 502):
        an_attempt(db, one, status="failed", outcome="refused", response_code=code)
    for code in (503, 504):
        an_attempt(db, one, outcome="redirected", response_code=code)
    asked = dialog(client, one)
    assert asked.count("Refused") == 1
    assert [code for code in range(501, 505) if str(code) in asked] == [502, 503, 504]


def test_leaving_says_honestly_what_came_of_it(client: TestClient, db: Database, shop: Web) -> None:
    url = shop.serves("/leave", "You have been removed", kind="text/html")
    one = a_subscription(db, an_account(db), way=a_way(url))
    assert said(client, leave(client, db, one)).startswith("The page answered. Whether")
    assert [asked.path for asked in shop.asked] == ["/leave"]
    assert stored(db, one).unsubscribe_status == "unsubscribed"
    page = words(shown(client, f"/{one}"))
    assert "Page opened" in page
    assert "You unsubscribed" in page
    assert noted(db) == [(Verb.INBOX_LEFT, str(one), str(one))]
    again = said(client, leave(client, db, one))
    assert again.startswith("It did not work: Already unsubscribed.")
    assert len(shop.asked) == len(noted(db)) == 1


def test_what_a_server_took_is_an_unsubscribe(client: TestClient, db: Database, shop: Web) -> None:
    one = a_subscription(db, an_account(db), way=a_way(shop.serves("/leave"), "http_post"))
    assert said(client, leave(client, db, one)).startswith("Unsubscribed. The sender")


def test_a_page_that_asks_for_more_is_remembered(client: TestClient, db: Database, shop: Web) -> None:
    url = shop.serves("/leave", "<form><button>Yes, really</button></form>", kind="text/html")
    one = a_subscription(db, an_account(db), way=a_way(url))
    leave(client, db, one)
    assert CONFIRM in words(shown(client, f"/{one}"))
    assert "Pagina cere o confirmare" in words(shown(client, f"/{one}", **{"Accept-Language": "ro"}))


def test_the_button_belongs_to_the_way_that_the_page_shows(client: TestClient, db: Database, shop: Web) -> None:
    url, other = shop.serves("/leave?a=1&b=%22"), shop.serves("/other")
    one = a_subscription(db, an_account(db), way=a_way(url))
    shown_there = dict(
        re.findall(r'<input type="hidden" name="(method|url)" value="([^"]*)">', shown(client, f"/{one}"))
    )
    fields = {name: unescape(value) for name, value in shown_there.items()}
    assert fields == {"method": "http_get", "url": url}
    with db.write() as tx:
        tx.execute(sa.update(subscriptions).values(unsubscribe_link=other, ways=[a_way(other).stored()]))
    for sent in (fields, {}):
        answer = said(client, send(client, f"/{one}/unsubscribe", **sent))
        assert answer.startswith("It did not work: A newer mail has another way out")
    assert shop.asked == []


def test_a_failure_is_told_and_stays_visible(client: TestClient, db: Database, shop: Web) -> None:
    url = shop.serves("/leave", status=410)
    one = a_subscription(db, an_account(db), way=a_way(url))
    for _ in range(3):
        assert "It did not work: " in said(client, leave(client, db, one))
    page = words(shown(client, f"/{one}"))
    assert page.count("The server said no") == 3
    assert "You cannot be unsubscribed now: Max attempts (3) reached." in page
    assert [verb for verb, _, _ in noted(db)] == [Verb.INBOX_TRIED] * 3
    assert len(shop.asked) == 3


def test_what_is_not_safe_is_said_and_not_offered(client: TestClient, db: Database) -> None:
    way = a_way("https://10.0.0.7/leave", safe=False, error="The address is a number instead of a name")
    one = a_subscription(db, an_account(db), way=way)
    page = shown(client, f"/{one}")
    assert "You cannot be unsubscribed now: The address is a number" in page
    assert f"{PAGES}/{one}/unsubscribe" not in page
    assert "It did not work: The address is a number" in said(client, leave(client, db, one))
    assert noted(db) == []


def test_a_scan_runs_aside_and_its_end_is_shown(client: TestClient, db: Database) -> None:
    account = an_account(db)
    assert said(client, send(client, f"/accounts/{account}/scan")).startswith("The scan has begun")
    [run] = desk._scans[db].values()
    until(lambda: not run.is_running, 30)
    page = shown(client)
    assert "There is no password" in page
    assert "data-redraw" not in page
    assert noted(db) == [(Verb.INBOX_SCANNED, "", None)]


def test_a_mailbox_is_scanned_once_at_a_time(client: TestClient, db: Database) -> None:
    account, other = an_account(db, "ana@example.org"), an_account(db, "ion@example.org")
    desk._scans[db] = {account: desk.Scan()}
    page = shown(client)
    assert 'data-redraw="1500"' in page
    assert '<noscript><meta http-equiv="refresh"' in page
    assert page.count("disabled") == 1
    back = {"Referer": f"http://127.0.0.1:8000{PAGES}", **HTML}
    again = client.post(f"{PAGES}/accounts/{account}/scan", headers=back)
    assert said(client, again) == "This mailbox is being scanned already."
    assert said(client, send(client, f"/accounts/{other}/scan")).startswith("The scan has begun")


def test_a_scan_that_breaks_says_so_and_names_nothing(
    client: TestClient, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr("gna.inbox.scan.scan", breaks)
    account = an_account(db)
    send(client, f"/accounts/{account}/scan")
    until(lambda: not desk._scans[db][account].is_running, 30)
    page = shown(client)
    assert "The scan failed; the server's log says more." in page
    assert "secret words" not in page


def test_a_scan_that_did_not_see_all_says_why(
    client: TestClient, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Scanned(3, 0, 0, 1, error="The mail server ended the connection")
    monkeypatch.setattr("gna.inbox.scan.scan", lambda *_, **__: found)
    account = an_account(db)
    send(client, f"/accounts/{account}/scan")
    until(lambda: not desk._scans[db][account].is_running, 30)
    assert "The mail server ended the connection" in shown(client)


@pytest.fixture
def offender(db: Database) -> int:
    """A sender that was left three weeks ago, and wrote on."""
    account, now = an_account(db), clock.now()
    sums: dict[str, Any] = {
        "violation_count": 2,
        "emails_after_unsubscribe": 2,
        "last_violation_at": now - timedelta(days=1),
    }
    one = an_unsubscribed(db, account, at=now - timedelta(days=21), sender_name="=The Shop", **sums)
    an_attempt(db, one, at=now - timedelta(days=21))
    a_mail(db, account, subject="before", sent=now - timedelta(days=22))
    a_mail(db, account, subject="=cmd()", sent=now - timedelta(days=20))
    a_mail(db, account, subject="still here", sent=now - timedelta(days=1))
    return one


def test_who_kept_sending_is_shown_with_a_chart(client: TestClient, offender: int) -> None:
    page = shown(client, "/violations")
    assert "=The Shop" in page
    assert ">Violation<" in page
    assert f'href="/admin/inbox/{offender}"' in page
    [chart] = re.findall(r'<svg class="chart wide".*?</svg>', page, re.DOTALL)
    assert chart.count("<title>") == 30
    assert "Still sending" in shown(client)
    one = words(shown(client, f"/{offender}"))
    assert "2 mails came after you had unsubscribed. That is later" in one
    assert "still here" in one
    assert "before" not in one


def test_when_nobody_kept_sending_the_page_says_so(client: TestClient) -> None:
    page = shown(client, "/violations")
    assert "Nobody kept sending" in page
    assert "violations.csv" not in page


@pytest.mark.usefixtures("offender")
def test_the_evidence_can_be_taken_away_and_that_is_noted(client: TestClient, db: Database) -> None:
    sheet = client.get(f"{PAGES}/violations.csv")
    assert sheet.headers["Content-Disposition"] == 'attachment; filename="violations.csv"'
    rows = list(csv.DictReader(io.StringIO(sheet.text.removeprefix("\ufeff"))))
    assert [row["subject"] for row in rows] == ["'=cmd()", "still here"]
    document = client.get(f"{PAGES}/violations.json")
    assert document.headers["Content-Disposition"] == 'attachment; filename="violations.json"'
    assert [row["grace"] for row in document.json()["items"]] == ["late", "violation"]
    client.head(f"{PAGES}/violations.csv")
    assert noted(db) == [(Verb.INBOX_EXPORTED, "2", None)] * 2
    assert "exported 2 mails that came after an unsubscribe" in words(client.get("/admin/activity", headers=HTML).text)


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_what_a_stranger_wrote_is_text(client: TestClient, db: Database, hostile: str) -> None:
    account, now = an_account(db), clock.now()
    url = f"javascript:{hostile[:500]}"
    way = a_way(url, "invalid", safe=False, error="javascript: addresses are never opened", warnings=(hostile[:200],))
    columns = {"sender_name": hostile, "list_id": hostile, "violation_count": 1, "emails_after_unsubscribe": 1}
    one = an_unsubscribed(
        db, account, f"{hostile[:60].lower()}@shop.example", at=now - timedelta(days=9), way=way,
        last_violation_at=now, **columns,
    )  # fmt: skip
    a_mail(db, account, f"{hostile[:60].lower()}@shop.example", subject=hostile, list_unsubscribe=f"<{url}>")
    an_attempt(db, one, url=url, error_message=hostile, status="failed", outcome="refused")
    for path in ("", f"/{one}", "/violations"):
        page = shown(client, path)
        assert "<script>alert" not in page
        assert "onerror=alert(1)>" not in page.replace("&gt;", "")
        assert 'href="javascript' not in page
        assert not UNSEEN.search(page)
        assert len(page) < 60_000
        assert "49" not in re.findall(r"<bdi>(.*?)</bdi>", page)


def test_no_address_of_a_mail_is_a_link(client: TestClient, db: Database) -> None:
    one = a_subscription(db, an_account(db), way=a_way())
    an_attempt(db, one)
    page = shown(client, f"/{one}")
    assert "https://shop.example/unsubscribe?u=1" in page
    links = re.findall(r'\s(?:href|src|action|formaction)="([^"]*)"', page)
    assert not [link for link in links if not link.startswith(("/", "?", "#"))]


def test_half_a_letter_does_not_break_a_page(client: TestClient, db: Database) -> None:
    if db.kind != "sqlite":
        pytest.skip("PostgreSQL keeps no such letters")
    way = a_way("https://shop.example/\ud800")
    one = a_subscription(db, an_account(db), way=way, unsubscribe_link="https://shop.example/")
    assert "https://shop.example/\ufffd" in shown(client, f"/{one}")


def test_a_cross_site_form_changes_nothing(client: TestClient, db: Database, shop: Web) -> None:
    account = an_account(db)
    one = a_subscription(db, account, way=a_way(shop.serves("/leave")))
    for path in (f"/{one}/keep", f"/{one}/unsubscribe", f"/accounts/{account}/scan", "/some"):
        answer = client.post(PAGES + path, data={"id": one}, headers=HTML | {"Sec-Fetch-Site": "cross-site"})
        assert answer.status_code == 403
    assert noted(db) == []
    assert not shop.asked


@pytest.mark.parametrize("lang", ["en", "ro"])
def test_every_page_speaks_the_visitors_language(client: TestClient, db: Database, offender: int, lang: str) -> None:
    for path in ("", "?q=nobody", f"/{offender}", "/violations"):
        page = shown(client, path, **{"Accept-Language": lang})
        assert f'<html lang="{lang}">' in page
        assert "%(" not in page
    romanian = words(shown(client, f"/{offender}", **{"Accept-Language": "ro"}))
    assert "2 mesaje au venit după ce v-ați dezabonat." in romanian


@pytest.mark.parametrize(
    ("its", "state"),
    [
        ({}, "active"),
        ({"keep_subscription": True}, "kept"),
        ({"unsubscribe_status": "unsubscribed"}, "unsubscribed"),
        ({"unsubscribe_status": "unsubscribed", "keep_subscription": True}, "unsubscribed"),
        ({"unsubscribe_status": "unsubscribed", "emails_after_unsubscribe": 3}, "sending"),
    ],
)
def test_how_a_subscription_stands(its: dict[str, Any], state: str) -> None:
    usual = {"unsubscribe_status": "active", "keep_subscription": False, "emails_after_unsubscribe": 0}
    assert state_of(usual | its) == state


def test_the_words_are_those_of_the_inbox() -> None:
    from gna.inbox import methods

    assert set(KINDS) == set(detect.Kind)
    assert set(ADVICE) == set(detect.ADVICE.values())
    assert set(OUTCOMES) >= set(What)
    assert set(METHODS) == {*(method.name for method in methods.known()), methods.INVALID}
    assert set(SOURCES) == set(Source)
    assert set(GRACE) == set(Grace)
    refusals = {unsubscribe.KEPT, unsubscribe.ALREADY, unsubscribe.NO_LINK, unsubscribe.UNDER_WAY}
    assert refusals | {unsubscribe.CHANGED, unsubscribe.NO_SMTP, STRANGER} <= set(REFUSALS)
    assert set(HINTS) == {CONFIRM}


def test_reasons_are_said_in_romanian() -> None:
    evidence = detect.Evidence("a@shop.example", 24, 3, has_header=True, has_body_link=True, same_domain=True)
    for reason in detect.score(evidence).reasons:
        why = reason.partition(": ")[2]
        assert in_words(why, "ro") != why
    assert in_words("Max attempts (3) reached", "en") == "Max attempts (3) reached"
    assert in_words("50% off in subjects", "ro") == "50% off în subiecte"
    assert in_words("nobody knows 100% of it", "ro") == "nobody knows 100% of it"


def test_letters_that_cannot_be_seen_are_seen() -> None:
    assert plain("a\u202eb\x1b\x00c\nd\te") == "a\ufffdb\ufffd\ufffdc\nd\te"
    assert plain(None) == ""
    assert plain("x" * 10, 4) == "xxxx…"
    assert plain("👩\u200d👩 ăîș") == "👩\u200d👩 ăîș"
