"""The campaigns' pages of the admin, as forms and links: everything that works without a script."""

import html
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from httpx2 import Response
from hypothesis import HealthCheck, given
from hypothesis import settings as fuzzing
from hypothesis import strategies as st
from starlette.testclient import TestClient

from gna import clock
from gna.activity import Verb, activity
from gna.campaigns import finding, wall_clock, writing
from gna.campaigns.table import Changed, campaigns
from gna.campaigns.writing import Wish
from gna.db import Database
from gna.errors import Refused
from gna.mail.render import Draft, Format, check
from gna.subscribers import lists
from gna.web.pages.admin.campaign_words import TEXTS, in_words
from tests.desk import FRAME, Desk, in_an_hour
from tests.factories import NOW, a_subscriber, the_subscriber

HOME = "/admin/campaigns"
HTML = {"Accept": "text/html"}
SCRIPT = {"Accept": "application/json"}
TEXT = {"subject": "Issue 1", "body": "Hello *you*", "body_format": "markdown", "archived": "yes"}


class Office(Desk):
    """A publisher at the pages."""

    def opens(self, path: str = "", status: int = 200, cookie: str = "", lang: str = "en") -> str:
        """The text of a page."""
        headers = HTML | {"Cookie": cookie, "Accept-Language": lang}
        answer = self.client.get(f"{HOME}{path}", headers=headers)
        assert answer.status_code == status, answer.text
        return answer.text

    def posts(self, path: str, headers: dict[str, str] = HTML, /, **fields: Any) -> Response:
        """Send a form."""
        referer = {"Referer": f"http://127.0.0.1:8000{HOME}"}
        return self.client.post(f"{HOME}{path}", data=fields, headers=referer | headers)

    def saves(self, campaign: dict[str, Any], headers: dict[str, str] = HTML, /, **fields: Any) -> Response:
        """Press Save on the form of a campaign, with what the page showed."""
        return self.posts(f"/{campaign['id']}", headers, updated_at=campaign["updated_at"], **TEXT | fields)

    def noted(self) -> list[tuple[str, str]]:
        """What is in the activity: verbs and what they are about."""
        return [(row.verb, row.about) for row in sorted(self.rows(activity), key=lambda row: row.id)]


@pytest.fixture
def office(client: TestClient, db: Database) -> Office:
    return Office(client, db)


def field(page: str, name: str) -> str:
    """The value of an input on a page."""
    found = re.search(rf'<input[^>]*name="{name}"[^>]*value="([^"]*)"', page)
    assert found, f"no field {name}"
    return html.unescape(found[1])


def message(office: Office, answer: Response) -> str:
    """What the next page says."""
    assert answer.status_code == 303, answer.text
    page = office.client.get(answer.headers["location"], headers=HTML).text
    found = re.search(r'<p class="note said[^>]*>([^<]*)</p>', page)
    return html.unescape(found[1]) if found else ""


class TestList:
    def test_without_any_campaign_it_teaches(self, office: Office) -> None:
        page = office.opens()
        assert "Write your first campaign" in page
        assert "Search in subjects" not in page

    def test_chips_count_the_states(self, office: Office) -> None:
        office.writes(subject="A draft")
        office.in_state("scheduled")
        office.in_state("published")
        page = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", office.opens()))
        assert "All 3" in page
        assert "Drafts 1" in page
        assert "Scheduled 1" in page
        assert "Published 1" in page
        romanian = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", office.opens(lang="ro")))
        assert "Toate 3 Ciorne 1 Programate 1 În curs 0 Publicate 1" in romanian
        assert "A draft" in office.opens("?state=draft")
        assert "A draft" not in office.opens("?state=published")

    @pytest.mark.parametrize("q", ["ȘTIRI", "știri", "tiri d", " Știri ", "STRASSE"])
    def test_search_is_without_case_for_all_letters(self, office: Office, q: str) -> None:
        office.writes(subject="Știri din Straße & altele")
        office.writes(subject="Something else")
        page = office.opens(f"?q={q}")
        assert "Știri din Straße &amp; altele" in page
        assert "Something else" not in page

    def test_nothing_found_offers_to_clear_the_filters(self, office: Office) -> None:
        office.writes()
        for query in ("?q=nobody", "?state=publishing", "?q=%25"):
            page = office.opens(query)
            assert "No campaign looks like that" in page
            assert "Clear filters" in page

    def test_what_keeps_a_campaign_is_said(self, office: Office) -> None:
        office.in_state("failed")
        assert "Failed" in office.opens("?state=published")
        office.asks(office.in_state("publishing"), "pause")
        assert "Paused" in office.opens("?state=publishing")
        held = office.in_state("scheduled")
        office.time_comes(held, ago=timedelta(hours=7))
        office.works()
        assert "Held" in office.opens("?state=scheduled")
        assert "waits for you" in office.opens(f"/{held['id']}")
        romanian = HTML | {"Accept-Language": "ro"}
        for path in ("/admin", f"/admin/campaigns/{held['id']}"):
            assert "iar Gna nu rula atunci" in office.client.get(path, headers=romanian).text

    def test_pages_of_many(self, office: Office, db: Database) -> None:
        with db.write() as tx:
            moment = {"created_at": NOW, "updated_at": NOW}
            rows = [
                {"id": f"c{number:03}", "subject": f"Nr {number:03}", "body": "x", **moment} for number in range(45)
            ]
            tx.execute(sa.insert(campaigns), rows)
        assert "Nr 044" in office.opens()
        assert "Nr 004" in office.opens("?page=3")
        assert "Page 3 of 3" in office.opens("?q=nr&page=3")
        with db.read() as tx:
            found = finding.find(tx, q="nr 00", state=None, page=1, per_page=5)
        assert ([one["subject"] for one in found.items], found.total) == ([f"Nr 00{n}" for n in (9, 8, 7, 6, 5)], 10)
        assert found.counts == {"draft": 10}

    @pytest.mark.parametrize("query", ["?state=odd", "?page=0", "?page=x", f"?q={'x' * 201}", "?q=%00"])
    def test_nonsense_in_the_address_is_a_page_that_says_so(self, office: Office, query: str) -> None:
        office.opens(query, status=400)

    def test_a_draft_can_be_copied_and_deleted_from_here(self, office: Office) -> None:
        draft = office.writes(subject="Twice")
        answer = office.posts(f"/{draft['id']}/duplicate")
        assert "a draft of its own" in message(office, answer)
        copy = answer.headers["location"].rpartition("/")[2]
        assert copy != draft["id"]
        assert message(office, office.posts(f"/{draft['id']}/delete")) == "The draft is deleted."
        assert office.client.get(f"/admin/api/campaigns/{draft['id']}").status_code == 404
        verbs = [Verb.CAMPAIGN_CREATED, Verb.CAMPAIGN_COPIED, Verb.CAMPAIGN_DELETED]
        assert office.noted() == [(verb, "Twice") for verb in verbs]

    def test_what_was_sent_is_not_deleted(self, office: Office) -> None:
        sent = office.in_state("published")
        assert "not allowed" in message(office, office.posts(f"/{sent['id']}/delete"))
        assert office.sees(sent)["state"] == "published"


