"""Feature 1, the subscription API: a test for each row of its tables."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from httpx2 import Response
from starlette.testclient import TestClient

from gna import tokens
from gna.db import Database
from gna.outbox import messages
from gna.subscribers.table import subscribers
from gna.web.ground import Ground
from tests.conftest import settings_for, visitor
from tests.factories import a_subscriber, count
from tests.seeds.reader import HTML, Reader, token_of


class TestSubscribe:
    """POST /api/subscribe."""

    def test_endpoint(self, reader: Reader) -> None:
        assert reader.client.post("/api/subscribe", json={"email": "ana@example.org"}).status_code == 201
        assert reader.client.get("/api/subscribe").status_code == 405

    def test_request_body_with_an_optional_nickname(self, reader: Reader) -> None:
        assert reader.subscribes("ana@example.org", nickname="Ana").status_code == 201
        assert reader.subscribes("bo@example.org").status_code == 201
        assert (reader.row("ana@example.org").nickname, reader.row("bo@example.org").nickname) == ("Ana", None)

    def test_cors_allows_the_origins_of_this_deployment(self, database_url: str, db: Database, tmp_path: Path) -> None:
        settings = settings_for(database_url, tmp_path, CORS_ORIGINS="https://blog.example.org")
        with visitor(Ground(settings, db)) as client:
            for origin, allowed in (("https://blog.example.org", True), ("https://evil.example", False)):
                answer = client.post("/api/subscribe", json={"email": "ana@example.org"}, headers={"Origin": origin})
                assert answer.status_code == 201
                assert (answer.headers.get("Access-Control-Allow-Origin") == origin) is allowed

    @pytest.mark.parametrize("email", ["", "ana", "ana@", "@example.org", "a b@example.org", "ana@localhost", None, 7])
    def test_validation_of_the_address(self, reader: Reader, email: object) -> None:
        answer = reader.client.post("/api/subscribe", json={"email": email})
        assert answer.status_code == 400
        assert reader.mails("confirm_url") == []

    @pytest.mark.parametrize(("nickname", "status"), [("A", 201), ("x" * 50, 201), ("x" * 51, 400), (" ", 400)])
    def test_validation_of_the_nickname(self, reader: Reader, nickname: str, status: int) -> None:
        assert reader.subscribes(nickname=nickname).status_code == status

    def test_new_subscription(self, reader: Reader) -> None:
        reader.subscribes(nickname="Ana")
        row = reader.row()
        assert row.activated_at is None
        assert row.confirmation_token == tokens.digest(token_of(reader.link("confirm_url")))
        assert [mail.to_email for mail in reader.mails("confirm_url")] == ["ana@example.org"]

    def test_duplicate_activated_is_success_without_action(self, reader: Reader) -> None:
        before = reader.is_activated()
        answer = reader.subscribes("ANA@example.org", nickname="Eve")
        assert (answer.status_code, answer.json()) == (201, {"status": "confirmation_sent"})
        assert reader.row() == before
        with reader.db.read() as tx:
            waiting = sa.select(sa.func.count()).select_from(messages).where(messages.c.status == "pending")
            assert tx.scalar(waiting) == 1, "only the mail of the first sign-up, which no worker sent here"

    def test_duplicate_pending_gets_a_new_token_and_a_new_mail(self, reader: Reader) -> None:
        reader.subscribes()
        first = reader.link("confirm_url")
        answer = reader.subscribes()
        assert (answer.status_code, answer.json()) == (201, {"status": "confirmation_sent"})
        second = reader.link("confirm_url")
        assert first != second
        assert reader.client.get(first).status_code == 400
        assert reader.client.get(second).status_code == 303

    def test_an_address_is_mailed_five_times_an_hour_and_the_answer_stays_the_same(self, reader: Reader) -> None:
        answers = []
        links = set()
        for _ in range(8):
            answers.append(reader.subscribes())
            links.add(reader.link("confirm_url"))
        assert len(links) == 5
        assert {(answer.status_code, answer.text) for answer in answers} == {(201, '{"status":"confirmation_sent"}')}
        assert len({tuple(answer.headers) for answer in answers}) == 1
        assert reader.client.get(reader.link("confirm_url")).status_code == 303

    def test_success_response(self, reader: Reader) -> None:
        answer = reader.subscribes()
        assert (answer.status_code, answer.json()) == (201, {"status": "confirmation_sent"})

    def test_validation_failure(self, reader: Reader) -> None:
        answer = reader.subscribes("ana")
        assert (answer.status_code, answer.json()) == (400, {"error": "Email is not a valid address"})


class TestUnsubscribe:
    """GET /api/unsubscribe?token=<token>."""

    def test_endpoint(self, reader: Reader) -> None:
        person = reader.is_activated()
        assert reader.client.get(f"/api/unsubscribe?token={person.unsubscribe_token}").status_code == 200

    def test_token_is_unique_to_the_subscriber(self, reader: Reader) -> None:
        ana, bo = reader.is_activated("ana@example.org"), reader.is_activated("bo@example.org")
        assert ana.unsubscribe_token != bo.unsubscribe_token
        assert tokens.is_shaped(ana.unsubscribe_token)

    def test_valid_token_deletes_the_record_and_shows_a_confirmation(self, reader: Reader) -> None:
        person = reader.is_activated()
        answer = reader.client.get(f"/api/unsubscribe?token={person.unsubscribe_token}", headers=HTML)
        assert answer.status_code == 200
        assert "unsubscribed" in answer.text.lower()
        assert reader.row() is None

    @pytest.mark.parametrize("query", ["", "?token=", "?token=short", "?token=" + "é" * 43])
    def test_invalid_token_shows_an_error_page_with_contact_instructions(self, reader: Reader, query: str) -> None:
        answer = reader.client.get(f"/api/unsubscribe{query}")
        assert answer.status_code == 400
        assert "mailto:newsletter@example.org" in answer.text

    def test_token_not_found_shows_the_confirmation_page(self, reader: Reader) -> None:
        person = reader.is_activated()
        link = f"/api/unsubscribe?token={person.unsubscribe_token}"
        first, again = reader.client.get(link), reader.client.get(link)
        unknown = reader.client.get(f"/api/unsubscribe?token={tokens.new()}")
        assert first.text == again.text == unknown.text
        assert {first.status_code, again.status_code, unknown.status_code} == {200}


class TestRateLimiting:
    """Subscribe requests per IP."""

    def test_five_a_minute_for_each_ip(self, client: TestClient) -> None:
        answers = [client.post("/api/subscribe", json={"email": f"p{n}@example.org"}).status_code for n in range(6)]
        assert answers == [201] * 5 + [429]

    def test_exceeded_limit(self, client: TestClient) -> None:
        for n in range(5):
            client.post("/api/subscribe", json={"email": f"p{n}@example.org"})
        answer = client.post("/api/subscribe", json={"email": "ana@example.org"})
        assert (answer.status_code, answer.json()) == (429, {"error": "Too many requests"})
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
        assert answer.headers["RateLimit-Remaining"] == "0"


class TestErrorScenarios:
    """The error scenarios that touch sign-up."""

    def test_concurrent_subscribe_requests_for_the_same_email(self, reader: Reader) -> None:
        with ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(lambda _: reader.subscribes(), range(200)))
        assert {(answer.status_code, answer.json()["status"]) for answer in answers} == {(201, "confirmation_sent")}
        with reader.db.read() as tx:
            assert (count(tx, subscribers), count(tx, messages)) == (1, 1)
        assert reader.client.get(reader.link("confirm_url")).headers["Location"] == "/confirmed"

    def test_confirmation_token_expired_prompts_to_resubscribe(self, reader: Reader) -> None:
        reader.subscribes()
        reader.expires("confirmation_expires_at")
        answer = reader.client.get(reader.link("confirm_url"))
        assert answer.status_code == 400
        assert 'href="/subscribe"' in answer.text
        assert reader.row().activated_at is None

    @pytest.mark.parametrize("token", ["", "nonsense", "x" * 43])
    def test_confirmation_token_invalid_prompts_to_resubscribe(self, reader: Reader, token: str) -> None:
        answer = reader.client.get(f"/confirm?token={token}")
        assert answer.status_code == 400
        assert 'href="/subscribe"' in answer.text

    def test_subscription_confirmation_for_an_already_active_email(self, reader: Reader) -> None:
        reader.subscribes()
        link = reader.link("confirm_url")
        assert reader.client.get(link).status_code == 303
        before = reader.row()
        assert reader.client.get(link).status_code == 200
        assert reader.row() == before

    def test_nickname_exceeds_the_length_limit(self, reader: Reader) -> None:
        answer = reader.subscribes(nickname="x" * 51)
        assert (answer.status_code, answer.json()) == (400, {"error": "Nickname must be 1–50 characters"})

    @pytest.mark.usefixtures("logged")
    def test_database_unavailable(self, database_url: str, tmp_path: Path) -> None:
        away = Database("postgresql://nobody@127.0.0.1:1/none")
        with visitor(Ground(settings_for(database_url, tmp_path), away)) as client:
            for answer in (
                client.post("/api/subscribe", json={"email": "ana@example.org"}),
                client.post("/api/profile/request-link", json={"email": "ana@example.org"}),
                client.post("/api/profile/update", json={"token": "x" * 43}),
                client.post("/api/unsubscribe?token=" + "x" * 43),
                client.get("/admin/api/subscribers"),
            ):
                assert (answer.status_code, answer.json()) == (503, {"error": "Service temporarily unavailable"})
        away.close()


def test_a_person_who_is_known_costs_the_same_writes_as_one_who_is_not(reader: Reader) -> None:
    """The answer tells nothing, and neither does the number of statements behind it."""
    with reader.db.write() as tx:
        a_subscriber(tx, email="known@example.org", activated=True)
    statements: list[str] = []
    with reader.db.write() as tx:
        sa.event.listen(tx.engine, "before_cursor_execute", lambda *args: statements.append(str(args[2]).split()[0]))

    def shape(ask: Callable[[str], Response], email: str) -> list[str]:
        statements.clear()
        assert ask(email).is_success
        return sorted(statements)

    reader.subscribes("first@example.org")  # the first request of all makes the key of the hashes
    for _ in range(8):  # the last ones are beyond the limit for an address
        assert shape(reader.subscribes, "known@example.org") == shape(reader.subscribes, "unknown@example.org")
    assert shape(reader.asks_for_link, "known@example.org") == shape(reader.asks_for_link, "nobody@example.org")
