"""Looking at feeds: by one at a time, whatever websites, other processes and admins do meanwhile."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from gna import clock
from gna.config import Settings
from gna.db import Database
from gna.errors import DatabaseAway, NotAllowedNow, NotFound
from gna.feeds import directory, memory, poll, table
from gna.feeds.entry import Document
from gna.feeds.poll import LEASE, Poller
from gna.feeds.reading import parse
from gna.feeds.table import feed_entries, feed_memory, feeds
from gna.outbox import messages
from tests.blog import RSS, Blog
from tests.conftest import settings_for
from tests.servers.web import Page, Web

HOUR = timedelta(hours=1)
OLD = RSS.format(items="<item><guid>1</guid><title>Old</title></item>")
NEWER = RSS.format(items="<item><guid>2</guid><title>New</title></item><item><guid>1</guid><title>Old</title></item>")


class Room:
    """The feeds of one database, and those who look at them."""

    def __init__(self, db: Database, settings: Settings) -> None:
        self.db = db
        self.settings = settings

    def follows(self, url: str, **columns: Any) -> str:
        """One more feed, due at once; says its id."""
        with self.db.write() as tx:
            feed_id = directory.add(tx, {"url": url}, now=clock.now())
            table.change(tx, feed_id, **{"active": True} | columns)
        return feed_id

    def works(self, **settings: Any) -> None:
        """A worker looks at what is due."""
        asyncio.run(Poller(self.db, self.settings.model_copy(update=settings)).work())

    def checks(self, feed_id: str) -> None:
        """Somebody wants a look now."""
        asyncio.run(Poller(self.db, self.settings).check(feed_id))

    def changes(self, feed_id: str, **columns: Any) -> None:
        """Something changes behind the poller's back."""
        with self.db.write() as tx:
            table.change(tx, feed_id, **columns)

    def rings(self, feed_id: str | None = None) -> None:
        """There may be news."""
        with self.db.write() as tx:
            if feed_id:
                table.change(tx, feed_id, due_at=clock.now())
            else:
                directory.ask(tx, now=clock.now())

    def row(self, feed_id: str) -> Any:
        """A feed as it is stored."""
        with self.db.read() as tx:
            return table.get(tx, feed_id)

    def rows(self, which: sa.Table) -> list[Any]:
        """What is in a table."""
        with self.db.read() as tx:
            return list(tx.execute(sa.select(which)).all())

    def new(self) -> list[str]:
        """The titles of the posts that wait."""
        return [row.title for row in self.rows(feed_entries)]


@pytest.fixture
def room(db: Database, database_url: str, tmp_path: Path, readings: list[str]) -> Room:
    del readings
    return Room(db, settings_for(database_url, tmp_path, FEEDS_ALLOW_PRIVATE="true"))


@pytest.fixture
def another(database_url: str) -> Iterator[Database]:
    """The same database, seen by another process."""
    database = Database(database_url)
    yield database
    database.close()


def meanwhile(web: Web, path: str, act: Callable[[], object], body: str = OLD) -> str:
    """A feed during whose first look something happens."""
    acts = [act]

    def answer(_: BaseHTTPRequestHandler) -> Page:
        if acts:
            acts.pop()()
        return Page(body.encode(), 200, {"Content-Type": "application/rss+xml", "ETag": '"meanwhile"'})

    return web.answers(path, answer)


def test_two_pollers_at_once_look_once(room: Room, another: Database, web: Web) -> None:
    feeds = [room.follows(web.serves(f"/{number}", OLD)) for number in range(3)]

    async def both() -> None:
        await asyncio.gather(*(Poller(db, room.settings).work() for db in (room.db, another, room.db)))

    asyncio.run(both())
    assert [web.times(f"/{number}") for number in range(3)] == [1, 1, 1]
    assert all(room.row(feed).claimed_until is None for feed in feeds)


def test_a_look_of_a_process_that_died_is_taken_over_when_its_lease_ends(room: Room, web: Web) -> None:
    now = clock.now()
    feed = room.follows(web.serves("/feed", OLD), claimed_until=now + LEASE, due_at=now + HOUR)
    room.works()
    assert web.times("/feed") == 0
    room.changes(feed, claimed_until=now - timedelta(seconds=1))
    room.works()
    assert web.times("/feed") == 1
    assert room.row(feed).claimed_until is None


