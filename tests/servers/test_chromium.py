"""A browser that dies is replaced, and the test under which it died runs once more."""

from contextlib import suppress

from playwright.sync_api import Browser, Error

lives = 0


def test_a_test_runs_once_more_when_its_browser_dies(browser: Browser) -> None:
    global lives
    lives += 1
    tab = browser.new_page()
    if lives == 1:
        with suppress(Error):
            browser.new_browser_cdp_session().send("Browser.crash")
    tab.goto("data:text/html,alive")
    assert tab.inner_text("body") == "alive"
    assert lives == 2


def test_the_next_test_has_a_browser(browser: Browser) -> None:
    assert browser.is_connected()
