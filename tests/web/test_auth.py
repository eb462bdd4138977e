import re
import socket
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
from tests.running import Gna

ADMIN = ["/admin", "/admin/", "/admin/mailbox", "/admin/unknown", "/%61dmin/mailbox"]


CLOSED = (500, {"error": "Server misconfiguration"})
DEVELOPER = {"name": "dev@localhost", "email": "dev@localhost", "sub": "dev"}


@pytest.mark.parametrize("path", ADMIN)
def test_admin_is_closed_unless_opened(db: Database, database_url: str, tmp_path: Path, path: str) -> None:
    settings = settings_for(database_url, tmp_path, DISABLE_AUTH="false")
    with visitor(Ground(settings, db)) as client:
        for headers in ({}, {HEADER: ""}, {HEADER: "x.y.z"}, {"Sec-Fetch-Site": "cross-site"}):
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


def test_without_sign_in_two_hosts_are_none() -> None:
    app = gate(settings_of({"DISABLE_AUTH": "true"}))
    client = TestClient(app, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 50000))
    hosts = [("Host", "127.0.0.1:8000"), ("Host", "elsewhere.example")]
    assert client.get("/admin", headers=hosts).status_code == 403


# What proxies, CDNs, tunnels and hosting platforms add to the requests that they pass on.
PROXIES_SEND = re.findall(
    r"\S+",
    """
    Akamai-Origin-Hop Ali-Cdn-Real-Ip CDN-Loop CF-Connecting-IP CF-IPCountry CF-Ray CF-Visitor
    CF-Warp-Tag-Id Client-Cert Client-IP ClientIP Connecting-IP Do-Connecting-Ip EagleId Early-Data
    OIDC_CLAIM_email Proxied-For Real-IP Source-IP Ssl-Client-Cert Ssl-Client-Verify
    Was-Default-Hostname X_Forwarded_For Z-Forwarded-For CloudFront-Viewer-Address Disguised-Host Fastly-Client-IP
    Fastly-FF Fly-Client-IP Fly-Region Forwarded Forwarded-For Front-End-Https Incap-Client-IP
    Max-Forwards Ngrok-Auth-User-Email Proxy-Client-IP Proxy-Connection Remote-Addr Remote-User
    Cache-Info EO-LOG-UUID L5d-Client-Id Rndr-Id Via-Proxy
    Apigw-Requestid B3 Client-Address Connect-Time IV-User Original-Host Rdwr-Popip Request-Id Scheme
    Section-Io-Id Shib-Session-Id SM_USER Teleport-Jwt-Assertion Total-Route-Time User-IP
    Surrogate-Capability Tailscale-User-Login True-Client-IP Via WL-Proxy-Client-IP
    X-Akamai-Edgescape X-Amz-Cf-Id X-Amzn-Trace-Id X-Appengine-User-IP X-ARR-LOG-ID X-ARR-SSL
    X-Auth-Request-Email X-Azure-ClientIP X-Azure-FDID X-B3-TraceId X-Cache X-Client-IP
    X-Cloud-Trace-Context X-Cluster-Client-IP X-Envoy-External-Address X-FD-HealthProbe
    X-Forward-For X-Forwarded X-Forwarded-By X-Forwarded-For X-Forwarded-Host X-Forwarded-Port
    X-Forwarded-Proto X-Forwarded-Scheme X-Forwarded-Server X-Forwarded-Ssl
    X-Goog-Iap-Jwt-Assertion X-Host X-Ingress-Path X-Nf-Client-Connection-Ip X-Nginx-Proxy
    X-Original-Forwarded-For X-Original-Host X-Original-URL X-Originating-IP
    X-Pomerium-Jwt-Assertion X-ProxyUser-Ip X-Real-IP X-Real-Port X-Remote-IP
    X-Render-Origin-Server X-Replit-User-Id X-Request-Start X-Scheme X-Sucuri-ClientIP
    X-Url-Scheme X-Varnish X-Vercel-Forwarded-For X-Vercel-Id X-Zerotier-Id
    """,
)


@pytest.mark.parametrize("name", PROXIES_SEND)
def test_without_sign_in_a_header_of_any_proxy_closes_admin(name: str) -> None:
    client = TestClient(
        gate(settings_of({"DISABLE_AUTH": "true"})), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 50000)
    )
    assert client.get("/admin", headers={name: "1"}).status_code == 403
    assert client.get("/admin").status_code == 200


