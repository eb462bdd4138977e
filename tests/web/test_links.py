"""Links that act, and everything that only looks at them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from gna import tokens
from gna.db import Database
from gna.subscribers.lists import Leaving
from gna.web.ground import Ground
from tests.conftest import settings_for, visitor
from tests.factories import a_subscriber, the_subscriber
from tests.seeds.reader import HTML, Reader

SECRET = "an unsubscribe secret"
PREFETCHES = [{"Sec-Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"}, {"X-Moz": "prefetch"}]


@pytest.fixture
def careful(database_url: str, db: Database, tmp_path: Path) -> Iterator[TestClient]:
    """A deployment where links need a click on a button."""
    settings = settings_for(database_url, tmp_path, LINKS_NEED_CLICK="true", UNSUB_SECRET=SECRET)
    with visitor(Ground(settings, db)) as client:
        yield client


@pytest.fixture
def signing(database_url: str, db: Database, tmp_path: Path) -> Iterator[TestClient]:
    """A deployment that signs the links of lists."""
    with visitor(Ground(settings_for(database_url, tmp_path, UNSUB_SECRET=SECRET), db)) as client:
        yield client


@pytest.fixture
def token(db: Database) -> str:
    """The unsubscribe token of Ana, who is activated."""
    with db.write() as tx:
        a_subscriber(tx, activated=True)
        return str(the_subscriber(tx, "ana@example.org").unsubscribe_token)


def present(db: Database) -> bool:
    """Whether Ana is still there."""
    with db.read() as tx:
        return the_subscriber(tx, "ana@example.org") is not None


class TestOneClick:
    """RFC 8058."""

    @pytest.mark.parametrize(
        "body",
        [
            {"data": {"List-Unsubscribe": "One-Click"}},
            {"files": {"List-Unsubscribe": (None, "One-Click")}},
            {},
            {"content": b"\xff\xfe", "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
            {"content": b"{}", "headers": {"Content-Type": "application/json"}},
            {"content": b"x", "headers": {"Content-Type": "multipart/form-data"}},
            {"content": b"x", "headers": {"Content-Type": "text/plain"}},
        ],
    )
    def test_any_body_gets_an_empty_200(
        self, client: TestClient, db: Database, token: str, body: dict[str, Any]
    ) -> None:
        answer = client.post(f"/api/unsubscribe?token={token}", **body)
        assert (answer.status_code, answer.content) == (200, b"")
        assert not present(db)

    def test_it_can_be_repeated(self, client: TestClient, token: str) -> None:
        for _ in range(2):
            answer = client.post(f"/api/unsubscribe?token={token}", data={"List-Unsubscribe": "One-Click"})
            assert (answer.status_code, answer.content) == (200, b"")

    def test_an_unknown_token_gets_an_empty_200(self, client: TestClient) -> None:
        answer = client.post(f"/api/unsubscribe?token={tokens.new()}")
        assert (answer.status_code, answer.content) == (200, b"")

    @pytest.mark.parametrize("query", ["", "?token=", "?token=x"])
    def test_no_token_is_an_error(self, client: TestClient, query: str) -> None:
        assert client.post(f"/api/unsubscribe{query}").status_code == 400

    def test_it_acts_where_links_need_a_click_too(self, careful: TestClient, db: Database, token: str) -> None:
        answer = careful.post(f"/api/unsubscribe?token={token}", data={"List-Unsubscribe": "One-Click"})
        assert (answer.status_code, answer.content) == (200, b"")
        assert not present(db)


class TestLookingOnly:
    """HEAD and prefetches never act."""

    def test_head_on_unsubscribe(self, client: TestClient, db: Database, token: str) -> None:
        answer = client.head(f"/api/unsubscribe?token={token}")
        assert (answer.status_code, answer.content) == (200, b"")
        assert present(db)

    @pytest.mark.parametrize("headers", PREFETCHES)
    def test_prefetch_of_unsubscribe(
        self, client: TestClient, db: Database, token: str, headers: dict[str, str]
    ) -> None:
        assert client.get(f"/api/unsubscribe?token={token}", headers=headers).status_code == 200
        assert present(db)

    @pytest.mark.parametrize("headers", PREFETCHES)
    def test_prefetch_and_head_of_confirm(self, reader: Reader, headers: dict[str, str]) -> None:
        reader.subscribes()
        link = reader.link("confirm_url")
        assert reader.client.get(link, headers=headers).status_code == 200
        assert reader.client.head(link).status_code == 200
        assert reader.row().activated_at is None
        assert reader.client.get(link).status_code == 303

    def test_prefetch_and_head_of_a_list(self, signing: TestClient, db: Database, token: str) -> None:
        signed = Leaving("ana@example.org", "general").sign(SECRET)
        signing.head(f"/unsubscribe?token={signed}")
        signing.get(f"/unsubscribe?token={signed}", headers=PREFETCHES[0])
        assert membership(db) == [("general", None)]

    def test_head_is_answered_everywhere_as_get_is(self, client: TestClient) -> None:
        for path, status in (("/health", 200), ("/subscribe", 200), ("/nothing", 404), ("/api/subscribe", 405)):
            answer = client.head(path)
            assert (answer.status_code, answer.content) == (status, b"")


class TestLinksNeedClick:
    """Every acting GET is a page with one button."""

    def test_unsubscribe(self, careful: TestClient, db: Database, token: str) -> None:
        page = careful.get(f"/api/unsubscribe?token={token}")
        assert page.status_code == 200
        assert f'value="{token}"' in page.text
        assert present(db)
        answer = careful.post("/api/unsubscribe", data={"token": token, "page": "1"}, headers=HTML)
        assert answer.status_code == 200
        assert "<h1>" in answer.text
        assert not present(db)

    def test_confirm(self, careful: TestClient, db: Database) -> None:
        reader = Reader(careful, db)
        reader.subscribes()
        link = reader.link("confirm_url")
        assert 'method="post"' in careful.get(link).text
        assert reader.row().activated_at is None
        answer = careful.post("/confirm", data={"token": link.partition("=")[2], "page": "1"})
        assert (answer.status_code, answer.headers["Location"]) == (303, "/confirmed")
        assert reader.row().activated_at is not None

    def test_a_list(self, careful: TestClient, db: Database, token: str) -> None:
        signed = Leaving("ana@example.org", "general").sign(SECRET)
        assert 'method="post"' in careful.get(f"/unsubscribe?token={signed}").text
        assert membership(db) == [("general", None)]
        answer = careful.post("/unsubscribe", data={"token": signed, "page": "1"})
        assert "<h1>" in answer.text
        assert membership(db)[0][1] is not None


class TestListLinks:
    """The HMAC token of one list."""

    def test_get_answers_a_page_and_ends_the_membership(self, signing: TestClient, db: Database, token: str) -> None:
        signed = Leaving("ANA@example.org", "general").sign(SECRET)
        answer = signing.get(f"/unsubscribe?token={signed}")
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/html")
        [(key, left)] = membership(db)
        assert key == "general"
        assert left is not None
        assert present(db), "the person stays"
        signing.get(f"/unsubscribe?token={signed}")
        assert membership(db) == [(key, left)], "the first moment stays"

    def test_json_is_answered_with_ok_again_and_again(self, signing: TestClient, token: str) -> None:
        signed = Leaving("ana@example.org", "general").sign(SECRET)
        for _ in range(2):
            answer = signing.get(f"/unsubscribe?token={signed}", headers={"Accept": "application/json"})
            assert (answer.status_code, answer.json()) == (200, {"ok": True})

    def test_one_click(self, signing: TestClient, db: Database, token: str) -> None:
        signed = Leaving("ana@example.org", "general").sign(SECRET)
        answer = signing.post(f"/unsubscribe?token={signed}", data={"List-Unsubscribe": "One-Click"})
        assert (answer.status_code, answer.content) == (200, b"")
        assert membership(db)[0][1] is not None

    def test_an_unknown_address_or_list_is_fine(self, signing: TestClient, db: Database, token: str) -> None:
        for wish in (Leaving("nobody@example.org", "general"), Leaving("ana@example.org", "other")):
            assert signing.get(f"/unsubscribe?token={wish.sign(SECRET)}").status_code == 200
        assert [(key, left is None) for key, left in membership(db)] == [("general", True), ("other", False)]

    def test_a_forged_or_malformed_token_is_400(self, signing: TestClient, db: Database, token: str) -> None:
        good = Leaving("ana@example.org", "general").sign(SECRET)
        payload, signature = good.split(".")
        for bad in (
            "",
            "x",
            ".",
            "..",
            good[:-1],
            good + "x",
            f"{payload}.",
            f".{signature}",
            f"{payload}.{signature}.x",
            Leaving("ana@example.org", "general").sign("another secret"),
            tokens.sign("[]", SECRET),
            tokens.sign("7", SECRET),
            tokens.sign('{"email": "ana@example.org"}', SECRET),
            tokens.sign('{"email": 1, "list_key": 2}', SECRET),
            tokens.sign("not json", SECRET),
            "é.ș",
        ):
            assert signing.get("/unsubscribe", params={"token": bad}).status_code == 400, bad
            assert signing.post("/unsubscribe", params={"token": bad}).status_code == 400, bad
        assert membership(db) == [("general", None)]

    def test_without_a_secret_it_is_closed(self, client: TestClient) -> None:
        signed = Leaving("ana@example.org", "general").sign("")
        for answer in (client.get(f"/unsubscribe?token={signed}"), client.post(f"/unsubscribe?token={signed}")):
            assert (answer.status_code, answer.json()) == (500, {"error": "Server misconfiguration"})

    def test_a_token_made_elsewhere_with_the_same_recipe_works(self, signing: TestClient, token: str) -> None:
        import base64
        import hashlib
        import hmac

        payload = b'{ "email": "ana@example.org", "list_key": "general" }'
        signature = hmac.new(SECRET.encode(), payload, hashlib.sha256).digest()
        made = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (payload, signature))
        assert signing.get(f"/unsubscribe?token={made}", headers={"Accept": "application/json"}).json() == {"ok": True}


def membership(db: Database) -> list[tuple[str, Any]]:
    """The lists of Ana."""
    from gna.subscribers import lists

    with db.read() as tx:
        person = the_subscriber(tx, "ana@example.org").id
        return [(one.list_key, one.unsubscribed_at) for one in lists.of(tx, [person])[person]]


@pytest.fixture
def reader(crowd: TestClient, db: Database) -> Reader:
    """Somebody who signs up, reads mail and clicks."""
    return Reader(crowd, db)


def test_whoever_left_general_comes_back_as_everybody_comes_in(signing: TestClient, db: Database, token: str) -> None:
    signing.post(f"/unsubscribe?token={Leaving('ana@example.org', 'general').sign(SECRET)}")
    reader = Reader(signing, db)
    before = reader.row()
    assert reader.subscribes().status_code == 201
    assert membership(db)[0][1] is not None, "a form alone changes nothing"
    assert signing.get(reader.link("confirm_url")).headers["Location"] == "/confirmed"
    assert membership(db) == [("general", None)]
    assert (reader.row().id, reader.row().activated_at) == (before.id, before.activated_at)


def test_coming_back_does_not_disturb_a_change_of_address(signing: TestClient, db: Database, token: str) -> None:
    reader = Reader(signing, db)
    reader.updates(reader.enters(), email="anca@example.org")
    signing.post(f"/unsubscribe?token={Leaving('ana@example.org', 'general').sign(SECRET)}")
    reader.subscribes()
    assert [mail.to_email for mail in reader.mails("confirm_url")] == ["anca@example.org"]
