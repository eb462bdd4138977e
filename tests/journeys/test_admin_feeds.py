"""A publisher follows a blog from the dashboard: adds it, looks, sees it fail and mend, and lets it go."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.blog import Blog
from tests.journeys.looks import accessible
from tests.running import Gna


@pytest.fixture
def gna(start: Callable[..., Gna]) -> Gna:
    return start(FEEDS_ALLOW_PRIVATE="true", FEED_CHECK_INTERVAL="1d")


def test_a_feed_from_its_first_look_to_its_end(gna: Gna, blog: Blog, page: Page) -> None:
    page.goto(f"{gna.url}/admin/feeds")
    expect(page.get_by_role("heading", name="Let your website write the campaigns")).to_be_visible()
    accessible(page)
    page.get_by_role("main").get_by_role("link", name="Add a feed").first.click()
    accessible(page)
    page.get_by_label("Address of the feed").fill(blog.url)
    page.get_by_label("waits for me as a draft").check()
    _only_what_counts_is_asked_for(page)
    page.get_by_role("button", name="Add the feed").click()
    expect(page.get_by_role("status").first).to_contain_text("Feed added.")
    page.get_by_role("button", name="Look now").click()
    expect(page.get_by_role("heading", name="The Quiet Blog")).to_be_visible()
    blog.publishes("Rain at last")
    page.get_by_role("button", name="Look now").click()
    expect(page.get_by_text("A campaign of this feed waits for you.")).to_be_visible()
    expect(page.get_by_role("link", name="Open the campaign")).to_be_visible()
    accessible(page)
    page.get_by_role("button", name="Wait no more").first.click()
    dialog = page.get_by_role("dialog", name="Wait no more for this campaign?")
    accessible(page)
    dialog.get_by_role("button", name="Wait no more").click()
    expect(page.get_by_text("The feed waits no more")).to_be_visible()
    _fails_and_mends(page, blog)
    page.get_by_role("button", name="Remove", exact=True).click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Remove", exact=True).click()
    page.get_by_role("button", name="Remove the feed").click()
    expect(page.get_by_text("Feed removed.")).to_be_visible()
    expect(page.get_by_role("heading", name="Let your website write the campaigns")).to_be_visible()


def _only_what_counts_is_asked_for(page: Page) -> None:
    day, time = page.get_by_label("Day of the week"), page.get_by_label("Time", exact=True)
    expect(time).to_be_hidden()
    page.get_by_label("How often").select_option("weekly")
    expect(day).to_be_visible()
    expect(time).to_be_visible()
    expect(page.get_by_label("Day of the month")).to_be_hidden()
    page.get_by_label("How often").select_option("every")
    expect(day).to_be_hidden()


def _fails_and_mends(page: Page, blog: Blog) -> None:
    blog.breaks(status=500)
    page.get_by_role("button", name="Look now").click()
    expect(page.get_by_role("alert")).to_contain_text("The feed could not be read")
    accessible(page)
    page.get_by_role("link", name="Feeds").first.click()
    expect(page.get_by_text("Failed once")).to_be_visible()
    accessible(page)
    page.get_by_role("link", name="The Quiet Blog").click()
    blog.serves()
    page.get_by_role("button", name="Look now").click()
    expect(page.get_by_text("nothing in it is new")).to_be_visible()


def test_the_same_without_a_script_and_in_romanian(gna: Gna, blog: Blog, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False, locale="ro-RO")
    page = context.new_page()
    page.goto(f"{gna.url}/admin/feeds/new")
    page.get_by_label("Adresa fluxului").fill("https://user:password@example.org/")
    page.get_by_label("Subiect").fill("Noutăți")
    page.get_by_role("button", name="Adaugă fluxul").click()
    expect(page.get_by_role("alert")).to_contain_text("Adresa trebuie să înceapă cu http://")
    expect(page.get_by_label("Subiect")).to_have_value("Noutăți")
    page.get_by_label("Adresa fluxului").fill(blog.url)
    page.get_by_role("button", name="Adaugă fluxul").click()
    expect(page.get_by_text("Fluxul a fost adăugat.")).to_be_visible()
    page.get_by_role("button", name="Verifică acum").click()
    expect(page.get_by_role("heading", name="The Quiet Blog")).to_be_visible()
    page.get_by_label("Cât de des").select_option("monthly")
    page.get_by_label("Ziua lunii").fill("15")
    page.get_by_role("button", name="Salvare").click()
    expect(page.get_by_text("În fiecare lună, pe 15, la 09:00")).to_be_visible()
    page.get_by_role("button", name="Șterge", exact=True).click()
    page.get_by_role("button", name="Șterge fluxul").click()
    expect(page.get_by_text("Fluxul a fost șters.")).to_be_visible()
    context.close()
