"""The pages of feeds: what they show, what their forms do, and that it is written down."""

import re
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna import clock
from gna.activity import Verb, activity
from gna.campaigns.publisher import CANNOT_BE_COMPOSED, MISSED
from gna.config import Settings
from gna.db import Database
from gna.feeds import directory
from gna.feeds.decide import HOLD
from gna.feeds.editor import NOBODY, REACHED_NOBODY
from gna.feeds.table import feeds
from gna.web.pages.admin.feeds import REASONS, found, state_of
from gna.web.pages.admin.held import why_held
from tests.blog import API, Blog
from tests.conftest import settings_for

HTML = {"Accept": "text/html"}
PAGES = "/admin/feeds"
URL = "https://blog.example.org/feed.xml"
FORM = {
    "url": URL,
    "mode": "send",
    "cadence": "every",
    "at": "09:00",
    "zone": "UTC",
    "weekday": "monday",
    "monthday": "1",
    "subject": "",
    "list": "",
    "archived": "1",
    "active": "1",
}
pytestmark = pytest.mark.usefixtures("readings")


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return settings_for(database_url, tmp_path, FEEDS_ALLOW_PRIVATE="true")


def send(client: TestClient, path: str, /, **fields: str) -> Any:
    return client.post(path, data=fields, headers=HTML)


def said(client: TestClient, answer: Any) -> str:
    """The message that the next page shows."""
    assert answer.status_code == 303, answer.text
    page = client.get(answer.headers["location"], headers=HTML)
    assert page.status_code == 200
    return " ".join(re.findall(r'<p class="note said[^>]*>(.*?)</p>', page.text))


def add(client: TestClient, **fields: str) -> str:
    """Add a feed by its form; says its id."""
    answer = send(client, PAGES, **FORM | fields)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"]).rpartition("/")[2]


def feed_of(client: TestClient, feed_id: str) -> dict[str, Any]:
    return dict(client.get(f"{API}/{feed_id}").json())


def noted(db: Database) -> list[tuple[str, str]]:
    with db.read() as tx:
        rows = tx.execute(sa.select(activity).order_by(activity.c.id)).all()
    assert {row.who for row in rows} <= {"dev@localhost"}
    return [(row.verb, row.about) for row in rows]


def test_an_empty_list_teaches(client: TestClient) -> None:
    page = client.get(PAGES, headers=HTML).text
    assert "Let your website write the campaigns" in page
    assert 'href="/admin/feeds/new"' in page


def test_a_feed_is_added_by_a_form(client: TestClient, db: Database, rung: list[str]) -> None:
    answer = send(client, PAGES, **FORM | {"cadence": "weekly", "weekday": "friday", "at": "18:30", "list": "weekly"})
    assert said(client, answer).startswith("Feed added.")
    feed = feed_of(client, answer.headers["location"].rpartition("/")[2])
    assert (feed["url"], feed["cadence"], feed["weekday"], feed["at"]) == (URL, "weekly", "friday", "18:30")
    assert (feed["audience"], feed["subject"], feed["archived"], feed["active"]) == (
        {"list": "weekly"},
        None,
        True,
        True,
    )
    assert rung == ["feeds"]
    assert noted(db) == [(Verb.FEED_ADDED, URL)]
    assert "Every Friday at 18:30" in client.get(PAGES, headers=HTML).text
    assert '<option value="weekly" selected>List weekly</option>' in client.get(answer.headers["location"]).text


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"url": "ftp://x"}, "url must be an address that starts with http:// or https://"),
        ({"url": ""}, "url must be an address"),
        ({"at": "25:00"}, "at must be a time of day: 09:00."),
        ({"zone": "Mars"}, "zone must be a time zone: Europe/Bucharest."),
        ({"monthday": "32"}, "monthday must be a number from 1 to 31"),
        ({"monthday": "soon"}, "monthday must be a number from 1 to 31"),
        ({"list": "no such key!"}, "A list key is"),
        ({"subject": "{{ author }}"}, "Unknown merge field"),
        ({"mode": "shout"}, "mode must be send or draft"),
    ],
)
def test_a_wrong_form_is_shown_again_with_what_was_typed(
    client: TestClient, db: Database, wrong: dict[str, str], reason: str
) -> None:
    typed = FORM | {"subject": "My <own> subject"} | wrong
    answer = send(client, PAGES, **typed)
    assert answer.status_code == 400
    assert reason in answer.text
    assert 'role="alert"' in answer.text
    assert "subject" in wrong or "My &lt;own&gt; subject" in answer.text
    feed_id = add(client)
    again = send(client, f"{PAGES}/{feed_id}", **typed)
    assert (again.status_code, reason in again.text) == (400, True)
    assert [verb for verb, _ in noted(db)] == [Verb.FEED_ADDED]


