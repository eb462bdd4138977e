"""Every error is `{"error": "<reason>"}`, whoever made it."""

import asyncio
import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.testclient import TestClient
from starlette.types import Message

from gna.config import Settings
from gna.db import Database
from gna.errors import DatabaseAway, GnaError, Misconfigured, NotAllowedNow, NotFound, Refused
from gna.web.edge import MAX_PUBLIC_BODY, _limited
from gna.web.ground import Ground
from tests.conftest import visitor

SUBSCRIBE = "/api/subscribe"
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("method", "path", "status", "reason"),
    [
        ("GET", "/nothing/here", 404, "Not found"),
        ("GET", "/health/", 404, "Not found"),
        ("GET", "/static/../app.py", 404, "Not found"),
        ("GET", SUBSCRIBE, 405, "Method not allowed"),
        ("DELETE", "/health", 405, "Method not allowed"),
        ("BREW", "/health", 405, "Method not allowed"),
    ],
)
def test_an_unknown_route_or_method(client: TestClient, method: str, path: str, status: int, reason: str) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.json()) == (status, {"error": reason})


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "The body is not valid JSON"),
        (b"{", "The body is not valid JSON"),
        (b"\xff\xfe", "The body is not valid JSON"),
        (b"[" * 40_000, "The body is not valid JSON"),
        (b'{"email": ' + b"9" * 5000 + b"}", "The body is not valid JSON"),
        (b"[]", "The body must be a JSON object"),
        (b"null", "The body must be a JSON object"),
        (b"{}", "Email is required"),
        (b'{"email": null}', "Email is required"),
        (b'{"email": ["ana@example.org"]}', "Email is required"),
        (b'{"email": "ana"}', "Email is not a valid address"),
        (b'{"email": "ana@example.org", "nickname": 7}', "Nickname must be 1–50 characters"),
    ],
)  # fmt: skip
def test_a_malformed_body(client: TestClient, body: bytes, reason: str) -> None:
    answer = client.post(SUBSCRIBE, content=body, headers=JSON)
    assert (answer.status_code, answer.json()) == (400, {"error": reason})


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "", "nonsense"])
def test_another_type_of_body(client: TestClient, kind: str) -> None:
    answer = client.post(SUBSCRIBE, content=b"x", headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert set(answer.json()) == {"error"}


def test_a_broken_form(client: TestClient) -> None:
    answer = client.post(SUBSCRIBE, content=b"x", headers={"Content-Type": "multipart/form-data"})
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}


@pytest.mark.parametrize("announced", [True, False])
def test_too_large_a_body(client: TestClient, announced: bool) -> None:
    chunks = [b'{"email": "', b"x" * MAX_PUBLIC_BODY, b'"}']
    content = b"".join(chunks) if announced else iter(chunks)
    answer = client.post(SUBSCRIBE, content=content, headers=JSON)
    assert (answer.status_code, answer.json()) == (413, {"error": "The body is larger than 64 kB"})


def test_a_body_just_within_the_limit_is_read(client: TestClient) -> None:
    padding = b" " * (MAX_PUBLIC_BODY - len(b'{"email": "x"}'))
    answer = client.post(SUBSCRIBE, content=b'{"email": "x"}' + padding, headers=JSON)
    assert (answer.status_code, answer.json()) == (400, {"error": "Email is not a valid address"})


def test_a_database_that_is_away_is_503(settings: Settings) -> None:
    away = Database("postgresql://nobody@127.0.0.1:1/none")
    with visitor(Ground(settings, away)) as client:
        for answer in (
            client.get("/healthz"),
            client.post(SUBSCRIBE, json={"email": "ana@example.org"}),
            client.get("/confirm?token=" + "x" * 43),
        ):
            assert (answer.status_code, answer.json()) == (503, {"error": "Service temporarily unavailable"})
            assert answer.headers["Retry-After"] == "5"
        assert client.get("/health").status_code == 200
    away.close()


