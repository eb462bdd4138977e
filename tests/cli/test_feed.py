"""`gna feed`."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna import clock
from gna.db import Database
from gna.feeds import directory, poll, table
from gna.feeds.table import feeds
from tests.blog import API, Blog
from tests.cli.commands import Done, Run, running
from tests.servers.web import Web

URL = "https://blog.example.org/feed.xml"
NO_SUCH = "There is no such feed; `gna feed list` shows them"
NONE_YET = "There is no feed yet: set FEED_URL, or add one with `gna feed add ADDRESS`"
pytestmark = pytest.mark.usefixtures("readings")


@pytest.fixture
def gna(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """Runs `gna feed` on a database and in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("FEEDS_ALLOW_PRIVATE", "true")
    monkeypatch.setenv("LOG_LEVEL", "error")
    yield from running("feed", monkeypatch, capfd)


def refused(done: Done) -> str:
    """The one sentence of a refusal."""
    assert (done.code, done.err.count("\n"), done.err[:5]) == (1, 1, "gna: "), done
    return done.err[5:].strip()


def the_feed(db: Database, url: str) -> dict[str, object]:
    with db.read() as tx:
        return directory.show(tx, tx.execute(sa.select(feeds.c.id).where(feeds.c.url == url)).scalar_one())


def follow(db: Database, url: str = URL) -> str:
    """A feed that nobody looks at for now."""
    with db.write() as tx:
        return directory.add(tx, {"url": url, "active": False}, now=clock.now())


def test_before_there_is_a_feed_it_says_how_to_get_one(gna: Run) -> None:
    for command in (("check",), ("check", URL), ("remove", URL, "--yes"), ("skip", URL)):
        assert refused(gna(*command)) == NONE_YET
    assert gna("list").out.split() == ["Feed", "Mailed", "Looked", "at", "Now"]
    assert json.loads(gna("list", "--json").out)["items"] == []


def test_an_unknown_feed_is_refused(gna: Run, db: Database) -> None:
    feed = follow(db)
    for command in (("check", "nothing"), ("remove", feed[:8], "--yes"), ("skip", URL.upper()), ("check", "\udcff")):
        assert refused(gna(*command)) == NO_SUCH


def test_an_empty_name_is_nobodys(gna: Run, db: Database) -> None:
    follow(db)
    for command in (("remove", "", "--yes"), ("skip", "")):
        assert refused(gna(*command)).startswith("Say which feed")
    assert the_feed(db, URL)


