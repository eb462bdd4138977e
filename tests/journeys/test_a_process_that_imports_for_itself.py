"""The product in interpreters of its own.

Other tests start forks of a process that has imported what they need, which would hide a missing import.
"""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gna import clock
from gna.cli.demo_fill import fill
from gna.db import Database
from tests import asking
from tests.desk import API
from tests.journeys.test_every_admin_page import pages
from tests.running import Gna, until

PUBLIC = (
    "/archive",
    "/archive.xml",
    "/subscribe",
    "/profile",
    "/confirmed",
    "/confirm?token=x",
    "/unsubscribe?token=x",
    "/api/unsubscribe?token=x",
    "/docs",
    "/openapi.json",
    "/embed.js",
    "/robots.txt",
    "/metrics",
    "/nowhere",
)
BROWSER = {"Accept": "text/html", "Accept-Language": "en"}


def test_every_page_opens_and_a_campaign_is_sent(tmp_path: Path, database_url: str, db: Database) -> None:
    with db.write() as tx:
        fill(tx, now=clock.now())
    with Gna(tmp_path, DATABASE_URL=database_url, UNSUB_SECRET="a secret") as gna:

        def opened(address: str) -> str:
            answer = asking.get(gna.url + address, headers=BROWSER, timeout=30)
            assert answer.status_code < 500, address
            return answer.text

        for address in PUBLIC:
            opened(address)
        assert list(pages(opened))
        campaign = _campaign(gna)
        opened(f"/archive/{campaign['id']}")
        assert campaign["sent_count"] > 1000
        assert gna.stop() == 0


def _campaign(gna: Gna) -> dict[str, Any]:
    """A campaign that was sent."""
    people = {"file": ("people.csv", "email,status\nzoe@example.org,Activated\n")}
    imported = asking.post(f"{gna.url}/admin/api/subscribers/import", files=people, timeout=30)
    assert imported.json()["counts"]["new"] == 1
    wish = {"subject": "Hello", "body": "# News", "body_format": "markdown"}
    campaign = asking.post(gna.url + API, json=wish, timeout=30).json()
    address = f"{gna.url}{API}/{campaign['id']}"
    assert asking.post(f"{address}/send", timeout=30).status_code == 200
    until(lambda: asking.get(address, timeout=30).json()["state"] == "published", within=60)
    sent: dict[str, Any] = asking.get(address, timeout=30).json()
    return sent


@pytest.mark.parametrize("arguments", [["check"], ["subscribers", "list"], ["campaigns", "list"]])
def test_a_command_ends_well(tmp_path: Path, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "gna", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_worker_ends_well(tmp_path: Path) -> None:
    with Gna(tmp_path, command="worker") as worker:
        until(lambda: "worker started" in worker.log.read_text(), within=20)
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(40) == 0