class TestWriting:
    def test_a_new_one_is_made_by_the_form(self, office: Office) -> None:
        assert "New campaign" in office.opens("/new")
        answer = office.posts(
            "",
            **TEXT | {"preheader": "Short", "list": "weekly", "attribute": ["city", ""], "value": ["Cluj", ""]},
        )
        assert message(office, answer) == "Saved."
        [made] = office.client.get("/admin/api/campaigns").json()["items"]
        assert (made["subject"], made["body_format"], made["archived"]) == ("Issue 1", "markdown", True)
        assert made["audience"] == {"list": "weekly", "attributes": {"city": "Cluj"}}
        page = office.opens(f"/{made['id']}")
        assert field(page, "preheader") == "Short"
        assert "Hello *you*</textarea>" in page

    def test_the_form_shows_what_is_stored_and_saving_it_changes_nothing(self, office: Office) -> None:
        written = {
            "subject": "News & more",
            "body": "\n\n<p>Two empty lines before</p>",
            "body_text": "  indented",
            "preheader": "P",
            "audience": {"list": "gone", "attributes": {"vip": "true", "city": "Iași"}},
            "archived": False,
        }
        draft = office.writes(**written)
        page = office.opens(f"/{draft['id']}")
        areas = [
            html.unescape(text).removeprefix("\n")
            for text in re.findall(r"<textarea[^>]*>(.*?)</textarea>", page, re.S)
        ]
        answer = office.saves(
            draft,
            subject=field(page, "subject"),
            body=areas[0],
            body_format="html",
            body_text=areas[1],
            preheader=field(page, "preheader"),
            list="gone",
            attribute=["vip", "city", "", ""],
            value=["true", "Iași", "", ""],
            archived="",
        )
        assert message(office, answer) == "Saved."
        after = office.sees(draft)
        assert {name: after[name] for name in written} == written
        assert '<option value="gone" selected>' in page

    @pytest.mark.parametrize(
        ("wrong", "says"),
        [
            ({"subject": "two\x1blines"}, "Subject must be one line"),
            ({"list": "no such key!"}, "A list key is"),
            ({"body_format": "docx"}, "body_format must be"),
            ({"subject": "x" * 251}, "longer than 250"),
        ],
    )
    def test_what_is_refused_stands_there_again_with_the_reason(
        self, office: Office, wrong: dict[str, str], says: str
    ) -> None:
        draft = office.writes()
        typed = TEXT | {"preheader": "Typed <long> and carefully"} | wrong
        for answer in (office.posts("", **typed), office.saves(draft, **typed)):
            assert answer.status_code == 400
            assert says in html.unescape(answer.text)
            assert field(answer.text, "preheader") == "Typed <long> and carefully"
        assert office.sees(draft) == draft
        assert office.client.get("/admin/api/campaigns").json()["total"] == 1

    def test_who_was_slower_loses_nothing_and_overwrites_nothing(self, office: Office) -> None:
        draft = office.writes(subject="At first")
        assert office.saves(draft, subject="From one tab").status_code == 303
        late = office.saves(draft, subject="From another tab", body="All that I typed")
        assert late.status_code == 409
        assert "Somebody else saved this campaign" in late.text
        assert "All that I typed" in late.text
        assert office.sees(draft)["subject"] == "From one tab"
        # The page that said so knows the newer one: saving again is a decision.
        again = {"updated_at": field(late.text, "updated_at")}
        assert office.posts(f"/{draft['id']}", **TEXT | again | {"subject": "From another tab"}).status_code == 303
        assert office.sees(draft)["subject"] == "From another tab"

    def test_the_script_is_told_in_its_own_way(self, office: Office) -> None:
        born = office.posts("", SCRIPT, **TEXT)
        assert born.status_code == 200
        draft = office.sees(born.json())
        assert born.json()["updated_at"] == draft["updated_at"]
        assert (born.json()["blocked"], "fine" in born.json()["checks"]) == (False, True)
        blank = office.saves(draft, SCRIPT, body="<!-- nothing -->", body_format="html")
        assert blank.json()["blocked"] is True
        conflict = office.saves(draft, SCRIPT)
        assert conflict.status_code == 409
        assert conflict.json()["updated_at"] == blank.json()["updated_at"]
        half = office.saves(office.sees(draft), SCRIPT | {"Accept-Language": "ro"}, body="{{ nick")
        assert (half.status_code, half.json()["blocked"]) == (200, True)
        assert "Un câmp nu este închis: {{ nick" in half.json()["checks"]

    def test_a_script_that_heard_no_answer_makes_no_second_draft(self, office: Office) -> None:
        page = {"id_to_be": field(office.opens("/new"), "id_to_be")}
        for subject in ("Issue 1", "Issue 1, and what was typed meanwhile"):
            born = office.posts("", SCRIPT, **TEXT | page | {"subject": subject})
            assert (born.status_code, born.json()["id"]) == (200, page["id_to_be"])
        [made] = office.client.get("/admin/api/campaigns").json()["items"]
        assert (made["id"], made["subject"]) == (page["id_to_be"], "Issue 1, and what was typed meanwhile")
        assert [verb for verb, _ in office.noted()] == [Verb.CAMPAIGN_CREATED, Verb.CAMPAIGN_CHANGED]
        # Who goes back and writes another one does not write over the first.
        assert office.posts("", **TEXT | page | {"subject": "Another"}).status_code == 303
        assert office.client.get("/admin/api/campaigns").json()["total"] == 2
        office.asks(made, "send")
        late = office.posts("", SCRIPT, **TEXT | page)
        assert (late.status_code, late.json()["gone"]) == (409, True)

    @pytest.mark.parametrize("odd", ["", "x", "1234", "\0", "g" * 32])
    def test_an_odd_id_is_passed_over(self, office: Office, odd: str) -> None:
        born = office.posts("", SCRIPT, **TEXT | {"id_to_be": odd})
        assert (born.status_code, born.json()["id"] != odd) == (200, True)

    def test_nothing_is_promised_that_only_a_script_does(self, office: Office) -> None:
        assert ">A draft saves itself" not in office.opens("/new")

    @pytest.mark.parametrize("gone", ["deleted", "sent"])
    def test_what_was_typed_survives_that_the_campaign_is_gone(self, office: Office, gone: str) -> None:
        draft = office.writes()
        office.deletes(draft) if gone == "deleted" else office.asks(draft, "send")
        answer = office.saves(draft, body="All that I typed")
        assert answer.status_code == 409
        assert "save it as a new campaign" in answer.text
        assert "All that I typed" in answer.text
        assert f'action="{HOME}"' in answer.text

    def test_saving_goes_on_to_the_next_step(self, office: Office) -> None:
        draft = office.writes()
        answer = office.saves(draft, next="send", subject="Changed")
        assert (answer.status_code, answer.headers["location"]) == (303, f"{HOME}/{draft['id']}/send")
        assert office.sees(draft)["state"] == "draft", "saving never sends"
        assert office.posts("", next="schedule", **TEXT).headers["location"].endswith("/schedule")
        assert office.saves(office.sees(draft), next="//evil").headers["location"] == f"{HOME}/{draft['id']}"

    def test_a_change_is_noted_once_an_hour_for_each_person_and_campaign(self, office: Office, db: Database) -> None:
        one, other = office.writes(subject="One"), office.writes(subject="Other")
        for number in range(3):
            office.saves(office.sees(one), subject=f"One {number}")
        office.saves(other, subject="Other")
        changed = [about for verb, about in office.noted() if verb == Verb.CAMPAIGN_CHANGED]
        assert changed == ["One 0", "Other"]
        with db.write() as tx:
            tx.execute(sa.update(activity).values(at=clock.now() - timedelta(hours=2)))
        office.saves(office.sees(one), subject="One later")
        assert office.noted()[-1] == (Verb.CAMPAIGN_CHANGED, "One later")

    def test_lists_to_choose_from(self, office: Office, db: Database) -> None:
        office.has_readers("ana@example.org", "bob@example.org")
        with db.write() as tx:
            assert lists.known(tx) == ["general"]
            for email, keys in (("ana@example.org", ["weekly", "art"]), ("bob@example.org", ["weekly"])):
                lists.join(tx, {the_subscriber(tx, email).id: keys}, now=NOW)
            assert lists.known(tx) == ["general", "art", "weekly"]
        assert '<option value="weekly">' in office.opens("/new")

    def test_an_unknown_one_is_a_page(self, office: Office) -> None:
        assert "There is nothing here" in office.opens("/nobody", status=404)
        office.opens("/a%00b", status=404)


