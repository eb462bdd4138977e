"""The bell that websites and WebSub hubs ring, and who may ring it; with a hub that is played by a real website."""

import asyncio
import hmac
import threading
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx2
import pytest
from starlette.testclient import TestClient

from gna import clock
from gna.config import Settings
from gna.db import Database
from gna.feeds import directory, hubs, table
from gna.feeds.poll import Poller
from gna.web.ground import Ground
from tests import asking
from tests.blog import RSS, Blog, Newsroom
from tests.conftest import settings_for, visitor
from tests.desk import Desk
from tests.running import Gna, until
from tests.servers.web import Page, Web

SECRET = "ein Geheimnis: 秘密"
HUB_SECRET = "what only the hub of the feed knows"
BASE = "https://news.example.org"
WHERE = {"PLATFORM_BASE_URL": BASE, "FEEDS_ALLOW_PRIVATE": "true", "GNA_ENV": "development"}
PATH = "/api/feed/webhook"
TOPIC = "https://blog.example.org/feed.xml"
LATER = timedelta(hours=1)
BEARER: dict[Any, Any] = {b"Authorization": f"Bearer {SECRET}".encode()}
pytestmark = pytest.mark.usefixtures("readings")
LOST = {"error": "The secret is missing or wrong: send Authorization: Bearer <FEED_WEBHOOK_SECRET>"}

WRONG_BEARERS: list[bytes | None] = [
    None,
    b"",
    b"Bearer",
    b"Bearer ",
    b"Bearer wrong",
    SECRET.encode(),
    b"Basic " + SECRET.encode(),
    b"Bearer " + SECRET.upper().encode(),
    b"Bearer " + SECRET[:-1].encode(),
    b"Bearer " + SECRET.encode() * 2,
    b"Bearer \xff\xfe",
    b"Bearer " + b"x" * 5000,
]
WRONG_SIGNATURES = [
    b"",
    b"sha256",
    b"sha256=",
    b"=",
    b"sha256=" + b"0" * 64,
    b"md5=" + b"0" * 32,
    b"blake2b=" + b"0" * 128,
    b"shake_128=00",
    "sha256=ș".encode(),
    b"sha256=\xff\xfe",
    b"\xff=\xff",
    b"sha256=" + b"f" * 5000,
]
UNWANTED: list[dict[str, str | None]] = [
    {"topic": "https://elsewhere.example.org/"},
    {"topic": ""},
    {"topic": None},
    {"topic": "\0"},
    {"mode": "unsubscribe"},
    {"mode": "SUBSCRIBE"},
    {"mode": "nonsense"},
    {"mode": None},
    {"challenge": None},
    {"challenge": ""},
]
LEASES = [
    ("86400", 1),
    ("864000", 10),
    ("999999999999", 10),
    ("9" * 5000, 10),
    (None, 10),
    ("", 10),
    ("-5", 10),
    ("1e9", 10),
    ("٣", 10),
    ("0", 0),
]
BODIES: list[dict[str, Any]] = [
    {},
    {"content": b"anything"},
    {"json": {"hello": "world"}},
    {"content": b"\xff\0", "headers": {"Content-Type": "image/png"}},
    {"data": {"a": "b"}, "headers": {"Content-Type": "nonsense"}},
    {"content": b"<rss>", "headers": {"X-Hub-Signature": "sha1=wrong"}},
]


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return settings_for(database_url, tmp_path, FEED_WEBHOOK_SECRET=SECRET, **WHERE)


@pytest.fixture
def feed(db: Database) -> str:
    """A feed with a hub, not due for an hour."""
    return follow(db, TOPIC, topic_url=f"{TOPIC}#self", hub_url="https://hub.example.org/", hub_secret=HUB_SECRET)


@pytest.fixture
def other(db: Database) -> str:
    """Another feed, not due either."""
    return follow(db, "https://other.example.org/feed")


def follow(db: Database, url: str, **columns: Any) -> str:
    with db.write() as tx:
        feed_id = directory.add(tx, {"url": url}, now=clock.now())
        table.change(tx, feed_id, **{"due_at": clock.now() + LATER} | columns)
    return feed_id