def test_the_same_address_is_refused_where_the_form_was(client: TestClient) -> None:
    add(client)
    answer = send(client, PAGES, **FORM)
    assert (answer.status_code, "There is a feed with this address already." in answer.text) == (400, True)


def test_a_feed_is_changed_by_a_form_and_keeps_what_the_form_does_not_show(client: TestClient, db: Database) -> None:
    feed_id = add(client)
    client.patch(f"{API}/{feed_id}", json={"audience": {"list": "weekly", "attributes": {"city": "Cluj"}}})
    page = client.get(f"{PAGES}/{feed_id}", headers=HTML).text
    assert "city = Cluj" in page
    changed = {name: value for name, value in FORM.items() if name not in ("archived", "active")}
    assert said(client, send(client, f"{PAGES}/{feed_id}", **changed | {"mode": "draft", "list": ""})) == "Feed saved."
    feed = feed_of(client, feed_id)
    assert (feed["mode"], feed["archived"], feed["active"]) == ("draft", False, False)
    assert feed["audience"] == {"attributes": {"city": "Cluj"}}
    assert "Resting" in client.get(PAGES, headers=HTML).text
    assert noted(db)[-1] == (Verb.FEED_CHANGED, URL)


def test_a_look_says_what_it_found(client: TestClient, db: Database, blog: Blog, rung: list[str]) -> None:
    feed_id = add(client, url=blog.url)
    check = f"{PAGES}/{feed_id}/check"
    assert said(client, send(client, check)).startswith("This was the first look")
    assert said(client, send(client, check)) == "The feed is well, and nothing in it is new."
    blog.publishes("Rain", "Sun")
    assert said(client, send(client, check)) == "New posts were found and became a campaign."
    assert rung[-1] == "publish"
    page = client.get(f"{PAGES}/{feed_id}", headers=HTML).text
    assert "is on its way" in page
    assert f'href="/admin/campaigns/{feed_of(client, feed_id)["campaign_id"]}"' in page
    assert noted(db)[1:] == [(Verb.FEED_CHECKED, blog.url)] * 3


def test_a_feed_says_when_it_is_looked_at_and_what_was_mailed(client: TestClient, db: Database, blog: Blog) -> None:
    def told() -> str:
        page = client.get(f"{PAGES}/{feed_id}", headers=HTML).text
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))

    feed_id = add(client, url=blog.url)
    assert "Next look at once" in told()
    send(client, f"{PAGES}/{feed_id}/check")
    assert "Next look at once" not in told()
    assert feed_of(client, feed_id)["last_processed_at"]
    assert "Newest post mailed" not in told(), "what was there at the first look was never mailed"
    with db.write() as tx:
        tx.execute(sa.update(feeds).values(last_processed_at=clock.now()))
    assert "Newest post mailed" in told()


def test_a_look_says_how_many_wait_for_their_day(client: TestClient, blog: Blog) -> None:
    feed_id = add(client, url=blog.url, cadence="monthly")
    send(client, f"{PAGES}/{feed_id}/check")
    blog.publishes("Rain", "Sun")
    assert said(client, send(client, f"{PAGES}/{feed_id}/check")) == "2 new posts were found; they wait for their time."