UNFINISHED = [
    {"subject": ""},
    {"subject": "Only a subject", "body": ""},
    {"subject": "For {{ nick"},
    {"preheader": "{{ city }}"},
    {"body": "Dear {{ first_name }}, dear {{ nickname"},
    {"body": "Hello", "body_text": "Hello {{"},
    {"body": "<div>" * 300, "body_format": "html"},
]


class TestUnfinished:
    """A draft is saved with whatever is in it; what cannot be sent is a finding."""

    @pytest.mark.parametrize("typed", UNFINISHED, ids=" ".join)
    def test_it_is_saved_and_cannot_be_sent(self, office: Office, typed: dict[str, str]) -> None:
        office.has_readers("ana@example.org")
        fields = TEXT | typed
        made = office.posts("", **fields)
        assert message(office, made) == "Saved."
        draft = office.sees({"id": made.headers["location"].rpartition("/")[2]})
        assert {name: draft[name] for name in fields if name != "archived"} == {
            name: value for name, value in fields.items() if name != "archived"
        }
        assert office.saves(draft, **fields).status_code == 303
        page = office.opens(f"/{draft['id']}")
        assert "With an error it cannot be sent" in page
        assert "With an error it cannot be sent" in office.opens(f"/{draft['id']}/send")
        for step in ({}, {"at": "2090-01-01T09:00", "zone": "UTC"}):
            path = f"/{draft['id']}/{'schedule' if step else 'send'}"
            seen = office.sees(draft)["updated_at"]
            assert office.posts(path, updated_at=seen, **step).status_code == 400
        assert office.sees(draft)["state"] == "draft"
        office.opens("")

    @pytest.mark.parametrize(("name", "value"), [("city", ""), ("", "Cluj")])
    def test_half_a_condition_of_the_audience_keeps_no_text_from_being_saved(
        self, office: Office, name: str, value: str
    ) -> None:
        audience = {"list": "weekly", "attributes": {"vip": "true"}}
        draft = office.writes(audience=audience)
        half = {"list": "", "attribute": ["vip", name], "value": ["true", value]}
        saved = office.saves(draft, SCRIPT, body="All that I typed", **half)
        assert (saved.status_code, saved.json()["partly"], saved.json()["blocked"]) == (200, True, True)
        assert "An attribute needs a name and a value" in saved.json()["checks"]
        after = office.sees(draft)
        assert (after["body"], after["audience"]) == ("All that I typed", audience)
        whole = half | {"attribute": ["vip", "city"], "value": ["true", "Cluj"]}
        saved = office.saves(after, SCRIPT, **whole)
        assert (saved.json()["partly"], saved.json()["blocked"]) == (False, False)
        assert office.sees(draft)["audience"] == {"attributes": {"vip": "true", "city": "Cluj"}}

    def test_half_a_condition_leads_back_to_the_form_and_not_to_sending(self, office: Office) -> None:
        half = {"attribute": "city", "value": "", "list": "weekly", "next": "send"}
        office.has_readers("ana@example.org")
        made = office.posts("", **TEXT | half)
        [draft] = office.client.get("/admin/api/campaigns").json()["items"]
        saved = office.saves(draft, **half | {"body": "All that I typed"})
        assert office.sees(draft)["body"] == "All that I typed"
        assert office.client.get("/admin/api/campaigns").json()["total"] == 1
        for answer in (made, saved):
            assert answer.status_code == 400
            assert "Saved, except the audience." in answer.text
            assert "An attribute needs a name and a value" in answer.text
            assert "With an error it cannot be sent" in answer.text
            assert field(answer.text, "attribute") == "city"
            assert f'action="{HOME}/{draft["id"]}"' in answer.text
        assert field(saved.text, "updated_at") == office.sees(draft)["updated_at"]

    def test_half_a_condition_is_refused_while_the_campaign_is_scheduled(self, office: Office) -> None:
        scheduled = office.in_state("scheduled")
        answer = office.saves(scheduled, SCRIPT, attribute="city", value="")
        assert answer.status_code == 400
        assert "An attribute needs a name and a value" in answer.json()["error"]
        assert office.sees(scheduled) == scheduled

    @pytest.mark.parametrize("body", ["{{ first_name }}", "{{ nick"])
    def test_a_field_that_cannot_be_read_is_shown_as_typed_and_not_mailed(self, office: Office, body: str) -> None:
        made = office.posts("", SCRIPT, **TEXT | {"subject": body, "body": f"Dear {body}"}).json()
        for preview in (
            office.client.get(f"/admin/api/campaigns/{made['id']}/preview?format=text"),
            office.posts("/preview", format="text", **TEXT | {"body": f"Dear {body}"}),
        ):
            assert preview.status_code == 200
            assert f"Dear {body}" in preview.text.replace("\u2060", "")
        shown = office.client.get(f"/admin/api/campaigns/{made['id']}/preview?format=json").json()
        assert shown["subject"].replace("\u2060", "") == body
        assert [one["code"] for one in shown["checks"]] == ["unknown_field"]
        assert office.posts(f"/{made['id']}/test", to="me@example.org").status_code == 400

    def test_the_api_refuses_it_when_it_is_saved(self, office: Office) -> None:
        draft = office.writes()
        for wrong in ({"subject": ""}, {"body": "{{ nick"}, {"body": "{{ first_name }}"}):
            said = {"subject": "Issue 1", "body": "<p>Hello</p>"} | wrong
            assert office.client.post("/admin/api/campaigns", json=said).status_code == 400
            assert office.changes(draft, **wrong).status_code == 400
        assert office.sees(draft) == draft

    def test_nothing_typed_is_no_draft(self, office: Office) -> None:
        answer = office.posts("", subject=" ", body="\n", body_format="markdown")
        assert (answer.status_code, "Write a subject or a text first" in answer.text) == (400, True)
        assert office.client.get("/admin/api/campaigns").json()["total"] == 0

    def test_a_draft_without_a_subject_has_a_name_everywhere(self, office: Office) -> None:
        made = office.posts("", SCRIPT, **TEXT | {"subject": ""}).json()
        for path in ("", f"/{made['id']}", f"/{made['id']}/send"):
            assert "Without a subject" in office.opens(path)
        assert "Fără subiect" in office.opens("", lang="ro")

    def test_what_is_scheduled_stays_complete(self, office: Office) -> None:
        scheduled = office.in_state("scheduled")
        for wrong in ({"subject": ""}, {"body": "{{ nick"}):
            answer = office.saves(scheduled, **wrong)
            assert answer.status_code == 400
            assert "{{ nick" in answer.text or "Subject is required" in answer.text
        assert office.sees(scheduled) == scheduled

    def test_what_is_scheduled_meanwhile_stays_complete(self, office: Office, db: Database) -> None:
        scheduled = office.in_state("scheduled")
        half = Wish.parse_draft({"body": "{{ nick"}, now=NOW)
        with db.write() as tx, pytest.raises(Changed):
            writing.change(tx, scheduled["id"], half, now=NOW)


