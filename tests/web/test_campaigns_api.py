"""The campaigns at the admin API, beyond the rows of the specification."""

import json
from datetime import timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna.db import Database
from gna.delivery import mailings
from gna.mail.render import Format
from gna.outbox import contents, messages
from gna.subscribers import lists
from gna.subscribers.cleanup import clean_up
from gna.subscribers.table import subscribers
from tests.desk import API, Desk, in_an_hour
from tests.factories import NOW, a_subscriber, count, the_subscriber


@pytest.fixture
def desk(client: TestClient, db: Database) -> Desk:
    return Desk(client, db)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"subject": "x" * 251}, "longer than 250"),
        ({"subject": "a\nBcc: eve@example.org"}, "one line"),
        ({"subject": "a\u2028b"}, "one line"),
        ({"subject": "a\ud800"}, "cannot be stored"),
        ({"body": "a\0b"}, "cannot be stored"),
        ({"body": "x" * 400_001}, "longer than 400,000"),
        ({"body": ["x"]}, "Body must be text"),
        ({"body_format": "docx"}, "body_format must be html or markdown"),
        ({"body_format": None}, "body_format must be"),
        ({"body_text": 5}, "body_text must be text"),
        ({"preheader": {"a": 1}}, "preheader must be text"),
        ({"archived": "yes"}, "archived must be true or false"),
        ({"audience": "some"}, "audience must be an object"),
        ({"audience": {"list": "no such key!"}}, "A list key is"),
        ({"audience": {"attributes": ["city"]}}, "audience.attributes must be an object"),
        ({"audience": {"attributes": []}}, "audience.attributes must be an object"),
        ({"audience": {"attributes": False}}, "audience.attributes must be an object"),
        ({"audience": []}, "audience must be an object"),
        ({"audience": {"lists": "weekly"}}, "lists is not a part of audience; list?"),
        ({"audience": {"attribute": {"a": 1}}}, "attribute is not a part of audience; attributes?"),
        ({"audience": {"city": {"a": 1}}}, "An attribute of the audience"),
        ({"audience": {"city": None}}, "An attribute of the audience"),
        ({"audience": {"city": float("nan")}}, "An attribute of the audience"),
        ({"audience": {"city": 10**300}}, "An attribute of the audience"),
        ({"state": "published"}, "Unknown field: 'state'"),
        ({"schedulled_at": "2050-01-01T00:00:00Z"}, "Unknown field"),
        ({"subject": "Hi {{ first_name }}"}, "Unknown merge field: {{ first_name }}"),
        ({"body": "<p>{{ user.name }}</p>"}, "Unknown merge field"),
        ({"body": "<p>{{ nickname </p>"}, "{{"),
        ({"body_text": "{{ Nickname }}"}, "Unknown merge field"),
        ({"preheader": "{{ x }}"}, "Unknown merge field"),
        ({"body": '<p style="color: {{ nickname }}">x</p>'}, "style"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_reason(desk: Desk, wrong: dict[str, Any], says: str) -> None:
    said = json.dumps({"subject": "S", "body": "<p>B</p>"} | wrong).encode("utf-8", "surrogatepass")
    campaign = desk.writes()
    for answer in (
        desk.client.post(API, content=said),
        desk.client.patch(f"{API}/{campaign['id']}", content=json.dumps(wrong).encode()),
    ):
        assert answer.status_code in (400, 413)
        assert says in answer.json()["error"]
    assert desk.sees(campaign) == campaign


@pytest.mark.parametrize("body", [b"", b"[]", b"nonsense", b'{"subject": "x", "body": "y"', b"[" * 10_000])
def test_a_body_that_is_no_object_is_refused(desk: Desk, body: bytes) -> None:
    for path in (API, f"{API}/preview"):
        assert desk.client.post(path, content=body).status_code == 400


def test_what_was_written_is_shown_as_it_was(desk: Desk) -> None:
    written = {
        "subject": "News for {{ nickname | you }}",
        "body": "# Hello\n\n*you*",
        "body_format": "markdown",
        "body_text": "Hello",
        "preheader": "Short",
        "audience": {"list": "weekly", "attributes": {"city": "Cluj"}},
        "archived": False,
    }
    campaign = desk.writes(**written)
    assert {name: campaign[name] for name in written} == written
    assert desk.changes(campaign, body_text=None, preheader="", audience=None).status_code == 200
    after = desk.sees(campaign)
    assert (after["body_text"], after["preheader"], after["audience"]) == (None, None, {})


def test_a_time_may_be_planned_with_the_draft(desk: Desk) -> None:
    at = in_an_hour()
    campaign = desk.writes(scheduled_at=at)
    assert (campaign["state"], campaign["scheduled_at"]) == ("draft", at)
    desk.time_comes(campaign)
    desk.works()
    assert desk.sees(campaign)["state"] == "draft"


def test_the_planned_time_is_taken_when_no_other_is_given(desk: Desk) -> None:
    at = in_an_hour()
    campaign = desk.writes(scheduled_at=at)
    answer = desk.asks(campaign, "schedule")
    assert (answer.status_code, answer.json()["state"], answer.json()["scheduled_at"]) == (200, "scheduled", at)
    desk.asks(campaign, "cancel")
    assert desk.asks(campaign, "schedule").json() == {"error": "scheduled_at is required"}


@pytest.mark.parametrize("body", ["<p> </p>", "<script>x</script>", "<!-- x -->"])
def test_a_campaign_with_errors_is_not_sent(desk: Desk, body: str) -> None:
    campaign = desk.writes(body=body)
    for answer in (desk.asks(campaign, "send"), desk.asks(campaign, "schedule", scheduled_at=in_an_hour())):
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("There is nothing to read in the body")
    assert desk.sees(campaign)["state"] == "draft"


def test_it_says_what_the_mail_server_said_to_those_who_wait(desk: Desk) -> None:
    desk.has_readers("ana@example.org", "bob@example.org")
    desk.provider.refuses("bob@example.org", permanently=False)
    campaign = desk.sends()
    [delivery] = campaign["deliveries"]
    assert (delivery["sent_count"], delivery["remaining_count"], delivery["waiting_for"]) == (1, 1, "451 try later")


def test_a_copy_says_the_same_and_is_a_draft_of_its_own(desk: Desk) -> None:
    campaign = desk.sends(
        subject="Again", body="*x*", body_format="markdown", audience={"list": "weekly"}, archived=False
    )
    answer = desk.asks(campaign, "duplicate")
    copy = answer.json()
    assert (answer.status_code, copy["state"], copy["sent_count"]) == (201, "draft", 0)
    same = ("subject", "body", "body_format", "audience", "archived")
    assert [copy[name] for name in same] == [campaign[name] for name in same]
    assert copy["id"] != campaign["id"]
    assert copy["deliveries"][0]["state"] == "pending"


def test_it_can_leave_the_archive_after_it_was_published(desk: Desk) -> None:
    campaign = desk.sends()
    answer = desk.changes(campaign, archived=False)
    assert (answer.status_code, answer.json()["archived"]) == (200, False)
    assert desk.changes(campaign, archived=True, subject="Other").status_code == 409


class TestPreview:
    def test_as_html_in_a_sandbox(self, desk: Desk) -> None:
        answer = self.of(desk, desk.writes(body="<p>Look <script>alert(1)</script></p>"))
        assert answer.headers["content-type"].startswith("text/html")
        assert answer.headers["content-security-policy"].startswith("sandbox ")
        assert "Look" in answer.text
        assert "<script" not in answer.text

    def test_as_text(self, desk: Desk) -> None:
        answer = self.of(desk, desk.writes(), format="text")
        assert answer.headers["content-type"].startswith("text/plain")
        assert answer.text.startswith("Hi\n")
        assert "Hello" in answer.text

    def test_as_raw_source(self, desk: Desk) -> None:
        answer = self.of(desk, desk.writes(subject="Știri"), format="source")
        assert answer.headers["content-type"].startswith("text/plain")
        mail = message_from_bytes(answer.content, _class=EmailMessage, policy=default)
        assert mail["Subject"] == "Știri"
        assert mail["List-Unsubscribe"]
        assert mail.get_content_type() == "multipart/alternative"

    def test_all_at_once_with_the_checks(self, desk: Desk) -> None:
        campaign = desk.writes(body='<p>Hello <a href="/here">you</a></p>')
        for answer in (
            self.of(desk, campaign, format="json"),
            desk.client.get(f"{API}/{campaign['id']}/preview", headers={"Accept": "application/json"}),
        ):
            seen = answer.json()
            assert set(seen) == {"subject", "html", "text", "checks"}
            assert [check["code"] for check in seen["checks"]] == ["relative_link"]

    def test_as_a_given_subscriber_sees_it(self, desk: Desk, db: Database) -> None:
        desk.has_readers("ana@example.org", nickname="Ana & <b>")
        with db.read() as tx:
            ana = the_subscriber(tx, "ana@example.org")
        campaign = desk.writes(subject="For {{ nickname }}", body="<p>{{ email }}</p>")
        seen = self.of(desk, campaign, format="json", subscriber=ana.id).json()
        assert seen["subject"] == "For Ana & <b>"
        assert "Hi, Ana &amp; &lt;b&gt;" in seen["html"]
        assert "Hi, Ana & <b>" in seen["text"]
        assert "ana@example.org" in seen["html"]
        assert ana.unsubscribe_token not in str(seen), "whoever clicks in a preview must not unsubscribe the reader"

    @pytest.mark.parametrize(
        ("query", "status"), [({"format": "pdf"}, 400), ({"subscriber": "nobody"}, 404), ({"subscriber": "a\0"}, 404)]
    )
    def test_nonsense_is_refused(self, desk: Desk, query: dict[str, str], status: int) -> None:
        assert self.of(desk, desk.writes(), expect=status, **query).status_code == status

    def test_of_what_is_not_saved(self, desk: Desk) -> None:
        answer = desk.client.post(f"{API}/preview", json={"subject": "", "body": "*x*", "body_format": "markdown"})
        assert answer.status_code == 200
        assert "<em" in answer.json()["html"]
        assert [check["code"] for check in answer.json()["checks"]] == ["missing_subject"]
        assert desk.client.get(API).json()["total"] == 0

    def of(self, desk: Desk, campaign: dict[str, Any], expect: int = 200, **query: str) -> Any:
        answer = desk.client.get(f"{API}/{campaign['id']}/preview", params=query)
        assert answer.status_code == expect, answer.text
        return answer


class TestChecks:
    def test_what_to_look_at_before_sending(self, desk: Desk) -> None:
        campaign = desk.writes(body='<img src="https://example.org/a.png"><a href="http://">x</a> *|FNAME|*')
        items = desk.client.get(f"{API}/{campaign['id']}/checks").json()["items"]
        assert {item["code"] for item in items} == {"missing_alt", "broken_link", "unresolved_field"}
        assert all(item["level"] == "warning" and item["message"].endswith(".") for item in items)

    def test_nothing_to_look_at(self, desk: Desk) -> None:
        assert desk.client.get(f"{API}/{desk.writes()['id']}/checks").json() == {"items": []}


class TestTrial:
    def test_a_test_goes_to_the_given_addresses_alone(self, desk: Desk, db: Database) -> None:
        desk.has_readers("ana@example.org", nickname="Ana")
        desk.has_readers("bob@example.org")
        campaign = desk.writes(subject="News")
        answer = desk.asks(campaign, "test", to=["ana@example.org", "me@example.org", "me@example.org"])
        assert answer.status_code == 202
        desk.works()
        assert sorted(desk.got()) == ["ana@example.org", "me@example.org"]
        mails = {
            mail.to: message_from_bytes(mail.raw(), _class=EmailMessage, policy=default) for mail in desk.provider.sent
        }
        assert {str(mail["Subject"]) for mail in mails.values()} == {"[Test] News"}
        assert "Hi, Ana" in text_of(mails["ana@example.org"])
        assert "Hi\r\n" in text_of(mails["me@example.org"])
        assert desk.sees(campaign) == campaign
        with db.read() as tx:
            assert count(tx, messages) == 0

    def test_one_address_is_enough(self, desk: Desk) -> None:
        assert desk.asks(desk.writes(), "test", to="me@example.org").status_code == 202
        desk.works()
        assert desk.got() == ["me@example.org"]

    @pytest.mark.parametrize("state", ["draft", "scheduled", "publishing", "published"])
    def test_in_any_state(self, desk: Desk, state: str) -> None:
        assert desk.asks(desk.in_state(state), "test", to="me@example.org").status_code == 202

    @pytest.mark.parametrize("to", [None, "", "nonsense", [], ["a@example.org", "x"], ["a@example.org"] * 21, {}, 5])
    def test_no_address_no_test(self, desk: Desk, to: Any) -> None:
        answer = desk.client.post(f"{API}/{desk.writes()['id']}/test", json={"to": to})
        assert (answer.status_code, list(answer.json())) == (400, ["error"])

    def test_a_test_that_cannot_be_sent_is_forgotten(self, desk: Desk, db: Database) -> None:
        desk.provider.refuses("me@example.org", permanently=True)
        desk.asks(desk.writes(), "test", to="me@example.org")
        desk.works()
        with db.write() as tx:
            assert count(tx, messages) == 1
            clean_up(tx, now=NOW + timedelta(days=9))
            assert count(tx, messages) == 0


class TestAudience:
    def test_a_list(self, desk: Desk, db: Database) -> None:
        desk.has_readers("ana@example.org", "bob@example.org")
        with db.write() as tx:
            lists.join(tx, {the_subscriber(tx, "ana@example.org").id: ["weekly"]}, now=NOW)
        campaign = desk.writes(audience={"list": "weekly"})
        assert desk.client.get(f"{API}/{campaign['id']}/audience").json() == {"count": 1}
        desk.asks(campaign, "send")
        desk.works()
        assert desk.got() == ["ana@example.org"]

    def test_attributes(self, desk: Desk, db: Database) -> None:
        desk.has_readers("ana@example.org", attributes={"city": "Cluj", "age": 30, "vip": True})
        desk.has_readers("bob@example.org", attributes={"city": "Iași", "age": 30, "vip": False})
        for audience, expected in (
            ({"attributes": {"city": "Cluj"}}, 1),
            ({"city": "Iași"}, 1),
            ({"attributes": {"age": 30}}, 2),
            ({"attributes": {"age": "30", "vip": True}}, 1),
            ({"attributes": {"vip": "false"}}, 1),
            ({"attributes": {"country": "RO"}}, 0),
            ({}, 2),
        ):
            campaign = desk.writes(audience=audience)
            assert desk.client.get(f"{API}/{campaign['id']}/audience").json() == {"count": expected}, audience

    def test_counted_when_it_starts_and_who_leaves_meanwhile_is_skipped(self, desk: Desk, db: Database) -> None:
        desk.has_readers(*(f"p{number}@example.org" for number in range(5)))
        campaign = desk.writes()
        desk.asks(campaign, "send")
        desk.asks(campaign, "pause")
        desk.works()
        with db.write() as tx:
            tx.execute(sa.delete(subscribers).where(subscribers.c.email == "p3@example.org"))
            a_subscriber(tx, email="late@example.org", activated=True)
        assert desk.sees(campaign)["deliveries"][0]["remaining_count"] == 5
        desk.asks(campaign, "resume")
        desk.works()
        [delivery] = desk.sees(campaign)["deliveries"]
        assert (delivery["audience_count"], delivery["sent_count"], delivery["skipped_count"]) == (5, 4, 1)
        assert sorted(desk.got()) == [f"p{number}@example.org" for number in (0, 1, 2, 4)]

    def test_who_leaves_the_list_meanwhile_is_skipped(self, desk: Desk, db: Database) -> None:
        desk.has_readers("ana@example.org", "bob@example.org")
        with db.write() as tx:
            for email in ("ana@example.org", "bob@example.org"):
                lists.join(tx, {the_subscriber(tx, email).id: ["weekly"]}, now=NOW)
        campaign = desk.writes(audience={"list": "weekly"})
        desk.asks(campaign, "send")
        desk.asks(campaign, "pause")
        desk.works()
        with db.write() as tx:
            lists.leave(tx, lists.Leaving("ana@example.org", "weekly"), now=NOW)
            lists.leave(tx, lists.Leaving("bob@example.org", "other"), now=NOW)
        desk.asks(campaign, "resume")
        desk.works()
        after = desk.sees(campaign)
        assert (after["audience_count"], after["sent_count"], after["skipped_count"]) == (2, 1, 1)
        assert desk.got() == ["bob@example.org"]


def test_nothing_in_the_files_says_who_got_it(desk: Desk, db: Database, database_url: str) -> None:
    if db.kind != "sqlite":
        pytest.skip("PostgreSQL's own files are its own business")
    desk.has_readers("ana@example.org")
    desk.sends()
    with db.read() as tx:
        key = f"1:{the_subscriber(tx, 'ana@example.org').id}".encode()
    file = Path(database_url.removeprefix("sqlite:///"))
    assert key not in file.read_bytes() + Path(f"{file}-wal").read_bytes()


class TestPause:
    def test_nothing_leaves_until_it_goes_on(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        campaign = desk.writes()
        desk.asks(campaign, "send")
        paused = desk.asks(campaign, "pause")
        assert (paused.status_code, paused.json()["state"]) == (200, "publishing")
        assert paused.json()["deliveries"][0]["paused"] is True
        desk.works()
        assert desk.got() == []
        assert desk.asks(campaign, "pause").status_code == 409
        resumed = desk.asks(campaign, "resume")
        assert (resumed.status_code, resumed.json()["deliveries"][0]["paused"]) == (200, False)
        assert desk.asks(campaign, "resume").status_code == 409
        desk.works()
        assert (desk.got(), desk.sees(campaign)["state"]) == (["ana@example.org"], "published")


class TestHeld:
    def test_a_missed_time_waits_for_a_person_and_says_so(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        campaign = desk.in_state("scheduled")
        desk.time_comes(campaign, ago=timedelta(hours=7))
        desk.works()
        held = desk.sees(campaign)
        assert (held["state"], desk.got()) == ("scheduled", [])
        assert "Send it now or choose another time" in held["held"]
        assert desk.asks(campaign, "send").status_code == 200
        desk.works()
        assert (desk.sees(campaign)["state"], desk.sees(campaign)["held"]) == ("published", None)

    @pytest.mark.parametrize("verb", ["cancel", "schedule", "change"])
    def test_a_person_decides(self, desk: Desk, verb: str) -> None:
        campaign = desk.in_state("scheduled")
        desk.time_comes(campaign, ago=timedelta(hours=7))
        desk.works()
        if verb == "change":
            desk.changes(campaign, scheduled_at=in_an_hour())
        else:
            desk.asks(campaign, verb, **({"scheduled_at": in_an_hour()} if verb == "schedule" else {}))
        assert desk.sees(campaign)["held"] is None

    def test_one_that_cannot_be_composed_keeps_no_other_waiting(self, desk: Desk, db: Database) -> None:
        desk.has_readers("ana@example.org")
        broken, good = desk.in_state("scheduled"), desk.in_state("scheduled")
        with db.write() as tx:
            tx.execute(sa.text("UPDATE campaigns SET body_format = 'odd' WHERE id = :id"), {"id": broken["id"]})
        desk.time_comes(broken, ago=timedelta(minutes=2))
        desk.time_comes(good)
        desk.works()
        assert "could not be composed" in desk.sees(broken)["held"]
        assert (desk.sees(broken)["state"], desk.sees(good)["state"]) == ("scheduled", "published")


class TestLeftOver:
    def test_what_nobody_refused_is_tried_again_alone(self, desk: Desk, db: Database) -> None:
        desk.has_readers("ana@example.org", "bob@example.org", "cut@example.org")
        desk.provider.refuses("bob@example.org", permanently=False)
        desk.provider.refuses("cut@example.org", permanently=True)
        campaign = desk.writes()
        desk.asks(campaign, "send")
        desk.works()
        self.tries_are_over(desk, db)
        failed = desk.sees(campaign)
        [delivery] = failed["deliveries"]
        assert (failed["state"], delivery["state"]) == ("published", "failed")
        assert (delivery["sent_count"], delivery["failure_count"]) == (1, 2)
        assert delivery["error_detail"].startswith("2 of 3 mails could not be sent: ")
        assert "example.org" not in delivery["error_detail"]
        desk.provider.takes("bob@example.org")
        assert desk.retries(campaign).status_code == 200
        desk.works()
        [delivery] = desk.sees(campaign)["deliveries"]
        assert (delivery["state"], delivery["sent_count"], delivery["failure_count"]) == ("sent", 2, 1)
        assert sorted(desk.got()) == ["ana@example.org", "bob@example.org"]
        with db.read() as tx:
            assert count(tx, messages) == 0

    def test_after_a_week_nothing_is_left_to_try(self, desk: Desk, db: Database) -> None:
        campaign = desk.in_state("failed")
        with db.write() as tx:
            while mailings.forget_some(tx, now=NOW + timedelta(days=30)):
                pass
        answer = desk.retries(campaign)
        assert (answer.status_code, "Nothing is left" in answer.json()["error"]) == (409, True)
        assert desk.sees(campaign) == campaign

    def tries_are_over(self, desk: Desk, db: Database) -> None:
        for _ in range(20):
            with db.write() as tx:
                tx.execute(sa.update(messages).values(due_at=NOW))
            desk.works()


class TestProgress:
    def test_it_ends_when_the_campaign_is_published(self, desk: Desk) -> None:
        desk.has_readers("ana@example.org")
        campaign = desk.sends()
        answer = desk.client.get(f"{API}/{campaign['id']}/progress")
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = [
            dict(line.split(": ", 1) for line in event.splitlines()) for event in answer.text.strip().split("\n\n")
        ]
        assert [event["event"] for event in events] == ["progress", "done"]
        assert json.loads(events[-1]["data"])["sent_count"] == 1

    def test_of_nothing(self, desk: Desk) -> None:
        assert desk.client.get(f"{API}/nobody/progress").status_code == 404


def test_the_content_is_stored_once(desk: Desk, db: Database) -> None:
    desk.has_readers("ana@example.org", "bob@example.org")
    desk.sends(body_format=Format.MARKDOWN)
    with db.read() as tx:
        assert count(tx, contents) == 1


def text_of(mail: EmailMessage) -> str:
    part = mail.get_body(("plain",))
    assert part is not None
    return str(part.get_content())