@pytest.mark.parametrize("jump", [timedelta(hours=6), timedelta(days=30)])
def test_a_clock_that_was_set_back_keeps_no_feed_waiting(room: Room, web: Web, jump: timedelta) -> None:
    poller = Poller(room.db, room.settings.model_copy(update={"feed_check_interval": HOUR}))
    asyncio.run(poller.work())
    room.follows(web.serves("/feed", OLD), due_at=clock.now() + jump)
    asyncio.run(poller.work())
    assert web.times("/feed") == 1


def test_a_website_that_asked_for_a_day_gets_it(room: Room, web: Web) -> None:
    room.follows(web.serves("/feed", OLD), due_at=clock.now() + timedelta(days=1), consecutive_failures=1)
    room.works(feed_check_interval=HOUR)
    assert web.times("/feed") == 0


def test_whoever_was_too_slow_writes_nothing(room: Room, web: Web) -> None:
    lapse = clock.now() + LEASE / 2
    feed = room.follows(meanwhile(web, "/feed", lambda: room.changes(feed, claimed_until=lapse)))
    room.works()
    row = room.row(feed)
    assert (row.claimed_until, row.known_since, row.last_checked_at, row.etag) == (lapse, None, None, None)
    assert room.rows(feed_memory) == []


def test_a_bell_during_a_look_causes_another_one_afterwards(room: Room, web: Web) -> None:
    feed = room.follows(meanwhile(web, "/feed", lambda: room.rings(feed)))
    room.works()
    assert web.times("/feed") == 2
    assert room.row(feed).due_at > clock.now() + HOUR / 2


def test_a_bell_during_a_look_that_fails_causes_another_one_too(room: Room, web: Web) -> None:
    feed = room.follows(meanwhile(web, "/feed", lambda: room.rings(feed), body="no feed"))
    room.works()
    assert web.times("/feed") == 2
    assert room.row(feed).consecutive_failures == 2


@pytest.mark.parametrize(("seconds", "least", "most"), [(7200, 1.9, 2.1), (1, 0.9, 1.1), (0, 0.9, 1.1)])
def test_retry_after_postpones_the_next_look_and_never_shortens_the_wait(
    room: Room, web: Web, seconds: int, least: float, most: float
) -> None:
    feed = room.follows(web.serves("/feed", status=503, retry_after=str(seconds)))
    room.works()
    assert clock.now() + least * HOUR < room.row(feed).due_at < clock.now() + most * HOUR


