"""The page of settings, and the check of DNS in the dashboard."""

import html
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pydantic import SecretStr
from starlette.testclient import TestClient

from gna import __version__, config
from gna.config import Settings
from gna.db import Database
from gna.mail.dkim import record
from gna.migrations import HEAD
from gna.web.ground import Ground
from gna.web.pages.admin.configured import GROUPS, rows, tasks, written
from gna.web.pages.admin.settings import coded
from gna.web.pages.admin.snippets import snippets
from tests.conftest import Databases, settings_for, visitor
from tests.servers.dns import Dns

HTML = {"Accept": "text/html"}
DNS = "/admin/settings/dns"


@pytest.fixture
def dns() -> Iterator[Dns]:
    with Dns() as server:
        yield server


@pytest.fixture
def open_with(database_url: str, db: Database, tmp_path: Path) -> Iterator[Callable[..., TestClient]]:
    """The dashboard with these settings."""
    opened: list[TestClient] = []

    def starter(**environ: str) -> TestClient:
        settings = settings_for(database_url, tmp_path, **environ)
        opened.append(visitor(Ground(settings, db)))
        return opened[-1].__enter__()

    yield starter
    for client in opened:
        client.__exit__(None, None, None)


def loaded(**environ: str) -> Settings:
    return config.load(environ, dotenv=Path("/nonexistent/.env"))


def test_no_secret_is_ever_on_the_page(open_with: Callable[..., TestClient]) -> None:
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    secrets = {
        "SECRET_KEY": "hunter2" * 6,
        "UNSUB_SECRET": "hunter2-unsub",
        "FEED_WEBHOOK_SECRET": "hunter2-feed",
        "SMTP_URL": "smtp://hunter2user:hunter2pass@mail.example.net:587?tls=starttls",
        "REDIS_URL": "redis://:hunter2redis@127.0.0.1:1/0?password=hunter2",
        "DKIM_PRIVATE_KEY": pem,
        "DKIM_SELECTOR": "gna",
        "RESEND_API_KEY": "hunter2-resend",
    }
    page = open_with(**secrets).get("/admin/settings", headers=HTML).text
    assert "hunter2" not in page
    assert not any(line in page for line in pem.splitlines() if line)
    assert "smtp://mail.example.net:587" in page
    assert "redis://127.0.0.1:1/0" in page
    assert "RESEND_API_KEY" not in page


def test_every_setting_that_is_used_is_there_with_its_sentence(client: TestClient) -> None:
    page = html.unescape(client.get("/admin/settings", headers=HTML).text)
    for name, field in config.names().items():
        assert (f"<code>{name}</code>" in page) is not config.is_later(field), name
        if not config.is_later(field):
            assert html.unescape(str(coded(field.description or ""))) in page


def test_the_page_says_what_it_runs_on(client: TestClient, databases: Databases) -> None:
    page = client.get("/admin/settings", headers=HTML).text
    assert f"<dd>{__version__}</dd>" in page
    assert f"<dd>{HEAD}</dd>" in page
    assert {"postgresql": "<dd>PostgreSQL", "sqlite": "<dd>SQLite"}[databases.kind] in page


def test_the_page_is_in_romanian_too(client: TestClient) -> None:
    page = client.get("/admin/settings", headers=HTML | {"Accept-Language": "ro"}).text
    assert "Unde se află datele" in page
    assert "Înainte să trimiteți" in page
    assert "Abonare prin email&lt;/a&gt;" in page


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///gna.db", "sqlite:///gna.db"),
        ("postgresql://gna:hunter2@db.example.org:5433/news?password=hunter2", "postgresql://db.example.org:5433/news"),
        ("postgresql://gna:hunter2@[::1]/news", "postgresql://[::1]/news"),
        ("postgresql://gna:hunter2@host:port/news", ""),
        ("unix:///run/redis.sock?password=hunter2", "unix:///run/redis.sock"),
    ],
)
def test_an_address_is_shown_without_who_logs_in(url: str, shown: str) -> None:
    assert written("DATABASE_URL", SecretStr(url)) == shown
    assert written("SECRET_KEY", SecretStr(url)) == ""


@pytest.mark.parametrize(
    ("value", "shown"),
    [("1h", "1h"), ("90m", "90m"), ("2d", "2d"), ("90", "90s"), ("0.5", "0.5s"), ("36h", "36h")],
)
def test_a_duration_is_written_as_an_operator_would(value: str, shown: str) -> None:
    assert written("FEED_CHECK_INTERVAL", loaded(FEED_CHECK_INTERVAL=value).feed_check_interval) == shown


