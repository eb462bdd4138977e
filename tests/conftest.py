"""The test ground: real databases, real servers, a real browser. Every database test runs on both databases."""

import gc
import io
import ipaddress
import logging
import shutil
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import hypothesis
import pytest
import sqlalchemy as sa
from _pytest.runner import runtestprotocol
from playwright import sync_api as playwright
from playwright.sync_api import Browser, Page, expect, sync_playwright
from starlette.testclient import TestClient

from gna import config, ids, log
from gna.config import Settings
from gna.db import Database
from gna.feeds import poll
from gna.feeds.entry import Document
from gna.feeds.reading import parse
from gna.mail.address import Reach
from gna.migrations import migrate
from gna.web.app import create_app
from gna.web.ground import Ground
from tests.blog import Blog
from tests.issuer import Issuer
from tests.running import ForkedGna, Gna
from tests.servers.chromium import Chromium, why_missing
from tests.servers.postgres import Postgres
from tests.servers.valkey import Valkey
from tests.servers.web import Web

BOTH = ("sqlite", "postgresql")
SLOWEST_FILES = 10
DIED = "The browser died, and the test ran once more"
browser_died = pytest.StashKey[bool]()
failures = pytest.StashKey[list[BaseException]]()

# As the server logs, to nobody: the library's own way, with coloured tracebacks, is a hundred times slower.
log.setup(level="info", format="console", to=io.StringIO())

# Nothing is remembered between runs, so nothing is left in the tree; a slow machine is not a failure.
# The same examples in every run, so that a test that passed passes again; `make search` looks for new ones.
hypothesis.settings.register_profile("gna", database=None, deadline=None, derandomize=True)
hypothesis.settings.register_profile("search", database=None, deadline=None, max_examples=2_000)
hypothesis.settings.load_profile("gna")


# Collecting 14,000 tests took each worker 5 s longer with the garbage collector, which finds next to nothing there.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from now on, and leave alone what was loaded."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the journeys first, then the files with most tests: a long file that starts last would run alone."""
    sizes = Counter(item.path for item in items)
    items.sort(key=lambda item: ("journeys" not in item.path.parts, -sizes[item.path], item.path))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print which files took longest, so that a slow test is noticed when it comes, and where the browser died."""
    seconds: dict[str, float] = defaultdict(float)
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    for report in reports:
        if isinstance(report, pytest.TestReport):
            file, _, _ = report.nodeid.partition("::")
            seconds[file] += report.duration
            if (DIED, report.nodeid) in [tuple(pair) for pair in report.user_properties]:
                terminalreporter.line(f"{DIED}: {report.nodeid}")
    if len(seconds) < SLOWEST_FILES:
        return
    terminalreporter.section(f"slowest {SLOWEST_FILES} of {len(seconds)} files")
    slowest = sorted(seconds.items(), key=lambda item: item[1], reverse=True)
    for file, duration in slowest[:SLOWEST_FILES]:
        terminalreporter.line(f"{duration:6.1f} s  {file}")
    terminalreporter.line(f"{sum(seconds.values()):6.1f} s  in all files, over all workers")


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test once more if its browser died and nothing else failed, which says nothing about the product."""
    if "browser" not in getattr(item, "fixturenames", ()):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    errors = item.stash.get(failures, [])
    if errors and all(map(_is_of_browser, errors)) and item.stash.get(browser_died, False):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        reports[-1].user_properties.append((DIED, item.nodeid))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _is_of_browser(error: BaseException) -> bool:
    # What a page never shows is a fault of the page.
    return isinstance(error, playwright.Error) and not isinstance(error, playwright.TimeoutError)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember what a test failed with."""
    report = yield
    if call.excinfo:
        item.stash.setdefault(failures, []).append(call.excinfo.value)
    return report


class SharedStatements(dict[Any, Any]):
    """Compiled statements for all engines of one kind of database, by the dialect's name.

    SQLAlchemy keeps them for each engine alone. Each test has engines of its own, and compiling took
    a quarter of the CPU time of many.
    """

    def get(self, key: Any, default: Any = None) -> Any:
        """Look up what any engine compiled."""
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__((key[0].name, *key[1:]), compiled)


@pytest.fixture(scope="session", autouse=True)
def shared_statements() -> Iterator[None]:
    """Compile each statement once in this process."""
    options = {"compiled_cache": SharedStatements()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sa, "create_engine", partial(sa.create_engine, execution_options=options))
        yield


@pytest.fixture(autouse=True)
def ascii_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what an earlier test's provider said about letters beyond ASCII in addresses."""
    monkeypatch.setattr(Reach, "international", False)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The PostgreSQL server that all tests share; a test that kills one starts its own."""
    with Postgres() as server:
        yield server


@pytest.fixture(scope="session")
def valkey() -> Iterator[Valkey]:
    """The Redis-compatible server."""
    with Valkey() as server:
        yield server


@dataclass(frozen=True)
class Databases:
    """Makes fresh databases of one kind: empty, or a copy of one that was migrated once."""

    kind: str
    empty: Callable[[], str]
    migrated: Callable[[], str]
    # They lie in memory, and thousands of them would fill it: each is deleted or used again.
    drop: Callable[[str], None]


@pytest.fixture(scope="session", params=BOTH)
def databases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Databases:
    """A maker of databases, once for each kind."""
    if request.param == "sqlite":
        return _sqlite_databases(tmp_path_factory.mktemp("sqlite"))
    return _postgres_databases(request.getfixturevalue("postgres"))


@pytest.fixture
def empty_url(databases: Databases) -> Iterator[str]:
    """A database without any table."""
    url = databases.empty()
    yield url
    databases.drop(url)


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """A database with the present schema and no rows."""
    url = databases.migrated()
    yield url
    databases.drop(url)


@pytest.fixture
def db(database_url: str) -> Iterator[Database]:
    """An open database with the present schema and no rows."""
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Settings as `make run` has them, in a place of their own."""
    return settings_for(database_url, tmp_path)


