import pytest
from starlette.testclient import TestClient

from gna.config import Settings
from gna.db import Database
from gna.outbox import messages
from gna.subscribers.table import subscribers
from gna.web.ground import Ground
from tests.conftest import visitor
from tests.factories import a_subscriber, count, the_subscriber

HTML = {"Accept": "text/html,application/xhtml+xml"}


def test_a_json_sign_up_is_created_and_rings_for_the_sender(client: TestClient, db: Database, rung: list[str]) -> None:
    answer = client.post("/api/subscribe", json={"email": " Ana@example.org ", "nickname": "Ana"})
    assert (answer.status_code, answer.json()) == (201, {"status": "confirmation_sent"})
    assert rung == ["send"]
    with db.read() as tx:
        assert the_subscriber(tx, "ana@example.org").email == "Ana@example.org"
        assert count(tx, messages) == 1


def test_who_is_known_does_not_change_when_the_sender_wakes_up(settings: Settings, db: Database) -> None:
    """After a random wait, and whether or not there is a mail: the next request must not be slower for one of them."""
    at_once: list[str] = []
    later: list[str] = []
    with db.write() as tx:
        a_subscriber(tx, email="known@example.org", activated=True)
    with visitor(Ground(settings, db, at_once.append, later.append)) as client:
        for path in ("/api/subscribe", "/api/profile/request-link"):
            for email in ("known@example.org", "unknown@example.org"):
                later.clear()
                assert client.post(path, json={"email": email}).is_success
                assert (at_once, later) == ([], ["send"])


@pytest.mark.parametrize("multipart", [False, True])
def test_a_form_from_a_program_is_answered_in_json(client: TestClient, multipart: bool) -> None:
    fields = {"email": "ana@example.org", "nickname": ""}
    if multipart:
        answer = client.post("/api/subscribe", files={name: (None, value) for name, value in fields.items()})
    else:
        answer = client.post("/api/subscribe", data=fields)
    assert (answer.status_code, answer.json()) == (201, {"status": "confirmation_sent"})


def test_a_form_from_a_browser_is_answered_with_a_page(client: TestClient) -> None:
    answer = client.post("/api/subscribe", data={"email": "ana@example.org"}, headers=HTML)
    assert answer.status_code == 201
    assert "<h1>Check your inbox</h1>" in answer.text


def test_a_mistake_in_a_browser_shows_the_form_again(client: TestClient, db: Database) -> None:
    answer = client.post("/api/subscribe", data={"email": "ana@", "nickname": '"A" <b>'}, headers=HTML)
    assert answer.status_code == 400
    assert 'value="ana@"' in answer.text
    assert 'value="&#34;A&#34; &lt;b&gt;"' in answer.text
    assert "Email is not a valid address." in answer.text
    assert "<form" in answer.text
    with db.read() as tx:
        assert count(tx, subscribers) == 0


def test_the_answer_does_not_tell_who_is_known(client: TestClient, db: Database) -> None:
    with db.write() as tx:
        a_subscriber(tx, email="known@example.org", activated=True)
    known = client.post("/api/subscribe", json={"email": "known@example.org"})
    unknown = client.post("/api/subscribe", json={"email": "unknown@example.org"})
    assert (known.status_code, known.json()) == (unknown.status_code, unknown.json())