def test_what_is_set_is_told_from_what_is_usual() -> None:
    by_name = {
        row.name: row for group in rows(loaded(CORS_ORIGINS="https://a.org,https://b.org")).values() for row in group
    }
    assert (by_name["CORS_ORIGINS"].is_set, by_name["CORS_ORIGINS"].value) == (True, "https://a.org, https://b.org")
    assert (by_name["GNA_PORT"].is_set, by_name["GNA_PORT"].value) == (False, "8000")
    assert (by_name["SECRET_KEY"].is_set, by_name["SECRET_KEY"].is_secret) == (False, True)


def test_every_group_has_a_name() -> None:
    assert {config.extra(field)["group"] for field in config.names().values()} <= set(GROUPS)


def test_what_is_to_do_before_the_first_campaign() -> None:
    assert not any(task.is_done for task in tasks(loaded(DISABLE_AUTH="true")))
    everything = loaded(
        PLATFORM_BASE_URL="https://news.example.org",
        EMAIL_FROM_ADDRESS="News <news@example.org>",
        EMAIL_PROVIDER="smtp",
        SMTP_URL="smtp://127.0.0.1",
        SECRET_KEY="x" * 32,
        CF_ACCESS_TEAM_NAME="team",
        CF_ACCESS_AUD="a" * 64,
        ADMIN_EMAIL="ana@example.org",
        TRUSTED_PROXIES="127.0.0.1",
    )
    assert [task.title for task in tasks(everything) if not task.is_done] == ["SPF, DKIM and DMARC in DNS"]


def test_sign_in_is_done_with_a_proxy_of_another_make_too() -> None:
    def is_done(**environ: str) -> bool | None:
        return next(task.is_done for task in tasks(loaded(**environ)) if task.title == "Sign-in for this dashboard")

    other = {
        "CF_ACCESS_CERTS_URL": "https://auth.example.org/.well-known/pomerium/jwks.json",
        "CF_ACCESS_ISSUER": "auth.example.org",
    }
    assert is_done(**other, CF_ACCESS_AUD="news.example.org")
    assert not is_done(**other)


def test_the_snippets_hold_this_servers_address() -> None:
    for snippet in snippets("https://news.example.org", "en"):
        assert "https://news.example.org/" in snippet.text
    assert not any("<script>" in snippet.text for snippet in snippets('https://a.org/"><script>', "en")[:3])


def test_dns_is_asked_only_when_the_button_was_pressed(open_with: Callable[..., TestClient], dns: Dns) -> None:
    client = open_with(DNS_SERVERS=dns.address, EMAIL_FROM_ADDRESS="News <news@example.com>")
    page = client.get(DNS, headers=HTML).text
    assert "example.com" in page
    assert "still the example" not in page
    assert dns.asked == []
    assert "has no SPF record" in client.get(f"{DNS}?selector=", headers=HTML).text
    assert "example.com" in dns.asked


def test_the_records_to_publish_are_on_the_page(open_with: Callable[..., TestClient], dns: Dns) -> None:
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    client = open_with(DNS_SERVERS=dns.address, DKIM_SELECTOR="gna", DKIM_PRIVATE_KEY=pem)
    page = html.unescape(client.get(f"{DNS}?selector=", headers=HTML).text)
    assert "still the example" in page
    for text in (record(pem), "v=spf1 mx ~all", "v=DMARC1; p=none; rua=mailto:dmarc@example.org"):
        assert f">{text}</code>" in page
    romanian = client.get(f"{DNS}?selector=", headers=HTML | {"Accept-Language": "ro"}).text
    assert "example.org nu are înregistrare SPF" in romanian


def test_what_stands_in_dns_is_text(open_with: Callable[..., TestClient], dns: Dns) -> None:
    dns.says("example.org", "TXT", "v=spf1 <script>alert(1)</script> -all")
    dns.says("_dmarc.example.org", "TXT", "v=DMARC1; p=<img src=x>")
    page = open_with(DNS_SERVERS=dns.address).get(f"{DNS}?selector=", headers=HTML).text
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_dns_that_fails_is_said_so(open_with: Callable[..., TestClient], dns: Dns) -> None:
    dns.fails()
    page = open_with(DNS_SERVERS=dns.address).get(f"{DNS}?selector=", headers=HTML).text
    assert "That does not mean that it is missing" in page
    assert "Not known" in page


def test_a_selector_that_cannot_be_one_is_refused_by_its_field(open_with: Callable[..., TestClient], dns: Dns) -> None:
    answer = open_with(DNS_SERVERS=dns.address).get(f"{DNS}?selector=a%20b", headers=HTML)
    assert answer.status_code == 400
    assert 'value="a b"' in answer.text
    assert "A selector has letters, digits, hyphens and dots" in answer.text
    assert dns.asked == []


def test_code_in_a_sentence() -> None:
    assert str(coded("a `b<c>` d & e")) == "a <code>b&lt;c&gt;</code> d &amp; e"