def row(db: Database, feed_id: str) -> Any:
    with db.read() as tx:
        return table.get(tx, feed_id)


def due(db: Database, *feed_ids: str) -> list[bool]:
    """Which of the feeds are due."""
    return [row(db, feed_id).due_at <= clock.now() for feed_id in feed_ids]


class TestABell:
    def test_with_the_secret_makes_all_feeds_due(
        self, client: TestClient, db: Database, feed: str, other: str, rung: list[str]
    ) -> None:
        for sent in BODIES:
            answer = client.post(PATH, **sent | {"headers": sent.get("headers", {}) | BEARER})
            assert (answer.status_code, answer.json()) == (202, {"status": "accepted"}), sent
            assert due(db, feed, other) == [True, True]
            assert rung.pop() == "feeds"
            with db.write() as tx:
                table.change(tx, feed, due_at=clock.now() + LATER)
                table.change(tx, other, due_at=clock.now() + LATER)

    def test_the_scheme_is_spelled_as_people_do(self, client: TestClient) -> None:
        for spelling in ("bearer {}", "BEARER  {} ", "\tBearer {}\t"):
            answer = client.post(PATH, headers={b"Authorization": spelling.format(SECRET).encode()})
            assert answer.status_code == 202, spelling

    def test_without_the_secret_is_not_heard(
        self, client: TestClient, db: Database, feed: str, rung: list[str]
    ) -> None:
        for given in WRONG_BEARERS:
            answer = client.post(PATH, headers=None if given is None else {b"Authorization": given})
            assert (answer.status_code, answer.json()) == (401, LOST), given
        assert due(db, feed) == [False]
        assert rung == []

    def test_the_secret_counts_in_a_header_alone(self, client: TestClient) -> None:
        for answer in (client.post(PATH, params={"secret": SECRET, "token": SECRET}), client.post(PATH, json=[SECRET])):
            assert answer.status_code == 401

    def test_a_feed_that_rests_is_not_woken(self, client: TestClient, db: Database) -> None:
        feed = follow(db, TOPIC, active=False)
        assert client.post(PATH, headers=BEARER).status_code == 202
        assert due(db, feed) == [False]

    def test_without_any_feed_it_is_heard_too(self, client: TestClient) -> None:
        assert client.post(PATH, headers=BEARER).status_code == 202

    def test_the_secret_is_nowhere_in_the_log(self, client: TestClient, feed: str, logged: Callable[[], str]) -> None:
        token = hubs.token_of(HUB_SECRET)
        client.post(PATH, headers=BEARER)
        client.post(PATH, headers={"Authorization": "Bearer almost-the-secret"})
        client.get(PATH, params={"feed": feed, "token": token, "hub.mode": "denied", "hub.topic": TOPIC})
        assert PATH in logged()
        assert not [word for word in (SECRET, "almost-the-secret", token) if word in logged()]

    def test_a_huge_body_is_refused(self, client: TestClient) -> None:
        assert client.post(PATH, headers=BEARER, content=b"x" * (1024 * 1024 + 1)).status_code == 413

    def test_without_the_setting_it_is_closed(
        self, database_url: str, db: Database, tmp_path: Path, logged: Callable[[], str]
    ) -> None:
        with visitor(Ground(settings_for(database_url, tmp_path, FEED_WEBHOOK_SECRET=""), db, print)) as client:
            for answer in (
                client.post(PATH),
                client.post(PATH, headers={"Authorization": "Bearer "}),
                client.get(PATH, params={"hub.mode": "unsubscribe", "hub.topic": "x", "hub.challenge": "y"}),
            ):
                assert (answer.status_code, answer.json()) == (500, {"error": "Server misconfiguration"})
        assert "FEED_WEBHOOK_SECRET is not set" in logged()