def test_a_feed_that_fails_says_why_and_what_happens_next(client: TestClient, blog: Blog) -> None:
    feed_id = add(client, url=blog.url)
    blog.breaks(status=500)
    told = said(client, send(client, f"{PAGES}/{feed_id}/check"))
    assert told.startswith("The feed could not be read: 127.0.0.1 answered 500")
    page = client.get(f"{PAGES}/{feed_id}", headers=HTML).text
    assert "The last look failed." in page
    assert "It is tried again at the next look" in page
    assert "Failed once" in client.get(PAGES, headers=HTML).text
    send(client, f"{PAGES}/{feed_id}/check")
    assert "Failed 2 times" in client.get(PAGES, headers=HTML).text


def test_a_draft_waits_and_can_be_let_go_of(client: TestClient, db: Database, blog: Blog) -> None:
    feed_id = add(client, url=blog.url, mode="draft")
    send(client, f"{PAGES}/{feed_id}/check")
    blog.publishes("Rain")
    send(client, f"{PAGES}/{feed_id}/check")
    page = client.get(f"{PAGES}/{feed_id}", headers=HTML).text
    assert "A campaign of this feed waits for you." in page
    assert "because that is what you chose" in page
    assert "Waits for you" in client.get(PAGES, headers=HTML).text
    assert said(client, send(client, f"{PAGES}/{feed_id}/skip")).startswith("The feed waits no more")
    assert noted(db)[-1] == (Verb.FEED_SKIPPED, blog.url)
    assert "waits for you" not in client.get(f"{PAGES}/{feed_id}", headers=HTML).text
    refused = client.post(f"{PAGES}/{feed_id}/skip", headers=HTML | {"Referer": "http://127.0.0.1:8000/admin/feeds"})
    assert said(client, refused) == "The feed waits for no campaign."


def test_a_feed_is_removed(client: TestClient, db: Database) -> None:
    feed_id = add(client)
    assert said(client, send(client, f"{PAGES}/{feed_id}/remove")).startswith("Feed removed.")
    assert noted(db)[-1] == (Verb.FEED_REMOVED, URL)
    assert client.get(f"{PAGES}/{feed_id}", headers=HTML).status_code == 404
    for path in ("", "/check", "/skip", "/remove"):
        assert send(client, f"{PAGES}/{feed_id}{path}", **FORM).status_code == 303


def test_the_feed_of_the_setting_keeps_its_address(client: TestClient, db: Database) -> None:
    feed_id = add(client)
    with db.write() as tx:
        tx.execute(sa.update(feeds).values(configured=True))
    page = client.get(f"{PAGES}/{feed_id}", headers=HTML).text
    assert "readonly" in page
    assert f"/admin/feeds/{feed_id}/remove" not in page
    assert (
        said(client, send(client, f"{PAGES}/{feed_id}", **FORM | {"url": "https://other.example.org/"}))
        == "Feed saved."
    )
    assert feed_of(client, feed_id)["url"] == URL
    gone = client.post(f"{PAGES}/{feed_id}/remove", headers=HTML | {"Referer": "http://127.0.0.1:8000/admin/feeds"})
    assert said(client, gone) == "It is the feed of FEED_URL; change that setting instead."


def test_the_api_writes_down_the_same(client: TestClient, db: Database, blog: Blog) -> None:
    feed = client.post(API, json={"url": blog.url, "mode": "draft"}).json()["id"]
    client.patch(f"{API}/{feed}", json={"archived": False})
    client.post(f"{API}/{feed}/check")
    blog.publishes("Rain")
    client.post(f"{API}/{feed}/check")
    client.post(f"{API}/{feed}/skip")
    client.delete(f"{API}/{feed}")
    verbs = ("added", "changed", "checked", "checked", "skipped", "removed")
    assert noted(db) == [(f"feed_{verb}", blog.url) for verb in verbs]