def test_the_first_look_remembers_and_the_next_makes_a_campaign(
    gna: Run, blog: Blog, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEED_URL", blog.url)
    first = gna("check")
    assert (first.code, first.out) == (0, f"{blog.url}: this was the first look; posts from now on are mailed.\n")
    assert gna("check").out == f"{blog.url}: nothing new.\n"
    blog.publishes("News")
    found = gna("check", blog.url).out
    campaign = the_feed(db, blog.url)["campaign_id"]
    assert found == f"{blog.url}: new posts became the campaign {campaign}, which is being sent.\n"
    assert gna("check").out == f"{blog.url}: waits until the campaign {campaign} is delivered.\n"


def test_posts_that_wait_are_counted(gna: Run, blog: Blog) -> None:
    tomorrow = (clock.now() + timedelta(days=1)).strftime("%A").lower()
    gna("add", blog.url, "--cadence", "weekly", "--weekday", tomorrow)
    blog.publishes("First")
    assert gna("check").out == f"{blog.url}: 1 post waits for its time.\n"
    blog.publishes("Second", ago=timedelta())
    assert gna("check").out == f"{blog.url}: 2 posts wait for their time.\n"


def test_a_feed_that_fails_is_told_with_the_reason(gna: Run, blog: Blog, web: Web) -> None:
    gna("add", blog.url)
    broken = web.serves("/broken", status=404)
    added = gna("add", broken)
    assert added.code == 1
    assert "404 Not Found" in added.out
    assert added.out.endswith(", but it cannot be read yet.\n")
    done = gna("check")
    assert done.code == 1
    assert [line.partition(": ")[2][:9] for line in done.out.splitlines()] == ["127.0.0.1", "nothing n"]
    assert gna("check", blog.url).code == 0
    assert gna("check", broken).code == 1
    assert "failing (3): 127.0.0.1 answered 404 Not Found" in " ".join(gna("list").out.split())


def test_a_feed_that_others_look_at_keeps_no_other_waiting(
    gna: Run, blog: Blog, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poll, "PATIENCE", 0.1)
    gna("add", blog.url)
    with db.write() as tx:
        busy = directory.add(tx, {"url": URL}, now=clock.now())
        table.change(tx, busy, claimed_until=clock.now() + poll.LEASE)
    done = gna("check")
    assert done.code == 1
    assert done.out.splitlines() == [
        "Somebody else looks at it; waiting for them …",
        f"{URL}: Another look at the feed is under way; try again in a minute.",
        f"{blog.url}: nothing new.",
    ]


def test_a_private_address_is_told_with_the_setting(gna: Run, blog: Blog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEEDS_ALLOW_PRIVATE", "false")
    assert "FEEDS_ALLOW_PRIVATE=true" in gna("add", blog.url).out
    assert gna("check").code == 1
    assert blog.web.asked == []


def test_a_feed_that_rests_is_looked_at_by_its_name_alone(gna: Run, blog: Blog, db: Database) -> None:
    feed = follow(db, blog.url)
    assert gna("check") == Done(0, f"{blog.url}: paused, so it is not looked at.\n", "")
    assert blog.web.asked == []
    assert gna("check", feed).out == f"{blog.url}: this was the first look; posts from now on are mailed.\n"
    assert gna("check", feed).out == f"{blog.url}: paused.\n"


def test_a_feed_is_added_with_all_its_wishes(gna: Run, blog: Blog, db: Database) -> None:
    when = ("--cadence", "monthly", "--at", "7:30", "--zone", "Europe/Bucharest", "--monthday", "31")
    done = gna("add", f"{blog.url}#top", "--mode", "draft", *when, "--subject", "{{ feed }}: {{ title }}")
    feed = the_feed(db, blog.url)
    assert (done.code, done.out.splitlines()[-1]) == (0, f"Followed as {feed['id']}.")
    assert (feed["mode"], feed["cadence"], feed["at"], feed["monthday"]) == ("draft", "monthly", "07:30", 31)
    assert feed["subject"] == "{{ feed }}: {{ title }}"
    assert feed["known_since"]
    assert "monthly on day 31 at 07:30 Europe/Bucharest, as drafts" in " ".join(gna("list").out.split())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("blog.example.org",), "url must be an address that starts with http://"),
        ((URL, "--mode", "maybe"), "mode must be send or draft"),
        ((URL, "--cadence", "hourly"), "cadence must be one of"),
        ((URL, "--at", "25:00"), "at must be a time of day"),
        ((URL, "--zone", "Mars"), "zone must be a time zone"),
        ((URL, "--weekday", "Montag"), "weekday must be one of"),
        ((URL, "--monthday", "32"), "monthday must be a number"),
        ((URL, "--subject", "{{ author }}"), "Unknown merge field"),
        (("http://\udcff/",), "url must be an address"),
    ],
)
def test_what_cannot_be_followed_is_refused(gna: Run, db: Database, options: tuple[str, ...], reason: str) -> None:
    assert reason in refused(gna("add", *options))
    with db.read() as tx:
        assert directory.listed(tx, page=1, per_page=1) == ([], 0)


def test_the_same_feed_is_followed_once(gna: Run, db: Database) -> None:
    follow(db)
    assert refused(gna("add", URL)) == "There is a feed with this address already"


def test_a_list_in_json_is_that_of_the_api(gna: Run, client: TestClient, db: Database) -> None:
    follow(db)
    follow(db, f"{URL}?2")
    said, api = json.loads(gna("list", "--json").out), client.get(API).json()
    assert (said["items"], said["total"], said["page"]) == (api["items"], 2, 1)


def test_all_feeds_are_listed_and_found_however_many(gna: Run, db: Database) -> None:
    with db.write() as tx:
        for number in range(directory.MOST):
            directory.add(tx, {"url": f"{URL}?{number}", "active": False}, now=clock.now())
        directory.know_setting(tx, URL, now=clock.now() + timedelta(hours=1))
    assert len(gna("list").out.splitlines()) == 1 + directory.MOST + 1
    assert gna("remove", f"{URL}?0", "--yes").out == "Forgotten.\n"


def test_a_feed_is_removed_when_somebody_is_sure(gna: Run, db: Database) -> None:
    feed = follow(db)
    assert refused(gna("remove", URL)) == "Nobody is here to be asked; add --yes if you are sure."
    assert gna("remove", feed, "--yes") == Done(0, "Forgotten.\n", "")
    assert refused(gna("remove", feed, "-y")) == NONE_YET