def settings_for(url: str, folder: Path, **environ: str) -> Settings:
    """Settings as `make run` has them, for one database and folder."""
    defaults = {"DATABASE_URL": url, "MAILBOX_DIR": str(folder / "mailbox"), "DISABLE_AUTH": "true"}
    return config.load(defaults | environ, dotenv=folder / "no.env")


@pytest.fixture
def rung() -> list[str]:
    """The steps that the web rang for."""
    return []


@pytest.fixture
def client(settings: Settings, db: Database, rung: list[str]) -> Iterator[TestClient]:
    """A visitor at the machine itself, talking to the application without a network."""
    with visitor(Ground(settings, db, rung.append, rung.append)) as visiting:
        yield visiting


@pytest.fixture
def crowd(database_url: str, db: Database, tmp_path: Path, rung: list[str]) -> Iterator[TestClient]:
    """Many visitors behind a proxy: each request comes from another IP, so that no limit is in the way."""
    secrets = {"UNSUB_SECRET": "a secret", "FEED_WEBHOOK_SECRET": "another"}
    settings = settings_for(database_url, tmp_path, TRUSTED_PROXIES="127.0.0.1", **secrets)
    with visitor(Ground(settings, db, rung.append, rung.append)) as client:
        numbers = count(1)

        def from_elsewhere(request: httpx2.Request) -> None:
            request.headers["X-Forwarded-For"] = str(ipaddress.ip_address("10.0.0.0") + next(numbers))

        client.event_hooks["request"] = [from_elsewhere]
        yield client


def visitor(ground: Ground) -> TestClient:
    """A client as a browser on the same machine would be."""
    return TestClient(
        create_app(ground),
        base_url="http://127.0.0.1:8000",
        client=("127.0.0.1", 50000),
        follow_redirects=False,
        raise_server_exceptions=False,
    )


