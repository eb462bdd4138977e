"""The web component on a site of another origin, with a real server: in CORS_ORIGINS, and not in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import pytest
from playwright.sync_api import Browser, Page, expect

from gna.db import Database
from tests.factories import the_subscriber
from tests.running import Gna, until
from tests.web.test_embed import HOST_PAGE, Answer, handler, served

FORM = "<gna-subscribe nickname></gna-subscribe>"
SHOWN = "() => document.querySelector('gna-subscribe').shadowRoot.querySelector('form').textContent"


@contextmanager
def blog(gna: Gna, policy: str = "") -> Iterator[str]:
    """A site with the form on its page, and a policy of its own."""

    def routes(asked: BaseHTTPRequestHandler) -> Answer:
        if asked.path != "/":
            return 204, {}, ""
        headers = {"Content-Type": "text/html; charset=utf-8"}
        if policy:
            headers["Content-Security-Policy"] = policy
        return 200, headers, HOST_PAGE.format(lang="en", api=gna.url, form=FORM)

    with served(handler(routes)) as address:
        yield address


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """A tab whose console may complain: Chromium writes every blocked request there."""
    context = browser.new_context(locale="en-GB")
    yield context.new_page()
    context.close()


def signs_up(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_role("textbox", name="Email").fill("ana@example.org")
    page.get_by_role("textbox", name="Name").fill("Ana")
    # A policy may forbid the navigation that follows, and Playwright would wait for it until the timeout.
    page.get_by_role("button", name="Subscribe").click(no_wait_after=True)


def nickname(db: Database) -> str | None:
    with db.read() as tx:
        person = the_subscriber(tx, "ana@example.org")
    return str(person.nickname) if person else None


def test_a_site_that_is_named_keeps_its_visitors(
    start: Callable[..., Gna], database_url: str, db: Database, tab: Page
) -> None:
    gna = start(DATABASE_URL=database_url, CORS_ORIGINS="*")
    with blog(gna) as address:
        signs_up(tab, address)
        expect(tab.get_by_role("status")).to_contain_text("Check your inbox")
        assert tab.url == f"{address}/"
    assert nickname(db) == "Ana"


def test_a_site_that_is_not_named_sends_a_form(
    start: Callable[..., Gna], database_url: str, db: Database, tab: Page
) -> None:
    gna = start(DATABASE_URL=database_url)
    told: list[str] = []
    tab.on("console", lambda message: told.append(message.text))
    with blog(gna) as address:
        signs_up(tab, address)
        expect(tab.get_by_role("heading")).to_have_text("Check your inbox")
        assert tab.url == f"{gna.url}/api/subscribe"
        assert any(f"name {address} in CORS_ORIGINS of {gna.url}" in text for text in told)
    assert nickname(db) == "Ana"


def test_a_policy_that_forbids_the_form_is_told(
    start: Callable[..., Gna], database_url: str, db: Database, tab: Page
) -> None:
    gna = start(DATABASE_URL=database_url)
    with blog(gna, policy="form-action 'self'") as address:
        signs_up(tab, address)
        # By a script, because a locator would wait for the navigation that the policy forbids.
        until(lambda: "It did not work" in tab.evaluate(SHOWN), within=20)
        assert tab.url == f"{address}/"
    assert nickname(db) is None


def test_a_server_that_is_away_takes_no_visitor_away(start: Callable[..., Gna], database_url: str, tab: Page) -> None:
    gna = start(DATABASE_URL=database_url)
    with blog(gna) as address:
        tab.goto(address)
        expect(tab.get_by_role("button", name="Subscribe")).to_be_visible()
        gna.stop()
        tab.get_by_role("textbox", name="Email").fill("ana@example.org")
        tab.get_by_role("button", name="Subscribe").click()
        expect(tab.get_by_role("alert").filter(visible=True)).to_contain_text("It did not work")
        assert tab.url == f"{address}/"
