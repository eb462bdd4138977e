"""Bounces, dead letters and messages at the admin API."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from httpx2 import Client
from starlette.testclient import TestClient

from gna import clock, outbox
from gna.activity import activity
from gna.db import Database
from gna.outbox import Kind, Status, messages
from tests.desk import Desk
from tests.factories import a_mailing, a_message, a_subscriber, count, the_subscriber

BOUNCES, DEAD, MESSAGES = "/admin/api/bounces", "/admin/api/dead-letters", "/admin/api/messages"
TO = "gone@example.org"


@pytest.fixture
def desk(client: TestClient, db: Database) -> Desk:
    """A publisher whose provider does not know one address."""
    desk = Desk(client, db)
    desk.provider.refuses(TO, permanently=True)
    return desk


def noted(db: Database) -> list[tuple[str, str]]:
    """What was done, with how many of them."""
    with db.read() as tx:
        return [(row.verb, row.about) for row in tx.execute(sa.select(activity).order_by(activity.c.id))]


def items(client: Client, path: str, **asked: Any) -> list[dict[str, Any]]:
    answer = client.get(path, params=asked)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


class TestBounces:
    def test_who_bounced_is_listed(self, desk: Desk, client: TestClient, db: Database) -> None:
        desk.has_readers("ana@example.org", TO)
        desk.sends()
        answer = client.get(BOUNCES).json()
        [bounce] = answer.pop("items")
        assert answer == {"page": 1, "per_page": 20, "total": 1}
        with db.read() as tx:
            person = the_subscriber(tx, TO)
        assert bounce.pop("id")
        assert bounce.pop("created_at").endswith("Z")
        assert bounce == {"email": TO, "reason": "550 no such mailbox", "subscriber_id": person.id}
        assert client.get(f"/admin/api/subscribers/{person.id}").json()["status"] == "Activated"

    def test_one_is_dismissed_and_the_person_stays(self, desk: Desk, client: TestClient, db: Database) -> None:
        desk.has_readers(TO)
        desk.sends()
        [bounce] = items(client, BOUNCES)
        assert client.delete(f"{BOUNCES}/{bounce['id']}").status_code == 204
        again = client.delete(f"{BOUNCES}/{bounce['id']}")
        assert (again.status_code, again.json()) == (404, {"error": "There is no such bounce"})
        assert not items(client, BOUNCES)
        with db.read() as tx:
            assert the_subscriber(tx, TO)
        assert noted(db)[-1] == ("bounce_dismissed", "1")

    def test_removing_the_person_removes_the_bounce(self, desk: Desk, client: TestClient) -> None:
        desk.has_readers(TO)
        desk.sends()
        [bounce] = items(client, BOUNCES)
        assert client.delete(f"/admin/api/subscribers/{bounce['subscriber_id']}").status_code == 204
        assert not items(client, BOUNCES)

    def test_the_old_ones_are_not_shown(self, desk: Desk, client: TestClient, db: Database) -> None:
        desk.has_readers(TO)
        desk.sends()
        with db.write() as tx:
            tx.execute(sa.update(outbox.bounces).values(created_at=clock.now() - timedelta(days=7)))
        assert client.get(BOUNCES).json()["total"] == 0

    def test_they_come_in_pages(self, desk: Desk, client: TestClient) -> None:
        people = [f"p{number}@example.org" for number in range(5)]
        desk.has_readers(*people)
        for one in people:
            desk.provider.refuses(one, permanently=True)
        desk.sends()
        pages = [items(client, BOUNCES, page=page, per_page=2) for page in (1, 2, 3, 4)]
        assert [len(page) for page in pages] == [2, 2, 1, 0]
        assert {one["email"] for page in pages for one in page} == set(people)
        assert client.get(BOUNCES, params={"page": "x"}).status_code == 400


class TestDeadLetters:
    def buried(self, desk: Desk) -> dict[str, Any]:
        with desk.db.write() as tx:
            a_message(tx, to=TO, subscriber_id=a_subscriber(tx, email=TO))
        desk.works()
        [letter] = items(desk.client, DEAD)
        return letter

    def test_it_says_what_and_why(self, desk: Desk, client: TestClient) -> None:
        letter = self.buried(desk)
        [message] = items(client, MESSAGES, status="failed_permanent")
        assert letter["payload"] == {
            "message_id": message["id"],
            "email": TO,
            "kind": "confirmation",
            "attempts": 1,
            "campaign_tag": None,
            "send_batch_id": None,
        }
        assert (letter["topic"], letter["error"]) == ("send", "550 no such mailbox")
        shown = client.get(f"{DEAD}/{letter['id']}").json()
        assert shown == {**letter, "subject": "Hello Ana", "replayable": True}

    def test_it_is_sent_again_once(self, desk: Desk, client: TestClient, db: Database, rung: list[str]) -> None:
        letter = self.buried(desk)
        desk.provider.takes(TO)
        assert client.post(f"{DEAD}/{letter['id']}/replay").status_code == 202
        assert rung[-1] == "send"
        assert client.post(f"{DEAD}/{letter['id']}/replay").status_code == 404
        desk.works()
        assert desk.got() == [TO]
        assert not items(client, DEAD)
        assert noted(db) == [("dead_letter_replayed", "1")]

    def test_two_who_ask_at_once_send_once(self, desk: Desk, client: TestClient) -> None:
        letter = self.buried(desk)
        desk.provider.takes(TO)

        async def twice() -> list[int]:
            asked = [asyncio.to_thread(client.post, f"{DEAD}/{letter['id']}/replay") for _ in range(4)]
            return sorted([answer.status_code for answer in await asyncio.gather(*asked)])

        answers = asyncio.run(twice())
        assert (answers[0], set(answers[1:]) <= {404, 409}) == (202, True)
        desk.works()
        assert desk.got() == [TO]

    def test_one_whose_message_is_gone_cannot_be_sent(self, desk: Desk, client: TestClient, db: Database) -> None:
        letter = self.buried(desk)
        with db.write() as tx:
            tx.execute(sa.delete(messages))
        assert client.post(f"{DEAD}/{letter['id']}/replay").status_code == 409
        shown = client.get(f"{DEAD}/{letter['id']}").json()
        assert (shown["subject"], shown["replayable"]) == (None, False)
        assert not noted(db), "what was refused is not noted"

    def test_it_is_thrown_away_with_its_message(self, desk: Desk, client: TestClient, db: Database) -> None:
        letter = self.buried(desk)
        assert client.delete(f"{DEAD}/{letter['id']}").status_code == 204
        assert client.delete(f"{DEAD}/{letter['id']}").status_code == 404
        with db.read() as tx:
            assert (count(tx, messages), count(tx, outbox.dead_letters)) == (0, 0)
            assert the_subscriber(tx, TO)
        assert noted(db) == [("dead_letter_dropped", "1")]

    @pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", "/replay"), ("DELETE", "")])
    @pytest.mark.parametrize("letter_id", ["unknown", "%00"])
    def test_an_unknown_one_is_404(self, client: TestClient, method: str, path: str, letter_id: str) -> None:
        assert client.request(method, f"{DEAD}/{letter_id}{path}").status_code == 404


class TestMessages:
    FIELDS = (
        "id", "to_email", "status", "attempt_count", "last_error", "provider_message_id", "sent_at", "campaign_tag",
        "send_batch_id", "notification_id", "period_key",
    )  # fmt: skip

    def test_a_campaign_that_waits_says_to_whom(self, client: TestClient, db: Database) -> None:
        a_mailing(db, people=3)
        found = items(client, MESSAGES)
        assert sorted(one["to_email"] for one in found) == [f"p{number}@example.org" for number in range(3)]
        assert [one["id"] for one in found] == sorted((one["id"] for one in found), reverse=True)
        assert tuple(found[0]) == self.FIELDS
        assert set(list(found[0].values())[4:]) == {None}

    @pytest.mark.parametrize("status", Status)
    def test_they_are_picked_by_their_state(self, client: TestClient, db: Database, status: Status) -> None:
        with db.write() as tx:
            for one in Status:
                a_message(tx, to=f"{one}@example.org", status=one)
                a_message(tx, to=f"{one}@example.org", status=one)
        answer = client.get(MESSAGES, params={"status": status}).json()
        assert [one["to_email"] for one in answer["items"]] == [f"{status}@example.org"] * 2
        assert answer["total"] == 2
        assert client.get(MESSAGES).json()["total"] == 10

    def test_an_unknown_state_is_refused(self, client: TestClient) -> None:
        answer = client.get(MESSAGES, params={"status": "lost"})
        assert answer.status_code == 400
        assert "failed_permanent" in answer.json()["error"]

    def test_no_run_has_messages_yet(self, client: TestClient, db: Database) -> None:
        a_mailing(db, people=1)
        assert client.get(MESSAGES, params={"run": "1"}).json()["total"] == 0

    def test_the_last_page_comes_after_as_many_as_are_counted(
        self, client: TestClient, db: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("gna.delivery.messages.MOST", 4)
        a_mailing(db, people=6)
        pages = [client.get(MESSAGES, params={"status": "pending", "page": page, "per_page": 2}) for page in (1, 2, 3)]
        assert [len(page.json()["items"]) for page in pages] == [2, 2, 0]
        assert {page.json()["total"] for page in pages} == {4}

    def test_a_link_that_was_sent_has_lost_its_address(self, desk: Desk, client: TestClient, db: Database) -> None:
        with db.write() as tx:
            person = a_subscriber(tx, email="ana@example.org", activated=True)
            a_message(tx, to="new@example.org", subscriber_id=person, kind=Kind.EMAIL_CHANGE)
        desk.works()
        [message] = items(client, MESSAGES, status="sent")
        assert (message["to_email"], message["attempt_count"], bool(message["sent_at"])) == (None, 1, True)
        assert message["provider_message_id"] == f"fake-{message['id']}"
