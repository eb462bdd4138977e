"""The sign-up form on somebody else's website: a real browser, a strict page, and a stand-in for the API."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from gna.web.language import REASONS, translated
from gna.web.pages.render import WEB
from tests.journeys.looks import accessible

SCRIPT = (WEB / "static" / "embed.js").read_text()
HOST_PAGE = """<!doctype html>
<html lang="{lang}"><head><meta charset="utf-8"><title>A blog</title><link rel="stylesheet" href="/site.css">
<script src="{api}/embed.js" async></script><script src="/site.js"></script></head>
<body><main><h1>A blog</h1>{form}</main></body></html>"""
SITE_CSS = ":root { color-scheme: light dark } body { margin: 16px; font-family: sans-serif }"
SITE_JS = """for (const kind of ["gna-subscribed", "gna-error"])
document.addEventListener(kind, (event) => (window.heard ||= []).push([kind, event.detail]))"""
Answer = tuple[int, dict[str, str], str]
FORM = "<gna-subscribe nickname><a href='/form'>Subscribe here</a></gna-subscribe>"


@dataclass
class Api:
    """A stand-in for `POST /api/subscribe` that says what it is told, and remembers what it was sent."""

    address: str = ""
    status: int = 201
    answer: dict[str, object] = field(default_factory=lambda: {"status": "confirmation_sent"})
    headers: dict[str, str] = field(default_factory=dict)
    sent: list[dict[str, object]] = field(default_factory=list)
    cookies: list[str | None] = field(default_factory=list)
    open: threading.Event = field(default_factory=threading.Event)

    def refuses(self, status: int, reason: str = "", **headers: str) -> None:
        """From now on, answer with an error."""
        self.status, self.answer = status, {"error": reason}
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def accepts(self) -> None:
        """From now on, say yes."""
        self.status, self.answer, self.headers = 201, {"status": "confirmation_sent"}, {}

    def hangs(self) -> None:
        """Do not answer before `self.open` is set."""
        self.open.clear()


@dataclass
class Site:
    """A website with a strict policy, whose page holds the form."""

    api: Api
    address: str = ""
    form: str = FORM
    lang: str = "en"


def handler(
    routes: Callable[[BaseHTTPRequestHandler], Answer],
) -> type[BaseHTTPRequestHandler]:
    """A request handler that answers what `routes` says."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            status, headers, body = routes(self)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        do_GET = do_POST = do_OPTIONS = answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Tests are quiet."""

    return Handler


@contextmanager
def served(kind: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server on a free port, for as long as the test runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def api() -> Iterator[Api]:
    api = Api()
    api.open.set()
    cors = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}

    def routes(asked: BaseHTTPRequestHandler) -> Answer:
        if asked.path == "/embed.js":
            return 200, {"Content-Type": "text/javascript; charset=utf-8"}, SCRIPT
        if asked.command == "OPTIONS":
            return 204, cors | {"Access-Control-Allow-Headers": "content-type"}, ""
        api.sent.append(json.loads(asked.rfile.read(int(asked.headers["Content-Length"]))))
        api.cookies.append(asked.headers["Cookie"])
        api.open.wait(10)
        return api.status, cors | api.headers | {"Content-Type": "application/json"}, json.dumps(api.answer)

    with served(handler(routes)) as api.address:
        yield api
        api.open.set()