class TestAHubMakesSure:
    @pytest.fixture
    def asks(self, client: TestClient, feed: str) -> Callable[..., httpx2.Response]:
        """A hub calls us back; what is None is left out."""
        usual = {"feed": feed, "token": hubs.token_of(HUB_SECRET), "hub.mode": "subscribe", "hub.topic": TOPIC}

        def ask(**said: str | None) -> httpx2.Response:
            named = {name if name in usual else f"hub.{name}": value for name, value in said.items()}
            asked = usual | {"hub.challenge": "a <b>challenge</b>"} | named
            return client.get(PATH, params={name: value for name, value in asked.items() if value is not None})

        return ask

    @pytest.mark.parametrize("topic", [TOPIC, f"{TOPIC}#self"])
    def test_of_a_topic_that_we_follow(self, asks: Callable[..., httpx2.Response], topic: str) -> None:
        answer = asks(topic=topic)
        assert (answer.status_code, answer.text) == (200, "a <b>challenge</b>")
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["x-content-type-options"] == "nosniff"

    def test_of_what_we_do_not_want(self, asks: Callable[..., httpx2.Response], db: Database, feed: str) -> None:
        for said in UNWANTED:
            assert asks(**said).status_code == 404, said
        assert row(db, feed).hub_until is None

    def test_that_we_want_to_leave_a_topic(self, asks: Callable[..., httpx2.Response]) -> None:
        answer = asks(mode="unsubscribe", topic="https://elsewhere.example.org/", challenge="yes")
        assert (answer.status_code, answer.text) == (200, "yes")

    def test_that_a_feed_rests(self, asks: Callable[..., httpx2.Response], db: Database, feed: str) -> None:
        with db.write() as tx:
            table.change(tx, feed, active=False)
        assert asks().status_code == 404
        assert asks(mode="unsubscribe").status_code == 200

    def test_and_says_no(self, asks: Callable[..., httpx2.Response], logged: Callable[[], str], feed: str) -> None:
        answer = asks(mode="denied", challenge=None)
        assert (answer.status_code, answer.text) == (200, "")
        assert "a hub will not tell us of a feed" in logged()
        assert feed in logged()

    def test_for_so_long(self, asks: Callable[..., httpx2.Response], db: Database, feed: str) -> None:
        for seconds, days in LEASES:
            assert asks(lease_seconds=seconds).status_code == 200
            promised = row(db, feed).hub_until - clock.now()
            assert timedelta(days=days, minutes=-1) < promised <= timedelta(days=days) <= hubs.LEASE, seconds

    def test_but_all_others_learn_nothing_and_promise_nothing(
        self, asks: Callable[..., httpx2.Response], db: Database, feed: str, other: str
    ) -> None:
        def answers(**query: str | None) -> set[tuple[int, str]]:
            """What is said of two topics that we follow, and of one that we do not."""
            topics = (TOPIC, "https://other.example.org/feed", "https://elsewhere.example.org/")
            found = {asks(topic=topic, **query) for topic in topics}
            return {(answer.status_code, answer.text) for answer in found}

        constant = answers(token="wrong")
        assert len(constant) == 1
        assert {status for status, _ in constant} == {404}
        for mode, feed_id, token in product(
            ("subscribe", "unsubscribe", "denied", None),
            (feed, other, "gone", "\0"),
            (None, "wrong", "ș\0", hubs.token_of("")),
        ):
            query = {"mode": mode, "feed": feed_id, "token": token, "lease_seconds": "86400"}
            assert answers(**query) == constant, query
        assert row(db, feed).hub_until is row(db, other).hub_until is None

    def test_but_the_hub_of_another_feed_promises_nothing(
        self, asks: Callable[..., httpx2.Response], db: Database, feed: str, other: str
    ) -> None:
        assert asks(feed=other, token=hubs.token_of(HUB_SECRET)).status_code == 404
        assert row(db, feed).hub_until is row(db, other).hub_until is None


