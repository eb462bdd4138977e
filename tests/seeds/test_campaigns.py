"""Feature 5 of the specification, row by row, and how its mails arrive (feature 3)."""

from datetime import timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from itertools import product
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from starlette.testclient import TestClient

from gna import clock
from gna.campaigns.states import DELIVERY_MOVES, MOVES, Sending, State, derived
from gna.campaigns.table import campaigns, deliveries, move, move_delivery
from gna.db import Database
from gna.errors import NotAllowedNow
from gna.outbox import bounces, messages
from tests.desk import API, Desk, in_an_hour
from tests.factories import count, the_subscriber

NOT_NOW = {"error": "Operation not allowed in current state"}


@pytest.fixture
def desk(client: TestClient, db: Database) -> Desk:
    return Desk(client, db)


class TestManualComposition:
    @pytest.mark.parametrize(
        ("said", "reason"),
        [
            ({"body": "<p>x</p>"}, "Subject is required"),
            ({"subject": "x"}, "Body is required"),
            ({"subject": " ", "body": "<p>x</p>"}, "Subject is required"),
            ({"subject": "x", "body": ""}, "Body is required"),
            ({"subject": None, "body": "x"}, "Subject is required"),
            ({"subject": 5, "body": "x"}, "Subject must be text"),
            ({}, "Subject is required"),
        ],
    )
    def test_subject_and_body_are_required(self, client: TestClient, said: dict[str, Any], reason: str) -> None:
        answer = client.post(API, json=said)
        assert (answer.status_code, answer.json()) == (400, {"error": reason})

    def test_html_has_a_plain_text_fallback(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        desk.sends(body="<h1>News</h1><p>Read <a href='https://example.org/a'>this</a></p>")
        mail = parsed(desk)
        assert "News" in body_of(mail, "html")
        text = body_of(mail, "plain")
        assert "News" in text
        assert "https://example.org/a" in text
        assert "<" not in text.replace("<https", "")

    def test_a_written_text_part_is_kept(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        desk.sends(body_text="In my own words, {{ nickname | friend }}.")
        assert "In my own words, friend." in body_of(parsed(desk), "plain")

    def test_markdown_becomes_html(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        desk.sends(body="# Title\n\nSome *text*.", body_format="markdown")
        assert "<em" in body_of(parsed(desk), "html")

    def test_content_is_edited_before_publishing(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        campaign = desk.writes(subject="Frist", body="<p>before</p>")
        assert desk.changes(campaign, subject="First", body="<p>after</p>").status_code == 200
        desk.asks(campaign, "send")
        desk.works()
        mail = parsed(desk)
        assert mail["Subject"] == "First"
        assert "after" in body_of(mail, "html")
        assert "before" not in body_of(mail, "html")

    def test_it_can_be_previewed_before_sending(self, desk: Desk) -> None:
        campaign = desk.writes(subject="For {{ nickname | you }}", body="<p>Hello there</p>")
        answer = desk.client.get(f"{API}/{campaign['id']}/preview")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/html")
        assert "Hello there" in answer.text
        assert desk.sees(campaign)["state"] == "draft"


class TestCampaignStates:
    def test_a_new_campaign_is_a_draft(self, desk: Desk) -> None:
        assert desk.writes()["state"] == "draft"

    def test_a_scheduled_one_is_queued_for_its_time(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        campaign = desk.in_state("scheduled")
        desk.works()
        assert (desk.sees(campaign)["state"], desk.got()) == ("scheduled", [])

    def test_it_is_publishing_while_a_delivery_is_sending(self, desk: Desk) -> None:
        campaign = desk.in_state("publishing")
        assert campaign["state"] == "publishing"
        assert [delivery["state"] for delivery in campaign["deliveries"]] == ["sending"]

    def test_it_is_published_when_all_deliveries_ended(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        campaign = desk.sends()
        assert campaign["state"] == "published"
        assert [delivery["state"] for delivery in campaign["deliveries"]] == ["sent"]

    @pytest.mark.parametrize(("start", "end"), [*product(State, State)])
    def test_every_pair(self, desk: Desk, db: Database, start: State, end: State) -> None:
        campaign = desk.writes()
        with db.write() as tx:
            tx.execute(sa.update(campaigns).values(state=start))
        if end in MOVES[start]:
            with db.write() as tx:
                move(tx, campaign["id"], end)
        else:
            with pytest.raises(NotAllowedNow), db.write() as tx:
                move(tx, campaign["id"], end)
        expected = end if end in MOVES[start] else start
        assert desk.sees(campaign)["state"] == expected

    def test_the_table_of_moves_is_the_diagram(self) -> None:
        drawn = {
            ("draft", "scheduled"), ("scheduled", "draft"), ("scheduled", "publishing"), ("publishing", "published"),
            ("draft", "publishing"),  # send immediately
            ("published", "publishing"),  # a failed delivery is retried
        }  # fmt: skip
        assert {(start, end) for start, ends in MOVES.items() for end in ends} == drawn


OPERATIONS: dict[str, dict[str, str | None]] = {
    # operation: the states in which it is allowed, and where it leads
    "change": {"draft": "draft", "scheduled": "scheduled"},
    "delete": {"draft": None},
    "send": {"draft": "publishing", "scheduled": "publishing"},
    "schedule": {"draft": "scheduled", "scheduled": "scheduled"},
    "cancel": {"scheduled": "draft"},
    "pause": {"publishing": "publishing"},
    "resume": {},
    "retry": {"failed": "publishing"},
}


@pytest.mark.parametrize(("operation", "state"), [*product(OPERATIONS, [*State, "failed"])])
def test_every_operation_in_every_state(desk: Desk, operation: str, state: str) -> None:
    """`failed` is a published campaign with a failed delivery."""
    campaign = desk.in_state(state)
    before = desk.sees(campaign)
    answer = {
        "change": lambda: desk.changes(campaign, subject="Other"),
        "delete": lambda: desk.deletes(campaign),
        "schedule": lambda: desk.asks(campaign, "schedule", scheduled_at=in_an_hour()),
        "retry": lambda: desk.retries(campaign),
    }.get(operation, lambda: desk.asks(campaign, operation))()
    if state not in OPERATIONS[operation]:
        assert (answer.status_code, answer.json()) == (409, NOT_NOW)
        assert desk.sees(campaign) == before
    elif OPERATIONS[operation][state] is None:
        assert answer.status_code == 204
        assert desk.client.get(f"{API}/{campaign['id']}").status_code == 404
    else:
        assert answer.status_code == 200, answer.text
        assert desk.sees(campaign)["state"] == OPERATIONS[operation][state]


class TestCampaignFields:
    def test_all_fields_are_shown(self, desk: Desk) -> None:
        campaign = desk.writes(subject="S", body="<p>B</p>")
        assert {"id", "subject", "body", "body_format", "body_text", "preheader", "state", "scheduled_at", "created_at",
                "updated_at", "archived", "sent_count", "failure_count", "deliveries"} <= set(campaign)  # fmt: skip
        assert (campaign["subject"], campaign["body"], campaign["body_format"]) == ("S", "<p>B</p>", "html")
        assert (campaign["scheduled_at"], campaign["body_text"], campaign["preheader"]) == (None, None, None)
        assert (campaign["archived"], campaign["sent_count"], campaign["failure_count"]) == (True, 0, 0)

    def test_scheduled_at_is_required_while_it_is_scheduled(self, desk: Desk) -> None:
        campaign = desk.writes()
        assert desk.asks(campaign, "schedule").status_code == 400
        scheduled = desk.in_state("scheduled")
        assert desk.changes(scheduled, scheduled_at=None).status_code == 400
        assert desk.sees(scheduled)["scheduled_at"] is not None


class TestAdminOperations:
    def test_the_list_shows_subject_state_time_and_deliveries(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        campaign = desk.in_state("scheduled")
        sent = desk.sends(subject="Sent")
        items = desk.client.get(API).json()["items"]
        assert [item["id"] for item in items] == [sent["id"], campaign["id"]]
        assert (items[1]["subject"], items[1]["state"]) == ("Issue 1", "scheduled")
        assert items[1]["scheduled_at"] == campaign["scheduled_at"]
        assert (items[0]["sent_count"], items[0]["failure_count"]) == (1, 0)
        assert items[0]["deliveries"][0]["state"] == "sent"

    def test_create_makes_a_draft_with_a_pending_delivery(self, desk: Desk) -> None:
        campaign = desk.writes()
        assert campaign["state"] == "draft"
        [delivery] = campaign["deliveries"]
        assert (delivery["channel_type"], delivery["state"]) == ("email", "pending")

    def test_view_shows_all_fields_and_deliveries(self, desk: Desk) -> None:
        campaign = desk.writes()
        assert desk.sees(campaign) == campaign

    @pytest.mark.parametrize("state", ["draft", "scheduled"])
    def test_update_changes_subject_body_and_time(self, desk: Desk, state: str) -> None:
        campaign = desk.in_state(state)
        later = clock.iso(clock.now() + timedelta(days=3))
        answer = desk.changes(campaign, subject="New", body="<p>New</p>", scheduled_at=later)
        assert answer.status_code == 200
        changed = desk.sees(campaign)
        assert answer.json() == changed
        assert (changed["subject"], changed["body"], changed["scheduled_at"]) == ("New", "<p>New</p>", later)
        assert changed["state"] == state
        assert changed["updated_at"] > campaign["updated_at"]

    def test_delete_removes_the_draft_and_its_deliveries(self, desk: Desk) -> None:
        campaign = desk.writes()
        assert desk.deletes(campaign).status_code == 204
        assert desk.rows(campaigns) == desk.rows(deliveries) == []
        assert desk.deletes(campaign).status_code == 404

    @pytest.mark.parametrize("verb", ["send", "schedule", "cancel", "pause", "resume", "test", "duplicate"])
    def test_a_campaign_that_is_not_there(self, desk: Desk, verb: str) -> None:
        body = {"schedule": {"scheduled_at": in_an_hour()}, "test": {"to": "a@example.org"}}.get(verb, {})
        answer = desk.asks({"id": "nobody"}, verb, **body)
        assert (answer.status_code, answer.json()) == (404, {"error": "There is no such campaign"})


class TestPagination:
    def test_twenty_by_default_newest_first(self, desk: Desk) -> None:
        made = [desk.writes(subject=f"Issue {number}")["id"] for number in range(23)]
        answer = desk.client.get(API).json()
        assert (answer["page"], answer["per_page"], answer["total"], len(answer["items"])) == (1, 20, 23, 20)
        assert [item["id"] for item in answer["items"]] == made[:2:-1]
        rest = desk.client.get(API, params={"page": 2}).json()["items"]
        assert [item["id"] for item in rest] == made[2::-1]

    def test_a_hundred_at_most(self, desk: Desk) -> None:
        assert desk.client.get(API, params={"per_page": 500}).json()["per_page"] == 100

    @pytest.mark.parametrize("wrong", [{"page": "0"}, {"per_page": "0"}, {"page": "x"}, {"per_page": "-1"}])
    def test_nonsense_is_refused(self, desk: Desk, wrong: dict[str, str]) -> None:
        assert desk.client.get(API, params=wrong).status_code == 400

    @pytest.mark.parametrize("state", [*State])
    def test_filtered_by_state(self, desk: Desk, state: State) -> None:
        made = {each: desk.in_state(each)["id"] for each in ("published", "publishing", "scheduled", "draft")}
        answer = desk.client.get(API, params={"state": state}).json()
        assert ([item["id"] for item in answer["items"]], answer["total"]) == ([made[state]], 1)

    def test_an_unknown_state_is_refused(self, desk: Desk) -> None:
        answer = desk.client.get(API, params={"state": "lost"})
        assert (answer.status_code, "state" in answer.json()["error"]) == (400, True)


class TestDeliveryStates:
    @pytest.mark.parametrize(("start", "end"), [*product(Sending, Sending)])
    def test_every_pair(self, desk: Desk, db: Database, start: Sending, end: Sending) -> None:
        campaign = desk.writes()
        with db.write() as tx:
            tx.execute(sa.update(deliveries).values(state=start))
            tx.execute(sa.update(campaigns).values(state=derived([start], State.DRAFT)))
        delivery = campaign["deliveries"][0]["id"]
        if end in DELIVERY_MOVES[start]:
            with db.write() as tx:
                move_delivery(tx, delivery, start, end)
        else:
            with pytest.raises(NotAllowedNow), db.write() as tx:
                move_delivery(tx, delivery, start, end)
        expected = end if end in DELIVERY_MOVES[start] else start
        after = desk.sees(campaign)
        assert after["deliveries"][0]["state"] == expected
        assert after["state"] == derived([expected], State.DRAFT)

    def test_the_table_of_moves_is_the_diagram(self) -> None:
        drawn = {("pending", "sending"), ("sending", "sent"), ("sending", "failed"), ("failed", "sending")}
        assert {(start, end) for start, ends in DELIVERY_MOVES.items() for end in ends} == drawn

    def test_pending_until_it_starts(self, desk: Desk) -> None:
        assert desk.writes()["deliveries"][0]["started_at"] is None

    def test_sending_then_sent(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        campaign = desk.in_state("publishing")
        assert campaign["deliveries"][0]["started_at"]
        desk.works()
        [delivery] = desk.sees(campaign)["deliveries"]
        assert (delivery["state"], delivery["error_detail"]) == ("sent", None)
        assert delivery["finished_at"] >= delivery["started_at"]

    def test_failed_says_why(self, desk: Desk) -> None:
        campaign = desk.in_state("failed")
        [delivery] = campaign["deliveries"]
        assert delivery["state"] == "failed"
        assert "550 no such mailbox" in delivery["error_detail"]
        assert "refused@example.org" not in str(campaign)


class TestDeliveryFields:
    def test_all_fields_are_shown(self, desk: Desk) -> None:
        [delivery] = desk.writes()["deliveries"]
        shown = {
            "id",
            "channel_type",
            "state",
            "sent_count",
            "failure_count",
            "error_detail",
            "started_at",
            "finished_at",
        }
        assert shown <= set(delivery)

    def test_counts_of_what_was_sent_and_what_failed(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org", "bob@example.org", "cut@example.org")
        desk.provider.refuses("cut@example.org", permanently=True)
        campaign = desk.sends()
        [delivery] = campaign["deliveries"]
        assert (delivery["sent_count"], delivery["failure_count"], delivery["state"]) == (2, 1, "sent")
        assert (campaign["sent_count"], campaign["failure_count"]) == (2, 1)
        assert delivery["reasons"] == [{"reason": "550 no such mailbox", "count": 1}]


class TestRetry:
    def test_only_a_failed_delivery_is_retried(self, desk: Desk) -> None:
        for state in ("draft", "scheduled", "publishing", "published"):
            answer = desk.retries(desk.in_state(state))
            assert (answer.status_code, answer.json()) == (409, NOT_NOW)
        assert desk.client.post("/admin/api/deliveries/nobody/retry").status_code == 404

    def test_it_goes_back_to_sending_and_the_campaign_to_publishing(self, desk: Desk) -> None:
        campaign = desk.in_state("failed")
        assert campaign["state"] == "published"
        answer = desk.retries(campaign)
        assert (answer.status_code, answer.json()["state"]) == (200, "sending")
        after = desk.sees(campaign)
        assert (after["state"], after["deliveries"][0]["error_detail"]) == ("publishing", None)

    def test_everybody_refused_is_tried_again_and_counted_anew(self, desk: Desk) -> None:
        campaign = desk.in_state("failed")
        assert (campaign["sent_count"], campaign["failure_count"]) == (0, 1)
        desk.provider.takes("refused@example.org")
        desk.retries(campaign)
        desk.works()
        after = desk.sees(campaign)
        assert (after["state"], after["sent_count"], after["failure_count"]) == ("published", 1, 0)
        assert (after["deliveries"][0]["state"], desk.got()) == ("sent", ["refused@example.org"])

    def test_only_this_delivery_is_retried(self, desk: Desk) -> None:
        failed, other = desk.in_state("failed"), desk.in_state("failed")
        desk.retries(failed)
        assert desk.sees(other) == other


class TestDerivedState:
    def test_any_delivery_sending_makes_it_publishing(self) -> None:
        for others in product(Sending, repeat=2):
            assert derived([Sending.SENDING, *others], State.DRAFT) == State.PUBLISHING

    def test_all_ended_makes_it_published(self) -> None:
        for states in product([Sending.SENT, Sending.FAILED], repeat=2):
            assert derived(states, State.PUBLISHING) == State.PUBLISHED

    @pytest.mark.parametrize("before", [State.DRAFT, State.SCHEDULED])
    def test_before_any_has_begun_it_is_what_it_was(self, before: State) -> None:
        assert derived([Sending.PENDING, Sending.PENDING], before) == before


class TestSchedule:
    def test_send_immediately(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        campaign = desk.writes()
        answer = desk.asks(campaign, "send")
        assert (answer.status_code, answer.json()["state"]) == (200, "publishing")
        assert {delivery["state"] for delivery in answer.json()["deliveries"]} == {"sending"}
        desk.works()
        assert desk.got() == ["ana@example.org"]

    def test_schedule_sets_the_time(self, desk: Desk) -> None:
        campaign, at = desk.writes(), "2050-01-31T09:00:00+02:00"
        answer = desk.asks(campaign, "schedule", scheduled_at=at)
        assert answer.status_code == 200
        assert (answer.json()["state"], answer.json()["scheduled_at"]) == ("scheduled", "2050-01-31T07:00:00.000000Z")

    def test_when_its_time_comes_it_is_sent_once(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        campaign = desk.in_state("scheduled")
        desk.time_comes(campaign)
        desk.works()
        desk.works()
        assert (desk.sees(campaign)["state"], desk.got()) == ("published", ["ana@example.org"])

    def test_cancel_makes_it_a_draft(self, desk: Desk) -> None:
        campaign = desk.in_state("scheduled")
        answer = desk.asks(campaign, "cancel")
        assert (answer.status_code, answer.json()["state"], answer.json()["scheduled_at"]) == (200, "draft", None)

    def test_a_cancelled_one_is_not_sent_at_its_time(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        campaign = desk.in_state("scheduled")
        desk.asks(campaign, "cancel")
        desk.time_comes(campaign)
        desk.works()
        assert (desk.sees(campaign)["state"], desk.got()) == ("draft", [])

    def test_edit_while_scheduled(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        campaign = desk.in_state("scheduled")
        assert desk.changes(campaign, subject="Edited").status_code == 200
        desk.time_comes(campaign)
        desk.works()
        assert parsed(desk)["Subject"] == "Edited"

    @pytest.mark.parametrize(
        "wrong",
        [
            "2020-01-01T00:00:00Z",
            "2050-01-01T00:00:00",
            "2050-01-01",
            "tomorrow",
            "",
            None,
            5,
            "9999-12-31T23:59:59-23:59",
            "2050-01-01x00:00Z",
        ],
    )
    def test_a_time_in_the_past_or_without_a_zone_is_refused(self, desk: Desk, wrong: Any) -> None:
        campaign = desk.writes()
        for answer in (
            desk.asks(campaign, "schedule", scheduled_at=wrong),
            desk.client.post(API, json={"subject": "x", "body": "x", "scheduled_at": wrong or 7}),
            desk.changes(campaign, scheduled_at=wrong or 7),
        ):
            assert (answer.status_code, list(answer.json())) == (400, ["error"])
        assert desk.sees(campaign)["state"] == "draft"


class TestEmailDelivery:
    """Feature 3, email delivery: how a campaign arrives."""

    def test_the_greeting_names_the_reader(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org", nickname="Ana")
        desk.sends()
        for kind in ("html", "plain"):
            assert "Hi, Ana" in body_of(parsed(desk), kind)

    def test_without_a_nickname_it_is_generic(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        desk.sends()
        for kind in ("html", "plain"):
            body = body_of(parsed(desk), kind)
            assert "Hi" in body
            assert "Hi," not in body

    def test_all_who_confirmed_get_it_and_nobody_else(self, desk: Desk, db: Database) -> None:
        desk.has_readers("ana@example.org", "bob@example.org")
        desk.client.post("/api/subscribe", json={"email": "pending@example.org"})
        desk.sends()
        assert {"ana@example.org", "bob@example.org"} <= set(desk.got())
        news = [mail for mail in desk.provider.sent if b"Issue 1" in mail.raw()]
        assert sorted(mail.to for mail in news) == ["ana@example.org", "bob@example.org"]

    def test_one_click_unsubscribe_in_header_and_footer(self, desk: Desk, db: Database) -> None:
        desk.has_readers("ana@example.org")
        with db.read() as tx:
            token = the_subscriber(tx, "ana@example.org").unsubscribe_token
        desk.sends()
        mail, link = parsed(desk), f"http://127.0.0.1:8000/api/unsubscribe?token={token}"
        assert mail["List-Unsubscribe"] == f"<{link}>"
        assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        for kind in ("html", "plain"):
            assert link in body_of(mail, kind)
            assert "http://127.0.0.1:8000/profile" in body_of(mail, kind)

    def test_a_transient_failure_changes_nobody(self, desk: Desk, db: Database) -> None:
        desk.has_readers("ana@example.org")
        desk.provider.refuses("ana@example.org", permanently=False)
        campaign = desk.sends()
        assert campaign["state"] == "publishing"
        with db.read() as tx:
            assert the_subscriber(tx, "ana@example.org").activated_at


class TestErrorScenarios:
    def test_a_service_that_is_away_is_waited_for(self, desk: Desk, db: Database) -> None:
        desk.has_readers("ana@example.org")
        desk.provider.breaks(OSError("away"))
        campaign = desk.sends()
        assert (desk.sees(campaign)["state"], desk.got()) == ("publishing", [])
        desk.provider = type(desk.provider)()
        with db.write() as tx:
            tx.execute(sa.update(messages).values(due_at=clock.now()))
        desk.works()
        assert (desk.sees(campaign)["state"], desk.got()) == ("published", ["ana@example.org"])

    def test_a_bounce_is_stored_and_keeps_the_subscriber(self, desk: Desk, db: Database) -> None:
        desk.has_readers("ana@example.org", "bob@example.org")
        desk.provider.refuses("bob@example.org", permanently=True)
        desk.sends()
        with db.read() as tx:
            assert the_subscriber(tx, "bob@example.org").activated_at
        [bounce] = desk.client.get("/admin/api/bounces").json()["items"]
        assert (bounce["email"], bounce["reason"]) == ("bob@example.org", "550 no such mailbox")

    def test_nobody_to_send_to(self, desk: Desk) -> None:
        campaign = desk.sends()
        [delivery] = campaign["deliveries"]
        assert (campaign["state"], delivery["state"]) == ("published", "sent")
        assert (delivery["sent_count"], delivery["failure_count"], delivery["error_detail"]) == (0, 0, None)

    def test_nothing_ties_a_person_to_a_campaign_afterwards(self, desk: Desk, db: Database) -> None:
        desk.has_readers("ana@example.org", "bob@example.org")
        desk.provider.refuses("bob@example.org", permanently=True)
        desk.sends()
        with db.read() as tx:
            assert count(tx, messages) == 0
            assert everything_but_subscribers(tx).isdisjoint({"ana@example.org", "bob@example.org"})
            assert set(bounces.c.keys()) == {"id", "email", "reason", "created_at", "subscriber_id"}


def everything_but_subscribers(tx: Connection) -> set[str]:
    """Every text in every other table, in words; who bounced is known, but not of which campaign."""
    words: set[str] = set()
    for name in sa.inspect(tx).get_table_names():
        if name.startswith("subscriber") or name == "bounces":
            continue
        for row in tx.execute(sa.text(f'SELECT * FROM "{name}"')):
            words.update(word for value in row for word in str(value).split())
    return words


def parsed(desk: Desk) -> EmailMessage:
    """The newest mail."""
    return message_from_bytes(desk.provider.sent[-1].raw(), _class=EmailMessage, policy=default)


def body_of(mail: EmailMessage, kind: str) -> str:
    part = mail.get_body((kind,))
    assert part is not None
    return str(part.get_content())
