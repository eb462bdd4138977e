"""What somebody does at the command line is noted like what they do on the pages."""

import getpass
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from gna.activity import Verb, activity
from gna.cli import noted
from gna.db import Database
from tests.blog import Blog
from tests.cli.commands import Done, running
from tests.desk import in_an_hour
from tests.factories import a_subscriber
from tests.inbox.factories import a_subscription, a_way, an_account
from tests.servers.web import Web

Shell = Callable[..., Done]


@pytest.fixture
def gna(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Shell:
    """Runs `gna` on a database and in a folder of its own, as Ana."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("FEEDS_ALLOW_PRIVATE", "true")
    monkeypatch.setattr(getpass, "getuser", lambda: "ana")
    return lambda noun, *arguments: next(running(noun, monkeypatch, capfd))(*arguments)


def was_noted(db: Database) -> list[tuple[str, str]]:
    """What was done, oldest first; by Ana, all of it."""
    with db.read() as tx:
        rows = tx.execute(sa.select(activity).order_by(activity.c.id)).all()
    assert {row.who for row in rows} <= {"command line: ana"}
    return [(row.verb, row.about) for row in rows]


def test_what_is_done_with_campaigns(gna: Shell, db: Database, tmp_path: Path) -> None:
    (tmp_path / "news.md").write_text("# News")
    draft = gna("campaigns", "create", "news.md", "--subject", "Issue 1").out.strip()
    gna("campaigns", "test", draft, "ana@example.org")
    gna("campaigns", "schedule", draft, in_an_hour())
    gna("campaigns", "cancel", draft)
    copy = gna("campaigns", "duplicate", draft).out.strip()
    gna("campaigns", "delete", copy, "--yes")
    gna("campaigns", "send", draft, "--yes")
    gna("campaigns", "pause", draft)
    gna("campaigns", "resume", draft)
    assert was_noted(db) == [
        (Verb.CAMPAIGN_CREATED, "Issue 1"),
        (Verb.CAMPAIGN_TESTED, "Issue 1"),
        (Verb.CAMPAIGN_SCHEDULED, "Issue 1"),
        (Verb.CAMPAIGN_CANCELLED, "Issue 1"),
        (Verb.CAMPAIGN_COPIED, "Issue 1"),
        (Verb.CAMPAIGN_DELETED, "Issue 1"),
        (Verb.CAMPAIGN_SENT, "Issue 1"),
        (Verb.CAMPAIGN_PAUSED, "Issue 1"),
        (Verb.CAMPAIGN_RESUMED, "Issue 1"),
    ]


def test_what_could_not_be_done_is_not_noted(gna: Shell, db: Database, tmp_path: Path) -> None:
    (tmp_path / "news.md").write_text("# News")
    draft = gna("campaigns", "create", "news.md", "--subject", "Issue 1").out.strip()
    assert gna("campaigns", "pause", draft).code == 1
    assert gna("campaigns", "retry", draft).code == 1
    assert was_noted(db) == [(Verb.CAMPAIGN_CREATED, "Issue 1")]


@pytest.mark.usefixtures("readings")
def test_what_is_done_with_feeds(gna: Shell, db: Database, blog: Blog) -> None:
    gna("feed", "add", blog.url)
    gna("feed", "change", blog.url, "--mode", "draft")
    gna("feed", "check")
    gna("feed", "remove", blog.url, "--yes")
    # A look is what the timetable takes by itself, every hour.
    assert was_noted(db) == [
        (Verb.FEED_ADDED, blog.url),
        (Verb.FEED_CHANGED, blog.url),
        (Verb.FEED_REMOVED, blog.url),
    ]


def test_an_import_is_noted_and_names_nobody(gna: Shell, db: Database, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("email\nion@example.org\n")
    gna("subscribers", "import", "people.csv", "--dry-run")
    gna("subscribers", "import", "people.csv")
    assert was_noted(db) == [(Verb.IMPORT_STARTED, "Gna")]


def test_an_import_is_noted_as_what_it_is(gna: Shell, db: Database, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("email,colour\nion@example.org,blue\n")
    gna("subscribers", "import", "people.csv")
    assert was_noted(db) == [(Verb.IMPORT_STARTED, "CSV")]


def test_an_export_is_noted_with_how_many_it_were(gna: Shell, db: Database) -> None:
    with db.write() as tx:
        a_subscriber(tx, email="ana@example.org")
        a_subscriber(tx, email="ion@example.org", activated=True)
    assert "ana@example.org" in gna("subscribers", "export").out
    gna("subscribers", "export", "--status", "Pending")
    assert was_noted(db) == [(Verb.SUBSCRIBERS_EXPORTED, "2"), (Verb.SUBSCRIBERS_EXPORTED, "1")]


def test_a_user_without_a_name_is_at_the_command_line_too(monkeypatch: pytest.MonkeyPatch, db: Database) -> None:
    def nobody() -> str:
        raise KeyError("uid")

    monkeypatch.setattr(getpass, "getuser", nobody)
    with db.write() as tx:
        noted.note(tx, Verb.CAMPAIGN_SENT)
        assert tx.scalar(sa.select(activity.c.who)) == "command line"


def test_what_is_done_with_the_inbox(gna: Shell, db: Database, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INBOX_ALLOW_PRIVATE_HOSTS", "127.0.0.1")
    monkeypatch.setenv("INBOX_REQUEST_DELAY", "0")
    account = an_account(db)
    works = str(a_subscription(db, account, way=a_way(web.serves("/leave", "Bye") + "?u=1")))
    broken = str(a_subscription(db, account, "news@blog.example", way=a_way(web.at("/nothing?u=1"))))
    gna("inbox", "scan")
    gna("inbox", "keep", works)
    gna("inbox", "unsubscribe", works, "--yes")
    gna("inbox", "unkeep", works)
    gna("inbox", "unsubscribe", works, "--dry-run")
    gna("inbox", "unsubscribe", works, broken, "--yes")
    assert was_noted(db) == [
        (Verb.INBOX_SCANNED, ""),
        (Verb.INBOX_KEPT, works),
        (Verb.INBOX_UNKEPT, works),
        (Verb.INBOX_LEFT, works),
        (Verb.INBOX_TRIED, broken),
    ]