class TestAHubRings:
    def test_for_its_own_feed(self, client: TestClient, db: Database, feed: str, other: str, rung: list[str]) -> None:
        for method, body in product(("sha1", "sha256", "sha384", "sha512", "SHA256"), (b"", b"<rss>\xff\0</rss>")):
            answer = client.post(PATH, params={"feed": feed}, content=body, headers=signed(body, method))
            assert answer.status_code == 202, (method, body)
            assert due(db, feed, other) == [True, False]
            assert rung.pop() == "feeds"
            with db.write() as tx:
                table.change(tx, feed, due_at=clock.now() + LATER)

    def test_and_cannot_sign(self, client: TestClient, db: Database, feed: str, rung: list[str]) -> None:
        for signature in WRONG_SIGNATURES:
            answer = client.post(PATH, params={"feed": feed}, content=b"x", headers={b"X-Hub-Signature": signature})
            assert (answer.status_code, answer.json()) == (401, LOST), signature
        assert due(db, feed) == [False]
        assert rung == []

    def test_with_the_signature_of_another_body_or_feed(self, client: TestClient, feed: str, other: str) -> None:
        right = signed(b"one", "sha256")
        assert client.post(PATH, params={"feed": feed}, content=b"two", headers=right).status_code == 401
        assert client.post(PATH, params={"feed": other}, content=b"one", headers=right).status_code == 401
        assert client.post(PATH, content=b"one", headers=right).status_code == 401

    def test_too_often_or_for_a_website_that_fails(self, client: TestClient, db: Database, feed: str) -> None:
        for state, is_heard in (
            ({"last_checked_at": clock.now() - hubs.GAP}, True),
            ({"last_checked_at": clock.now()}, False),
            ({"last_checked_at": clock.now() - hubs.GAP, "consecutive_failures": 1}, False),
        ):
            with db.write() as tx:
                table.change(tx, feed, due_at=clock.now() + LATER, **state)
            answer = client.post(PATH, params={"feed": feed}, content=b"x", headers=signed(b"x", "sha256"))
            assert answer.status_code == 202
            assert due(db, feed) == [is_heard], state

    def test_for_a_feed_that_is_gone(self, client: TestClient, db: Database, other: str) -> None:
        answer = client.post(PATH, params={"feed": "gone"}, content=b"x", headers=signed(b"x", "sha1"))
        assert answer.status_code == 401
        assert due(db, other) == [False]

    def test_for_what_no_database_can_look_for(self, client: TestClient) -> None:
        answer = client.post(PATH, params={"feed": "\0"}, content=b"x", headers=signed(b"x", "sha1"))
        assert answer.status_code == 404

    def test_a_website_may_sign_with_the_secret_itself(
        self, client: TestClient, db: Database, feed: str, other: str
    ) -> None:
        signature = hmac.new(SECRET.encode(), b"x", "sha256").hexdigest()
        answer = client.post(PATH, content=b"x", headers={"X-Hub-Signature": f"sha256={signature}"})
        assert answer.status_code == 202
        assert due(db, feed, other) == [True, True]


def signed(body: bytes, method: str, secret: str = HUB_SECRET) -> dict[str, str]:
    """The header of a hub that knows the feed's secret."""
    key = secret.encode()
    return {"X-Hub-Signature": f"{method}={hmac.new(key, body, method.lower()).hexdigest()}"}


class Hub:
    """A WebSub hub on a website: it takes subscriptions, makes sure of them, and tells of news."""

    def __init__(self, web: Web, call: Callable[..., httpx2.Response]) -> None:
        self.web = web
        self.wishes: list[dict[str, str]] = []
        self.made_sure: list[tuple[int, str]] = []
        self.lease = "864000"
        self._call = call
        self.url = web.answers("/hub", self._takes)

    def _takes(self, request: BaseHTTPRequestHandler) -> Page:
        wish = dict(parse_qsl(self.web.asked[-1].body.decode()))
        self.wishes.append(wish)
        del request
        threading.Thread(target=self._makes_sure, args=(wish,), daemon=True).start()
        return Page(b"", 202)

    def _makes_sure(self, wish: dict[str, str]) -> None:
        said = {name: wish[name] for name in ("hub.mode", "hub.topic")}
        said |= {"hub.challenge": "prove it", "hub.lease_seconds": self.lease}
        answer = self._call("GET", wish["hub.callback"], params=_query(wish) | said)
        self.made_sure.append((answer.status_code, answer.text))

    def tells(self, body: bytes = b"<rss>anything</rss>") -> httpx2.Response:
        """There is news."""
        wish = self.wishes[-1]
        headers = signed(body, "sha256", wish["hub.secret"])
        return self._call("POST", wish["hub.callback"], params=_query(wish), content=body, headers=headers)

    def has_made_sure(self, times: int = 1) -> None:
        """Wait until it has called back."""
        until(lambda: len(self.made_sure) == times, 10)
        assert self.made_sure == [(200, "prove it")] * times


