"""Every page of the admin that a link leads to: it is there, small, and well in all its looks."""

from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest
from playwright.sync_api import Page, Response
from starlette.testclient import TestClient

from gna import clock
from gna.cli.demo_fill import fill
from gna.db import Database
from gna.web.pages.admin.routes import ROUTES
from tests.journeys.looks import accessible
from tests.running import Gna

LARGEST = 100_000
# Where a form leads, or what is there only for what the example does not have; their own journeys look at them.
UNLINKED = {
    "/admin/campaigns/moment",
    "/admin/campaigns/{campaign_id}/reach",
    "/admin/campaigns/{campaign_id}/schedule",
    "/admin/campaigns/{campaign_id}/send",
    "/admin/campaigns/{campaign_id}/test",
    "/admin/dead-letters/{letter_id}",
    "/admin/import/{import_id}",
    "/admin/mailbox/{mail_id}",
    "/admin/mailbox/{mail_id}/html",
    "/admin/subscribers/new",
}
HTML = {"Accept": "text/html"}


class Links(HTMLParser):
    """Where a page leads to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        wanted = {"a": "href", "iframe": "src", "form": "action"}.get(tag)
        self.found += [
            value for name, value in attrs if name == wanted and value and dict(attrs).get("method") != "post"
        ]


def route_of(path: str) -> str:
    """The pattern of the route that answers, so that each is looked at once."""
    return next((route.path for route in ROUTES if route.path_regex.fullmatch(path)), path)


def pages(get: Callable[[str], str]) -> Iterator[str]:
    """One address for each kind of page and filter that can be reached from the first one."""
    waiting, seen = ["/admin"], set[tuple[str, tuple[str, ...]]]()
    while waiting:
        address = waiting.pop(0)
        parts = urlsplit(address)
        kind = route_of(parts.path), tuple(sorted(part.partition("=")[0] for part in parts.query.split("&")))
        if kind in seen or parts.netloc or not parts.path.startswith("/admin") or "export" in parts.path:
            continue
        seen.add(kind)
        yield address
        waiting += [urljoin(address, link).partition("#")[0] for link in Links(get(address)).found]


def test_no_link_leads_nowhere(client: TestClient, db: Database) -> None:
    with db.write() as tx:
        fill(tx, now=clock.now())

    def get(address: str) -> str:
        answer = client.get(address, headers=HTML)
        assert answer.status_code == 200, address
        return answer.text

    found = list(pages(get))
    assert "/admin" in found
    reached = {route_of(urlsplit(address).path) for address in found}
    there = {route.path for route in ROUTES if "GET" in (route.methods or ())}
    assert there - reached <= UNLINKED, "pages that no link leads to"


@pytest.fixture
def gna(start: Callable[..., Gna], database_url: str, db: Database) -> Gna:
    if database_url.startswith("postgresql"):
        pytest.skip("a page looks the same on every database")
    with db.write() as tx:
        fill(tx, now=clock.now())
    return start(DATABASE_URL=database_url, JOBS_ENABLED="false")


def test_every_page_is_small_and_looks_well(gna: Gna, page: Page) -> None:
    loaded: list[Response] = []
    page.on("response", lambda answer: loaded.append(answer))
    for address in pages(lambda address: page.request.get(gna.url + address).text()):
        if "/preview" in address or address.endswith((".json", ".csv")):
            continue  # a mail in a frame, or a file: not a page
        loaded.clear()
        page.goto(gna.url + address, wait_until="load")
        # The mail in a preview is the publisher's own.
        weight = sum(len(answer.body()) for answer in loaded if answer.ok and "/preview" not in answer.url)
        assert 1000 < weight < LARGEST, f"{address} weighs {weight:,} bytes"
        accessible(page)