def test_without_sign_in_a_proxy_that_adds_no_header_is_known_by_its_version(start: Callable[..., Gna]) -> None:
    """nginx with nothing but `proxy_pass` speaks HTTP/1.0, and browsers have not for decades."""
    gna = start(DISABLE_AUTH="true")

    def status(version: str) -> bytes:
        head = f"GET /admin HTTP/{version}\r\nHost: 127.0.0.1:{gna.port}\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", gna.port)) as line:
            line.sendall(head.encode())
            return line.recv(4096).split()[1]

    assert (status("1.0"), status("1.1")) == (b"403", b"200")


def test_without_sign_in_what_browsers_and_programs_send_opens_admin() -> None:
    client = TestClient(
        gate(settings_of({"DISABLE_AUTH": "true"})), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 50000)
    )
    for name in BROWSERS_SEND:
        assert client.get("/admin", headers={name: "1"}).status_code == 200, name


BROWSERS_SEND = re.findall(
    r"\S+",
    """
    Accept Accept-Charset Accept-Encoding Accept-Language Authorization Cache-Control
    Content-Type Cookie DNT Date If-Modified-Since If-None-Match Last-Event-ID
    Origin-Agent-Cluster Pragma Priority Purpose Range Referer RTT Save-Data Sec-CH-UA
    Sec-CH-UA-Mobile Sec-CH-UA-Platform Sec-Fetch-Dest Sec-Fetch-User Sec-GPC Sec-Purpose TE
    Traceparent Upgrade-Insecure-Requests User-Agent Viewport-Width X-Moz
    X-Prometheus-Scrape-Timeout-Seconds X-Purpose X-Request-ID X-Requested-With
    """,
)


@pytest.mark.parametrize(
    ("language", "said"), [("en", "Sign-in is not configured yet"), ("ro", "Autentificarea nu este încă configurată")]
)
def test_a_browser_reads_what_to_set(db: Database, database_url: str, tmp_path: Path, language: str, said: str) -> None:
    settings = settings_for(database_url, tmp_path, DISABLE_AUTH="false", CF_ACCESS_TEAM_NAME="quiet-team")
    browser = {"Accept": "text/html,*/*;q=0.8", "Accept-Language": language}
    with visitor(Ground(settings, db)) as client:
        answer = client.get("/admin/subscribers", headers=browser)
        assert (answer.status_code, answer.headers["Content-Language"]) == (500, language)
        assert said in answer.text
        for name in (
            "CF_ACCESS_TEAM_NAME",
            "CF_ACCESS_AUD",
            "CF_ACCESS_CERTS_URL",
            "make run",
            "docs/guides/access.md",
        ):
            assert name in answer.text
        assert "quiet-team" not in answer.text
        assert client.head("/admin", headers=browser).status_code == 500
        for_programs = client.get("/admin/api/subscribers", headers=browser)
        assert (for_programs.status_code, for_programs.json()) == CLOSED


def test_a_browser_reads_why_its_token_does_not_open(
    db: Database, database_url: str, tmp_path: Path, issuer: Issuer
) -> None:
    settings = settings_for(database_url, tmp_path, **issuer.environ | {"DISABLE_AUTH": "false"})
    browser = {"Accept": "text/html,*/*;q=0.8"}
    late = issuer.token(exp=1)
    with visitor(Ground(settings, db)) as client:
        for token, status, said in (
            (None, 401, "Please sign in"),
            ("nonsense", 403, "Invalid token."),
            (late, 403, "Token expired."),
        ):
            headers = browser | ({HEADER: token} if token else {})
            for method in ("GET", "POST"):
                answer = client.request(method, "/admin", headers=headers)
                assert answer.status_code == status
                assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
                assert said in answer.text
                assert TEAM not in answer.text
                assert AUD not in answer.text
            program = client.get("/admin", headers=headers | {"Accept": "application/json"})
            assert (program.status_code, set(program.json())) == (status, {"error"})


def test_without_sign_in_another_machine_reads_a_page(client: TestClient) -> None:
    answer = client.get("/admin", headers={"Accept": "text/html", "X-Forwarded-For": "203.0.113.7"})
    assert answer.status_code == 403
    assert "answers only to a browser on this machine." in answer.text


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