def test_the_feed_of_the_setting_stays(gna: Run, blog: Blog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEED_URL", blog.url)
    gna("check")
    assert refused(gna("remove", blog.url, "--yes")) == "It is the feed of FEED_URL; change that setting instead"


def test_a_campaign_is_waited_for_no_more(gna: Run, blog: Blog, db: Database) -> None:
    gna("add", blog.url, "--mode", "draft")
    assert refused(gna("skip", blog.url)) == "The feed waits for no campaign"
    blog.publishes("News")
    gna("check")
    assert gna("skip", blog.url) == Done(0, "It waits no more; the campaign itself stays as it is.\n", "")
    assert the_feed(db, blog.url)["campaign_id"] is None


def test_a_feed_cannot_speak_to_the_terminal(gna: Run, db: Database) -> None:
    evil = "a\x1b[31mb\x9b2Jc\u202ed\re"
    feed = follow(db)
    with db.write() as tx:
        table.change(
            tx, feed, url=evil, title=evil, site_url=evil, last_error=evil, active=True, known_since=clock.now()
        )
    for done in (gna("list"), gna("check"), gna("list", "--json"), gna("remove", feed, "--yes")):
        assert not [letter for letter in "\x1b\x9b\u202e\r" if letter in done.out + done.err], done


def test_json_means_what_was_said(gna: Run, db: Database) -> None:
    feed = follow(db)
    evil = "a\x1b[31mb\x9b2Jc\u202ed\re \\u009b ș"
    with db.write() as tx:
        table.change(tx, feed, title=evil)
    assert json.loads(gna("list", "--json").out)["items"][0]["title"] == evil


@pytest.mark.parametrize("command", [("add",), ("remove",), ("skip",), ("add", URL, "--monthday", "x"), ("nonsense",)])
def test_a_command_without_its_arguments_is_a_usage_error(gna: Run, command: tuple[str, ...]) -> None:
    assert gna(*command).code == 2


def test_a_command_without_the_setting_leaves_the_servers_feed_alone(gna: Run, blog: Blog, db: Database) -> None:
    with db.write() as tx:
        directory.know_setting(tx, blog.url, now=clock.now())
    for command in (["check"], ["add", f"{blog.url}?another"]):
        gna(*command)
        with db.read() as tx:
            [feed] = tx.execute(sa.select(feeds).where(feeds.c.url == blog.url)).all()
        assert (feed.configured, feed.active) == (True, True)


def test_what_becomes_of_a_feed_is_changed(gna: Run, blog: Blog, db: Database) -> None:
    gna("add", blog.url)
    said = gna("change", blog.url, "--cadence", "weekly", "--weekday", "friday", "--at", "18:00", "--mode", "draft")
    assert said == Done(0, f"{blog.url}: mailed fridays at 18:00 UTC, as drafts; nothing new.\n", "")
    assert gna("change", blog.url, "--paused", "--list", "blog", "--no-archived").out.endswith("; paused.\n")
    with db.read() as tx:
        [feed] = tx.execute(sa.select(feeds)).all()
    assert (feed.weekday, feed.mode, feed.audience, feed.archived, feed.active) == (
        "friday", "draft", {"list": "blog"}, False, False,
    )  # fmt: skip
    assert refused(gna("change", blog.url, "--at", "25:00")) == "at must be a time of day: 09:00"
    assert "of the posts: title, count" in refused(gna("change", blog.url, "--subject", "{{ titel }}"))


def test_what_was_passed_over_is_told(gna: Run, blog: Blog) -> None:
    gna("add", blog.url)
    blog.publishes("Older", ago=timedelta(days=9))
    assert gna("check").out.endswith("Passed over, since they are dated before the newest that was mailed: 1.\n")


def test_gna_check_says_whether_the_feed_can_be_read(
    gna: Run, blog: Blog, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FEED_URL", blog.url)
    monkeypatch.setenv("FEED_WEBHOOK_SECRET", "short")
    check = next(running("check", monkeypatch, capfd))
    said = " ".join(check().out.split())
    assert "“The Quiet Blog” can be read; posts in it: 1" in said
    assert "ADMIN_EMAIL is not set" in said
    assert "FEED_WEBHOOK_SECRET is short" in said
    blog.breaks(status=404)
    assert "cannot be read now: 127.0.0.1 answered 404 Not Found" in " ".join(check().out.split())
