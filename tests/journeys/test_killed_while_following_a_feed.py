"""A worker is killed at each point from a post that is found to the marker that moves: everybody gets the post once."""

import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
import sqlalchemy as sa

from gna import clock
from gna.config import Settings
from gna.db import Database
from gna.feeds.table import feed_entries, feeds
from gna.jobs.workers import workers
from gna.web.ground import Ground
from tests.blog import Blog, Newsroom
from tests.conftest import settings_for, visitor
from tests.crashes import Folder
from tests.desk import Desk
from tests.dying import CHUNK, FEED_POINTS, POINTS, a_worker
from tests.factories import readers
from tests.running import until

PEOPLE = CHUNK * 3 + 7


class Left(NamedTuple):
    """What was committed when the worker died: the posts on their way, the campaigns, whether the marker has moved."""

    posts: int
    campaigns: int
    moved: bool


NOTHING, FOUND, WRITTEN, DELIVERED = Left(0, 0, False), Left(2, 0, False), Left(2, 1, False), Left(0, 1, True)
COMMITTED = {
    "before the look is written down": NOTHING,
    "in the transaction that writes down what is new": NOTHING,
    "before the posts become a campaign": FOUND,
    "in the transaction that makes the campaign": FOUND,
    "before the campaign is started": WRITTEN,
    **dict.fromkeys(POINTS, WRITTEN),
    "before the marker moves": WRITTEN,
    "in the transaction that moves the marker": WRITTEN,
    "when the marker has moved": DELIVERED,
}


@pytest.fixture
def settings(database_url: str, tmp_path: Path, blog: Blog) -> Settings:
    """Workers look so often that each of them sees the same posts again and again."""
    return settings_for(database_url, tmp_path, FEED_URL=blog.url, FEED_CHECK_INTERVAL="0.3")


@pytest.fixture
def newsroom(settings: Settings, db: Database) -> Iterator[Newsroom]:
    with visitor(Ground(settings, db)) as client:
        newsroom = Newsroom(Desk(client, db), db, settings)
        newsroom.looks()
        yield newsroom


def test_no_post_is_lost_or_repeated_however_often_a_worker_is_killed(
    newsroom: Newsroom, blog: Blog, settings: Settings, db: Database
) -> None:
    people = readers(db, PEOPLE)
    blog.publishes("First", "Second")
    marker = newsroom.feed()["last_processed_at"]
    for point in FEED_POINTS:
        doomed = a_worker(settings, dies=point)
        doomed.join(30)
        assert doomed.exitcode == -signal.SIGKILL, point
        feed = newsroom.feed()
        posts = len(newsroom.desk.rows(feed_entries))
        assert Left(posts, len(newsroom.campaigns()), feed["last_processed_at"] > marker) == COMMITTED[point], point
        minutes_pass(db)
    assert newsroom.feed()["last_processed_at"] == clock.iso(blog.posts[0].published or clock.now())
    blog.publishes("Third", ago=timedelta(minutes=1))
    last = a_worker(settings)
    until(lambda: len(newsroom.campaigns()) == 2, 30, lambda: f"{newsroom.campaigns()}")
    until(lambda: newsroom.desk.is_published(newsroom.campaigns()[1]), 30, lambda: f"{newsroom.campaigns()[1]}")
    last.terminate()
    last.join(30)
    assert last.exitcode == 0
    assert [campaign["subject"] for campaign in newsroom.campaigns()] == ["Second and 1 more", "Third"]
    arrived = [mail.to for mail in Folder(settings.mailbox_dir).accepted()]
    assert sorted(arrived) == sorted([*people] * 2)


def minutes_pass(db: Database) -> None:
    """Since anybody was seen: whoever was killed is dead for everybody, and looks at no feed any more."""
    past = clock.now() - timedelta(minutes=5)
    with db.write() as tx:
        tx.execute(sa.update(workers).values(seen_at=past))
        tx.execute(sa.update(feeds).where(feeds.c.claimed_until.is_not(None)).values(claimed_until=past))
