"""From a form on somebody's blog to goodbye: one reader, in a real browser, with every mail on the way."""

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, TimeoutError, expect

from gna.db import Database
from gna.subscribers.lists import Leaving
from gna.subscribers.table import subscribers
from tests import asking
from tests.factories import count, the_subscriber
from tests.running import Gna, until

Look = Callable[[Page], None]
UNSUB_SECRET = "a secret that only this test knows"
BLOG = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A blog</title><meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1"><script src="{gna}/embed.js" async></script></head>
<body><main><h1>A blog</h1><gna-subscribe nickname></gna-subscribe></main></body></html>"""
# What docs/guides/embedding.md asks for, and nothing else.
POLICY = "default-src 'none'; form-action 'none'; base-uri 'none'; script-src {gna}; connect-src {gna}"


@dataclass
class Blog:
    """A website on an origin of its own."""

    origin: str = ""
    gna: str = ""


@pytest.fixture
def blog() -> Iterator[Blog]:
    """A blog with a strict policy, which embeds the form of the Gna that it is told."""
    blog = Blog()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Security-Policy", POLICY.format(gna=blog.gna))
            self.end_headers()
            self.wfile.write(BLOG.format(gna=blog.gna).encode())

        def log_message(self, *_: object) -> None:
            """Tests are quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        blog.origin = f"http://127.0.0.1:{server.server_port}"
        yield blog
        server.shutdown()
        thread.join()


@dataclass
class Reader:
    """Somebody at a browser, who reads their mail in it too; `page` is the tab before their eyes."""

    gna: Gna
    context: BrowserContext
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Links in mails open new tabs, so the whole browser is listened to.
        self.context.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self.page = self.context.new_page()

    def visits(self, path: str) -> None:
        """Open one of Gna's pages."""
        self.page.goto(self.gna.url + path)

    def fills_in(self, button: str, **typed: str) -> None:
        """Type into the fields of these names, and press a button."""
        for name, value in typed.items():
            self.page.locator(f"input[name={name}]").fill(value)
        self.page.get_by_role("button", name=button, exact=True).click()

    def sees(self, heading: str, *texts: str, language: str = "en") -> None:
        """A page with this heading, and these words somewhere on it."""
        expect(self.page.get_by_role("heading", level=1)).to_have_text(heading)
        expect(self.page.locator("html")).to_have_attribute("lang", language)
        for text in texts:
            expect(self.page.get_by_text(text)).to_be_visible()

    def finds_mail(self, to: str, subject: str) -> None:
        """Wait for a mail, and open it in the mailbox."""
        address = f"{self.gna.url}/admin/mailbox"
        newest = re.compile(rf"<h2>{re.escape(subject)}</h2>\s*<p class=\"muted\">To {re.escape(to)}</p>")
        until(lambda: newest.search(asking.get(address).text), 10, lambda: f"no {subject!r} to {to}")
        self.page.goto(address)

    def clicks_in_mail(self, link: str) -> None:
        """Click the mail's one link, and go on in the tab that it opens."""
        mailbox = self.page
        there = mailbox.frame_locator("iframe").get_by_role("link", name=link, exact=True)
        self.page = self._opens(there.click) or self._opens(there.click) or mailbox
        mailbox.close()

    def _opens(self, click: Callable[[], None]) -> Page | None:
        """The tab that a click opens; a click on a page that still moves goes nowhere."""
        try:
            with self.context.expect_page(timeout=15_000) as opened:
                click()
        except TimeoutError:
            return None
        return opened.value


@pytest.fixture
def reader(browser: Browser) -> Iterator[Callable[..., Reader]]:
    """Makes readers, with a browser as they like it; an error in any tab's console fails the test."""
    readers: list[Reader] = []

    def comes(gna: Gna, *, locale: str = "en-GB", java_script_enabled: bool = True) -> Reader:
        context = browser.new_context(locale=locale, java_script_enabled=java_script_enabled)
        readers.append(Reader(gna, context))
        return readers[-1]

    yield comes
    for somebody in readers:
        somebody.context.close()
    assert not (said := [text for somebody in readers for text in somebody.complaints]), f"The browser: {said}"


