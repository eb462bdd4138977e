"""The feeds at the admin API, beyond the rows of the specification."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna import clock
from gna.config import Settings
from gna.db import Database
from gna.feeds import directory, poll, table
from gna.kinds import NOT_A_FEED
from gna.web.ground import Ground
from tests.blog import API, Blog, Newsroom
from tests.conftest import settings_for, visitor
from tests.desk import Desk
from tests.servers.web import Page, Web

URL = "https://blog.example.org/feed.xml"
CONTRACT = {"id", "url", "last_processed_at", "last_checked_at", "last_error", "consecutive_failures"}
OWN = {"error": "It is the feed of FEED_URL; change that setting instead"}
TAKEN = {"error": "There is a feed with this address already"}
pytestmark = pytest.mark.usefixtures("readings")


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return settings_for(database_url, tmp_path, FEEDS_ALLOW_PRIVATE="true")


@pytest.fixture
def newsroom(settings: Settings, db: Database, client: TestClient) -> Newsroom:
    return Newsroom(Desk(client, db), db, settings)


@pytest.fixture
def own(database_url: str, db: Database, tmp_path: Path, blog: Blog) -> Iterator[Newsroom]:
    """FEED_URL names the blog, and it was looked at."""
    settings = settings_for(database_url, tmp_path, FEED_URL=blog.url)
    with visitor(Ground(settings, db, print)) as client:
        newsroom = Newsroom(Desk(client, db), db, settings)
        newsroom.looks()
        yield newsroom


def add(client: httpx2.Client, url: str = URL, **fields: Any) -> dict[str, Any]:
    answer = client.post(API, json={"url": url} | fields)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def change(client: httpx2.Client, feed: dict[str, Any], **fields: Any) -> dict[str, Any]:
    answer = client.patch(f"{API}/{feed['id']}", json=fields)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def check(client: httpx2.Client, feed: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(f"{API}/{feed['id']}/check")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


class TestAdding:
    def test_a_feed_is_due_at_once_and_shown_whole(self, client: TestClient, db: Database, rung: list[str]) -> None:
        feed = add(client)
        assert feed.keys() >= CONTRACT
        private = {"claimed_until", "etag", "last_modified", "told_at", "hub_asked_at", "hub_secret"}
        assert not feed.keys() & private
        assert (feed["url"], feed["active"], feed["mode"], feed["cadence"]) == (URL, True, "send", "every")
        assert (feed["configured"], feed["consecutive_failures"], feed["waiting"], feed["audience"]) == (
            False,
            0,
            0,
            {},
        )
        assert not any(feed[name] for name in ("last_checked_at", "last_processed_at", "last_error", "campaign_id"))
        assert feed["due_at"].endswith("Z")
        assert rung == ["feeds"]
        assert client.get(f"{API}/{feed['id']}").json() == feed

    def test_everything_that_was_said_is_kept(self, client: TestClient) -> None:
        said: dict[str, Any] = {
            "active": False,
            "mode": "draft",
            "cadence": "monthly",
            "at": "07:05",
            "zone": "America/Argentina/Buenos_Aires",
            "weekday": "sunday",
            "monthday": 31,
            "subject": "{{ feed | The blog }} {{ count }}, {{ date }}, {{ nickname | you }}: {{ title }}, {{others}}",
            "audience": {"list": "weekly", "attributes": {"city": "Cluj"}},
        }
        feed = add(client, **said)
        assert {name: feed[name] for name in said} == said

    def test_values_are_put_into_their_one_spelling(self, client: TestClient) -> None:
        feed = add(
            client, " https://BLOG.example.org/Feed.xml?A=b#top ", at=" 7:05 ", weekday=" Friday", subject=" {{title}} "
        )
        assert feed["url"] == "https://blog.example.org/Feed.xml?A=b"
        assert (feed["at"], feed["weekday"], feed["subject"]) == ("07:05", "friday", "{{title}}")
        assert (add(client, URL, subject="", audience=None)["subject"]) is None

    def test_what_cannot_be_used_is_refused_with_a_reason(self, client: TestClient) -> None:
        feed = add(client)
        for wrong, says in WRONG:
            said = json.dumps({"url": "https://other.example.org/"} | wrong).encode("utf-8", "surrogatepass")
            for answer in (
                client.post(API, content=said),
                client.patch(f"{API}/{feed['id']}", content=json.dumps(wrong).encode()),
            ):
                assert answer.status_code == 400, wrong
                assert says in answer.json()["error"], wrong
        assert client.get(API).json()["items"] == [feed]

    @pytest.mark.parametrize("body", [b"", b"[]", b"nonsense", b"null", b'{"url":', b"[" * 10_000, b"\xff"])
    def test_a_body_that_is_no_object_is_refused(self, client: TestClient, body: bytes) -> None:
        feed = add(client)
        for answer in (client.post(API, content=body), client.patch(f"{API}/{feed['id']}", content=body)):
            assert answer.status_code == 400

    def test_an_address_is_required(self, client: TestClient) -> None:
        for said in ({}, {"url": None}, {"mode": "draft"}):
            answer = client.post(API, json=said)
            assert (answer.status_code, answer.json()) == (400, {"error": "url is required"})

    def test_the_same_address_is_refused_in_any_spelling(self, client: TestClient) -> None:
        add(client)
        for url in (URL, f" {URL}#x", URL.replace("blog", "BLOG")):
            answer = client.post(API, json={"url": url})
            assert (answer.status_code, answer.json()) == (409, TAKEN)

    def test_the_same_address_at_the_same_moment_is_added_once(self, client: TestClient) -> None:
        with ThreadPoolExecutor(8) as visitors:
            answers = [*visitors.map(lambda _: client.post(API, json={"url": URL}).status_code, range(8))]
        assert sorted(answers) == [201] + [409] * 7

    def test_there_is_an_end_to_it(self, client: TestClient, db: Database) -> None:
        with db.write() as tx:
            for number in range(directory.MOST):
                directory.add(tx, {"url": f"{URL}?{number}"}, now=clock.now())
        answer = client.post(API, json={"url": URL})
        assert (answer.status_code, answer.json()) == (409, {"error": "There are 100 feeds already; remove one first"})


class TestTheList:
    def test_comes_in_pages_newest_first(self, client: TestClient) -> None:
        assert client.get(API).json() == {"items": [], "page": 1, "per_page": 20, "total": 0}
        added = [add(client, f"{URL}?{number}")["id"] for number in range(5)]
        pages = [client.get(API, params={"page": page, "per_page": 2}).json() for page in (1, 2, 3, 4)]
        assert [item["id"] for page in pages for item in page["items"]] == added[::-1]
        assert [(page["page"], page["per_page"], page["total"]) for page in pages] == [(n, 2, 5) for n in (1, 2, 3, 4)]
        assert client.get(API, params={"per_page": 1000}).json()["per_page"] == 100

    def test_refuses_a_page_that_is_none(self, client: TestClient) -> None:
        for wrong in (
            {"page": "0"},
            {"page": "-1"},
            {"page": "x"},
            {"per_page": "0"},
            {"page": "9" * 30},
            {"page": "٣"},
        ):
            assert client.get(API, params=wrong).status_code == 400, wrong


class TestChanging:
    def test_what_is_left_out_stays(self, client: TestClient) -> None:
        feed = add(client, mode="draft", subject="{{ title }}!")
        assert change(client, feed) == feed
        assert change(client, feed, cadence="daily") == feed | {"cadence": "daily"}
        assert change(client, feed, subject=None, audience={"list": "weekly"})["subject"] is None

    def test_another_address_is_another_feed_whose_first_look_only_remembers(
        self, newsroom: Newsroom, blog: Blog, web: Web
    ) -> None:
        feed = add(newsroom.client, blog.url)
        assert check(newsroom.client, feed)["known_since"]
        moved = Blog(web, "/moved.xml")
        moved.publishes("First", "Second", ago=timedelta(minutes=1))
        after = change(newsroom.client, feed, url=moved.url)
        assert (after["url"], after["known_since"], after["moved_to"]) == (moved.url, None, None)
        after = newsroom.works()
        assert (bool(after["known_since"]), after["waiting"], newsroom.campaigns()) == (True, 0, [])
        moved.publishes("News", ago=timedelta())
        newsroom.works()
        assert [campaign["subject"] for campaign in newsroom.campaigns()] == ["News"]

    def test_another_address_is_not_asked_with_what_the_old_one_told(
        self, newsroom: Newsroom, blog: Blog, db: Database
    ) -> None:
        feed = add(newsroom.client, blog.url)
        with db.write() as tx:
            tx.execute(sa.update(table.feeds).values(etag='"1"', last_modified="Mon, 16 Nov 2026 10:00:00 GMT"))
        change(newsroom.client, feed, url=f"{blog.url}?moved")
        with db.read() as tx:
            assert tx.execute(sa.select(table.feeds.c.etag, table.feeds.c.last_modified)).one() == (None, None)

    def test_its_own_address_again_changes_nothing(self, newsroom: Newsroom, blog: Blog) -> None:
        feed = check(newsroom.client, add(newsroom.client, blog.url))
        assert change(newsroom.client, feed, url=f"{blog.url}#x") == feed

    def test_the_address_of_another_feed_is_refused(self, client: TestClient) -> None:
        add(client)
        feed = add(client, f"{URL}?2")
        answer = client.patch(f"{API}/{feed['id']}", json={"url": URL, "mode": "draft"})
        assert (answer.status_code, answer.json()) == (409, TAKEN)
        assert client.get(f"{API}/{feed['id']}").json() == feed

    def test_two_feeds_that_move_to_one_address_at_the_same_moment(self, client: TestClient) -> None:
        added = [add(client, f"{URL}?{number}")["id"] for number in range(6)]
        with ThreadPoolExecutor(6) as admins:
            moves = admins.map(lambda feed: client.patch(f"{API}/{feed}", json={"url": URL}).status_code, added)
            assert sorted(moves) == [200] + [409] * 5

    def test_a_feed_that_is_paused_is_not_looked_at_and_mails_nothing_until_it_goes_on(
        self, newsroom: Newsroom, blog: Blog, rung: list[str]
    ) -> None:
        feed = check(newsroom.client, add(newsroom.client, blog.url))
        blog.publishes("News")
        newsroom.looks()
        assert change(newsroom.client, feed, active=False)["waiting"] == 1
        looks = blog.web.times(blog.path)
        newsroom.works()
        assert (blog.web.times(blog.path), newsroom.campaigns()) == (looks, [])
        rung.clear()
        assert change(newsroom.client, feed, active=True)["due_at"] <= clock.iso(clock.now())
        assert rung == ["feeds"]
        newsroom.works()
        assert [campaign["subject"] for campaign in newsroom.campaigns()] == ["News"]

    def test_going_on_without_having_paused_hurries_nothing(self, newsroom: Newsroom, blog: Blog) -> None:
        feed = check(newsroom.client, add(newsroom.client, blog.url))
        assert change(newsroom.client, feed, active=True)["due_at"] == feed["due_at"]


class TestRemoving:
    def test_a_feed_is_gone_with_its_posts_and_its_campaigns_stay(self, newsroom: Newsroom, blog: Blog) -> None:
        feed = check(newsroom.client, add(newsroom.client, blog.url, mode="draft"))
        blog.publishes("News")
        campaign = check(newsroom.client, feed)["campaign_id"]
        assert newsroom.client.delete(f"{API}/{feed['id']}").status_code == 204
        assert [found["id"] for found in newsroom.campaigns()] == [campaign]
        newsroom.edits()
        assert add(newsroom.client, blog.url)["known_since"] is None


class TestTheFeedOfTheSetting:
    def test_is_neither_removed_nor_moved(self, own: Newsroom, blog: Blog) -> None:
        feed = own.feed()
        for answer in (
            own.client.delete(f"{API}/{feed['id']}"),
            own.client.patch(f"{API}/{feed['id']}", json={"url": URL}),
        ):
            assert (answer.status_code, answer.json()) == (409, OWN)
        assert own.client.post(API, json={"url": blog.url}).status_code == 409
        assert own.feed() == feed

    def test_is_the_publishers_in_everything_else(self, own: Newsroom, blog: Blog) -> None:
        after = change(own.client, own.feed(), url=blog.url, mode="draft", cadence="weekly", active=False)
        assert (after["mode"], after["cadence"], after["active"], after["configured"]) == (
            "draft",
            "weekly",
            False,
            True,
        )

    def test_may_be_at_a_private_address(self, own: Newsroom) -> None:
        assert check(own.client, own.feed())["last_error"] is None

    def test_moves_with_the_setting_and_keeps_its_wishes(self, own: Newsroom, blog: Blog, web: Web) -> None:
        other = Blog(web, "/other.xml")
        other.publishes("Elsewhere")
        change(own.client, own.feed(), cadence="weekly")
        own.settings = own.settings.model_copy(update={"feed_url": other.url})
        asyncio.run(poll.Poller(own.db, own.settings).work())
        after = own.feed()
        assert (after["url"], after["configured"], after["cadence"]) == (other.url, True, "weekly")
        assert after["waiting"] == 0  # nothing in it was known, so it was a first look

    def test_is_an_ordinary_one_that_rests_without_the_setting(self, own: Newsroom) -> None:
        own.settings = own.settings.model_copy(update={"feed_url": None})
        asyncio.run(poll.Poller(own.db, own.settings).work())
        feed = own.feed()
        assert (feed["configured"], feed["active"]) == (False, False)
        assert own.client.delete(f"{API}/{feed['id']}").status_code == 204


class TestALookNow:
    def test_answers_when_it_is_done(self, newsroom: Newsroom, blog: Blog, rung: list[str]) -> None:
        feed = add(newsroom.client, blog.url)
        first = check(newsroom.client, feed)
        assert (bool(first["last_checked_at"]), first["title"], first["site_url"]) == (
            True, "The Quiet Blog", "https://blog.example.org/",
        )  # fmt: skip
        assert first["last_processed_at"] == clock.iso(blog.posts[0].published or clock.now())
        blog.publishes("News")
        rung.clear()
        campaign = check(newsroom.client, feed)["campaign_id"]
        assert [found["id"] for found in newsroom.campaigns()] == [campaign]
        assert rung == ["publish"]

    def test_says_what_went_wrong(self, newsroom: Newsroom, blog: Blog) -> None:
        feed = add(newsroom.client, blog.url)
        blog.breaks(status=410)
        for failures in (1, 2):
            after = check(newsroom.client, feed)
            assert "410 Gone" in after["last_error"]
            assert after["consecutive_failures"] == failures

    def test_at_a_private_address_fails_and_names_the_setting(
        self, database_url: str, db: Database, tmp_path: Path, blog: Blog
    ) -> None:
        with visitor(Ground(settings_for(database_url, tmp_path), db, print)) as client:
            for url in (blog.url, "http://localhost/feed", "http://[::1]/feed", "http://169.254.169.254/latest"):
                after = check(client, add(client, url))
                assert "FEEDS_ALLOW_PRIVATE=true" in after["last_error"], url
        assert blog.web.asked == []

    def test_of_a_feed_that_rests_only_collects(self, newsroom: Newsroom, blog: Blog) -> None:
        feed = add(newsroom.client, blog.url, active=False)
        check(newsroom.client, feed)
        blog.publishes("News")
        after = check(newsroom.client, feed)
        assert (after["waiting"], after["campaign_id"], after["active"]) == (1, None, False)

    def test_while_another_is_under_way_is_refused_in_the_end(
        self, newsroom: Newsroom, blog: Blog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(poll, "PATIENCE", 0.3)
        feed = add(newsroom.client, blog.url)
        with newsroom.db.write() as tx:
            table.change(tx, feed["id"], claimed_until=clock.now() + poll.LEASE)
        answer = newsroom.client.post(f"{API}/{feed['id']}/check")
        assert answer.status_code == 409
        assert "Another look at the feed is under way" in answer.json()["error"]
        assert blog.web.asked == []

    def test_of_a_feed_that_is_removed_meanwhile(self, client: TestClient, web: Web) -> None:
        def answer(_: BaseHTTPRequestHandler) -> Page:
            removed.append(client.delete(f"{API}/{feed['id']}").status_code)
            return Page(b"no feed")

        removed: list[int] = []
        feed = add(client, web.answers("/feed", answer))
        assert client.post(f"{API}/{feed['id']}/check").status_code == 404
        assert removed == [204]

    def test_by_many_at_once_makes_one_campaign(self, newsroom: Newsroom, blog: Blog) -> None:
        feed = check(newsroom.client, add(newsroom.client, blog.url))
        blog.publishes("News")
        with ThreadPoolExecutor(4) as admins:
            found = {after["campaign_id"] for after in admins.map(lambda _: check(newsroom.client, feed), range(4))}
        assert [campaign["id"] for campaign in newsroom.campaigns()] == [*found]


class TestSkipping:
    def test_waits_no_more_and_mails_nothing_twice(self, newsroom: Newsroom, blog: Blog, rung: list[str]) -> None:
        feed = check(newsroom.client, add(newsroom.client, blog.url, mode="draft"))
        blog.publishes("First")
        assert check(newsroom.client, feed)["campaign_id"]
        blog.publishes("Second", ago=timedelta())
        assert check(newsroom.client, feed)["waiting"] == 1
        rung.clear()
        answer = newsroom.client.post(f"{API}/{feed['id']}/skip")
        assert (answer.status_code, answer.json()["campaign_id"], answer.json()["waiting"]) == (200, None, 1)
        assert rung == ["edit"]
        newsroom.edits()
        assert [campaign["subject"] for campaign in newsroom.campaigns()] == ["First", "Second"]

    def test_what_waits_for_nothing_is_refused(self, client: TestClient) -> None:
        feed = add(client)
        answer = client.post(f"{API}/{feed['id']}/skip")
        assert (answer.status_code, answer.json()) == (409, {"error": "The feed waits for no campaign"})


def test_what_is_no_feed_is_not_found(client: TestClient) -> None:
    for feed_id in ("nothing", "%00", "a%00b", "%ED%A0%80", "%F0%9F%93%B0", "x" * 3000, "' OR 1=1"):
        for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/check"), ("POST", "/skip")):
            content = b'{"mode": "draft"}' if method == "PATCH" else None
            answer = client.request(method, f"{API}/{feed_id}{path}", content=content)
            assert answer.status_code == 404, (method, feed_id, path, answer.text)
            assert set(answer.json()) == {"error"}


SENDS: tuple[Any, ...] = ("SEND", "", None, 1, ["send"], {"send": 1})
NOT_AN_ADDRESS: tuple[Any, ...] = (
    "", " ", "blog", "/feed", "ftp://blog.example.org/", "file:///etc/passwd", "javascript:alert(1)", "http://",
    "https://user:secret@blog.example.org/", "https://blog.example.org:99999/", "http://a b/", "http://a\0b/",
    "http://a\u202eb/", "http://a\ud800b/", "http://[::1/", "feed://blog.example.org/", "http://a\nb/", 5, None, [], {},
)  # fmt: skip
WRONG: list[tuple[dict[str, Any], str]] = [
    *(({"url": url}, f"url must be {NOT_A_FEED}.") for url in NOT_AN_ADDRESS if url is not None),
    ({"url": "https://blog.example.org/" + "x" * 2000}, "url must be at most 2000 characters long."),
    *(({"active": value}, "active must be true or false") for value in ("true", 1, None, [1])),
    *(({"mode": value}, "mode must be send or draft") for value in SENDS),
    *(({"cadence": value}, "cadence must be one of every, daily") for value in ("hourly", None, 1, [1])),
    *(({"at": value}, "at must be a time of day") for value in ("24:00", "9", "09:60", "٠٩:٠٠", "9:5", None, 9, "")),
    *(({"zone": value}, "zone must be a time zone") for value in ("Mars", "", "../../etc", "/etc", None, 2, "\0")),
    *(({"weekday": value}, "weekday must be one of monday") for value in ("Montag", "", None, 0)),
    *(({"monthday": value}, "monthday must be a number") for value in (0, 32, -1, "1", 1.0, True, None, 10**400)),
    ({"subject": 5}, "Subject must be text"),
    ({"subject": "   "}, "Subject is required"),
    ({"subject": "{{ author }}"}, "Unknown merge field: {{ author }}"),
    ({"subject": "{{ Title }}"}, "Unknown merge field: {{ Title }}"),
    ({"subject": "{{ title"}, "A merge field is not closed"),
    ({"subject": "x" * 251}, "longer than 250"),
    ({"subject": "a\nBcc: eve@example.org"}, "one line"),
    ({"subject": "\ud800"}, "cannot be stored"),
    ({"subject": "{{ title }}\0"}, "cannot be stored"),
    ({"audience": "some"}, "audience must be an object"),
    ({"audience": {"list": "no such key!"}}, "A list key is"),
    ({"title": "Mine"}, "Unknown field: 'title'"),
    ({"configured": True}, "Unknown field: 'configured'"),
    ({"last_processed_at": None}, "Unknown field"),
    ({"\0\ud800" * 50: 1}, "Unknown field"),
]
