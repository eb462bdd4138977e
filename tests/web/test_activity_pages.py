"""Who did what, as a page and for programs."""

import re
from typing import Any

import pytest
import sqlalchemy as sa
from httpx2 import Client
from starlette.testclient import TestClient

from gna import activity, clock
from gna.activity import Verb
from gna.campaigns.table import campaigns
from gna.db import Database
from tests.desk import Desk

HTML = {"Accept": "text/html"}
API = "/admin/api/activity"


def noted(db: Database, verb: Verb = Verb.CAMPAIGN_SENT, *, by: str = "ana@example.org", **values: Any) -> None:
    with db.write() as tx:
        activity.note(tx, by=by, verb=verb, now=clock.now(), **values)


def shown(client: Client, query: str = "", **headers: str) -> str:
    answer = client.get(f"/admin/activity{query}", headers=HTML | headers)
    assert answer.status_code == 200, answer.text
    return answer.text


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_when_nothing_was_done_the_page_says_what_it_is_for(client: TestClient) -> None:
    html = shown(client)
    assert "Nothing was done yet" in html
    assert '<table class="stack' not in html


def test_a_thing_is_linked_as_long_as_it_is_there(client: TestClient, db: Database) -> None:
    campaign = Desk(client, db).writes(subject="<Issue> 1")
    noted(db, about="<Issue> 1", target=campaign["id"])
    link = f'sent <a href="/admin/campaigns/{campaign["id"]}">&lt;Issue&gt; 1</a>'
    assert link in shown(client)
    with db.write() as tx:
        tx.execute(sa.delete(campaigns))
    assert "sent <q>&lt;Issue&gt; 1</q>" in shown(client)


@pytest.mark.parametrize("lang", ["en", "ro"])
def test_every_verb_has_its_sentence(client: TestClient, db: Database, lang: str) -> None:
    for verb in Verb:
        noted(db, verb, about="7")
    html = shown(client, "?per_page=100", **{"Accept-Language": lang})
    assert html.count("<tr>") > len(Verb)
    for verb in Verb:
        assert verb not in words(html)


def test_people_are_counted_and_never_named(client: TestClient, db: Database) -> None:
    noted(db, Verb.SUBSCRIBER_REMOVED, about="1")
    noted(db, Verb.SUBSCRIBER_REMOVED, about="40")
    assert "removed 40 people" in shown(client)
    assert "removed one person" in shown(client)
    assert "a șters 40 de persoane" in shown(client, **{"Accept-Language": "ro"})


def test_the_newest_comes_first_and_there_are_pages(client: TestClient, db: Database) -> None:
    for number in range(5):
        noted(db, about=f"Issue {number}")
    first, second = shown(client, "?per_page=3"), shown(client, "?per_page=3&page=2")
    assert re.findall(r"Issue \d", first) == ["Issue 4", "Issue 3", "Issue 2"]
    assert re.findall(r"Issue \d", second) == ["Issue 1", "Issue 0"]


def test_one_person_and_one_part_can_be_chosen(client: TestClient, db: Database) -> None:
    noted(db, about="by Ana")
    noted(db, Verb.FEED_ADDED, about="by Ion", by="ion+x@example.org")
    html = shown(client)
    assert 'href="?who=ion%2Bx%40example.org"' in html
    only = shown(client, "?who=ion%2Bx%40example.org")
    assert "by Ion" in only
    assert "by Ana" not in only
    assert "Only ion+x@example.org" in only
    assert "by Ana" not in shown(client, "?area=feeds")
    assert "Nothing of this kind" in shown(client, "?area=letters")


def test_the_command_line_is_named_in_the_readers_language(client: TestClient, db: Database) -> None:
    noted(db, by="command line: ana")
    assert "Command line: ana" in shown(client)
    assert "Linia de comandă: ana" in shown(client, **{"Accept-Language": "ro"})


@pytest.mark.parametrize("query", ["?area=weather", "?page=0", "?page=x", "?per_page=0"])
def test_what_cannot_be_understood_is_refused(client: TestClient, query: str) -> None:
    assert client.get(f"/admin/activity{query}", headers=HTML).status_code == 400
    answer = client.get(f"{API}{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_no_database_stumbles_over_a_name(client: TestClient, db: Database) -> None:
    noted(db)
    for who in ("%00", "%27", "%25", "x" * 5000, "%F0%9F%98%80", "%ff"):
        assert client.get(f"{API}?who={who}").json()["items"] == []
        assert "Nothing of this kind" in shown(client, f"?who={who}")


def test_programs_get_a_list_in_the_one_shape(client: TestClient, db: Database) -> None:
    noted(db, about="Issue 1", target="42")
    noted(db, Verb.FEED_ADDED, about="https://example.org/feed")
    answer = client.get(API, params={"per_page": 1, "area": "campaigns"}).json()
    [entry] = answer.pop("items")
    assert answer == {"page": 1, "per_page": 1, "total": 1}
    assert {*entry} == {"id", "at", "who", "verb", "about", "target"}
    assert (entry["who"], entry["verb"], entry["about"], entry["target"]) == (
        "ana@example.org",
        "campaign_sent",
        "Issue 1",
        "42",
    )
    assert entry["at"].endswith("Z")
