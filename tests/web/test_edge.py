import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from gna.db import Database
from gna.web.ground import Ground
from tests.conftest import settings_for, visitor


@pytest.mark.parametrize("path", ["/health", "/subscribe", "/docs", "/nothing", "/static/app.css", "/confirm?token=x"])
def test_every_answer_carries_the_security_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "geolocation=()" in headers["Permissions-Policy"]
    assert "server" not in headers
    assert "Strict-Transport-Security" not in headers


def test_https_is_remembered_where_the_public_address_has_it(db: Database, database_url: str, tmp_path: Path) -> None:
    public = {"PLATFORM_BASE_URL": "https://news.example.org", "DISABLE_AUTH": "false"}
    settings = settings_for(database_url, tmp_path, **public)
    with visitor(Ground(settings, db)) as client:
        assert client.get("/health").headers["Strict-Transport-Security"] == "max-age=31536000"


def test_pages_are_not_stored_and_static_files_are_checked_again(client: TestClient) -> None:
    assert client.get("/subscribe").headers["Cache-Control"] == "no-store"
    assert client.get("/static/app.css").headers["Cache-Control"] == "no-cache"


def test_a_request_has_an_id_in_its_answer_and_its_log_line(client: TestClient, logged: Callable[[], str]) -> None:
    request_id = client.get("/subscribe").headers["X-Request-ID"]
    assert f"request_id={request_id}" in logged()


def test_the_id_of_a_proxy_is_kept_and_nonsense_is_not(client: TestClient) -> None:
    given = "edge-42.req_7"
    assert client.get("/health", headers={"X-Request-ID": given}).headers["X-Request-ID"] == given
    for nonsense in ("short", "x" * 65, "a b c d e f", "12345678\tx"):
        assert client.get("/health", headers={"X-Request-ID": nonsense}).headers["X-Request-ID"] != nonsense


def test_nothing_personal_is_logged_at_info(client: TestClient, logged: Callable[[], str]) -> None:
    client.post("/api/subscribe", json={"email": "ana@example.org", "nickname": "Anamaria"})
    client.get("/confirm?token=" + "s3cret" * 7 + "x")
    client.get("/people/ana@example.org?q=Anamaria")
    client.post("/api/subscribe", json={"email": "ana@@example.org"})
    lines = logged()
    assert "route=/api/subscribe" in lines
    assert "route=/confirm" in lines
    for personal in ("ana@", "Anamaria", "s3cret", "127.0.0.1"):
        assert personal not in lines


def test_requests_are_counted_by_route_not_by_address(client: TestClient) -> None:
    client.get("/confirm?token=abc")
    client.get("/people/ana@example.org")
    counted = client.get("/metrics").text
    assert 'route="/confirm"' in counted
    assert 'route="unknown",status="404"' in counted
    assert "ana@" not in counted


def test_health_checks_do_not_fill_the_log(client: TestClient, logged: Callable[[], str]) -> None:
    client.get("/health")
    client.get("/healthz")
    assert logged() == ""


def test_health_answers_get_and_head(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/healthz").json() == {"status": "ok", "database": "ok"}
    assert client.head("/healthz").status_code == client.head("/health").status_code == 200


def test_the_counters_do_not_wait_for_work_in_other_threads(client: TestClient) -> None:
    released = threading.Event()

    async def keep_threads_busy() -> None:
        for _ in range(64):
            asyncio.get_running_loop().run_in_executor(None, released.wait, 5)

    assert client.portal
    client.portal.call(keep_threads_busy)
    began = time.monotonic()
    try:
        assert client.get("/metrics").status_code == 200
    finally:
        released.set()
    assert time.monotonic() - began < 5
