from pathlib import Path

import pytest
from starlette.testclient import TestClient

from gna.db import Database
from gna.web.app import create_app
from gna.web.ground import Ground
from tests.conftest import settings_for, visitor

ADMIN = ["/admin", "/admin/", "/admin/mailbox", "/admin/unknown", "/%61dmin/mailbox"]


@pytest.mark.parametrize("path", ADMIN)
def test_admin_is_closed_unless_opened(db: Database, database_url: str, tmp_path: Path, path: str) -> None:
    settings = settings_for(database_url, tmp_path, DISABLE_AUTH="false")
    with visitor(Ground(settings, db)) as client:
        answer = client.get(path, headers={"Cf-Access-Jwt-Assertion": "x.y.z"})
    assert (answer.status_code, answer.json()) == (500, {"error": "Server misconfiguration"})


def test_the_mailbox_opens_to_this_machine(client: TestClient) -> None:
    assert client.get("/admin/mailbox").status_code == 200
    assert client.get("/admin/mailbox", headers={"Host": "localhost:8000"}).status_code == 200
    assert client.get("/admin/mailbox", headers={"Host": "[::1]:8000"}).status_code == 200


@pytest.mark.parametrize("path", ADMIN)
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example.org"},  # a name elsewhere that resolves to 127.0.0.1
        {"Host": "127.0.0.1.evil.example.org"},
        {"Host": "[::1"},
        {"Host": ""},
        {"Host": "[::1]evil"},
        {"Host": "evil@127.0.0.1"},
        {"X-Forwarded-Proto": "https"},
        {"CF-Ray": "1"},
        {"True-Client-IP": "203.0.113.7"},
        {"X-Original-Host": "news.example.org"},
        {"Tailscale-User-Login": "eve"},
        {"X-Forwarded-For": "203.0.113.7"},  # a proxy on this machine that lets the world in
        {"CF-Connecting-IP": "203.0.113.7"},
        {"Forwarded": "for=203.0.113.7"},
    ],
)
def test_without_sign_in_admin_answers_only_to_this_machine(
    client: TestClient, path: str, headers: dict[str, str]
) -> None:
    answer = client.get(path, headers=headers)
    assert answer.status_code == 403
    assert set(answer.json()) == {"error"}


def test_without_sign_in_admin_refuses_another_peer(db: Database, database_url: str, tmp_path: Path) -> None:
    app = create_app(Ground(settings_for(database_url, tmp_path), db))
    with TestClient(app, base_url="http://127.0.0.1:8000", client=("192.168.1.9", 50000)) as client:
        assert client.get("/admin/mailbox").status_code == 403


def test_declared_development_opens_admin_to_others_but_not_the_mailbox(
    db: Database, database_url: str, tmp_path: Path
) -> None:
    settings = settings_for(database_url, tmp_path, GNA_HOST="0.0.0.0", GNA_ENV="development")
    app = create_app(Ground(settings, db))
    with TestClient(app, base_url="http://gna.test:8000", client=("192.168.1.9", 50000)) as client:
        assert client.get("/admin/unknown").status_code == 404
        assert client.get("/admin/mailbox").status_code == 404


def test_public_pages_do_not_care_about_the_host(client: TestClient) -> None:
    assert client.get("/subscribe", headers={"Host": "evil.example.org"}).status_code == 200
