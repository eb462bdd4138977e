"""The first page of the admin, from an empty database to campaigns that go out, in a real browser."""

from collections.abc import Callable

from playwright.sync_api import Browser, Page, expect

from gna.db import Database
from tests import asking
from tests.factories import readers
from tests.journeys.looks import accessible
from tests.running import Gna

API = "/admin/api/campaigns"


def written(gna: Gna, subject: str) -> str:
    """A campaign; says its id."""
    return str(asking.post(gna.url + API, json={"subject": subject, "body": "<p>Hello</p>"}).json()["id"])


def test_a_new_publication_finds_its_first_steps(start: Callable[..., Gna], database_url: str, page: Page) -> None:
    gna = start(DATABASE_URL=database_url)
    page.goto(f"{gna.url}/admin")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Good")
    expect(page.get_by_role("heading", name="Three steps to your first campaign")).to_be_visible()
    expect(page.get_by_text("dev@localhost").first).to_be_visible()
    accessible(page)
    gna.subscribe("ana@example.org")
    page.reload()
    expect(page.get_by_role("heading", name="Put the form on your website (done)")).to_be_visible()
    expect(page.get_by_role("heading", name="Confirmed subscribers", exact=True)).to_be_visible()
    accessible(page)


def test_a_campaign_is_watched_while_it_goes_out(
    start: Callable[..., Gna], database_url: str, db: Database, page: Page
) -> None:
    readers(db, 60)
    gna = start(DATABASE_URL=database_url, PROCESS_ROLE="api")
    campaign = written(gna, "The quiet web")
    asking.post(f"{gna.url}{API}/{campaign}/send")
    page.goto(f"{gna.url}/admin")
    going = page.locator("[data-redraw]")
    expect(going.get_by_role("link", name="The quiet web")).to_be_visible()
    expect(page.get_by_text("Nothing is sent: no worker runs.")).to_be_visible()
    accessible(page)
    start(command="worker", DATABASE_URL=database_url)
    # The numbers move by themselves, and when it is over the page shows how it ended.
    expect(page.get_by_role("row", name="The quiet web Published")).to_be_visible(timeout=60_000)
    expect(going).to_have_count(0)
    expect(page.locator(".kpi", has_text="Mails sent")).to_contain_text("60")


def test_the_numbers_can_be_read_as_a_table_and_for_another_period(
    start: Callable[..., Gna], database_url: str, db: Database, page: Page
) -> None:
    readers(db, 77)
    gna = start(DATABASE_URL=database_url)
    page.goto(f"{gna.url}/admin")
    expect(page.get_by_role("img", name="Confirmed subscribers by day")).to_be_visible()
    page.get_by_role("link", name="7 days").click()
    expect(page.get_by_role("link", name="7 days")).to_have_attribute("aria-current", "true")
    page.get_by_text("Show as table").first.click()
    expect(page.get_by_role("row").filter(has_text="77")).to_be_visible()
    accessible(page)
    page.set_viewport_size({"width": 390, "height": 800})
    expect(page.get_by_role("img", name="Mails by day")).to_be_visible()
    expect(page.locator(".chart.wide").first).to_be_hidden()


def test_everything_but_what_moves_works_without_a_script(
    start: Callable[..., Gna], database_url: str, db: Database, browser: Browser
) -> None:
    readers(db, 3)
    gna = start(DATABASE_URL=database_url)
    campaign = written(gna, "The quiet web")
    asking.delete(f"{gna.url}{API}/{campaign}")
    context = browser.new_context(java_script_enabled=False, locale="ro")
    page = context.new_page()
    page.goto(f"{gna.url}/admin")
    expect(page.locator(".kpi", has_text="Abonați confirmați")).to_contain_text("3")
    page.get_by_role("link", name="90 de zile").click()
    expect(page.get_by_role("link", name="90 de zile")).to_have_attribute("aria-current", "true")
    page.get_by_text("Afișează ca tabel").first.click()
    expect(page.get_by_role("columnheader", name="Ziua").first).to_be_visible()
    page.get_by_role("link", name="Activitate").click()
    expect(page.get_by_role("heading", name="Activitate", level=1)).to_be_visible()
    context.close()


def test_what_somebody_did_is_found_by_person_and_by_part(
    start: Callable[..., Gna], database_url: str, db: Database, page: Page
) -> None:
    gna = start(DATABASE_URL=database_url)
    page.goto(f"{gna.url}/admin")
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name="Nothing was done yet")).to_be_visible()
    accessible(page)
    [address] = readers(db, 1)
    people = asking.get(f"{gna.url}/admin/api/subscribers").json()["items"]
    asking.delete(f"{gna.url}/admin/api/subscribers/{people[0]['id']}")
    page.reload()
    expect(page.get_by_role("row", name="dev@localhost removed one person")).to_be_visible()
    assert address not in page.content()
    accessible(page)
    page.get_by_role("link", name="dev@localhost").click()
    expect(page.get_by_text("Only dev@localhost")).to_be_visible()
    page.get_by_role("link", name="Letters").click()
    expect(page.get_by_role("heading", name="Nothing of this kind")).to_be_visible()
    accessible(page)
    page.get_by_role("link", name="Show everything").click()
    expect(page.get_by_role("row", name="dev@localhost removed one person")).to_be_visible()