class TestFormats:
    MARKDOWN = "# Hi\n\nDear *{{ nickname | friend & co }}*\n\n- one\n- two"
    HTML = "<h1>Hi</h1>\n<p>Dear <em>{{ nickname | friend &amp; co }}</em></p>\n<ul>\n<li>one</li>\n<li>two</li>\n</ul>"

    def a_draft(self, office: Office, **fields: Any) -> dict[str, Any]:
        fields = TEXT | {"body": self.MARKDOWN} | fields
        return office.sees(office.posts("", SCRIPT, **fields).json())

    def switches(self, office: Office, draft: dict[str, Any], to: str, body: str) -> dict[str, Any]:
        """Choose the other format and press Save, as a browser without a script does."""
        now, page = office.sees(draft), office.opens(f"/{draft['id']}")
        fields = {"written_in": field(page, "written_in"), "body_format": to, "body": body}
        assert message(office, office.saves(now, **fields)) == "Saved."
        return office.sees(draft)

    def test_markdown_becomes_the_html_that_readers_get(self, office: Office) -> None:
        draft = self.a_draft(office)
        before = office.client.get(f"/admin/api/campaigns/{draft['id']}/preview?format=json").json()
        after = self.switches(office, draft, "html", self.MARKDOWN)
        assert (after["body_format"], after["body"]) == ("html", self.HTML)
        again = office.client.get(f"/admin/api/campaigns/{draft['id']}/preview?format=json").json()
        assert again["text"] == before["text"]
        assert "".join(again["html"].split()) == "".join(before["html"].split())

    def test_switching_back_restores_the_markdown(self, office: Office) -> None:
        draft = self.a_draft(office)
        self.switches(office, draft, "html", self.MARKDOWN)
        office.saves(office.sees(draft), body=self.HTML, body_format="html", subject="Another subject")
        back = self.switches(office, draft, "markdown", self.HTML)
        assert (back["body_format"], back["body"]) == ("markdown", self.MARKDOWN)

    def test_edited_html_is_kept_on_the_way_back(self, office: Office) -> None:
        draft = self.a_draft(office)
        self.switches(office, draft, "html", self.MARKDOWN)
        edited = self.HTML.replace("one", "first")
        back = self.switches(office, draft, "markdown", edited)
        assert (back["body_format"], back["body"]) == ("markdown", edited)
        once_more = self.switches(office, draft, "html", edited)
        assert (once_more["body_format"], once_more["body"]) == ("html", edited)

    def test_a_copy_can_be_switched_back_too(self, office: Office) -> None:
        draft = self.a_draft(office)
        self.switches(office, draft, "html", self.MARKDOWN)
        copy = {"id": office.posts(f"/{draft['id']}/duplicate").headers["location"].rpartition("/")[2]}
        assert self.switches(office, copy, "markdown", self.HTML)["body"] == self.MARKDOWN

    @pytest.mark.parametrize("body", ["<p>Mine</p>\n\n    <p>indented</p>", "<!-- mine -->\n*not Markdown*"])
    def test_pasted_html_is_taken_as_it_is(self, office: Office, body: str) -> None:
        draft = self.a_draft(office)
        assert self.switches(office, draft, "html", body)["body"] == body
        new = office.posts("", SCRIPT, **TEXT | {"written_in": "markdown", "body_format": "html", "body": body})
        assert office.sees(new.json())["body"] == body

    def test_the_script_gets_the_text_in_its_new_format(self, office: Office) -> None:
        draft = self.a_draft(office)
        switched = office.saves(draft, SCRIPT, body=self.MARKDOWN, written_in="markdown", body_format="html")
        assert switched.json()["renewed"] == {"body": self.HTML}
        saved = office.saves(office.sees(draft), SCRIPT, body=self.HTML, written_in="html", body_format="html")
        assert saved.json()["renewed"] == {}

    def test_the_preview_without_a_script_shows_the_new_format(self, office: Office) -> None:
        fields = TEXT | {"written_in": "markdown", "body_format": "html", "body": self.MARKDOWN}
        assert "<em>friend &amp; co</em>" in office.posts("/preview", **fields).text

    def test_half_a_field_is_switched_as_it_stands(self, office: Office) -> None:
        draft = self.a_draft(office, body="*Dear* {{ nick")
        after = self.switches(office, draft, "html", "*Dear* {{ nick")
        assert after["body"] == "<p><em>Dear</em> {{ nick</p>"

    def test_no_client_sees_what_only_writing_needs(self, office: Office) -> None:
        draft = self.a_draft(office)
        self.switches(office, draft, "html", self.MARKDOWN)
        assert not {"body_markdown", "body_text_made"} & set(office.sees(draft))


