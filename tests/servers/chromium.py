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


class Chromium:
    """The browser of one test file. One that died, which happens on a busy machine, is replaced."""

    def __init__(self, playwright: Playwright) -> None:
        self._playwright = playwright
        self._browser: Browser | None = None

    @property
    def has_died(self) -> bool:
        """Whether the browser ended by itself."""
        return self._browser is not None and not self._browser.is_connected()

    def running(self) -> Browser:
        """Return the browser without a window, started if it does not run."""
        if self._browser is None or self.has_died:
            # It has no sandbox: Playwright turns that off by default, and root would have to.
            self._browser = self._playwright.chromium.launch(executable_path=find(), args=FLAGS)
        return self._browser

    def close(self) -> None:
        """Stop it."""
        if self._browser:
            self._browser.close()