def test_what_is_refused_is_not_written_down(client: TestClient, db: Database) -> None:
    assert client.patch(f"{API}/nothing", json={"archived": False}).status_code == 404
    assert client.delete(f"{API}/nothing").status_code == 404
    assert client.post(f"{API}/nothing/check").status_code == 404
    assert noted(db) == []


def test_what_a_feed_says_of_itself_is_text(client: TestClient, blog: Blog) -> None:
    feed_id = add(client, url=blog.url)
    blog.web.serves(
        blog.path, "<rss version='2.0'><channel><title>&lt;b&gt;Bold&lt;/b&gt; &amp;amp; co</title></channel></rss>"
    )
    send(client, f"{PAGES}/{feed_id}/check")
    for path in (PAGES, f"{PAGES}/{feed_id}"):
        assert "<b>Bold" not in client.get(path, headers=HTML).text


def test_a_cross_site_form_changes_nothing(client: TestClient, db: Database) -> None:
    answer = client.post(PAGES, data=FORM, headers=HTML | {"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403
    assert noted(db) == []


A_FEED: dict[str, Any] = {
    "active": True,
    "consecutive_failures": 0,
    "campaign_state": None,
    "campaign_held": None,
    "campaign_id": None,
    "last_checked_at": "2026-01-01T00:00:00Z",
    "last_error": None,
    "known_since": "2026-01-01T00:00:00Z",
    "waiting": 0,
}


@pytest.mark.parametrize(
    ("its", "state"),
    [
        ({}, "well"),
        ({"last_checked_at": None}, "new"),
        ({"consecutive_failures": 2}, "failing"),
        ({"campaign_state": "draft"}, "held"),
        ({"campaign_state": "published", "campaign_held": "why"}, "held"),
        ({"campaign_state": "publishing"}, "well"),
        ({"active": False, "consecutive_failures": 9}, "inactive"),
        ({"consecutive_failures": 1, "campaign_state": "draft"}, "failing"),
    ],
)
def test_how_a_feed_is_doing(its: dict[str, Any], state: str) -> None:
    assert state_of(A_FEED | its) == state


def test_what_a_look_brought() -> None:
    assert found(A_FEED, A_FEED | {"last_error": "why"})[1] == {"error": "why"}
    assert found(A_FEED | {"known_since": None}, A_FEED)[0] != found(A_FEED, A_FEED)[0]
    assert found(A_FEED, A_FEED | {"waiting": 3})[1] == {"num": 3}
    assert (
        found(A_FEED | {"waiting": 3}, A_FEED | {"campaign_id": "1"})[0]
        == "New posts were found and became a campaign."
    )


def test_why_a_campaign_waits_is_said_in_romanian_too() -> None:
    assert why_held(None, "ro") is None
    assert why_held(HOLD.format(new=12, all=20), "ro") == (
        "Articole din flux care par noi deodată: 12 din 20, ca după mutarea site-ului. "
        "Uitați-vă la ea, apoi trimiteți-o sau ștergeți-o."
    )
    assert why_held(HOLD.format(new=12, all=20), "en") == HOLD.format(new=12, all=20)
    missed = MISSED.format(at=clock.now())
    uncomposed = CANNOT_BE_COMPOSED.format(why="it leads nowhere")
    assert (why_held(missed, "en"), why_held(uncomposed, "en")) == (missed, uncomposed)
    assert "it leads nowhere" not in str(why_held(uncomposed, "ro"))
    for reason in (NOBODY, REACHED_NOBODY, missed, uncomposed):
        assert why_held(reason, "ro") != reason


def test_the_reasons_are_those_of_the_room() -> None:
    for reason in (
        directory.TAKEN,
        directory.THE_SETTINGS,
        f"There are {directory.MOST} feeds already; remove one first",
    ):
        assert reason in REASONS