@pytest.fixture
def web() -> Iterator[Web]:
    """A website."""
    with Web() as website:
        yield website


@pytest.fixture
def issuer(web: Web) -> Issuer:
    """A Cloudflare Access on it."""
    return Issuer(web)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Feeds are read in this process, which is faster than in one of their own; says the addresses of what was read."""
    read: list[str] = []

    async def here(body: bytes, *, content_type: str, url: str) -> Document:
        read.append(url)
        return parse.read(body, content_type=content_type, url=url)

    monkeypatch.setattr(poll, "read_apart", here)
    return read


@pytest.fixture
def blog(web: Web) -> Blog:
    """A blog on it, with a post of some days ago."""
    blog = Blog(web)
    blog.publishes("An old post", ago=timedelta(days=3))
    return blog


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Gna]]:
    """Starts real `gna` processes, and stops what is left of them."""
    with ExitStack() as stack:

        def starter(*, command: str = "serve", **environ: str) -> Gna:
            return stack.enter_context(ForkedGna(tmp_path, command=command, **environ))

        yield starter


@pytest.fixture
def logged() -> Iterator[Callable[[], str]]:
    """What a server at the level `info` has written to its log."""
    written = io.StringIO()
    log.setup(level="info", format="console", to=written)
    yield written.getvalue
    logging.getLogger().handlers.clear()


# Until it is stopped, Playwright keeps an event loop in this thread, where other tests must start their own.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    """The browser of the file."""
    if reason := why_missing():
        pytest.skip(reason)
    # A busy machine is not a failure.
    expect.set_options(timeout=20_000)
    with sync_playwright() as driver:
        browser = Chromium(driver)
        yield browser
        browser.close()


@pytest.fixture
def browser(chromium: Chromium, request: pytest.FixtureRequest) -> Iterator[Browser]:
    """A real browser."""
    yield chromium.running()
    request.node.stash[browser_died] = chromium.has_died


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh tab; an error in the page's console fails the test."""
    context = browser.new_context()
    tab = context.new_page()
    complaints: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    yield tab
    context.close()
    assert not complaints, f"The browser complained: {complaints}"


def _sqlite_databases(folder: Path) -> Databases:
    template = folder / "template.db"

    def empty() -> str:
        return f"sqlite:///{folder / ids.new()}.db"

    def migrated() -> str:
        if not template.exists():
            _migrate(f"sqlite:///{template}")
        url = empty()
        shutil.copy(template, url.removeprefix("sqlite:///"))
        return url

    def drop(url: str) -> None:
        for file in folder.glob(f"{Path(url.removeprefix('sqlite:///')).name}*"):
            file.unlink(missing_ok=True)  # a thread that is still closing it may be faster

    return Databases("sqlite", empty, migrated, drop)


def _postgres_databases(server: Postgres) -> Databases:
    used = _used_databases(server)

    def empty() -> str:
        return server.create_database(f"t{ids.new()}")

    def migrated() -> str:
        # Emptying takes a third of the time of a copy. A database is emptied when the next test needs
        # one: by then the processes of the test that used it have been stopped by their fixtures.
        template = _template(server)
        if used:
            url = used.popleft()
            if server.empty_database(_name(url), like=template):
                return url
            server.drop_database(_name(url))
        return server.create_database(f"t{ids.new()}", template=template)

    return Databases("postgresql", empty, migrated, drop=used.append)


def _name(url: str) -> str:
    return url.rpartition("/")[2]


@cache
def _used_databases(server: Postgres) -> deque[str]:
    """Databases whose tests are over, once for each server: the fixture above comes and goes with its parameter."""
    return deque()


@cache
def _template(server: Postgres) -> str:
    """A migrated database to copy, once for each server."""
    _migrate(server.create_database("template_gna"))
    return "template_gna"


def _migrate(url: str) -> None:
    database = Database(url)
    migrate(database)
    database.close()
