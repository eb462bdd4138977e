from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from gna.db import Database
from gna.web.app import create_app
from gna.web.ground import Ground
from tests.conftest import settings_for, visitor
from tests.gate import HEADER, Clock, gate
from tests.issuer import AUD, TEAM, Issuer
from tests.issuer import settings as settings_of

ADMIN = ["/admin", "/admin/", "/admin/mailbox", "/admin/unknown", "/%61dmin/mailbox"]


CLOSED = (500, {"error": "Server misconfiguration"})
DEVELOPER = {"name": "dev@localhost", "email": "dev@localhost", "sub": "dev"}


@pytest.mark.parametrize("path", ADMIN)
def test_admin_is_closed_unless_opened(db: Database, database_url: str, tmp_path: Path, path: str) -> None:
    settings = settings_for(database_url, tmp_path, DISABLE_AUTH="false")
    with visitor(Ground(settings, db)) as client:
        for headers in ({}, {HEADER: ""}, {HEADER: "x.y.z"}, {"Accept": "text/html"}, {"Sec-Fetch-Site": "cross-site"}):
            for method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS"):
                answer = client.request(method, path, headers=headers)
                assert (answer.status_code, answer.content and answer.json()) in (CLOSED, (500, b""))


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, "CF_ACCESS_TEAM_NAME, CF_ACCESS_AUD"),
        ({"CF_ACCESS_TEAM_NAME": TEAM}, "CF_ACCESS_AUD"),
        ({"CF_ACCESS_TEAM_NAME": TEAM, "CF_ACCESS_AUD": " , "}, "CF_ACCESS_AUD"),
        ({"CF_ACCESS_AUD": AUD}, "CF_ACCESS_TEAM_NAME"),
        ({"CF_ACCESS_AUD": AUD, "CF_ACCESS_ISSUER": "https://idp.example.org"}, "CF_ACCESS_CERTS_URL"),
        ({"CF_ACCESS_AUD": AUD, "CF_ACCESS_CERTS_URL": "https://idp.example.org/keys"}, "CF_ACCESS_ISSUER"),
        ({"CF_ACCESS_CERTS_URL": "https://idp.example.org/keys"}, "CF_ACCESS_ISSUER, CF_ACCESS_AUD"),
    ],
)
def test_half_a_configuration_is_none_and_the_log_says_what_is_missing(
    issuer: Issuer, logged: Callable[[], str], given: dict[str, str], missing: str
) -> None:
    seconds = Clock()
    client = TestClient(gate(settings_of(given), seconds))
    for _ in range(10):
        answer = client.get("/admin", headers={HEADER: issuer.token()})
        assert (answer.status_code, answer.json()) == CLOSED
    assert logged().count("error") == logged().count(f"missing={missing}\n") == 1
    seconds.passes(60)
    client.get("/admin")
    assert logged().count("/admin is closed: no sign-in is configured") == 2


def test_the_developer_has_an_identity() -> None:
    client = TestClient(
        gate(settings_of({"DISABLE_AUTH": "true"})), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 50000)
    )
    assert client.get("/admin").json() == DEVELOPER


def test_disabled_sign_in_asks_for_no_token_also_if_one_is_configured(issuer: Issuer) -> None:
    settings = settings_of(issuer.environ | {"DISABLE_AUTH": "true"})
    client = TestClient(gate(settings), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 50000))
    assert client.get("/admin").json() == DEVELOPER
    # A header of Cloudflare tells of a proxy, behind which sign-in must not be disabled.
    assert client.get("/admin", headers={HEADER: issuer.token()}).status_code == 403
    assert issuer.fetches == 0


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
        {"Client-IP": "203.0.113.7"},
        {"X-Azure-ClientIP": "203.0.113.7"},
        {"X-Envoy-External-Address": "203.0.113.7"},
        {"X-Amzn-Trace-Id": "Root=1"},
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


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),  # a program
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://news.example.org"}, 200),
        ({"Sec-Fetch-Site": "same-site", "Origin": "https://blog.example.org"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "https://news.example.org"}, 403),
        ({"Sec-Fetch-Site": "anything else"}, 403),
        ({"Sec-Fetch-Site": ""}, 403),
        ({"Origin": "https://news.example.org"}, 200),  # the public address, though the proxy asks another host
        ({"Origin": "https://news.example.org:443"}, 200),
        ({"Origin": "http://news.example.org"}, 403),
        ({"Origin": "https://news.example.org:8443"}, 403),
        ({"Origin": "https://blog.example.org"}, 403),
        ({"Origin": "https://news.example.org.evil.example"}, 403),
        ({"Origin": "https://example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Origin": "https://"}, 403),
        ({"Origin": "https://[::1"}, 403),
        ({"Origin": "https://news.example.org:port"}, 403),
        ({"Origin": "null", "Host": ""}, 403),
        ({"Origin": "https://gna.internal"}, 200),  # asked for under that name
        ({"Origin": "http://gna.internal"}, 403),  # by a page that anybody on the way could have written
    ],
)
def test_behind_the_proxy_another_site_changes_nothing(issuer: Issuer, headers: dict[str, str], status: int) -> None:
    settings = settings_of(issuer.environ | {"PLATFORM_BASE_URL": "https://news.example.org"})
    with TestClient(gate(settings), base_url="http://gna.internal") as client:
        token = {HEADER: issuer.token()}
        assert client.post("/admin/api/campaigns", headers=token | headers).status_code == status
        assert client.get("/admin", headers=token | headers).status_code == 200
        assert client.post("/admin/api/campaigns", headers=headers).status_code == 401


def test_two_words_about_the_site_are_both_heard(guest: TestClient, issuer: Issuer) -> None:
    twice = [(HEADER, issuer.token()), ("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")]
    assert guest.post("/admin", headers=twice).status_code == 403
    twice = [(HEADER, issuer.token()), ("Origin", "http://news.example.org"), ("Origin", "https://evil.example")]
    assert guest.post("/admin", headers=twice).status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://127.0.0.1:8000"}, 200),
        ({"Origin": "http://127.0.0.1:8001"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://evil.example"}, 403),
    ],
)
def test_without_sign_in_another_site_changes_nothing(headers: dict[str, str], status: int) -> None:
    settings = settings_of({"DISABLE_AUTH": "true"})
    client = TestClient(gate(settings), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 50000))
    assert client.post("/admin/api/campaigns", headers=headers).status_code == status


CROSS = {"Sec-Fetch-Site": "cross-site"}
VISIT = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def test_another_site_may_lead_to_a_page_and_take_nothing(client: TestClient) -> None:
    assert client.get("/admin/mailbox", headers=CROSS | VISIT).status_code == 200
    assert client.get("/admin/mailbox", headers=CROSS | {"Sec-Fetch-Mode": "no-cors"}).status_code == 403
    for path in ("/admin/api/subscribers", "/admin/api/subscribers/export.csv"):
        assert client.get(path, headers=CROSS | VISIT).status_code == 403
        assert client.get(path, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
        assert client.get(path).status_code == 200
    assert client.get("/admin/api/activity").json()["total"] == 2, "one export from here, one by a program"
    client.head("/admin/api/subscribers/export.csv")
    assert client.get("/admin/api/activity").json()["total"] == 2
