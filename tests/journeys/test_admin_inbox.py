"""Somebody looks through their own mail in the dashboard: keeps one subscription, leaves another, sees who sends on."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from socket import socket

import pytest
from playwright.sync_api import Browser, Page, expect

from gna import clock
from gna.db import Database
from gna.inbox.ways import Source
from tests.inbox.factories import a_mail, a_subscription, a_way, an_account, an_unsubscribed
from tests.journeys.looks import accessible
from tests.running import Gna, until
from tests.servers import HOST
from tests.servers.certificates import Certificate, make
from tests.servers.dovecot import Dovecot, why_missing
from tests.servers.raw import Raw
from tests.servers.web import Web

LONG = "N" * 10_000
LETTER = """From: The Shop <news@shop.example>
Subject: Summer sale
Date: {date}
Message-ID: <{number}@shop.example>
List-Unsubscribe: <https://shop.example/leave?u=1>

Hello
"""
HOSTILE = f"<b>\u202eevil</b> {LONG}"


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return make(tmp_path / "tls")


@pytest.fixture
def shop(certificate: Certificate) -> Iterator[Web]:
    with Web(tls=certificate.for_server()) as web:
        yield web


@pytest.fixture
def dovecot() -> Iterator[Dovecot]:
    if reason := why_missing():
        pytest.skip(reason)
    with Dovecot() as server:
        yield server


@pytest.fixture
def gna(start: Callable[..., Gna], database_url: str, certificate: Certificate) -> Gna:
    own = {
        "INBOX_ALLOW_PRIVATE_HOSTS": HOST,
        "INBOX_PASSWORD": Dovecot.password,
        "SSL_CERT_FILE": str(certificate.file),
    }
    return start(DATABASE_URL=database_url, JOBS_ENABLED="false", **own)


def filled(db: Database, shop: Web) -> None:
    """A mailbox with a newsletter, one of somebody wicked, and one that was left and sends on."""
    account, now = an_account(db, "ana@example.org"), clock.now()
    way = a_way(shop.serves("/leave", "You have been removed", kind="text/html"), "one_click", Source.HEADER)
    a_subscription(db, account, sender_name="The Shop", way=way, confidence=80)
    wicked = a_way(f"javascript:{LONG}", "invalid", safe=False, error="javascript: addresses are never opened")
    a_subscription(db, account, f"{LONG[:60]}@wicked.example", sender_name=HOSTILE, list_id=LONG, way=wicked)
    sums = {"violation_count": 1, "emails_after_unsubscribe": 1, "last_violation_at": now - timedelta(days=1)}
    left = now - timedelta(days=30)
    an_unsubscribed(db, account, "deals@pushy.example", sender_name="Pushy", at=left, **sums)
    a_mail(db, account, "deals@pushy.example", subject=HOSTILE, sent=now - timedelta(days=1))


def test_nothing_there_yet_teaches_the_commands(gna: Gna, page: Page) -> None:
    page.goto(f"{gna.url}/admin")
    page.keyboard.press("g")
    page.keyboard.press("i")
    expect(page.get_by_role("heading", name="Find out what you are subscribed to")).to_be_visible()
    accessible(page)


def test_a_subscription_is_kept_and_then_left(gna: Gna, db: Database, shop: Web, page: Page) -> None:
    filled(db, shop)
    page.goto(f"{gna.url}/admin/inbox")
    accessible(page)
    page.get_by_role("link", name="The Shop").click()
    expect(page.get_by_role("heading", name="The Shop")).to_be_visible()
    accessible(page)
    page.get_by_role("button", name="Keep", exact=True).click()
    expect(page.get_by_role("status").first).to_contain_text("It is kept")
    expect(page.get_by_text("You cannot be unsubscribed now")).to_be_visible()
    expect(page.get_by_role("button", name="Unsubscribe…")).to_have_count(0)
    page.get_by_role("button", name="Keep no more").click()
    expect(page.get_by_text("It is no longer kept.")).to_be_visible()
    assert not shop.asked
    page.get_by_role("button", name="Unsubscribe…").click()
    dialog = page.get_by_role("dialog", name="Unsubscribe from this sender?")
    expect(dialog).to_contain_text("List-Unsubscribe=One-Click")
    expect(dialog).to_contain_text(shop.at("/leave"))
    accessible(page)
    page.keyboard.press("Escape")
    assert not shop.asked
    page.get_by_role("button", name="Unsubscribe…").click()
    dialog.get_by_role("button", name="Unsubscribe").click()
    expect(page.get_by_role("status").first).to_contain_text("Unsubscribed. The sender's server took the request.")
    assert [(asked.method, asked.path) for asked in shop.asked] == [("POST", "/leave")]
    expect(page.get_by_text("Accepted")).to_be_visible()
    accessible(page)


def test_what_somebody_wicked_wrote_breaks_no_page(gna: Gna, db: Database, shop: Web, page: Page) -> None:
    filled(db, shop)
    page.goto(f"{gna.url}/admin/inbox")
    page.get_by_role("link", name="evil").click()
    expect(page.get_by_text("javascript: addresses are never opened").first).to_be_visible()
    accessible(page)
    page.goto(f"{gna.url}/admin/inbox/violations")
    expect(page.get_by_role("heading", name="Worst offenders")).to_be_visible()
    accessible(page)
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Evidence as CSV").click()
    assert waiting.value.suggested_filename == "violations.csv"
    page.get_by_role("link", name="Pushy").first.click()
    expect(page.get_by_role("heading", name="Mails that came afterwards")).to_be_visible()
    accessible(page)
    assert not shop.asked


def test_a_scan_that_cannot_begin_says_why(gna: Gna, db: Database, shop: Web, page: Page) -> None:
    filled(db, shop)
    page.goto(f"{gna.url}/admin/inbox")
    page.get_by_role("button", name="Scan now: ana@example.org").click()
    expect(page.get_by_role("status").first).to_contain_text("The scan has begun.")
    expect(page.locator("#accounts .down")).to_be_visible()
    accessible(page)


def test_a_scan_fills_the_page(gna: Gna, db: Database, dovecot: Dovecot, page: Page) -> None:
    for number in range(3):
        date = format_datetime(clock.now() - timedelta(days=number))
        dovecot.deliver("ana", LETTER.format(date=date, number=number).encode())
    an_account(db, imap_url=f"imap://ana@{HOST}:{dovecot.port}?tls=none")
    page.goto(f"{gna.url}/admin/inbox")
    page.get_by_role("button", name="Scan now: ana@example.org").click()
    expect(page.get_by_text("3 new mails")).to_be_visible()
    page.get_by_role("link", name="The Shop").click()
    expect(page.get_by_text("https://shop.example/leave?u=1").first).to_be_visible()
    page.goto(f"{gna.url}/admin/inbox")
    page.get_by_role("button", name="Scan now: ana@example.org").click()
    expect(page.get_by_text("0 new mails")).to_be_visible()


def test_a_mailbox_that_hangs_holds_up_neither_the_pages_nor_the_end_of_the_server(
    gna: Gna, db: Database, page: Page
) -> None:
    over = threading.Event()

    def says_nothing(_: socket) -> None:
        over.wait()

    with Raw(says_nothing) as silent:
        an_account(db, imap_url=f"imap://ana@{HOST}:{silent.port}?tls=none")
        page.goto(f"{gna.url}/admin/inbox")
        page.get_by_role("button", name="Scan now: ana@example.org").click()
        until(lambda: silent.connections, 20)
        page.goto(f"{gna.url}/admin/inbox/violations")
        page.goto(f"{gna.url}/admin/inbox")
        expect(page.get_by_text("Scanning", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="Scan now: ana@example.org")).to_be_disabled()
        accessible(page)
        page.goto("about:blank")
        begun = time.monotonic()
        assert gna.stop() == 0
        assert time.monotonic() - begun < 20
        over.set()


def test_several_are_kept_at_once(gna: Gna, db: Database, shop: Web, page: Page) -> None:
    filled(db, shop)
    page.goto(f"{gna.url}/admin/inbox?state=active")
    page.get_by_role("checkbox", name="Choose all on this page").check()
    page.get_by_role("button", name="Keep", exact=True).click()
    expect(page.get_by_text("2 subscriptions are kept.")).to_be_visible()
    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
    page.get_by_role("link", name="Show everything").click()
    page.get_by_role("link", name="Kept", exact=True).click()
    expect(page.get_by_role("link", name="The Shop")).to_be_visible()
    page.get_by_role("searchbox").fill("wicked")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="The Shop")).to_have_count(0)


def test_the_same_without_a_script_and_in_romanian(gna: Gna, db: Database, shop: Web, browser: Browser) -> None:
    filled(db, shop)
    context = browser.new_context(java_script_enabled=False, locale="ro-RO")
    page = context.new_page()
    page.goto(f"{gna.url}/admin/inbox")
    page.get_by_role("button", name="Scanează acum: ana@example.org").click()
    expect(page.get_by_text("Scanarea a început.")).to_be_visible()
    page.goto(f"{gna.url}/admin/inbox")
    page.get_by_role("checkbox", name="Alegeți news@shop.example").check()
    page.get_by_role("button", name="Păstrează", exact=True).click()
    expect(page.get_by_text("1 abonament este păstrat.")).to_be_visible()
    page.get_by_role("link", name="The Shop").click()
    page.get_by_role("button", name="Nu mai păstra").click()
    page.get_by_role("button", name="Dezabonare…").click()
    page.get_by_role("dialog").get_by_role("button", name="Dezabonare").click()
    expect(page.get_by_text("V-ați dezabonat. Serverul expeditorului a primit cererea.")).to_be_visible()
    assert len(shop.asked) == 1
    context.close()
