"""A mail server that does not know some readers, and the publisher who looks after them, in a real browser."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from gna.db import Database
from tests import asking
from tests.factories import readers, the_subscriber
from tests.journeys.looks import accessible
from tests.running import Gna, until
from tests.servers.smtp import ScriptedSmtp

UNKNOWN = b"550 5.1.1 <%s>: Recipient address rejected: User unknown"


@pytest.fixture
def server() -> Iterator[ScriptedSmtp]:
    """A mail server that does not know three of the readers, nor one who signs up."""
    with ScriptedSmtp() as running:
        for name in ("p0", "p1", "p2", "new"):
            address = f"{name}@example.org"
            running.refuses(address, UNKNOWN % address.encode())
        yield running


@pytest.fixture
def gna(start: Callable[..., Gna], server: ScriptedSmtp, database_url: str) -> Gna:
    """Gna, on its way to that server."""
    return start(DATABASE_URL=database_url, EMAIL_PROVIDER="smtp", SMTP_URL=server.url, ADMIN_EMAIL="me@example.org")


def sends(gna: Gna) -> None:
    """Write a campaign, send it, and wait until it is over."""
    api = f"{gna.url}/admin/api/campaigns"
    campaign = asking.post(api, json={"subject": "Issue 1", "body": "<p>Hello</p>"}).json()["id"]
    asking.post(f"{api}/{campaign}/send")
    until(lambda: asking.get(f"{api}/{campaign}").json()["state"] == "published", within=30)


def listed(gna: Gna, what: str) -> list[str]:
    """The addresses on one of the lists."""
    found = asking.get(f"{gna.url}/admin/api/{what}").json()["items"]
    return sorted(one.get("email") or one["payload"]["email"] for one in found)


def test_who_bounced_is_listed_and_stays_until_removed(gna: Gna, db: Database, page: Page) -> None:
    readers(db, 5)
    page.goto(f"{gna.url}/admin/bounces")
    expect(page.get_by_role("heading", name="No bounces in the last 7 days")).to_be_visible()
    accessible(page)
    sends(gna)
    page.reload()
    expect(page.get_by_role("row")).to_have_count(4)
    row = page.get_by_role("row").filter(has_text="p1@example.org")
    expect(row).to_contain_text("550 5.1.1 <…>: Recipient address rejected: User unknown")
    with db.read() as tx:
        assert the_subscriber(tx, "p1@example.org").activated_at, "nobody is removed by itself"
    accessible(page)
    page.set_viewport_size({"width": 1200, "height": 800})
    page.get_by_role("button", name="Dismiss p0@example.org").click()
    expect(page.get_by_role("status").first).to_have_text("Dismissed. The person stays subscribed.")
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_role("button", name="Remove the person p1@example.org").click()
    dialog = page.get_by_role("dialog", name="Remove the person?")
    expect(dialog).to_contain_text("p1@example.org and everything about them")
    accessible(page)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert listed(gna, "bounces") == ["p1@example.org", "p2@example.org"]
    page.get_by_role("button", name="Remove the person p1@example.org").click()
    dialog.get_by_role("button", name="Remove the person").click()
    expect(page.get_by_role("status").first).to_have_text("1 person was removed.")
    assert listed(gna, "bounces") == ["p2@example.org"]
    with db.read() as tx:
        assert the_subscriber(tx, "p1@example.org") is None
        assert the_subscriber(tx, "p0@example.org")


def test_several_are_removed_at_once(gna: Gna, db: Database, page: Page) -> None:
    readers(db, 4)
    sends(gna)
    page.goto(f"{gna.url}/admin/bounces")
    expect(page.locator("[data-bulk]")).to_be_hidden()
    page.get_by_role("checkbox", name="Choose all").check()
    page.get_by_role("checkbox", name="Choose p2@example.org").uncheck()
    expect(page.locator("[data-bulk]")).to_contain_text("Chosen: 2")
    accessible(page)
    page.set_viewport_size({"width": 1200, "height": 800})
    # A row's own button is about that row, whatever is chosen.
    page.get_by_role("button", name="Dismiss p2@example.org").click()
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_role("checkbox", name="Choose all").check()
    page.get_by_role("button", name="Remove the people").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove the people").click()
    expect(page.get_by_role("status").first).to_have_text("2 people were removed.")
    assert listed(gna, "bounces") == []
    with db.read() as tx:
        assert the_subscriber(tx, "p2@example.org")


def test_a_dead_letter_is_looked_at_and_sent_again(gna: Gna, server: ScriptedSmtp, page: Page) -> None:
    page.goto(f"{gna.url}/admin/dead-letters")
    expect(page.get_by_role("heading", name="No dead letters")).to_be_visible()
    accessible(page)
    gna.subscribe("new@example.org")
    until(lambda: listed(gna, "dead-letters") == ["new@example.org"], within=20)
    page.reload()
    expect(page.get_by_role("row").nth(1)).to_contain_text("Confirmation of a subscription")
    accessible(page)
    page.set_viewport_size({"width": 1200, "height": 800})
    page.get_by_role("link", name="new@example.org").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Confirm")
    expect(page.get_by_text("550 5.1.1 <new@example.org>")).to_be_visible()
    accessible(page)
    # It is refused once more, and comes back.
    page.get_by_role("button", name="Send again").click()
    expect(page.get_by_role("status").first).to_contain_text("On its way again")
    until(lambda: listed(gna, "dead-letters") == ["new@example.org"], within=20)
    server.refuses("new@example.org", b"250 2.1.5 ok")
    page.reload()
    page.get_by_role("button", name="Send all again").click()
    expect(page.get_by_role("status").first).to_have_text("One mail is on its way again.")
    until(lambda: server.recipients == ["new@example.org"], within=20)
    page.reload()
    expect(page.get_by_role("heading", name="No dead letters")).to_be_visible()


def test_all_of_it_works_without_a_script(gna: Gna, db: Database, browser: Browser) -> None:
    readers(db, 4)
    sends(gna)
    gna.subscribe("new@example.org")
    until(lambda: listed(gna, "dead-letters") == ["new@example.org"], within=20)
    context = browser.new_context(java_script_enabled=False, locale="ro", viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(f"{gna.url}/admin/bounces")
    expect(page.get_by_role("heading", level=1)).to_have_text("Adrese respinse")
    page.get_by_role("button", name="Ștergeți persoana p0@example.org").click()
    page.get_by_role("dialog", name="Ștergeți persoana?").get_by_role("button", name="Ștergeți persoana").click()
    expect(page.get_by_role("status").first).to_have_text("1 persoană a fost ștearsă.")
    for name in ("p1", "p2"):
        page.get_by_role("checkbox", name=f"Alegeți {name}@example.org").check()
    page.locator("[data-bulk]").get_by_role("button", name="Scoateți din listă").click()
    expect(page.get_by_role("status").first).to_contain_text("2 scoase din listă")
    assert listed(gna, "bounces") == ["new@example.org"]
    page.goto(f"{gna.url}/admin/dead-letters")
    page.get_by_role("link", name="new@example.org").click()
    page.get_by_role("button", name="Aruncați").click()
    page.get_by_role("dialog", name="Aruncați mesajul?").get_by_role("button", name="Aruncați").click()
    expect(page.get_by_role("status").first).to_have_text("Aruncat, împreună cu mesajul său.")
    expect(page.get_by_role("heading", name="Niciun mesaj abandonat")).to_be_visible()
    assert listed(gna, "dead-letters") == []
    context.close()