class TestTextOfAFeed:
    """A feed writes the text part of its campaign; it follows the body until an author writes one."""

    def of_a_feed(self, office: Office, db: Database) -> dict[str, Any]:
        said = {"subject": "A post", "body": "<p>From the feed</p>", "body_format": "html"}
        with db.write() as tx:
            made = Wish(said | {"body_text": "Text of the feed", "body_text_made": True})
            campaign_id = writing.create(tx, made, now=NOW)
        return office.sees({"id": campaign_id})

    def text(self, office: Office, draft: dict[str, Any]) -> str:
        return office.client.get(f"/admin/api/campaigns/{draft['id']}/preview?format=text").text

    def edit(self, office: Office, draft: dict[str, Any], **fields: Any) -> dict[str, Any]:
        now = office.sees(draft)
        shown = {"body": now["body"], "body_format": "html", "body_text": now["body_text"] or ""}
        answer = office.saves(now, SCRIPT, **shown | fields)
        assert answer.status_code == 200
        return dict(answer.json()["renewed"])

    def test_a_new_body_renews_it(self, office: Office, db: Database) -> None:
        draft = self.of_a_feed(office, db)
        assert self.edit(office, draft, subject="Only the subject") == {}
        assert "Text of the feed" in self.text(office, draft)
        assert self.edit(office, draft, body="<p>By hand</p>") == {"body_text": ""}
        assert "By hand" in self.text(office, draft)
        assert "Text of the feed" not in self.text(office, draft)

    def test_the_api_renews_it_too(self, office: Office, db: Database) -> None:
        draft = self.of_a_feed(office, db)
        assert office.changes(draft, body="<p>By a client</p>").json()["body_text"] is None

    def test_one_that_was_written_by_hand_stays(self, office: Office, db: Database) -> None:
        draft = self.of_a_feed(office, db)
        assert self.edit(office, draft, body_text="Text by hand") == {}
        assert self.edit(office, draft, body="<p>Body by hand</p>") == {}
        assert "Text by hand" in self.text(office, draft)

    def test_both_at_once_keeps_what_was_written(self, office: Office, db: Database) -> None:
        draft = self.of_a_feed(office, db)
        assert self.edit(office, draft, body="<p>Body</p>", body_text="Text by hand") == {}
        assert "Text by hand" in self.text(office, draft)


class TestPreview:
    def test_what_is_not_saved_is_shown_in_a_sandbox(self, office: Office) -> None:
        answer = office.posts("/preview", **TEXT)
        assert (answer.status_code, "<em" in answer.text) == (200, True)
        assert answer.headers["content-security-policy"].startswith("sandbox ")
        assert answer.headers["x-frame-options"] == "SAMEORIGIN"
        text = office.posts("/preview", format="text", **TEXT)
        assert text.headers["content-type"].startswith("text/plain")
        assert "Hello you" in text.text
        assert office.client.get("/admin/api/campaigns").json()["total"] == 0

    def test_half_a_campaign_can_be_looked_at(self, office: Office) -> None:
        assert office.posts("/preview", body="Hi", body_format="markdown", attribute="x").status_code == 200
        assert office.posts("/preview").status_code == 200
        broken = office.posts("/preview", **TEXT | {"body": f"<b {'a ' * 300}>", "body_format": "html"})
        assert broken.status_code == 400
        assert "more than 200 attributes" in broken.text
        assert broken.headers["content-security-policy"].startswith("sandbox ")

    def test_an_empty_frame_says_what_will_be_there(self, office: Office) -> None:
        assert "appears here" in office.opens("/preview")
        assert 'content="light dark"' in office.opens("/preview")
        assert 'content="dark"' in office.opens("/preview", cookie="gna_theme=dark")

    def test_it_can_be_seen_with_a_name(self, office: Office) -> None:
        draft = office.writes()
        saved = f"/admin/api/campaigns/{draft['id']}/preview?format=text"
        assert "Hi, Ana" in office.client.get(f"{saved}&nickname=Ana").text
        assert "Hi, Ana" not in office.client.get(saved).text
        assert "Hi, Ana" in office.posts("/preview", format="text", nickname="Ana", **TEXT).text
        assert office.client.get(f"{saved}&nickname={'x' * 51}").status_code == 400
        assert office.posts("/preview", nickname="x" * 51, **TEXT).status_code == 400

    def test_the_saved_text_part_may_stand_in_the_frame(self, office: Office) -> None:
        answer = office.client.get(f"/admin/api/campaigns/{office.writes()['id']}/preview?format=text")
        assert answer.headers["x-frame-options"] == "SAMEORIGIN"