def test_a_surprise_in_a_look_is_a_failure_and_keeps_no_other_feed_waiting(
    room: Room, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    strange, good = (room.follows(web.serves(path, OLD)) for path in ("/strange", "/good"))

    async def surprising(body: bytes, *, content_type: str, url: str) -> Document:
        if "strange" in url:
            raise ZeroDivisionError("with a secret in it")
        return parse.read(body, content_type=content_type, url=url)

    monkeypatch.setattr(poll, "read_apart", surprising)
    room.works()
    assert room.row(strange).last_error == "Gna itself failed (ZeroDivisionError); its log says more"
    assert (room.row(strange).consecutive_failures, room.row(strange).claimed_until) == (1, None)
    assert (room.row(good).last_error, room.row(good).consecutive_failures) == (None, 0)


def test_what_cannot_be_written_down_is_a_failure_too(room: Room, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    strange, good = (room.follows(web.serves(path, OLD)) for path in ("/strange", "/good"))
    learn = memory.learn

    def surprising(tx: Any, feed_id: str, verdict: Any, *, now: datetime) -> None:
        learn(tx, feed_id, verdict, now=now)
        if feed_id == strange:
            tx.execute(sa.text("SELECT nothing FROM nowhere"))

    monkeypatch.setattr(memory, "learn", surprising)
    room.works()
    assert room.row(strange).last_error.startswith("Gna itself failed")
    assert (room.row(strange).claimed_until, room.row(strange).etag, room.row(strange).known_since) == (None,) * 3
    assert {row.feed_id for row in room.rows(feed_memory)} == {good}


def test_a_database_that_goes_away_is_no_failure_of_the_feed(
    room: Room, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = room.follows(web.serves("/feed", OLD))

    def away(*_: Any, **__: Any) -> None:
        raise DatabaseAway("gone")

    with monkeypatch.context() as patched:
        patched.setattr(memory, "recall", away)
        with pytest.raises(DatabaseAway):
            room.works()
    assert room.row(feed).consecutive_failures == 0


def test_what_has_not_changed_is_not_read(room: Room, web: Web, readings: list[str]) -> None:
    def answer(request: BaseHTTPRequestHandler) -> Page:
        known = request.headers.get("If-None-Match") == '"one"'
        return Page(b"", 304) if known else Page(OLD.encode(), 200, {"ETag": '"one"'})

    feed = room.follows(web.answers("/feed", answer))
    for _ in range(3):
        room.rings()
        room.works()
    assert (web.times("/feed"), len(readings)) == (3, 1)
    row = room.row(feed)
    assert (row.etag, row.last_error, row.title) == ('"one"', None, "The Quiet Blog")


def test_what_could_not_be_read_is_asked_for_again_whole(room: Room, web: Web) -> None:
    feed = room.follows(web.serves("/feed", "no feed", etag='"broken"', last_modified="Sun, 15 Nov 2026 12:00:00 GMT"))
    for _ in range(2):
        room.rings()
        room.works()
    assert not any("if-none-match" in asked.headers or "if-modified-since" in asked.headers for asked in web.asked)
    assert (room.row(feed).etag, room.row(feed).last_modified) == (None, None)


def test_a_feed_may_be_removed_while_it_is_looked_at(room: Room, web: Web) -> None:
    def remove() -> None:
        with room.db.write() as tx:
            directory.remove(tx, feed)

    feed = room.follows(meanwhile(web, "/feed", remove))
    other = room.follows(web.serves("/other", OLD))
    room.works()
    assert [row.id for row in room.rows(feeds)] == [other]
    assert room.row(other).known_since


def test_a_feed_may_be_removed_while_somebody_waits_for_a_look(room: Room, web: Web) -> None:
    def remove() -> None:
        with room.db.write() as tx:
            directory.remove(tx, feed)

    feed = room.follows(meanwhile(web, "/feed", remove, body="no feed"))
    room.checks(feed)
    assert room.rows(feeds) == []


def test_what_a_feed_said_at_its_old_address_is_forgotten_when_it_moves_meanwhile(room: Room, web: Web) -> None:
    def move() -> None:
        with room.db.write() as tx:
            directory.edit(tx, feed, {"url": web.at("/new")}, now=clock.now())

    web.serves("/new", NEWER)
    feed = room.follows(meanwhile(web, "/old", move))
    room.works()
    assert [asked.headers.get("if-none-match") for asked in web.asked] == [None, None]
    assert room.row(feed).known_since
    assert room.new() == []  # the first look at the new address only remembers


def test_a_website_that_hangs_keeps_no_other_feed_waiting(room: Room, web: Web) -> None:
    others = [f"/{number}" for number in range(8)]
    was_kept_waiting: list[bool] = []

    def hangs(_: BaseHTTPRequestHandler) -> Page:
        deadline = clock.now() + timedelta(seconds=8)
        while not all(web.times(path) for path in (*others, "/late")):
            if all(web.times(path) for path in others):
                room.rings(late)
            if clock.now() > deadline:
                was_kept_waiting.append(True)
                break
            time.sleep(0.05)
        return Page(OLD.encode())

    late = room.follows(web.serves("/late", OLD), due_at=clock.now() + HOUR)
    room.follows(web.answers("/hangs", hangs), due_at=clock.now() - HOUR)
    for path in others:
        room.follows(web.serves(path, OLD))
    room.works()
    assert not was_kept_waiting
    assert all(row.known_since for row in room.rows(feeds))


def test_a_poller_that_stops_waits_for_no_website(room: Room, web: Web) -> None:
    poller, over = Poller(room.db, room.settings), threading.Event()

    def hangs(_: BaseHTTPRequestHandler) -> Page:
        over.wait(20)
        return Page(OLD.encode())

    feed = room.follows(web.answers("/feed", hangs))

    async def stopped() -> bool:
        work = asyncio.create_task(poller.work())
        while not web.times("/feed"):
            await asyncio.sleep(0.01)
        poller.stop()
        room.rings()
        return await asyncio.wait_for(work, 5)

    try:
        assert asyncio.run(stopped()) is False
    finally:
        over.set()
    assert web.times("/feed") == 1
    assert room.row(feed).known_since is None
    room.works()
    assert room.row(feed).known_since


def test_without_an_address_the_log_has_to_do(room: Room, web: Web, logged: Callable[[], str]) -> None:
    room.follows(web.serves("/feed", "no feed"))
    for _ in range(3):
        room.rings()
        room.works()
    assert "a feed keeps failing" in logged()
    assert "mailed=False" in logged()
    assert room.rows(messages) == []


def test_several_workers_tell_the_admin_once(room: Room, another: Database, web: Web) -> None:
    room.follows(web.serves("/feed", "no feed"))
    settings = room.settings.model_copy(update={"admin_email": "The Admin <admin@example.org>"})

    async def all_look() -> None:
        await asyncio.gather(*(Poller(db, settings).work() for db in (room.db, another, room.db, another)))

    for _ in range(5):
        room.rings()
        asyncio.run(all_look())
    assert [row.to_email for row in room.rows(messages)] == ["admin@example.org"]
    web.serves("/feed", OLD)
    for _ in range(2):
        room.rings()
        asyncio.run(all_look())
    assert len(room.rows(messages)) == 2


def test_a_feed_is_remembered_when_feed_url_changes_and_changes_back(room: Room, web: Web) -> None:
    one, two = Blog(web, "/one"), Blog(web, "/two")
    one.publishes("Old", ago=HOUR)
    two.publishes("Other", ago=HOUR)
    room.works(feed_url=one.url)
    room.works(feed_url=two.url)
    one.publishes("New", ago=timedelta())
    room.works(feed_url=two.url)
    [row] = room.rows(feeds)
    assert (row.url, row.configured, row.active) == (two.url, True, True)
    assert room.new() == []
    room.works(feed_url=one.url)
    assert room.new() == ["New"]
    room.works(feed_url=None)
    assert [(row.configured, row.active) for row in room.rows(feeds)] == [(False, False)]


def test_a_feed_at_another_address_goes_on_where_it_was(room: Room, web: Web) -> None:
    old, new = Blog(web, "/old"), Blog(web, "/new")
    old.publishes("Old", ago=HOUR)
    room.works(feed_url=old.url)
    [row] = room.rows(feeds)
    room.changes(row.id, mode="draft", subject="{{ feed }}")
    new.posts = [*old.posts]
    new.publishes("Published meanwhile", ago=timedelta())
    room.works(feed_url=new.url)
    assert room.new() == ["Published meanwhile"]
    [row] = room.rows(feeds)
    assert (row.url, row.mode, row.subject) == (new.url, "draft", "{{ feed }}")


def test_a_feed_that_comes_back_from_a_wrong_address_knows_where_it_was(room: Room, web: Web) -> None:
    ours, wrong = Blog(web, "/ours"), Blog(web, "/wrong")
    for number in range(10):
        ours.publishes(f"Post {number}", ago=timedelta(days=10 - number))
    older = [*ours.posts]
    feed = room.follows(ours.url)
    room.works()
    for stray_is_from in (timedelta(days=3000), timedelta()):
        wrong.posts.clear()
        wrong.publishes(f"Stray of {stray_is_from}", ago=stray_is_from)
        moves(room, feed, wrong.url)
        moves(room, feed, ours.url)
        assert room.new() == []
    ours.publishes("Longer ago", ago=timedelta(days=500))
    ours.publishes("News", ago=timedelta(minutes=1))
    assert len(ours.posts) == len(older) + 2
    moves(room, feed, wrong.url)
    moves(room, feed, ours.url)
    assert room.new() == ["News"]


def test_an_empty_feed_at_another_address_is_no_first_look(room: Room, web: Web) -> None:
    old, new = Blog(web, "/old"), Blog(web, "/new")
    old.publishes("Old", ago=HOUR)
    feed = room.follows(old.url)
    room.works()
    new.serves()
    moves(room, feed, new.url)
    assert room.row(feed).known_since is None
    new.posts = [*old.posts]
    new.publishes("News", ago=timedelta(minutes=1))
    room.rings(feed)
    room.works()
    assert room.new() == ["News"]


def moves(room: Room, feed: str, url: str) -> None:
    """Somebody gives the feed another address, and it is looked at."""
    with room.db.write() as tx:
        directory.edit(tx, feed, {"url": url}, now=clock.now())
    room.works()


def test_who_looks_more_often_does_not_wait_for_what_was_planned(room: Room, web: Web) -> None:
    feed = room.follows(web.serves("/feed", OLD), due_at=clock.now() + HOUR)
    often = room.settings.model_copy(update={"feed_check_interval": timedelta(seconds=1)})
    asyncio.run(Poller(room.db, often).work())
    assert room.row(feed).due_at < clock.now() + timedelta(minutes=1)
    room.changes(feed, due_at=clock.now() + HOUR, consecutive_failures=1)  # perhaps its website wants that
    asyncio.run(Poller(room.db, often).work())
    assert room.row(feed).due_at > clock.now() + timedelta(minutes=1)


def test_the_archive_of_gna_itself_is_no_feed(room: Room, web: Web) -> None:
    ours = room.settings.model_copy(update={"platform_base_url": web.url})
    feed = room.follows(web.serves("/archive.xml", OLD))
    asyncio.run(Poller(room.db, ours).work())
    assert room.row(feed).last_error.startswith("It is the archive of Gna itself")
    blog = Blog(web)
    blog.publishes("Old", ago=HOUR)
    other = room.follows(blog.url)
    asyncio.run(Poller(room.db, ours).work())
    item = f"<item><title>Mailed</title><link>{web.url}/archive/1</link><guid>1</guid></item>"
    web.serves(blog.path, RSS.format(items=item + blog.posts[0].item()))
    room.rings(other)
    asyncio.run(Poller(room.db, ours).work())
    assert room.new() == []


def test_feed_url_has_its_place_among_a_hundred_feeds(room: Room, web: Web) -> None:
    for number in range(directory.MOST):
        room.follows(f"https://blog.example.org/{number}", active=False)
    room.works(feed_url=web.serves("/feed", OLD))
    assert web.times("/feed") == 1


def test_two_processes_may_start_with_the_same_feed_url_at_once(room: Room, another: Database, web: Web) -> None:
    settings = room.settings.model_copy(update={"feed_url": web.serves("/feed", OLD)})

    async def start() -> None:
        await asyncio.gather(*(Poller(db, settings).prepare() for db in (room.db, another) * 5))

    asyncio.run(start())
    assert [(row.url, row.configured) for row in room.rows(feeds)] == [(settings.feed_url, True)]


def test_feed_url_may_be_a_feed_that_an_admin_added(room: Room, web: Web) -> None:
    feed = room.follows(web.serves("/feed", OLD), active=False, mode="draft")
    room.works(feed_url=web.at("/feed"))
    row = room.row(feed)
    assert (row.configured, row.active, row.mode, bool(row.known_since)) == (True, True, "draft", True)


def test_the_feed_of_feed_url_stays_paused_when_a_process_starts(room: Room, web: Web) -> None:
    room.works(feed_url=web.serves("/feed", OLD))
    [row] = room.rows(feeds)
    room.changes(row.id, active=False, due_at=clock.now())
    room.works(feed_url=row.url)
    assert web.times("/feed") == 1


class TestALookNow:
    def test_looks_at_a_feed_that_is_not_due_and_past_all_caches(self, room: Room, web: Web) -> None:
        feed = room.follows(web.serves("/feed", OLD), due_at=clock.now() + HOUR)
        room.checks(feed)
        assert web.asked[0].headers["cache-control"] == "no-cache"

    def test_looks_at_a_feed_that_rests(self, room: Room, web: Web) -> None:
        feed = room.follows(web.serves("/feed", OLD), active=False)
        room.checks(feed)
        assert room.row(feed).last_checked_at

    def test_refuses_what_is_no_feed(self, room: Room) -> None:
        with pytest.raises(NotFound):
            room.checks("nothing")

    def test_waits_for_one_that_is_under_way(self, room: Room, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(poll, "PATIENCE", 0.3)
        feed = room.follows(web.serves("/feed", OLD), claimed_until=clock.now() + LEASE)
        with pytest.raises(NotAllowedNow, match="Another look at the feed is under way"):
            room.checks(feed)
        monkeypatch.setattr(poll, "PATIENCE", 30)
        threading.Timer(0.3, lambda: room.changes(feed, claimed_until=None)).start()
        room.checks(feed)
        assert web.times("/feed") == 1
