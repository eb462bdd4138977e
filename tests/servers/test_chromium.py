"""A browser that dies is replaced, and the test under which it died runs once more."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from playwright.sync_api import Browser, Error

ROOT = Path(__file__).parents[2]
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


def test_a_failure_of_the_product_is_not_tried_again(tmp_path: Path) -> None:
    # A test that crashes its browser, and fails for another reason the first time.
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "test_product.py").write_text(
        "lives = []\n"
        "def test_product(browser):\n"
        "    lives.append(1)\n"
        "    try:\n"
        "        browser.new_browser_cdp_session().send('Browser.crash')\n"
        "    except Exception:\n"
        "        pass\n"
        "    assert len(lives) == 2, 'a mail was lost'\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, f"--rootdir={tmp_path}", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert "a mail was lost" in result.stdout
    assert result.returncode == 1
