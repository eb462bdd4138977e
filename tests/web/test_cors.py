"""Which sites may call from a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from gna.config import Settings
from gna.db import Database
from gna.web.ground import Ground
from tests.conftest import settings_for, visitor

BLOG = "https://blog.example.org"
ASK = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
ALLOW = "Access-Control-Allow-Origin"


@pytest.fixture
def blog(database_url: str, db: Database, tmp_path: Path) -> Iterator[TestClient]:
    """A deployment that one blog may call."""
    with visitor(Ground(settings_for(database_url, tmp_path, CORS_ORIGINS=f"{BLOG}, https://b.example"), db)) as client:
        yield client


@pytest.mark.parametrize(
    "path", ["/api/subscribe", "/api/profile/request-link", "/api/profile/update", "/api/unsubscribe"]
)
def test_a_preflight_of_an_allowed_site(blog: TestClient, path: str) -> None:
    answer = blog.options(path, headers={"Origin": BLOG, **ASK})
    assert answer.status_code == 204
    assert answer.headers[ALLOW] == BLOG
    assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    assert "content-type" in answer.headers["Access-Control-Allow-Headers"].lower()
    assert "Origin" in answer.headers["Vary"]


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://blog.example.org", "null", "https://blog.example.org.evil"]
)
def test_a_preflight_of_another_site_is_refused(blog: TestClient, origin: str) -> None:
    answer = blog.options("/api/subscribe", headers={"Origin": origin, **ASK})
    assert answer.status_code == 403
    assert ALLOW not in answer.headers


@pytest.mark.parametrize("headers", [{}, {"Origin": BLOG}, {"Origin": "https://evil.example"}])
def test_no_cache_gives_one_sites_answer_to_another(blog: TestClient, headers: dict[str, str]) -> None:
    assert "Origin" in blog.post("/api/subscribe", json={}, headers=headers).headers["Vary"]


def test_a_preflight_spends_no_limit(blog: TestClient) -> None:
    for _ in range(10):
        blog.options("/api/subscribe", headers={"Origin": BLOG, **ASK})
    assert blog.post("/api/subscribe", json={"email": "ana@example.org"}).status_code == 201


def test_the_headers_are_on_refusals_too(blog: TestClient) -> None:
    bad = blog.post("/api/subscribe", json={"email": "ana"}, headers={"Origin": BLOG})
    assert (bad.status_code, bad.headers[ALLOW]) == (400, BLOG)
    kind = blog.post("/api/subscribe", content=b"x", headers={"Origin": BLOG, "Content-Type": "text/plain"})
    assert (kind.status_code, kind.headers[ALLOW]) == (415, BLOG)
    for number in range(5):
        blog.post("/api/subscribe", json={"email": f"p{number}@example.org"})
    many = blog.post("/api/subscribe", json={"email": "ana@example.org"}, headers={"Origin": BLOG})
    assert (many.status_code, many.headers[ALLOW]) == (429, BLOG)
    assert "Retry-After" in many.headers["Access-Control-Expose-Headers"]


def test_never_under_admin(blog: TestClient) -> None:
    answer = blog.get("/admin/api/subscribers", headers={"Origin": BLOG})
    assert ALLOW not in answer.headers
    assert ALLOW not in blog.options("/admin/api/subscribers", headers={"Origin": BLOG, **ASK}).headers


def test_everybody(database_url: str, db: Database, tmp_path: Path) -> None:
    with visitor(Ground(settings_for(database_url, tmp_path, CORS_ORIGINS="*"), db)) as client:
        assert client.options("/api/subscribe", headers={"Origin": BLOG, **ASK}).headers[ALLOW] == "*"
        assert client.post("/api/subscribe", json={"email": "a"}, headers={"Origin": "null"}).headers[ALLOW] == "*"


def test_nobody_by_default(client: TestClient) -> None:
    assert client.options("/api/subscribe", headers={"Origin": BLOG, **ASK}).status_code == 403
    assert ALLOW not in client.post("/api/subscribe", json={"email": "a"}, headers={"Origin": BLOG}).headers


def test_the_script_may_be_loaded_by_any_site(client: TestClient, settings: Settings) -> None:
    answer = client.get("/embed.js")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert answer.headers[ALLOW] == "*"
    assert "max-age" in answer.headers["Cache-Control"]
    assert "gna-subscribe" in answer.text


def test_a_database_that_is_away_can_be_read_by_the_site_too(database_url: str, tmp_path: Path) -> None:
    away = Database("postgresql://nobody@127.0.0.1:1/none")
    with visitor(Ground(settings_for(database_url, tmp_path, CORS_ORIGINS=BLOG), away)) as client:
        answer = client.post("/api/subscribe", json={"email": "ana@example.org"}, headers={"Origin": BLOG})
    assert (answer.status_code, answer.headers[ALLOW]) == (503, BLOG)
    away.close()
