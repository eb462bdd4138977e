"""What went out is read again: whatever a publisher wrote, on any screen."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from gna.db import Database
from tests.factories import readers
from tests.running import Gna, until

WORD = "Donaudampfschifffahrtsgesellschaft" * 9
HEBREW = "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd"
ROW = "".join(f"<td>column{n} with <code>words{n}</code></td>" for n in range(30))
WIDE = (
    f"<h3>{WORD}</h3><p>{WORD}</p><ul><li>{WORD}<ol><li>{WORD}</li></ol></li></ul><p>{HEBREW}</p>"
    f"<table><tr><th>First</th><th>Second</th></tr><tr>{ROW}</tr></table><table width='5000'><tr>{ROW}</tr></table>"
    f"<pre><code>{'wide code ' * 100}\n{WORD}</code></pre><blockquote><p>{WORD}</p></blockquote><hr width='5000'>"
    "<p><img src='/static/icon.svg' alt='Wide' width='5000' height='40'></p>"
)
WIDTHS = "[...document.querySelectorAll('.reading img, .reading hr, .wide')].map(element => element.offsetWidth)"


def publish(gna: Gna, page: Page, subject: str, body: str) -> str:
    """Write and send a campaign; says where it is read."""
    api = f"{gna.url}/admin/api/campaigns"
    campaign = page.request.post(api, data={"subject": subject, "body": body}).json()["id"]
    assert page.request.post(f"{api}/{campaign}/send").ok
    # It is there from its first mail on.
    until(lambda: gna.status(f"/archive/{campaign}") == 200, within=15)
    return f"{gna.url}/archive/{campaign}"


def test_in_a_browser_without_a_violation_and_nothing_scrolls_sideways(
    start: Callable[..., Gna], database_url: str, db: Database, page: Page, look: Callable[[Page], None]
) -> None:
    gna = start(DATABASE_URL=database_url)
    readers(db, 1)
    page.goto(f"{gna.url}/archive")
    look(page)
    plain = publish(gna, page, "Plain", "<h1>Hello</h1><p>Text, and <a href='https://example.org'>a link</a></p>")
    wide = publish(gna, page, WORD[:250], WIDE)
    publish(gna, page, HEBREW, f"<p>{HEBREW}</p>")
    page.reload()
    look(page)
    page.get_by_role("link", name=WORD[:250]).click()
    expect(page).to_have_url(wide)
    look(page)
    page.set_viewport_size({"width": 390, "height": 800})
    assert max(page.evaluate(WIDTHS)) <= 390
    page.get_by_role("link", name="Older").click()
    expect(page).to_have_url(plain)
    look(page)
    page.get_by_role("textbox", name="Email").fill("ana@example.org")
    page.get_by_role("button", name="Subscribe").click()
    expect(page.get_by_role("heading")).to_have_text("Check your inbox")
    page.get_by_role("link", name="Archive").click()
    expect(page.get_by_role("heading", name="Archive")).to_be_visible()