def test_a_visitor_in_a_browser_gets_a_page_when_the_database_is_away(settings: Settings) -> None:
    away = Database("postgresql://nobody@127.0.0.1:1/none")
    browser = {"Accept": "text/html"}
    with visitor(Ground(settings, away)) as client:
        for answer in (
            client.post(SUBSCRIBE, data={"email": "ana@example.org"}, headers=browser),
            client.get("/confirm?token=" + "x" * 43, headers=browser),
        ):
            assert answer.status_code == 503
            assert "try again in a minute" in answer.text
            assert answer.headers["Retry-After"] == "5"
        assert client.get("/healthz", headers=browser).json() == {"error": "Service temporarily unavailable"}
        of_the_admin = client.get("/admin/bounces", headers=browser)
        assert "The database does not answer" in of_the_admin.text
        assert (of_the_admin.status_code, of_the_admin.headers["Retry-After"]) == (503, "5")
    away.close()


def test_nobody_waits_for_a_database_that_hangs(
    settings: Settings, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gna.web.ground.PATIENCE", 0.2)
    monkeypatch.setattr("gna.web.health.answers", lambda _: time.sleep(1))
    with visitor(Ground(settings, db)) as client:
        assert client.get("/healthz").status_code == 503


def test_a_body_that_does_not_come_is_not_waited_for(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gna.web.protocol.BODY_WITHIN", 0.2)

    async def never() -> Message:
        await asyncio.sleep(5)
        return {"type": "http.request"}

    async def read() -> Message:
        return await _limited(never)()

    with pytest.raises(HTTPException) as refusal:
        asyncio.run(read())
    assert refusal.value.status_code == 408


def test_what_comes_after_the_body_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # An answer that takes minutes, such as the progress of a campaign, waits for its visitor to hang up.
    monkeypatch.setattr("gna.web.protocol.BODY_WITHIN", 0.05)
    messages: list[Message] = [{"type": "http.request"}, {"type": "http.disconnect"}]

    async def receive() -> Message:
        if len(messages) == 1:
            await asyncio.sleep(0.2)
        return messages.pop(0)

    async def read() -> list[str]:
        limited = _limited(receive)
        return [(await limited())["type"] for _ in range(2)]

    assert asyncio.run(read()) == ["http.request", "http.disconnect"]


@pytest.mark.parametrize("charset", ["undefined", "no-such-charset", "utf-16", "punycode", "idna", "unicode_escape"])
def test_a_form_in_a_charset_that_does_not_fit(client: TestClient, charset: str) -> None:
    kind = {"Content-Type": f"multipart/form-data; boundary=x; charset={charset}"}
    body = b'--x\r\nContent-Disposition: form-data; name="email"\r\n\r\nana\xff\r\n--x--\r\n'
    answer = client.post(SUBSCRIBE, content=body, headers=kind)
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}


@pytest.mark.parametrize(
    "charset", ["utf-8", "UTF8", "us-ascii", "iso-8859-1", "ISO-8859-2", "windows-1252", '"utf-8"', ""]
)
def test_a_form_in_a_usual_charset_is_read(client: TestClient, charset: str) -> None:
    kind = {"Content-Type": f"multipart/form-data; boundary=x; charset={charset}"}
    body = b'--x\r\nContent-Disposition: form-data; name="email"\r\n\r\nana@example.org\r\n--x--\r\n'
    assert client.post(SUBSCRIBE, content=body, headers=kind).status_code == 201


@pytest.mark.parametrize("path", ["/docs%0A", "/health%0A", "/admin%0A", "/admin/api/campaigns%0A", "/docs%00"])
def test_an_address_with_a_control_character_is_none_of_ours(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()) == (404, {"error": "Not found"})


def test_a_page_that_only_begins_like_the_dashboard_is_not_found(client: TestClient) -> None:
    answer = client.get("/adminx", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert "<h1" in answer.text


@pytest.mark.parametrize("path", ["/api/subscribe", "/api/profile/request-link", "/api/profile/update"])
def test_a_browser_that_opens_where_a_form_was_sent_to_sees_a_page(client: TestClient, path: str) -> None:
    answer = client.get(path, headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert "<h1" in answer.text


def test_a_mail_program_is_refused_in_json_whatever_it_accepts(crowd: TestClient) -> None:
    answer = crowd.post("/unsubscribe?token=x", headers={"Accept": "text/html"})
    assert (answer.status_code, set(answer.json())) == (400, {"error"})


@pytest.mark.parametrize(
    ("seconds", "told"), [(60, "wait a minute"), (61, "wait 2 minutes"), (3599, "wait 60 minutes")]
)
def test_a_visitor_is_told_whole_minutes(client: TestClient, seconds: int, told: str) -> None:
    app = client.app
    assert isinstance(app, Starlette)

    def fails(_: Request) -> Response:
        raise HTTPException(429, headers={"Retry-After": str(seconds)})

    app.add_route("/fails", fails, methods=["POST"])
    answer = client.post("/fails", data={"email": "ana@example.org"}, headers={"Accept": "text/html"})
    assert answer.status_code == 429
    assert told in answer.text


def test_a_long_address_is_refused(client: TestClient) -> None:
    assert client.get(f"/confirm?token={'a' * 8000}").status_code != 414
    for address in (f"/confirm?token={'a' * 8200}", "/static/" + "a/" * 5000):
        answer = client.get(address)
        assert (answer.status_code, answer.json()) == (414, {"error": "The address is longer than 8 kB"})


def test_a_length_of_many_digits_is_too_large(client: TestClient) -> None:
    for length, status in (("9" * 5000, 413), ("0" * 5000 + "2", 400)):
        answer = client.post(SUBSCRIBE, content=b"{}", headers=JSON | {"Content-Length": length})
        assert answer.status_code == status


def test_a_visitor_who_hangs_up_is_not_our_failure(settings: Settings, db: Database, logged: Callable[[], str]) -> None:
    with visitor(Ground(settings, db)) as client:
        app = client.app
        assert isinstance(app, Starlette)

        def gone(_: Request) -> Response:
            raise ClientDisconnect

        app.add_route("/gone", gone)
        client.get("/gone")
    assert "status=499" in logged()
    assert "error" not in logged()


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (Refused("too short"), 400, "too short"),
        (NotFound("no such campaign"), 404, "no such campaign"),
        (
            NotAllowedNow("Operation not allowed in current state"),
            409,
            "Operation not allowed in current state",
        ),
        (DatabaseAway("host db1"), 503, "Service temporarily unavailable"),
        (Misconfigured("SECRET_KEY is not set"), 500, "Server misconfiguration"),
        (GnaError("odd"), 500, "Internal server error"),
        (ZeroDivisionError("ana@example.org"), 500, "Internal server error"),
    ],
)
def test_the_class_of_an_error_decides_its_status(
    settings: Settings, db: Database, error: Exception, status: int, reason: str
) -> None:
    with visitor(Ground(settings, db)) as client:
        app = client.app
        assert isinstance(app, Starlette)

        def fails(_: Request) -> Response:
            raise error

        app.add_route("/fails", fails)
        answer = client.get("/fails")
    assert (answer.status_code, answer.json()) == (status, {"error": reason})
    assert "X-Request-ID" in answer.headers


json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
fuzz = hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)