class TestSteps:
    def test_a_test_goes_to_whom_it_was_meant_for(self, office: Office) -> None:
        draft = office.writes(subject="News")
        assert "Send a test" in office.opens(f"/{draft['id']}/test")
        answer = office.posts(f"/{draft['id']}/test", to="me@example.org, you@example.org")
        assert message(office, answer) == "A test is on its way to me@example.org, you@example.org."
        office.works()
        assert sorted(office.got()) == ["me@example.org", "you@example.org"]
        assert office.noted()[-1] == (Verb.CAMPAIGN_TESTED, "News")
        by_script = office.posts(f"/{draft['id']}/test", SCRIPT, to="me@example.org")
        assert by_script.json() == {"said": "A test is on its way to me@example.org."}
        for to in ("", "nonsense", "a@example.org " * 30):
            assert office.posts(f"/{draft['id']}/test", to=to).status_code == 400
            assert list(office.posts(f"/{draft['id']}/test", SCRIPT, to=to).json()) == ["error"]

    def test_the_page_before_sending_says_how_many_and_what_to_look_at(self, office: Office) -> None:
        office.has_readers("ana@example.org", "bob@example.org")
        draft = office.writes(body='<p>See <a href="/here">this</a></p>')
        page = office.opens(f"/{draft['id']}/send")
        assert "It goes to 2 people." in page
        assert "write the whole address to be sure" in page
        assert office.client.get(f"{HOME}/{draft['id']}/reach").json() == {"count": 2, "said": "It goes to 2 people."}
        answer = office.posts(f"/{draft['id']}/send", updated_at=field(page, "updated_at"))
        assert message(office, answer) == "It is being sent."
        office.works()
        assert sorted(office.got()) == ["ana@example.org", "bob@example.org"]
        assert office.noted()[-1] == (Verb.CAMPAIGN_SENT, "Issue 1")

    def test_an_empty_audience_is_asked_about_again(self, office: Office) -> None:
        draft = office.writes()
        seen = {"updated_at": draft["updated_at"]}
        page = office.opens(f"/{draft['id']}/send")
        assert "Nobody would get it: its audience is empty." in page
        assert "cannot be called back" not in page
        assert "Nu ar primi-o nimeni" in office.opens(f"/{draft['id']}/send", lang="ro")
        reach = office.client.get(f"{HOME}/{draft['id']}/reach").json()
        assert reach == {"count": 0, "said": "Nobody would get it: its audience is empty."}
        asked = office.posts(f"/{draft['id']}/send", **seen)
        assert asked.status_code == 200
        assert "Its audience is empty" in asked.text
        assert "Send it anyway</button>" in asked.text
        assert office.sees(draft)["state"] == "draft"
        sure = {"to_nobody": field(asked.text, "to_nobody"), "updated_at": field(asked.text, "updated_at")}
        assert message(office, office.posts(f"/{draft['id']}/send", **sure)) == "It is being sent."
        assert office.sees(draft)["state"] == "publishing"
        page = office.opens(f"/{draft['id']}")
        assert "It appears in the archive with its first mail." in page
        assert f"/archive/{draft['id']}" not in page
        assert f'action="{HOME}/{draft["id"]}/archive"' not in page
        office.works()
        assert office.sees(draft)["state"] == "published"
        page = office.opens(f"/{draft['id']}")
        assert f'href="/archive/{draft["id"]}"' not in page
        assert f'action="{HOME}/{draft["id"]}/archive"' not in page
        assert "It is not in the archive, since it went to no one." in page

    def test_a_campaign_is_linked_to_the_archive_once_its_audience_is_counted(self, office: Office) -> None:
        office.has_readers("ana@example.org")
        draft = office.writes()
        office.asks(draft, "send")
        link = f'href="/archive/{draft["id"]}"'
        assert link not in office.opens(f"/{draft['id']}")
        assert office.client.get(f"/archive/{draft['id']}").status_code == 404
        office.works()
        assert link in office.opens(f"/{draft['id']}")
        assert office.client.get(f"/archive/{draft['id']}").status_code == 200

    def test_the_api_publishes_to_an_empty_audience(self, office: Office) -> None:
        sent = office.sends()
        assert (sent["state"], sent["deliveries"][0]["state"], sent["sent_count"]) == ("published", "sent", 0)

    def test_what_changed_since_it_was_shown_is_not_sent(self, office: Office, rung: list[str]) -> None:
        draft = office.writes()
        shown = field(office.opens(f"/{draft['id']}/send"), "updated_at")
        office.changes(draft, subject="Another")
        for step in ({}, {"at": "2090-01-01T09:00", "zone": "UTC"}):
            late = office.posts(f"/{draft['id']}/{'schedule' if step else 'send'}", updated_at=shown, **step)
            assert late.status_code == 409
            assert "Somebody changed the campaign meanwhile" in late.text
            assert "Another" in late.text, "it shows what would be sent now"
        assert (office.sees(draft)["state"], rung) == ("draft", [])

    @pytest.mark.parametrize("seen", ["", "yesterday", "2026-01-01"])
    def test_without_having_looked_nothing_is_sent(self, office: Office, seen: str) -> None:
        draft = office.writes()
        assert office.posts(f"/{draft['id']}/send", updated_at=seen).status_code == 400
        assert office.sees(draft)["state"] == "draft"

    def test_an_error_keeps_it_from_being_sent(self, office: Office) -> None:
        draft = office.writes(body="<p> </p>")
        page = office.opens(f"/{draft['id']}/send")
        assert "With an error it cannot be sent" in page
        assert '<button class="btn primary big">' not in page
        assert office.posts(f"/{draft['id']}/send", updated_at=draft["updated_at"]).status_code == 400
        assert office.sees(draft)["state"] == "draft"

    def test_a_time_is_said_back_and_kept(self, office: Office, rung: list[str]) -> None:
        draft = office.writes()
        page = office.opens(f"/{draft['id']}/schedule", cookie="gna_zone=Europe%2FBucharest")
        assert field(page, "zone") == "Europe/Bucharest"
        assert '<option value="Asia/Tokyo">' in page
        plan = {"updated_at": draft["updated_at"], "at": "2090-07-01T09:30", "zone": "Europe/Bucharest"}
        answer = office.posts(f"/{draft['id']}/schedule", **plan)
        assert "Saturday, 1 July 2090, 09:30 in Europe/Bucharest" in message(office, answer)
        after = office.sees(draft)
        assert (after["state"], after["scheduled_at"]) == ("scheduled", "2090-07-01T06:30:00.000000Z")
        assert rung == ["publish"]
        page = office.opens(f"/{draft['id']}", cookie="gna_zone=Asia/Tokyo")
        assert "It will be sent Saturday, 1 July 2090, 15:30 (Asia/Tokyo)" in page
        assert field(office.opens(f"/{draft['id']}/schedule", cookie="gna_zone=Asia/Tokyo"), "at") == "2090-07-01T15:30"
        assert "draft again" in message(office, office.posts(f"/{draft['id']}/cancel"))
        assert office.sees(draft)["scheduled_at"] is None
        assert [verb for verb, _ in office.noted()][1:] == [Verb.CAMPAIGN_SCHEDULED, Verb.CAMPAIGN_CANCELLED]

    def test_the_zone_that_was_found_is_said_back(self, office: Office) -> None:
        asked = {"at": "2090-07-01T09:30", "zone": "new york"}
        said = office.client.get(f"{HOME}/moment", params=asked).json()
        assert (said["bad"], "09:30 in America/New_York" in said["said"]) == (False, True)
        draft = office.writes()
        answer = office.posts(f"/{draft['id']}/schedule", updated_at=draft["updated_at"], **asked)
        assert "09:30 in America/New_York" in message(office, answer)

    @pytest.mark.parametrize(
        ("at", "zone", "says"),
        [
            ("2090-03-26T03:30", "Europe/Bucharest", "The clock leaps over this time"),
            ("2020-01-01T09:00", "UTC", "That moment is over"),
            ("", "UTC", "Choose a day and a time"),
            ("2090-02-30T09:00", "UTC", "Choose a day and a time"),
            ("9999-12-31T23:59", "America/Los_Angeles", "Choose a day and a time"),
            ("2090-01-01T09:00", "Mars/Olympus", "There is no such time zone"),
            ("2090-01-01T09:00", "../etc/passwd", "There is no such time zone"),
        ],
    )
    def test_a_time_that_cannot_be_is_refused_and_stands_there_again(
        self, office: Office, at: str, zone: str, says: str
    ) -> None:
        draft = office.writes()
        answer = office.posts(f"/{draft['id']}/schedule", updated_at=draft["updated_at"], at=at, zone=zone)
        assert answer.status_code == 400
        assert says in answer.text
        assert (field(answer.text, "at"), field(answer.text, "zone")) == (at, zone)
        said = office.client.get(f"{HOME}/moment", params={"at": at, "zone": zone}).json()
        assert (says in said["said"], said["bad"]) == (True, True)

    @pytest.mark.parametrize("step", ["send", "schedule"])
    def test_what_is_on_its_way_has_no_such_steps(self, office: Office, step: str) -> None:
        sent = office.in_state("publishing")
        address = f"/{sent['id']}/{step}"
        not_now = "Operation not allowed in current state"
        assert message(office, office.client.get(f"{HOME}{address}", headers=HTML)) == not_now
        assert message(office, office.posts(address, updated_at=sent["updated_at"])) == not_now


