"""What every page of the admin has in common."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.testclient import TestClient

from gna import clock
from gna.activity import Verb, activity
from gna.campaigns import writing
from gna.campaigns.writing import Wish
from gna.db import Database
from gna.web.ground import Ground
from gna.web.pages.admin import shell
from gna.web.pages.admin.shell import MESSAGE, Message, back, go
from tests.conftest import settings_for, visitor
from tests.factories import a_subscriber

HTML = {"Accept": "text/html"}


def request(**headers: str) -> Request:
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": encoded, "path": "/admin", "query_string": b"", "method": "GET"})


def said_by(answer: Any) -> dict[str, str]:
    """The cookie that carries a message to the next page."""
    name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
    return {"Cookie": f"{name}={value}"}


def test_the_identity_shows_on_the_first_page(client: TestClient) -> None:
    assert "dev@localhost" in client.get("/admin", headers=HTML).text


def test_a_page_is_in_the_visitors_language(client: TestClient) -> None:
    romanian = client.get("/admin", headers=HTML | {"Accept-Language": "ro"})
    assert '<html lang="ro">' in romanian.text
    assert "Abonați" in romanian.text
    assert romanian.headers["Content-Language"] == "ro"


def test_a_message_is_shown_once_on_the_next_page(client: TestClient) -> None:
    answer = client.get("/admin", headers=HTML | said_by(go("/admin", "It is <done>, %(who)s.", who="Ana & Ion")))
    assert "It is &lt;done&gt;, Ana &amp; Ion." in answer.text
    assert 'role="status"' in answer.text
    assert f'{MESSAGE}=""' in answer.headers["set-cookie"]
    assert "set-cookie" not in client.get("/admin", headers=HTML).headers


def test_a_message_waits_for_the_page_that_is_shown(client: TestClient) -> None:
    cookie = said_by(go("/admin", "It is done."))
    answer = client.get("/admin/feeds?page=2", headers=HTML | cookie)
    assert (answer.status_code, "set-cookie" in answer.headers) == (303, False)
    assert "It is done." in client.get(answer.headers["Location"], headers=HTML | cookie).text


@pytest.mark.parametrize("letter", ["a", "ț", "🦉", "\0"])
def test_a_long_message_is_cut_so_that_the_browser_keeps_it(client: TestClient, letter: str) -> None:
    answer = go("/admin", "It went to %(whom)s.", whom=letter * 5000)
    assert len(answer.headers["set-cookie"]) < 3500
    assert f"It went to {letter * 9}" in client.get("/admin", headers=HTML | said_by(answer)).text


@pytest.mark.parametrize(("scheme", "is_secure"), [("http", False), ("https", True)])
def test_a_message_goes_as_the_pages_do(
    db: Database, database_url: str, tmp_path: Path, scheme: str, is_secure: bool
) -> None:
    settings = settings_for(database_url, tmp_path, PLATFORM_BASE_URL=f"{scheme}://127.0.0.1:8000")
    with visitor(Ground(settings, db, lambda _: None)) as client:
        cookie = client.post("/admin/subscribers/some", headers=HTML).headers["set-cookie"]
    assert cookie.startswith(f"{MESSAGE}=")
    assert ("Secure" in cookie) is is_secure


LISTS = ("activity", "bounces", "campaigns", "dead-letters", "feeds", "import", "subscribers")


@pytest.mark.parametrize("path", [f"/admin/{name}" for name in LISTS])
def test_a_page_behind_the_last_leads_to_the_last(client: TestClient, path: str) -> None:
    answer = client.get(f"{path}?page=9&per_page=1", headers=HTML)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{path}?per_page=1&page=1")
    assert client.get(answer.headers["Location"], headers=HTML).status_code == 200


def test_and_what_was_looked_for_stays(client: TestClient, db: Database) -> None:
    with db.write() as tx:
        for number in range(5):
            writing.create(tx, Wish({"subject": f"Issue {number}", "body": "x"}), now=clock.now())
    answer = client.get("/admin/campaigns?page=9&per_page=2&q=issue", headers=HTML)
    assert answer.headers["Location"] == "/admin/campaigns?per_page=2&q=issue&page=3"
    assert "Issue 0" in client.get(answer.headers["Location"], headers=HTML).text


def test_a_method_that_a_page_does_not_know_is_told_which_it_knows(client: TestClient) -> None:
    answer = client.put("/admin/bounces", headers=HTML)
    assert (answer.status_code, "There is nothing here" in answer.text) == (405, True)
    assert answer.headers["Allow"] == "GET, HEAD"
    # Of several routes.
    assert client.put("/admin/campaigns", headers=HTML).headers["Allow"] == "GET, HEAD, POST"


def test_a_message_counts_in_the_visitors_language() -> None:
    message = Message(("%(num)d thing", "%(num)d things"), bad=False, values={"num": 3})
    assert message.text("en") == "3 things"
    assert Message(("%(num)d thing", "%(num)d things"), bad=False, values={"num": 1}).text("en") == "1 thing"


@given(st.text(max_size=60) | st.recursive(st.none() | st.integers() | st.text(max_size=9), st.lists))
def test_a_cookie_that_is_not_ours_says_nothing(value: Any) -> None:
    packed = base64.urlsafe_b64encode(json.dumps(value).encode()).decode()
    shell._message(request(cookie=f"{MESSAGE}={packed}"))


@pytest.mark.parametrize(
    "broken",
    [
        ["%(a)s", 0, {"a": "\ud800"}],
        [["%(num)d x", "y"], False, {"num": float("inf")}],
        [{"a": 1}, False, {}],
        [["only one"], False, {"num": 1}],
        ["%(a)s", 0, {"b": 1}],
    ],
    ids=["surrogate", "infinite", "object", "one", "missing"],
)
@pytest.mark.parametrize("lang", ["en", "ro"])
def test_a_broken_message_does_not_close_the_admin(client: TestClient, broken: Any, lang: str) -> None:
    cookie = f"{MESSAGE}={base64.urlsafe_b64encode(json.dumps(broken).encode()).decode()}"
    assert client.get("/admin", headers=HTML | {"Cookie": cookie, "Accept-Language": lang}).status_code == 200


@pytest.mark.parametrize("said", ["%(x)999999999s", "%s", "%(x", "%%", "100%"])
def test_a_message_is_no_pattern_to_be_played_with(said: str) -> None:
    assert len(Message(said, bad=False, values={"x": 1}).text("en")) < 20


@pytest.mark.parametrize(
    ("referer", "to"),
    [
        ("http://gna.test/admin/feeds?page=2#x", "/admin/feeds?page=2"),
        ("http://gna.test/admin", "/admin"),
        ("http://gna.test/administration", "/admin"),
        ("http://gna.test//evil.example/admin", "/admin"),
        ("http://evil.example/admin/feeds", "/admin"),
        ("", "/admin"),
        ("nonsense", "/admin"),
        ("http://[", "/admin"),
    ],
)
def test_after_a_form_one_is_where_one_was(referer: str, to: str) -> None:
    assert back(request(host="gna.test", referer=referer)) == to


@pytest.mark.parametrize(
    "name", ["", "Europe", "../etc/passwd", "Europe/../Bucharest", "x" * 99, "/UTC", "Mars/Olympus"]
)
def test_what_is_no_zone_is_none(name: str) -> None:
    assert clock.zone(name) is None


@pytest.mark.parametrize("name", ["UTC", "Europe/Bucharest", "America/Argentina/Buenos_Aires", "Etc/GMT+3"])
def test_a_zone_is_found(name: str) -> None:
    assert str(clock.zone(name)) == name


def test_the_theme_is_the_visitors_choice(client: TestClient) -> None:
    assert 'data-theme="dark"' in client.get("/admin", headers=HTML | {"Cookie": "gna_theme=dark"}).text
    assert "data-theme=" not in client.get("/admin", headers=HTML | {"Cookie": 'gna_theme="><script>'}).text


def test_an_unknown_page_is_a_page_for_a_person_and_json_for_a_program(client: TestClient) -> None:
    page = client.get("/admin/nothing", headers=HTML)
    assert (page.status_code, "There is nothing here" in page.text, "Overview" in page.text) == (404, True, True)
    answer = client.get("/admin/nothing")
    assert (answer.status_code, answer.json()) == (404, {"error": "Not found"})


def test_what_is_removed_is_noted_without_its_name(client: TestClient, db: Database) -> None:
    with db.write() as tx:
        person = a_subscriber(tx, email="ana@example.org")
    assert client.delete(f"/admin/api/subscribers/{person}").status_code == 204
    assert client.delete(f"/admin/api/subscribers/{person}").status_code == 404
    with db.read() as tx:
        [row] = tx.execute(sa.select(activity)).all()
    assert (row.who, row.verb, row.about, row.target) == ("dev@localhost", Verb.SUBSCRIBER_REMOVED, "1", None)
