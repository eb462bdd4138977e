"""An operator reads the settings, copies a form, checks DNS and publishes what was missing."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.journeys.looks import accessible
from tests.running import Gna, until
from tests.servers.dns import Dns


@pytest.fixture
def dns() -> Iterator[Dns]:
    with Dns() as server:
        yield server


@pytest.fixture
def gna(start: Callable[..., Gna], dns: Dns) -> Gna:
    return start(DNS_SERVERS=dns.address, EMAIL_FROM_ADDRESS="News <news@example.com>", UNSUB_SECRET="hunter2")


def test_what_is_configured_and_what_is_to_do(gna: Gna, page: Page) -> None:
    page.goto(f"{gna.url}/admin/settings")
    expect(page.get_by_role("listitem").filter(has_text="A sender of your own")).to_contain_text("Done")
    expect(page.get_by_role("listitem").filter(has_text="A mail server")).to_contain_text("Set EMAIL_PROVIDER=smtp")
    page.get_by_text("Admin and secrets").click()
    expect(page.get_by_role("row", name="UNSUB_SECRET")).to_contain_text("set")
    accessible(page)
    assert "hunter2" not in page.content()


def test_a_form_is_copied(gna: Gna, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{gna.url}/admin/settings")
    page.get_by_role("button", name="Copy: A plain form").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert f'action="{gna.url}/api/subscribe"' in copied
    # What was copied is a form that works.
    page.goto(f"{gna.url}/subscribe")
    page.set_content(copied)
    page.get_by_label("Email").fill("ana@example.org")
    page.get_by_role("button", name="Subscribe").click()
    expect(page.get_by_role("heading", name="Check your inbox")).to_be_visible()


def test_dns_is_mended_by_what_the_page_says(gna: Gna, dns: Dns, page: Page) -> None:
    page.goto(f"{gna.url}/admin/settings")
    page.get_by_role("link", name="DNS check").first.click()
    accessible(page)
    page.get_by_role("button", name="Ask DNS").click()
    expect(page.get_by_text("example.com has no SPF record")).to_be_visible()
    accessible(page)
    for name in ("example.com", "_dmarc.example.com"):
        block = page.locator(".record").filter(has=page.get_by_text(name, exact=True)).first
        dns.says(name, "TXT", block.locator("code").nth(1).inner_text())
    page.get_by_role("button", name="Ask again").click()
    expect(page.get_by_text("There is one SPF record, and it is well")).to_be_visible()
    expect(page.get_by_text("DMARC watches and refuses nothing")).to_be_visible()
    page.get_by_text("What is in DNS now").click()
    expect(page.get_by_text("v=spf1 mx ~all")).to_be_visible()
    accessible(page)


def test_the_check_without_a_script_and_in_romanian(gna: Gna, dns: Dns, browser: Browser) -> None:
    dns.fails()
    context = browser.new_context(java_script_enabled=False, locale="ro-RO")
    page = context.new_page()
    page.goto(f"{gna.url}/admin/settings/dns")
    page.get_by_label("Selector DKIM").fill("s1")
    page.get_by_role("button", name="Întreabă DNS-ul").click()
    expect(page.get_by_text("Asta nu înseamnă că lipsește")).to_have_count(3)
    expect(page.get_by_label("Selector DKIM")).to_have_value("s1")
    expect(page.get_by_role("button", name="Copiază")).to_have_count(0)
    context.close()


def test_the_mailbox_stands_in_the_dashboard(gna: Gna, page: Page) -> None:
    page.goto(f"{gna.url}/admin/mailbox")
    expect(page.get_by_role("heading", name="No mail yet")).to_be_visible()
    accessible(page)
    gna.subscribe("ana@example.org")
    mail = page.get_by_role("listitem").filter(has_text="ana@example.org")

    def has_come() -> int:
        page.get_by_role("link", name="Look again").click()
        return mail.count()

    until(has_come, within=30)
    mail.get_by_role("link").click()
    expect(page.get_by_text("To ana@example.org")).to_be_visible()
    accessible(page)
    page.goto(f"{gna.url}/docs")
    accessible(page)