class TestReport:
    def test_the_sums_add_up_and_nobody_is_watched(self, office: Office) -> None:
        office.has_readers("ana@example.org", "bob@example.org", "cut@example.org")
        office.provider.refuses("cut@example.org", permanently=True)
        sent = office.sends()
        page = office.opens(f"/{sent['id']}")
        sums = dict(re.findall(r'data-sum="(\w+)_count">(\d+)<', page))
        assert sums == {"sent": "2", "failure": "1", "skipped": "0", "remaining": "0", "audience": "3"}
        assert "550 no such mailbox" in page
        assert "No opens or clicks are recorded" in page
        assert "data-progress" not in page
        assert f'href="/archive/{sent["id"]}"' in page

    def test_pausing_and_going_on(self, office: Office, rung: list[str]) -> None:
        office.has_readers("ana@example.org")
        sent = office.in_state("publishing")
        assert f'data-progress="/admin/api/campaigns/{sent["id"]}/progress"' in office.opens(f"/{sent['id']}")
        assert message(office, office.posts(f"/{sent['id']}/pause")).startswith("Paused.")
        assert "nothing more is sent until" in office.opens(f"/{sent['id']}")
        assert "not allowed" in message(office, office.posts(f"/{sent['id']}/pause"))
        rung.clear()
        assert message(office, office.posts(f"/{sent['id']}/resume")).startswith("It goes on")
        assert rung == ["send"]
        office.works()
        assert office.got() == ["ana@example.org"]
        assert [verb for verb, _ in office.noted()][-2:] == [Verb.CAMPAIGN_PAUSED, Verb.CAMPAIGN_RESUMED]

    def test_trying_again_what_failed(self, office: Office) -> None:
        failed = office.in_state("failed")
        page = office.opens(f"/{failed['id']}")
        assert "Some mails could not be sent" in page
        assert "nobody gets it twice" in page
        office.provider.takes("refused@example.org")
        answer = office.posts(f"/{failed['id']}/retry", delivery=field(page, "delivery"))
        assert message(office, answer) == "What could not be sent is being tried again."
        office.works()
        assert office.got() == ["refused@example.org"]
        assert office.noted()[-1] == (Verb.DELIVERY_RETRIED, "Issue 1")
        again = office.posts(f"/{failed['id']}/retry", delivery=field(page, "delivery"))
        assert "not allowed" in message(office, again)
        assert "no such delivery" in message(office, office.posts(f"/{failed['id']}/retry"))

    def test_it_can_leave_the_archive_and_come_back(self, office: Office) -> None:
        office.has_readers("ana@example.org")
        sent = office.in_state("published")
        assert "not in the archive any more" in message(office, office.posts(f"/{sent['id']}/archive", archived="no"))
        assert office.client.get(f"/archive/{sent['id']}").status_code == 404
        assert "Everybody may read" in message(office, office.posts(f"/{sent['id']}/archive", archived="yes"))
        assert office.client.get(f"/archive/{sent['id']}").status_code == 200

    def test_nobody_to_send_to(self, office: Office) -> None:
        assert "There was nobody to send it to." in office.opens(f"/{office.sends()['id']}")


class TestSeen:
    """The optional field of the JSON API."""

    def test_a_change_of_what_one_knows_is_made(self, office: Office) -> None:
        draft = office.writes()
        assert office.changes(draft, subject="A", updated_at=draft["updated_at"]).status_code == 200
        late = office.changes(draft, subject="B", updated_at=draft["updated_at"])
        assert (late.status_code, late.json()) == (
            409,
            {"error": "Somebody changed the campaign meanwhile; look at it again"},
        )
        assert office.changes(draft, subject="C").status_code == 200, "without it, as ever"
        assert office.changes(draft, subject="D", updated_at=None).status_code == 200

    @pytest.mark.parametrize("seen", ["", "yesterday", 5, ["2026-01-01T00:00:00Z"], "2026-13-01T00:00:00Z"])
    def test_nonsense_is_refused(self, office: Office, seen: Any) -> None:
        answer = office.changes(office.writes(), subject="A", updated_at=seen)
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("updated_at must be")

    def test_a_new_one_has_none(self, office: Office) -> None:
        answer = office.client.post("/admin/api/campaigns", json={"subject": "a", "body": "b", "updated_at": "x"})
        assert answer.status_code == 400