def _query(wish: dict[str, str]) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(wish["hub.callback"]).query))


@pytest.fixture
def newsroom(settings: Settings, db: Database, client: TestClient) -> Newsroom:
    newsroom = Newsroom(Desk(client, db), db, settings)
    newsroom.desk.has_readers("ana@example.org")
    return newsroom


@pytest.fixture
def hub(web: Web, client: TestClient) -> Hub:
    """A hub that reaches this server under its public address."""
    return Hub(web, lambda method, url, **sent: client.request(method, url.replace(BASE, ""), **sent))


class HubBlog(Blog):
    """A blog that names its hub, in the feed or in a header."""

    hub = ""
    in_header = False

    def serves(self) -> None:
        """The feed is as the posts are."""
        items = "".join(post.item() for post in self.posts)
        atom = 'xmlns:a="http://www.w3.org/2005/Atom"'
        named = f'<a:link {atom} rel="hub" href="{self.hub}"/><a:link {atom} rel="self" href="{self.url}"/>'
        link: dict[str, Any] = {"link": f'<{self.hub}>; rel="hub", <{self.url}>; rel="self"'} if self.in_header else {}
        self.web.serves(self.path, RSS.format(items=("" if self.in_header else named) + items), **link)


@pytest.fixture
def blog(web: Web, hub: Hub, newsroom: Newsroom) -> HubBlog:
    blog = HubBlog(web)
    blog.hub = hub.url
    blog.publishes("An old post", ago=timedelta(days=1))
    follow(newsroom.db, blog.url)
    return blog


def a_minute_passes(db: Database, feed_id: str) -> None:
    """Since the feed was looked at: a hub may ask for another look."""
    with db.write() as tx:
        table.change(tx, feed_id, last_checked_at=clock.now() - hubs.GAP)