@pytest.fixture
def site(api: Api) -> Iterator[Site]:
    site = Site(api)

    def routes(asked: BaseHTTPRequestHandler) -> Answer:
        if asked.path in ("/site.css", "/site.js"):
            kind, text = ("css", SITE_CSS) if asked.path.endswith("css") else ("javascript", SITE_JS)
            return 200, {"Content-Type": f"text/{kind}"}, text
        policy = f"default-src 'none'; style-src 'self'; script-src 'self' {api.address}; connect-src {api.address}"
        headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy}
        if asked.path == "/favicon.ico":
            return 204, {}, ""
        return 200, headers, HOST_PAGE.format(lang=site.lang, api=api.address, form=site.form)

    with served(handler(routes)) as site.address:
        yield site


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """A tab whose console may show that a request was refused: Chromium says so for every 4xx."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


def error(page: Page, text: str | re.Pattern[str]) -> None:
    expect(page.get_by_role("alert").filter(visible=True)).to_have_text(text)


def test_it_is_small_and_leaves_no_trace() -> None:
    assert len(SCRIPT.encode()) < 9000
    for unwanted in ("innerHTML", "cookie =", "localStorage", "eval(", "window."):
        assert unwanted not in SCRIPT


def test_it_says_the_same_in_romanian_as_the_pages() -> None:
    # A name with outer white space is trimmed before it is sent, and sign-up never says that an address is known.
    never = ("Nickname must not start or end with a space", "Email already registered")
    for reason in REASONS:
        if reason.startswith(("Email", "Nickname")) and reason not in never:
            assert f'"{reason}": "{translated(reason, "ro")}"' in SCRIPT


def test_a_visitor_signs_up_with_the_keyboard(page: Page, site: Site) -> None:
    page.goto(site.address)
    form = page.get_by_role("form", name="Subscribe by email")
    expect(form.get_by_role("button", name="Subscribe")).to_be_visible()
    expect(page.get_by_text("Subscribe here")).not_to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("textbox", name="Email")).to_be_focused()
    page.keyboard.type(" ana@example.org ")
    page.keyboard.press("Tab")
    page.keyboard.type("Ana")
    page.keyboard.press("Enter")
    done = page.get_by_role("status")
    expect(done).to_contain_text("Check your inbox")
    expect(done).to_be_focused()
    expect(form).not_to_be_visible()
    assert site.api.sent == [{"email": "ana@example.org", "nickname": "Ana"}]
    assert site.api.cookies == [None]
    assert page.evaluate("heard") == [["gna-subscribed", None]]


def test_a_name_is_asked_for_only_when_the_site_wants_one(page: Page, site: Site) -> None:
    site.form = "<gna-subscribe></gna-subscribe>"
    page.goto(site.address)
    expect(page.get_by_role("textbox", name="Email")).to_be_visible()
    expect(page.get_by_role("textbox", name="Name")).not_to_be_visible()
    page.get_by_role("textbox", name="Email").fill("ana@example.org")
    page.get_by_role("button").click()
    expect(page.get_by_role("status")).to_be_visible()
    assert site.api.sent == [{"email": "ana@example.org"}]


def test_nothing_typed_is_refused_without_asking_the_server(page: Page, site: Site) -> None:
    page.goto(site.address)
    page.get_by_role("button").click()
    error(page, "Email is required.")
    expect(page.get_by_role("textbox", name="Email")).to_be_focused()
    assert site.api.sent == []


@pytest.mark.parametrize(
    ("reason", "label"),
    [("Email is not a valid address", "Email"), ("Nickname must be 1–50 characters", "Name")],
)
def test_a_reason_stands_by_its_field(tab: Page, site: Site, reason: str, label: str) -> None:
    site.api.refuses(400, reason)
    tab.goto(site.address)
    tab.get_by_role("textbox", name="Email").fill("ana@")
    tab.get_by_role("textbox", name="Name").fill("Ana")
    tab.get_by_role("button").click()
    error(tab, reason + ".")
    wrong = tab.get_by_role("textbox", name=label)
    expect(wrong).to_have_attribute("aria-invalid", "true")
    expect(wrong).to_have_accessible_description(reason + ".")
    expect(wrong).to_be_focused()
    expect(tab.get_by_role("textbox", name="Email")).to_have_value("ana@")
    expect(tab.get_by_role("textbox", name="Name")).to_have_value("Ana")
    assert tab.evaluate("heard") == [["gna-error", {"status": 400, "reason": reason}]]
    site.api.accepts()
    tab.get_by_role("button").click()
    expect(tab.get_by_role("status")).to_contain_text("Check your inbox")


@pytest.mark.parametrize(
    ("lang", "after", "said"),
    [
        ("en", None, "Please wait a minute, then"),
        ("en", "30", "Please wait a minute, then"),
        ("en", "61", "Please wait 2 minutes, then"),
        ("en", "Wed, 21 Oct 2026 07:28:00 GMT", "Please wait a minute, then"),
        ("ro", "600", "Așteptați 10 minute, apoi"),
        ("ro", "1200", "Așteptați 20 de minute, apoi"),
    ],
)
def test_too_many_tries(tab: Page, site: Site, lang: str, after: str | None, said: str) -> None:
    site.lang = lang
    site.api.refuses(429, "Too many requests", **({"Retry_After": after} if after else {}))
    tab.goto(site.address)
    tab.get_by_role("textbox", name="Email").fill("ana@example.org")
    tab.get_by_role("button").click()
    error(tab, re.compile(said))
    expect(tab.get_by_role("textbox", name="Email")).to_have_value("ana@example.org")


@pytest.mark.parametrize("answer", [{"error": "Service temporarily unavailable"}, {"error": 5}, {}])
@pytest.mark.parametrize("status", [400, 503])
def test_a_server_in_trouble(tab: Page, site: Site, status: int, answer: dict[str, object]) -> None:
    site.api.refuses(status)
    site.api.answer = answer
    tab.goto(site.address)
    tab.get_by_role("textbox", name="Email").fill("ana@example.org")
    tab.get_by_role("button").click()
    expected = "Service temporarily" if status == 400 and "unavailable" in str(answer) else "Nothing is lost"
    error(tab, re.compile(expected))


def test_a_server_that_cannot_be_reached(tab: Page, site: Site) -> None:
    tab.goto(site.address)
    tab.get_by_role("textbox", name="Email").fill("ana@example.org")
    tab.context.set_offline(True)
    tab.get_by_role("button").click()
    error(tab, "It did not work. Nothing is lost: please try again in a minute.")
    tab.context.set_offline(False)
    tab.get_by_role("button").click()
    expect(tab.get_by_role("status")).to_contain_text("Check your inbox")


def test_impatience_sends_one_request(page: Page, site: Site) -> None:
    site.api.hangs()
    page.goto(site.address)
    page.get_by_role("textbox", name="Email").fill("ana@example.org")
    button = page.get_by_role("button")
    before = button.bounding_box()
    button.click()
    expect(button).to_have_text(re.compile("One moment"))
    expect(button).to_have_attribute("aria-disabled", "true")
    assert button.bounding_box() == before
    button.click(force=True)
    page.get_by_role("textbox", name="Email").press("Enter")
    site.api.open.set()
    expect(page.get_by_role("status")).to_be_visible()
    assert len(site.api.sent) == 1


def test_it_speaks_romanian(tab: Page, site: Site) -> None:
    site.lang = "ro-RO"
    site.api.refuses(400, "Email is not a valid address")
    tab.goto(site.address)
    tab.get_by_role("textbox", name="Email").fill("ana@")
    tab.get_by_role("button", name="Mă abonez").click()
    error(tab, "Adresa de email nu este validă.")
    site.api.accepts()
    tab.get_by_role("button").click()
    expect(tab.get_by_role("status")).to_contain_text("Verificați-vă căsuța de email")
    expect(tab.get_by_role("status")).to_have_attribute("lang", "ro")


@pytest.mark.parametrize(
    ("page_lang", "own", "said"),
    [("ro", "en", "Subscribe"), ("en", "ro-MD", "Mă abonez"), ("fr", "", "Subscribe"), ("", "", "Mă abonez")],
)
def test_its_language_is_its_own_or_the_pages_or_the_browsers(
    browser: Browser, site: Site, page_lang: str, own: str, said: str
) -> None:
    site.lang, site.form = page_lang, f'<gna-subscribe lang="{own}"></gna-subscribe>'
    context = browser.new_context(locale="ro-RO")
    tab = context.new_page()
    tab.goto(site.address)
    expect(tab.get_by_role("button")).to_have_text(re.compile(said))
    context.close()


def test_the_site_may_use_its_own_words(page: Page, site: Site) -> None:
    site.form = (
        '<gna-subscribe heading="News &lt;b&gt;" text="Once a week." button="Join" success="See you."></gna-subscribe>'
    )
    page.goto(site.address)
    expect(page.get_by_role("form", name="News <b>")).to_contain_text("Once a week.")
    page.get_by_role("textbox", name="Email").fill("ana@example.org")
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("status")).to_contain_text("See you.")


def test_a_form_made_by_a_script_with_another_server(page: Page, site: Site) -> None:
    site.form = ""
    page.goto(site.address)
    page.evaluate("customElements.whenDefined('gna-subscribe').then(() => true)")
    page.evaluate(
        """(endpoint) => {
            const form = document.createElement("gna-subscribe");
            form.setAttribute("endpoint", endpoint);
            document.querySelector("main").append(form);
        }""",
        site.api.address + "/",
    )
    page.get_by_role("textbox", name="Email").fill("ana@example.org")
    page.evaluate("document.querySelector('gna-subscribe').setAttribute('button', 'Go')")
    page.evaluate("document.body.append(document.querySelector('gna-subscribe'))")
    expect(page.get_by_role("textbox", name="Email")).to_have_value("ana@example.org")
    page.get_by_role("button", name="Go").click()
    expect(page.get_by_role("status")).to_be_visible()
    assert len(site.api.sent) == 1


def test_loading_it_twice_is_harmless(page: Page, site: Site) -> None:
    site.form = FORM + f'<script src="{site.api.address}/embed.js"></script>'
    page.goto(site.address)
    expect(page.get_by_role("textbox", name="Email")).to_have_count(1)
    expect(page.get_by_role("textbox", name="Email")).to_be_visible()


def test_without_scripts_its_children_are_shown(browser: Browser, site: Site) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(site.address)
    expect(tab.get_by_role("link", name="Subscribe here")).to_be_visible()
    context.close()


def test_the_site_decides_how_it_looks(page: Page, site: Site) -> None:
    page.goto(site.address)
    expect(page.get_by_role("button")).to_be_visible()
    page.evaluate(
        """() => {
            const own = new CSSStyleSheet();
            own.replaceSync(`gna-subscribe { --gna-accent: rgb(10, 20, 30); --gna-radius: 0px }
                gna-subscribe::part(button) { text-transform: uppercase }`);
            document.adoptedStyleSheets = [own];
        }"""
    )
    button = page.get_by_role("button")
    expect(button).to_have_css("background-color", "rgb(10, 20, 30)")
    expect(button).to_have_css("border-radius", "0px")
    expect(button).to_have_css("text-transform", "uppercase")


def test_it_is_accessible_in_every_state(tab: Page, site: Site) -> None:
    site.api.refuses(400, "Email is not a valid address")
    tab.goto(site.address)
    expect(tab.get_by_role("button")).to_be_visible()
    accessible(tab)
    tab.get_by_role("textbox", name="Email").fill("ana@")
    tab.get_by_role("button").click()
    error(tab, "Email is not a valid address.")
    accessible(tab)
    site.api.refuses(429)
    tab.get_by_role("button").click()
    error(tab, re.compile("Too many tries"))
    accessible(tab)
    site.api.accepts()
    tab.get_by_role("button").click()
    expect(tab.get_by_role("status")).to_be_visible()
    accessible(tab)