class TestWallClock:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    @pytest.mark.parametrize(
        ("written", "zone", "moment", "twice"),
        [
            ("2026-07-01T09:00", "Europe/Bucharest", "2026-07-01T06:00", False),
            ("2026-12-01T09:00", "Europe/Bucharest", "2026-12-01T07:00", False),
            ("2026-03-29T02:59", "Europe/Bucharest", "2026-03-29T00:59", False),
            ("2026-03-29T04:00", "Europe/Bucharest", "2026-03-29T01:00", False),
            ("2026-10-25T03:30", "Europe/Bucharest", "2026-10-25T00:30", True),
            ("2026-10-25T04:00", "Europe/Bucharest", "2026-10-25T02:00", False),
            ("2026-07-01T09:00:30", "UTC", "2026-07-01T09:00:30", False),
            ("2026-07-01T09:00", "Asia/Kathmandu", "2026-07-01T03:15", False),
        ],
    )
    def test_what_a_clock_on_the_wall_means(self, written: str, zone: str, moment: str, twice: bool) -> None:
        planned = wall_clock.read(written, zone, now=self.now)
        assert (planned.moment, planned.comes_twice) == (datetime.fromisoformat(moment).replace(tzinfo=UTC), twice)

    @pytest.mark.parametrize("written", ["2026-03-29T03:00", "2026-03-29T03:59"])
    def test_a_time_that_the_clock_leaps_over(self, written: str) -> None:
        with pytest.raises(Refused, match="leaps over"):
            wall_clock.read(written, "Europe/Bucharest", now=self.now)

    @pytest.mark.parametrize(
        ("typed", "zone"),
        [
            ("Bucharest", "Europe/Bucharest"),
            (" bucharest ", "Europe/Bucharest"),
            ("new york", "America/New_York"),
            ("NEW_YORK", "America/New_York"),
            ("Europe/Bucharest", "Europe/Bucharest"),
            ("Indianapolis", None),
            ("Atlantis", None),
            ("", None),
            ("/", None),
        ],
    )
    def test_a_zone_is_found_by_its_city_if_there_is_only_one(self, typed: str, zone: str | None) -> None:
        found = clock.zone_of_city(typed)
        assert (found and found.key) == zone

    @given(st.text(max_size=30), st.text(max_size=30))
    def test_anything_else_is_refused(self, written: str, zone: str) -> None:
        with pytest.raises(Refused):
            wall_clock.read(written, zone, now=self.now)


class TestWords:
    @pytest.mark.parametrize(
        "draft",
        [
            Draft("", "x"),
            Draft("x" * 90, "x"),
            Draft("a", ""),
            Draft("a", "{{ oops }}"),
            Draft("a", "{{ nickname"),
            Draft("a", "{{ nickname | {a} }}"),
            Draft("a", '<a href="/x">x</a><a href="">x</a><a href="#">x</a><a href="http://a b.c">x</a>'),
            Draft("a", '<a href="ftp://a.b">x</a><a href="mailto:x">x</a><a href="http://">x</a><a href="http://x">x</a>'),
            Draft("a", "".join(f'<a href="/{number}">x</a>' for number in range(9))),
            Draft("a", '<img src="https://a.b/c">x'),
            Draft("a", '<img src="https://a.b/c"><img src="https://a.b/c">x'),
            Draft("a", "![](https://a.b/c) x", Format.MARKDOWN),
            Draft("a", "<p>x</p><video></video>"),
            Draft("a", "<p>x</p><video></video><form></form>"),
            Draft("a", "*|FNAME|*"),
            Draft("a", "<p>" + "x " * 60_000),
            Draft("a", '<a href="{{ nickname }}">x</a>'),
            Draft("a", "<{{ nickname }}>"),
            Draft("a", "x" * 100_001, Format.MARKDOWN),
        ],
    )  # fmt: skip
    def test_every_finding_is_told_in_romanian(self, draft: Draft) -> None:
        found = check(draft, FRAME)
        assert found
        for one in found:
            told = in_words(one.message, "ro")
            assert told != one.message
            assert "%(" not in told
            assert told.endswith(".")
            assert in_words(one.message, "en") == one.message

    def test_a_text_with_a_place_is_read_back(self) -> None:
        assert in_words("Subject is longer than 250 characters", "ro") == "Subiectul are mai mult de 250 caractere"
        assert in_words("Nobody has translated 100% of it", "ro") == "Nobody has translated 100% of it"
        assert len(TEXTS) == len(set(TEXTS))

    def test_the_pages_are_romanian(self, office: Office) -> None:
        office.has_readers("ana@example.org")
        draft = office.writes(body='<p><a href="/x">x</a></p>')
        for path, says in (
            ("", "Campanii"),
            (f"/{draft['id']}", "scrieți adresa întreagă"),
            (f"/{draft['id']}/send", "Ajunge la o persoană."),
            (f"/{draft['id']}/schedule", "Când să fie trimisă?"),
            (f"/{office.in_state('published')['id']}", "nu sunt urmăriți"),
        ):
            assert says in office.opens(path, lang="ro")


ANYTHING = st.text(max_size=40) | st.sampled_from(["markdown", "html", "yes", "send", "general", "UTC", in_an_hour()])
NAMES = ("subject", "preheader", "body", "body_format", "body_text", "list", "attribute", "value", "archived", "next")
OTHERS = ("updated_at", "format", "to", "at", "zone", "delivery")
VERBS = ("", "/test", "/send", "/schedule", "/cancel", "/pause", "/resume", "/retry", "/archive", "/duplicate")


@fuzzing(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
@given(fields=st.dictionaries(st.sampled_from(NAMES + OTHERS), ANYTHING | st.lists(ANYTHING, max_size=3)))
def test_no_form_breaks_a_page(office: Office, fields: dict[str, Any]) -> None:
    draft = office.writes()
    for path in ("", "/preview", *(f"/{draft['id']}{verb}" for verb in VERBS)):
        for headers in (HTML, SCRIPT):
            answer = office.posts(path, headers, **fields)
            assert answer.status_code < 500, (path, answer.text)


@fuzzing(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(body=st.binary(max_size=200), kind=st.sampled_from(["multipart/form-data; boundary=x", "text/plain", "", "a/b"]))
def test_no_body_breaks_a_page(office: Office, body: bytes, kind: str) -> None:
    for path in ("", "/preview"):
        answer = office.client.post(f"{HOME}{path}", content=body, headers=HTML | {"Content-Type": kind})
        assert answer.status_code < 500


def test_a_person_who_looks_on_is_not_in_the_activity(office: Office, db: Database) -> None:
    with db.write() as tx:
        a_subscriber(tx, email="ana@example.org", activated=True)
    draft = office.writes()
    office.posts(f"/{draft['id']}/test", to="ana@example.org")
    office.opens(f"/{draft['id']}/send")
    assert "ana@" not in json.dumps([[str(value) for value in row] for row in office.rows(activity)])
