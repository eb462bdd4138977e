"""Takes the pictures of the README anew, from the example publication: `.venv/bin/python -m tools.pictures`."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from tests.running import Gna
from tests.servers import chromium

from gna import clock
from gna.cli.demo_fill import fill
from gna.db import Database
from gna.migrations import migrate

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
SIZE = {"width": 1280, "height": 860}


def main() -> None:
    """Start an example, look at its pages, and keep what is seen."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/example.db"
        _example(url)
        site = {"EMAIL_FROM_ADDRESS": "The Quiet Web <ana@example.org>", "TRUSTED_PROXIES": ""}
        with Gna(Path(folder), DATABASE_URL=url, **site) as gna, sync_playwright() as playwright:
            browser = chromium.Chromium(playwright).running()
            with _tab(browser, gna, "light") as page:
                _light(page)
            with _tab(browser, gna, "dark") as page:
                _take(page, "/admin", "overview-dark")
            browser.close()


def _example(url: str) -> None:
    db = Database(url)
    migrate(db)
    with db.write() as tx:
        fill(tx, now=clock.now())
    db.close()


@contextmanager
def _tab(browser: Browser, gna: Gna, scheme: str) -> Iterator[Page]:
    context = browser.new_context(
        base_url=gna.url,
        viewport=SIZE,  # type: ignore[arg-type]
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    page = context.new_page()
    page.goto("/admin")  # tells the zone
    yield page
    context.close()


def _light(page: Page) -> None:
    _take(page, "/admin", "overview")
    _take(page, "/admin/subscribers", "subscribers")
    _take(page, "/admin/inbox", "inbox")
    page.goto("/admin/campaigns?state=draft")
    _take(page, page.locator("a.row").first.get_attribute("href") or "", "compose")
    page.goto("/admin/campaigns?state=published")
    _take(page, page.locator("a.row").first.get_attribute("href") or "", "report")


def _take(page: Page, path: str, name: str) -> None:
    page.goto(path, wait_until="networkidle")
    page.screenshot(path=FOLDER / f"{name}.png")
    print(f"wrote docs/pictures/{name}.png")


if __name__ == "__main__":
    main()