@fuzz
@given(body=st.fixed_dictionaries({}, optional={"email": json_values | st.emails(), "nickname": json_values}))
def test_no_json_breaks_the_sign_up(crowd: TestClient, body: dict[str, object]) -> None:
    answer = crowd.post(SUBSCRIBE, json=body)
    assert answer.status_code in (201, 400)
    assert answer.json() == {"status": "confirmation_sent"} or set(answer.json()) == {"error"}


@fuzz
@given(
    body=st.binary(max_size=200),
    kind=st.sampled_from(["application/json", "application/x-www-form-urlencoded"]),
)
def test_no_bytes_break_the_sign_up(crowd: TestClient, body: bytes, kind: str) -> None:
    answer = crowd.post(SUBSCRIBE, content=body, headers={"Content-Type": kind})
    assert answer.status_code in (201, 400)


@fuzz
@given(token=st.text())
def test_no_token_breaks_the_confirmation(client: TestClient, token: str) -> None:
    assert client.get("/confirm", params={"token": token}).status_code == 400


def test_json_of_lists_alone_is_refused_before_it_is_parsed(client: TestClient) -> None:
    body = b'{"subject": [' + b"[]," * 50_001 + b"[]]}"
    answer = client.post("/admin/api/campaigns", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()) == (400, {"error": "The body has too many lists and objects"})
