import sqlalchemy as sa
from starlette.testclient import TestClient

from gna.db import Database
from gna.outbox import messages
from tests.factories import the_subscriber


def sign_up(client: TestClient, db: Database) -> str:
    """Sign up and return the path of the link in the mail."""
    client.post("/api/subscribe", json={"email": "ana@example.org"})
    with db.read() as tx:
        slots = tx.execute(sa.select(messages.c.slots)).scalar_one()
    return str(slots["confirm_url"]).removeprefix("http://127.0.0.1:8000")


def test_the_link_leads_to_the_welcome_page(client: TestClient, db: Database) -> None:
    answer = client.get(sign_up(client, db))
    assert (answer.status_code, answer.headers["Location"]) == (303, "/confirmed")
    assert "You are in" in client.get("/confirmed").text


def test_a_second_click_is_a_friendly_page(client: TestClient, db: Database) -> None:
    link = sign_up(client, db)
    client.get(link)
    again = client.get(link)
    assert again.status_code == 200
    assert "You are in" in again.text


def test_a_link_that_does_not_work_says_what_to_do(client: TestClient) -> None:
    for link in ("/confirm", "/confirm?token=", "/confirm?token=x", "/confirm?token=" + "x" * 43):
        answer = client.get(link)
        assert answer.status_code == 400
        assert "Subscribe again" in answer.text
        assert answer.headers["Content-Type"].startswith("text/html")


def test_a_head_request_does_not_confirm(client: TestClient, db: Database) -> None:
    client.head(sign_up(client, db))
    with db.read() as tx:
        assert the_subscriber(tx, "ana@example.org").activated_at is None


def test_pages_with_tokens_stay_out_of_search_engines(client: TestClient) -> None:
    assert client.get("/confirm?token=x").headers["X-Robots-Tag"] == "noindex"


def test_the_front_door_leads_to_the_form(client: TestClient) -> None:
    assert client.get("/").headers["Location"] == "/subscribe"
    assert 'action="/api/subscribe"' in client.get("/subscribe").text


def test_the_api_page_lists_every_documented_route(client: TestClient) -> None:
    documented = client.get("/openapi.json").json()["paths"]
    html = client.get("/docs").text
    assert "/api/subscribe" in documented
    assert all(f"<code>{path}</code>" in html for path in documented)
    assert "//cdn" not in html
    assert "<script" not in html


def test_the_api_documents_errors_in_their_real_shape(client: TestClient) -> None:
    operation = client.get("/openapi.json").json()["paths"]["/api/subscribe"]["post"]
    assert {"201", "400", "413", "415", "503"} <= set(operation["responses"])
    assert "422" not in str(client.get("/openapi.json").json()["paths"])
