"""The first promise: a visitor signs up, reads the mail, clicks, and is in."""

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from gna.db import Database
from tests import asking
from tests.factories import the_subscriber
from tests.running import Gna, until


def link_in_mailbox(gna: Gna) -> str:
    """The confirmation link on the mailbox page."""
    found = re.search(r'href="([^"]*/confirm\?token=[^"]*)"', asking.get(f"{gna.url}/admin/mailbox").text)
    return found[1] if found else ""


def test_with_nothing_but_http(start: Callable[..., Gna], database_url: str) -> None:
    gna = start(DATABASE_URL=database_url)
    assert "Read mails" in gna.log.read_text()
    answer = gna.subscribe("ana@example.org")
    assert (answer.status_code, answer.json()) == (201, {"status": "confirmation_sent"})
    until(lambda: link_in_mailbox(gna), within=5)
    link = link_in_mailbox(gna)
    assert link.startswith(gna.url)
    landed = asking.get(link, follow_redirects=True)
    assert (landed.status_code, landed.url.path) == (200, "/confirmed")
    db = Database(database_url)
    with db.read() as tx:
        assert the_subscriber(tx, "ana@example.org").activated_at is not None
    db.close()
    assert gna.stop() == 0


def test_in_a_browser_on_every_page_without_a_violation(
    start: Callable[..., Gna], database_url: str, page: Page, look: Callable[[Page], None]
) -> None:
    gna = start(DATABASE_URL=database_url)
    page.goto(gna.url)
    look(page)
    page.get_by_label("Email").fill("ana@example.org")
    page.get_by_label("Name").fill("Ana")
    page.get_by_role("button", name="Subscribe").click()
    expect(page.get_by_role("heading")).to_have_text("Check your inbox")
    look(page)
    until(lambda: link_in_mailbox(gna), within=5)
    page.goto(f"{gna.url}/admin/mailbox")
    look(page)
    mail = page.frame_locator("iframe")
    with page.context.expect_page() as opened:
        mail.get_by_role("link", name="Confirm my subscription").click()
    expect(opened.value.get_by_role("heading")).to_have_text("You are in")
    look(opened.value)
    page.goto(f"{gna.url}/docs")
    look(page)
    page.goto(f"{gna.url}/admin/mailbox")
    expect(page.get_by_role("heading", name="Mailbox")).to_be_visible()


def test_the_mail_of_an_api_process_is_sent_by_a_worker(
    start: Callable[..., Gna], database_url: str, tmp_path: Path
) -> None:
    shared = {"DATABASE_URL": database_url, "MAILBOX_DIR": str(tmp_path / "mailbox")}
    api = start(**shared, PROCESS_ROLE="api")
    assert api.subscribe("ana@example.org").status_code == 201
    assert not (tmp_path / "mailbox").exists()
    worker = start(command="worker", **shared)
    until(lambda: list((tmp_path / "mailbox").glob("*.eml")), within=15)
    assert worker.stop() == 0
