"""Chromium from the system, driven by Playwright. Debian: `apt install chromium-headless-shell`."""

import shutil
from pathlib import Path

from playwright.sync_api import Browser, Playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# No test needs what Chromium does on its own: ask Google for updates, and start services for that.
FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)


def find() -> Path | None:
    """Return the browser's program, or None if there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return Path(found) if found else None


def why_missing() -> str | None:
    """Return what to install before Chromium can run, or None if it can."""
    return None if find() else "Chromium is not installed: apt install chromium-headless-shell"


def launch(playwright: Playwright) -> Browser:
    """Start the browser without a window."""
    # It has no sandbox: Playwright turns that off by default, and root would have to.
    return playwright.chromium.launch(executable_path=find(), args=FLAGS)
