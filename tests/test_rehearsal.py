"""`make run` is a rehearsal: it leaves a publication in the same folder alone, and `make clean` does too."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
import sqlalchemy as sa

from gna import clock
from gna.campaigns import writing
from gna.campaigns.states import State
from gna.campaigns.table import campaigns
from gna.campaigns.writing import Wish
from gna.db import Database
from gna.migrations import migrate
from gna.subscribers.table import subscribers
from tests import asking
from tests.factories import a_subscriber, count
from tests.running import until
from tests.servers import free_port

ROOT = Path(__file__).parent.parent
# Make must not build .venv anew: the tests run in it.
MAKE = ("make", "--assume-old=.venv/run.stamp", "--no-print-directory")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a publication in it: `.env` as it is handed out, and a campaign whose time has come."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / ".env.example", tmp_path / ".env")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    db = Database(f"sqlite:///{tmp_path}/gna.db")
    migrate(db)
    with db.write() as tx:
        a_subscriber(tx, email="reader@example.org", activated=True)
        campaign = writing.create(tx, Wish({"subject": "Issue 1", "body": "News."}), now=clock.now())
        due = {"state": State.SCHEDULED, "scheduled_at": clock.now() - timedelta(minutes=1)}
        tx.execute(sa.update(campaigns).where(campaigns.c.id == campaign).values(**due))
    db.close()
    return tmp_path


@contextmanager
def rehearsing(folder: Path, *arguments: str, **exported: str) -> Iterator[str]:
    """`make run` with these settings exported in the shell; says its address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [*MAKE, "run", f"PORT={port}", *arguments]
    log = folder / "run.log"
    with log.open("wb") as writing_log:
        process = subprocess.Popen(
            command, cwd=folder, env=shell(**exported), stdout=writing_log, stderr=writing_log, start_new_session=True
        )
    try:
        until(lambda: process.poll() is not None or _is_healthy(url), 30, log.read_text)
        assert process.poll() is None, log.read_text()
        yield url
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        process.wait(40)


def shell(**exported: str) -> dict[str, str]:
    """A shell's environment."""
    return {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"} | exported


def _is_healthy(url: str) -> bool:
    try:
        return asking.get(f"{url}/healthz", timeout=5).status_code == 200
    except httpx2.TransportError:
        return False


def subscribe(url: str, email: str) -> None:
    answer = asking.post(f"{url}/api/subscribe", json={"email": email}, timeout=30)
    assert answer.status_code == 201


def mails(folder: Path) -> list[str]:
    return [file.read_text() for file in folder.glob("mailbox/*.eml")]


def states(folder: Path) -> list[str]:
    """The states of the campaigns in a folder's database."""
    db = Database(f"sqlite:///{folder}/gna.db")
    with db.read() as tx:
        found = [str(state) for state in tx.scalars(sa.select(campaigns.c.state))]
    db.close()
    return found


def test_a_campaign_that_is_due_is_not_swallowed(checkout: Path) -> None:
    with rehearsing(checkout) as url:
        subscribe(url, "visitor@example.org")
        rehearsal = checkout / "rehearsal"
        until(lambda: mails(rehearsal) or mails(checkout), 20)
        # Long enough for the publisher, which looks every second.
        subscribe(url, "another@example.org")
        until(lambda: len(mails(rehearsal)) + len(mails(checkout)) >= 2, 20)
    assert not (checkout / "mailbox").exists()
    assert states(checkout) == ["scheduled"]
    assert sorted(path.name for path in rehearsal.iterdir()) == ["gna.db", "gna.db-lock", "mailbox"]


def test_settings_that_the_shell_exports_do_not_reach_it(checkout: Path) -> None:
    real = {
        "DATABASE_URL": f"sqlite:///{checkout}/gna.db",
        "DATABASE_URL_FILE": "/nowhere",
        "MAILBOX_DIR": str(checkout / "mailbox"),
        "EMAIL_PROVIDER": "smtp",
        "SMTP_URL": "smtp://192.0.2.1:25",
        "PROCESS_ROLE": "worker",
        "REDIS_URL": "redis://192.0.2.1:6379",
        "FEED_URL": "https://192.0.2.1/feed.xml",
    }
    with rehearsing(checkout, "EMAIL_FROM_ADDRESS=Ana <ana@example.org>", **real) as url:
        subscribe(url, "visitor@example.org")
        until(lambda: mails(checkout / "rehearsal"), 20)
        assert asking.get(f"{url}/admin/api/feeds", timeout=30).json()["items"] == []
    [mail] = mails(checkout / "rehearsal")
    assert "From: Ana <ana@example.org>" in mail, "a setting on make's command line counts"
    assert not (checkout / "mailbox").exists()
    assert states(checkout) == ["scheduled"]


def test_the_example_publication_fills_the_rehearsal(checkout: Path) -> None:
    done = subprocess.run(
        [*MAKE, "demo"], cwd=checkout, env=shell(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    for folder, people in ((checkout, 1), (checkout / "rehearsal", 1200)):
        db = Database(f"sqlite:///{folder}/gna.db")
        with db.read() as tx:
            assert count(tx, subscribers) == people
        db.close()


def test_cleaning_up_leaves_the_publication(checkout: Path) -> None:
    (checkout / "rehearsal").mkdir()
    (checkout / "mailbox").mkdir()
    subprocess.run([*MAKE, "clean"], cwd=checkout, env=shell(), capture_output=True, timeout=30, check=True)
    assert sorted(path.name for path in checkout.iterdir()) == [".env", "Makefile", "docs", "gna.db", "mailbox"]
    assert states(checkout) == ["scheduled"]
