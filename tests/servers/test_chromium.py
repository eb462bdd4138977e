"""A browser that dies is replaced, and the test under which it died runs once more."""

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import DIED

ROOT = Path(__file__).parents[2]
CRASHES_THE_FIRST_TIME = """
from contextlib import suppress
from playwright.sync_api import Error

lives = []


def crash_first(browser):
    lives.append(1)
    if len(lives) == 1:
        with suppress(Error):
            browser.new_browser_cdp_session().send("Browser.crash")
"""


def run_pytest(folder: Path, *tests: str) -> "subprocess.CompletedProcess[str]":
    """Run these tests as a suite of their own, with our fixtures: what dies in them is not told of this run."""
    (folder / "conftest.py").write_text("from tests.conftest import *\n")
    (folder / "test_browser.py").write_text("\n".join([CRASHES_THE_FIRST_TIME, *tests]))
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, f"--rootdir={folder}", str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_a_test_runs_once_more_when_its_browser_dies(tmp_path: Path) -> None:
    result = run_pytest(
        tmp_path,
        """
def test_that_needs_a_browser(browser):
    tab = browser.new_page()
    crash_first(browser)
    tab.goto("data:text/html,alive")
    assert tab.inner_text("body") == "alive"
    assert len(lives) == 2
""",
        """
def test_that_comes_next(browser):
    assert browser.is_connected()
""",
    )
    assert "2 passed" in result.stdout
    assert f"{DIED}: test_browser.py::test_that_needs_a_browser" in result.stdout
    assert result.returncode == 0


def test_a_failure_of_the_product_is_not_tried_again(tmp_path: Path) -> None:
    result = run_pytest(
        tmp_path,
        """
def test_product(browser):
    crash_first(browser)
    assert len(lives) == 2, "a mail was lost"
""",
    )
    assert "a mail was lost" in result.stdout
    assert result.returncode == 1