class TestAHub:
    @pytest.mark.parametrize("in_header", [False, True])
    def test_is_asked_makes_sure_and_tells_of_a_post_that_becomes_a_campaign(
        self, newsroom: Newsroom, blog: HubBlog, hub: Hub, in_header: bool
    ) -> None:
        blog.in_header = in_header
        blog.serves()
        feed = newsroom.looks()
        hub.has_made_sure()
        [wish] = hub.wishes
        callback = urlsplit(wish["hub.callback"])
        assert (callback.scheme, callback.netloc, callback.path) == ("https", "news.example.org", PATH)
        token = hubs.token_of(wish["hub.secret"])
        assert parse_qs(callback.query) == {"feed": [feed["id"]], "token": [token]}
        assert (wish["hub.mode"], wish["hub.topic"]) == ("subscribe", blog.url)
        assert wish["hub.lease_seconds"] == "864000"
        assert row(newsroom.db, feed["id"]).hub_until > clock.now() + timedelta(days=9)
        blog.publishes("News")
        a_minute_passes(newsroom.db, feed["id"])
        assert hub.tells().status_code == 202
        asyncio.run(Poller(newsroom.db, newsroom.settings).work())
        newsroom.edits()
        assert [campaign["subject"] for campaign in newsroom.campaigns()] == ["News"]

    def test_never_learns_the_secret_of_the_setting(self, newsroom: Newsroom, blog: HubBlog, hub: Hub) -> None:
        newsroom.looks()
        hub.has_made_sure()
        assert not any(SECRET in value for value in hub.wishes[0].values())
        assert not any("authorization" in asked.headers for asked in blog.web.asked)
        bearer = {"Authorization": f"Bearer {hub.wishes[0]['hub.secret']}"}
        assert newsroom.client.post(PATH, headers=bearer).status_code == 401

    def test_is_asked_again_before_its_promise_ends_although_nothing_changed(
        self, newsroom: Newsroom, blog: HubBlog, hub: Hub
    ) -> None:
        feed = newsroom.looks()["id"]
        hub.has_made_sure()
        newsroom.looks()
        assert len(hub.wishes) == 1
        past, soon = clock.now() - timedelta(days=9, hours=1), clock.now() + timedelta(hours=23)
        with newsroom.db.write() as tx:
            table.change(tx, feed, hub_asked_at=past, hub_until=soon)
        blog.web.answers(blog.path, lambda _: Page(b"", 304))
        with newsroom.db.write() as tx:
            table.change(tx, feed, etag='"known"')
        newsroom.looks()
        hub.has_made_sure(2)
        assert row(newsroom.db, feed).hub_until > clock.now() + timedelta(days=9)

    def test_that_says_nothing_is_left_alone_for_half_a_day(self, newsroom: Newsroom, blog: HubBlog, hub: Hub) -> None:
        hub.web.serves("/hub", status=500)
        feed = newsroom.looks()["id"]
        newsroom.looks()
        assert blog.web.times("/hub") == 1
        with newsroom.db.write() as tx:
            table.change(tx, feed, hub_asked_at=clock.now() - timedelta(hours=13))
        newsroom.looks()
        assert blog.web.times("/hub") == 2

    def test_gives_way_to_another_but_not_every_time(self, newsroom: Newsroom, blog: HubBlog, hub: Hub) -> None:
        newsroom.looks()
        hub.has_made_sure()
        blog.hub = blog.web.serves("/another", status=202)
        blog.serves()
        feed = newsroom.looks()
        assert (feed["hub_url"], feed["hub_until"]) == (blog.hub, None)
        assert blog.web.times("/another") == 0
        with newsroom.db.write() as tx:
            table.change(tx, feed["id"], hub_asked_at=clock.now() - hubs.PAUSE - timedelta(minutes=1))
        newsroom.looks()
        assert blog.web.times("/another") == 1

    def test_that_is_away_harms_nothing(self, newsroom: Newsroom, blog: HubBlog) -> None:
        for where in ("http://127.0.0.1:9/", "http://no.such.host.invalid/", "http://[::1]:9/hub"):
            blog.hub = where
            blog.serves()
            feed = newsroom.looks()
            assert (feed["hub_url"], feed["last_error"], feed["consecutive_failures"]) == (where, None, 0)


@pytest.mark.parametrize(
    "missing", [{"feed_webhook_secret": None}, {"platform_base_url": None}, {"feeds_allow_private": False}], ids=str
)
def test_a_hub_that_could_not_reach_us_or_must_not_be_reached_is_not_asked(
    db: Database, settings: Settings, web: Web, missing: dict[str, Any]
) -> None:
    blog = HubBlog(web)
    blog.hub = web.serves("/hub", status=202)
    blog.publishes("An old post")
    partly = settings.model_copy(update={"feed_url": blog.url} | missing)
    asyncio.run(Poller(db, partly).work())
    assert (web.times(blog.path), web.times("/hub")) == (1, 0)


def test_a_hub_in_real_life(start: Callable[..., Gna], database_url: str, db: Database, web: Web) -> None:
    running: list[Gna] = []

    def call(method: str, url: str, **sent: Any) -> httpx2.Response:
        return asking.request(method, url.replace(BASE, running[0].url), **sent)

    hub, blog = Hub(web, call), HubBlog(web)
    blog.publishes("An old post", ago=timedelta(days=1))
    gna = start(DATABASE_URL=database_url, FEED_WEBHOOK_SECRET="a secret", **WHERE)
    running.append(gna)
    blog.hub = hub.url
    blog.serves()
    added = asking.post(f"{gna.url}/admin/api/feeds", json={"url": blog.url})
    assert added.status_code == 201, added.text
    until(lambda: hub.made_sure, 15, lambda: gna.log.read_text()[-3000:])
    hub.has_made_sure()
    blog.publishes("News")
    a_minute_passes(db, added.json()["id"])
    assert hub.tells().status_code == 202

    def subjects() -> list[str]:
        return [item["subject"] for item in asking.get(f"{gna.url}/admin/api/campaigns").json()["items"]]

    until(lambda: subjects() == ["News"], 15, lambda: gna.log.read_text()[-3000:])
    assert hub.wishes[0]["hub.secret"] not in gna.log.read_text()
