"""A blog with a feed on a real website, and the newsroom that follows it."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import format_datetime
from html import escape
from typing import Any

import httpx2

from gna import clock
from gna.config import Settings
from gna.db import Database
from gna.feeds.editor import Editor
from gna.feeds.notices import Notices
from gna.feeds.poll import Poller
from tests.desk import Desk
from tests.servers.web import Web

API = "/admin/api/feeds"
RSS = """<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0"><channel><title>The Quiet Blog</title><link>https://blog.example.org/</link>{items}</channel></rss>
"""


@dataclass
class Post:
    """One post of the blog; each may be changed, and served again."""

    name: str
    published: datetime | None
    summary: str = "How it begins."
    guid: str | None = None
    picture: str | None = None

    @property
    def link(self) -> str:
        """Where it can be read."""
        return f"https://blog.example.org/{self.name.lower().replace(' ', '-')}"

    def item(self) -> str:
        """As the feed has it."""
        date = f"<pubDate>{format_datetime(self.published)}</pubDate>" if self.published else ""
        guid = f"<guid>{escape(self.guid)}</guid>" if self.guid else ""
        picture = f'<enclosure url="{escape(self.picture)}" type="image/png" length="1"/>' if self.picture else ""
        summary = f"<description>{escape(self.summary)}</description>"
        return f"<item><title>{escape(self.name)}</title><link>{self.link}</link>{guid}{date}{summary}{picture}</item>"


@dataclass
class Blog:
    """Its posts, newest first, and where its feed is."""

    web: Web
    path: str = "/feed.xml"
    posts: list[Post] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The address of its feed."""
        return self.web.at(self.path)

    def publishes(self, *names: str, ago: timedelta = timedelta(minutes=10), **fields: Any) -> None:
        """Posts, one after the other, the last of them so long ago; the feed has them at once."""
        for number, name in enumerate(names):
            moment = clock.now().replace(microsecond=0) - ago - timedelta(seconds=len(names) - number - 1)
            said: dict[str, Any] = {"published": moment, "guid": f"urn:{name}"} | fields
            self.posts.insert(0, Post(name, **said))
        self.serves()

    def serves(self) -> None:
        """The feed is as the posts are."""
        self.web.serves(self.path, RSS.format(items="".join(post.item() for post in self.posts)))

    def breaks(self, body: str = "<rss><channel><item>", *, status: int = 200) -> None:
        """The feed is something else for now."""
        self.web.serves(self.path, body, status=status)


class Newsroom:
    """What Gna does with a feed, step by step, as the workers do."""

    def __init__(self, desk: Desk, db: Database, settings: Settings) -> None:
        self.desk = desk
        self.db = db
        self.settings = settings

    def looks(self) -> dict[str, Any]:
        """The timetable has come round to the feed; says how it is then."""
        self._all_are_due()
        asyncio.run(Poller(self.db, self.settings).work())
        return self.feed()

    def edits(self) -> None:
        """Posts that wait become a campaign; one that was delivered moves the marker."""
        Editor(self.db, Notices.of(self.settings)).work()

    def works(self) -> dict[str, Any]:
        """Everything, from a look to the delivery."""
        self.looks()
        self.edits()
        self.desk.works()
        self.edits()
        return self.feed()

    def feed(self) -> dict[str, Any]:
        """The feed as an admin sees it, if there is one alone."""
        [feed] = self.client.get(API).json()["items"]
        return dict(feed)

    def campaigns(self) -> list[dict[str, Any]]:
        """The campaigns, oldest first, with everything."""
        items = self.client.get("/admin/api/campaigns").json()["items"]
        return [self.desk.sees(item) for item in reversed(items)]

    def mails(self) -> list[EmailMessage]:
        """What was sent, in order."""
        return [message_from_bytes(mail.raw(), _class=EmailMessage, policy=default) for mail in self.desk.provider.sent]

    def subjects(self, to: str | None = None) -> list[str]:
        """The subjects of what was sent, to everybody or to one."""
        return [str(mail["Subject"]) for mail in self.mails() if to is None or to in str(mail["To"])]

    @property
    def client(self) -> httpx2.Client:
        """The admin's browser."""
        return self.desk.client

    def _all_are_due(self) -> None:
        from gna.feeds import directory

        with self.db.write() as tx:
            directory.ask(tx, now=clock.now())