def test_from_a_form_on_a_blog_to_goodbye(
    start: Callable[..., Gna], database_url: str, db: Database, blog: Blog, reader: Callable[..., Reader], look: Look
) -> None:
    gna = start(DATABASE_URL=database_url, CORS_ORIGINS=blog.origin)
    blog.gna = gna.url
    ana = reader(gna)

    ana.page.goto(blog.origin)
    expect(ana.page.get_by_role("form", name="Subscribe by email")).to_be_visible()
    look(ana.page)
    ana.fills_in("Subscribe", email="ana@example.org", nickname="Ana")
    expect(ana.page.get_by_role("status")).to_contain_text("Check your inbox")
    look(ana.page)
    assert ana.page.url == f"{blog.origin}/"

    ana.finds_mail("ana@example.org", "Confirm your subscription to Gna")
    look(ana.page)
    ana.clicks_in_mail("Confirm my subscription")
    ana.sees("You are in")
    assert ana.page.url == f"{gna.url}/confirmed"
    look(ana.page)

    ana.visits("/profile")
    look(ana.page)
    ana.fills_in("Send me the link", email="ana@example.org")
    ana.sees("Check your inbox", "a link to your profile")
    look(ana.page)
    ana.finds_mail("ana@example.org", "Your link to your profile at Gna")
    ana.clicks_in_mail("Open my profile")
    ana.sees("Your profile")
    expect(ana.page.get_by_label("Name")).to_have_value("Ana")
    expect(ana.page.get_by_label("Email")).to_have_value("ana@example.org")
    look(ana.page)
    ana.fills_in("Save", nickname="Ana Maria", email="ana@example.net")
    ana.sees("One more step", "We sent a mail to your new address.")
    look(ana.page)
    with db.read() as tx:
        assert the_subscriber(tx, "ana@example.org").nickname == "Ana Maria"

    ana.finds_mail("ana@example.net", "Confirm your new address for Gna")
    ana.clicks_in_mail("Use this address")
    ana.sees("Your address has changed")
    look(ana.page)

    ana.visits("/profile")
    ana.fills_in("Send me the link", email="ana@example.net")
    ana.finds_mail("ana@example.net", "Your link to your profile at Gna")
    ana.clicks_in_mail("Open my profile")
    ana.sees("Your profile")
    expect(ana.page.get_by_label("Name")).to_have_value("Ana Maria")
    expect(ana.page.get_by_label("Email")).to_have_value("ana@example.net")
    ana.fills_in("Unsubscribe and delete my data")
    ana.sees("Goodbye, and thank you")
    look(ana.page)
    with db.read() as tx:
        assert count(tx, subscribers) == 0


def test_in_romanian(start: Callable[..., Gna], reader: Callable[..., Reader]) -> None:
    ana = reader(start(), locale="ro-RO")
    ana.visits("/subscribe")
    ana.sees("Abonare prin email", language="ro")
    ana.fills_in("Abonare", email="ana@example.org", nickname="Ștefania")
    ana.sees("Verificați-vă căsuța de email", language="ro")
    ana.finds_mail("ana@example.org", "Confirmați abonarea la Gna")
    ana.clicks_in_mail("Confirm abonarea")
    ana.sees("Bine ați venit", language="ro")
    ana.visits("/profile")
    ana.fills_in("Trimiteți-mi linkul", email="ana@example.org")
    ana.sees("Verificați-vă căsuța de email", language="ro")
    ana.finds_mail("ana@example.org", "Linkul către profilul dumneavoastră la Gna")
    ana.clicks_in_mail("Deschid profilul")
    ana.sees("Profilul dumneavoastră", language="ro")
    expect(ana.page.get_by_label("Nume")).to_have_value("Ștefania")
    ana.fills_in("Dezabonare și ștergerea datelor")
    ana.sees("La revedere și vă mulțumim", language="ro")


def test_without_javascript(
    start: Callable[..., Gna], database_url: str, db: Database, reader: Callable[..., Reader]
) -> None:
    gna = start(DATABASE_URL=database_url)
    ana = reader(gna, java_script_enabled=False)
    ana.visits("/subscribe")
    ana.fills_in("Subscribe", email="ana@example.org")
    ana.sees("Check your inbox")
    ana.finds_mail("ana@example.org", "Confirm your subscription to Gna")
    ana.clicks_in_mail("Confirm my subscription")
    ana.sees("You are in")
    ana.visits("/profile")
    ana.fills_in("Send me the link", email="ana@example.org")
    ana.finds_mail("ana@example.org", "Your link to your profile at Gna")
    ana.clicks_in_mail("Open my profile")
    ana.fills_in("Save", nickname="Ana")
    ana.sees("Saved")
    with db.read() as tx:
        person = the_subscriber(tx, "ana@example.org")
    assert person.nickname == "Ana"
    ana.visits(f"/api/unsubscribe?token={person.unsubscribe_token}")
    ana.sees("Goodbye, and thank you")
    with db.read() as tx:
        assert count(tx, subscribers) == 0


def test_where_links_need_a_click(
    start: Callable[..., Gna], database_url: str, db: Database, reader: Callable[..., Reader], look: Look
) -> None:
    gna = start(DATABASE_URL=database_url, LINKS_NEED_CLICK="true", UNSUB_SECRET=UNSUB_SECRET)
    ana = reader(gna)
    ana.visits("/subscribe")
    ana.fills_in("Subscribe", email="ana@example.org")
    ana.finds_mail("ana@example.org", "Confirm your subscription to Gna")
    ana.clicks_in_mail("Confirm my subscription")
    ana.sees("One click to go")
    look(ana.page)
    with db.read() as tx:
        person = the_subscriber(tx, "ana@example.org")
    assert person.activated_at is None
    ana.fills_in("Confirm")
    ana.sees("You are in")

    ana.visits(f"/unsubscribe?token={Leaving('ana@example.org', 'general').sign(UNSUB_SECRET)}")
    ana.sees("Leave this list?", "general")
    ana.fills_in("Leave the list")
    ana.sees("You have left the list", "general")

    ana.visits(f"/api/unsubscribe?token={person.unsubscribe_token}")
    ana.sees("Do you want to leave?")
    with db.read() as tx:
        assert the_subscriber(tx, "ana@example.org").activated_at is not None
    ana.fills_in("Unsubscribe")
    ana.sees("Goodbye, and thank you")
    with db.read() as tx:
        assert count(tx, subscribers) == 0
