"""No input breaks a public route: schemathesis from the API's own description, hypothesis on addresses and tokens."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import requests
import schemathesis
import sqlalchemy as sa
from hypothesis import HealthCheck, given
from hypothesis import settings as fuzzing
from hypothesis import strategies as st
from schemathesis.core.result import Ok
from starlette.testclient import TestClient

from gna import clock, ids, tokens
from gna.db import Database
from gna.subscribers.table import subscribers
from gna.web.ground import Ground
from tests.conftest import settings_for, visitor
from tests.factories import a_subscriber
from tests.seeds.reader import Reader

QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much]
some = fuzzing(suppress_health_check=QUIET, max_examples=60)
ROUTES = (
    "POST /api/subscribe",
    "GET /api/unsubscribe",
    "POST /api/unsubscribe",
    "GET /unsubscribe",
    "POST /unsubscribe",
    "POST /api/profile/request-link",
    "POST /api/profile/update",
    "GET /confirm",
    "POST /confirm",
    "GET /profile",
    "GET /subscribe",
    "GET /confirmed",
    "GET /embed.js",
    "GET /robots.txt",
    "GET /archive",
    "GET /archive.xml",
    "GET /archive/{campaign_id}",
    "GET /admin/api/subscribers",
    "GET /admin/api/subscribers/export.csv",
    "PATCH /admin/api/subscribers/{subscriber_id}",
    "DELETE /admin/api/subscribers/{subscriber_id}",
    "GET /admin/api/imports/{import_id}",
    "GET /admin/api/campaigns",
    "POST /admin/api/campaigns",
    "POST /admin/api/campaigns/preview",
    "PATCH /admin/api/campaigns/{campaign_id}",
    "POST /admin/api/campaigns/{campaign_id}/schedule",
    "POST /admin/api/campaigns/{campaign_id}/test",
    "GET /admin/api/campaigns/{campaign_id}/preview",
    "POST /admin/api/deliveries/{delivery_id}/retry",
    "POST /api/feed/webhook",
    "GET /api/feed/webhook",
    "GET /admin/api/feeds",
    "POST /admin/api/feeds",
    "PATCH /admin/api/feeds/{feed_id}",
    "GET /admin/api/bounces",
    "DELETE /admin/api/bounces/{bounce_id}",
    "GET /admin/api/dead-letters",
    "POST /admin/api/dead-letters/{letter_id}/replay",
    "DELETE /admin/api/dead-letters/{letter_id}",
    "GET /admin/api/messages",
)


def test_every_public_route_is_fuzzed(client: TestClient) -> None:
    paths: dict[str, Any] = client.get("/openapi.json").json()["paths"]
    documented = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    health = {"GET /health", "GET /healthz", "GET /metrics"}
    assert {route for route in documented if not route.split()[1].startswith("/admin")} - health <= set(ROUTES)
    assert set(ROUTES) <= documented


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the description allows, by route. It does not depend on the database, and reading it takes long."""
    folder = tmp_path_factory.mktemp("described")
    url = f"sqlite:///{folder / 'gna.db'}"
    database = Database(url)
    nothing: Callable[[str], None] = lambda _: None  # noqa: E731
    with visitor(Ground(settings_for(url, folder), database, nothing, nothing)) as client:
        schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    database.close()
    found = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    return {f"{operation.method.upper()} {operation.path}": operation for operation in found}


@pytest.mark.parametrize("route", ROUTES)
def test_what_the_description_allows_never_breaks_it(
    crowd: TestClient, client: TestClient, operations: dict[str, Any], route: str
) -> None:
    method, path = route.split()
    someone = client if path.startswith("/admin") else crowd
    documented = operations[route].definition.raw["responses"]

    @some
    @given(case=operations[route].as_strategy())
    def never_breaks(case: Any) -> None:
        sent = case.as_transport_kwargs(base_url="http://127.0.0.1:8000")
        ready = requests.Request(**{name: sent[name] for name in sent if name != "timeout"}).prepare()
        body: Any = ready.body.encode("utf-8", "surrogatepass") if isinstance(ready.body, str) else ready.body
        headers: Any = {name: value for name, value in ready.headers.items() if name != "Content-Length"}
        answer = someone.request(method, str(ready.url), content=body, headers=headers)
        assert answer.status_code < 500, answer.text
        assert str(answer.status_code) in documented, answer.text

    never_breaks()


@some
@given(email=st.emails() | st.text(max_size=300), nickname=st.none() | st.text(max_size=60))
def test_any_address_and_nickname(crowd: TestClient, email: str, nickname: str | None) -> None:
    for path in ("/api/subscribe", "/api/profile/request-link"):
        answer = crowd.post(path, json={"email": email, "nickname": nickname})
        assert answer.status_code in (200, 201, 400, 429)
        page = crowd.post(path, data={"email": email, "nickname": nickname or ""}, headers={"Accept": "text/html"})
        assert page.status_code in (200, 201, 400, 429)


@some
@given(token=st.text(max_size=100) | st.from_regex(r"[A-Za-z0-9_-]{43}", fullmatch=True) | st.binary().map(repr))
def test_any_token(crowd: TestClient, token: str) -> None:
    for method, path in (
        ("GET", "/confirm"), ("POST", "/confirm"), ("GET", "/profile"), ("GET", "/api/unsubscribe"),
        ("POST", "/api/unsubscribe"), ("GET", "/nothing"),
    ):  # fmt: skip
        assert crowd.request(method, path, params={"token": token}).status_code in (200, 400, 404)
    update = crowd.post("/api/profile/update", json={"token": token, "nickname": token, "email": token})
    assert update.status_code in (400, 401)


@some
@given(
    wish=st.fixed_dictionaries(
        {},
        optional={name: st.none() | st.text() | st.integers() | st.lists(st.text()) for name in ("nickname", "email")},
    )
)
def test_any_wish_of_somebody_who_was_let_in(crowd: TestClient, db: Database, wish: dict[str, Any]) -> None:
    token = tokens.new()
    letter = {"magic_link_token": tokens.digest(token), "magic_link_expires_at": clock.now() + timedelta(minutes=5)}
    with db.write() as tx:
        person = a_subscriber(tx, email=f"{ids.new()}@example.org", activated=True, **letter)
    answer = Reader(crowd, db).updates(token, **wish)
    assert answer.status_code in (200, 400, 409)
    with db.read() as tx:
        left = tx.execute(sa.select(subscribers.c.magic_link_token).where(subscribers.c.id == person)).scalar_one()
    assert (left is None) is (answer.status_code == 200), "the token is used up by success alone"
