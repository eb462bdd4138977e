"""The database can be read and not written for a while: nothing is lost or repeated, and nothing is restarted."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from gna.db import Database
from gna.delivery import mailings
from tests import asking
from tests.disks import SmallDisk, small_disk
from tests.factories import a_mailing
from tests.forking import gna as command
from tests.running import Gna, until
from tests.servers.postgres import Postgres
from tests.servers.smtp import ScriptedSmtp

AWAY = (503, {"error": "Service temporarily unavailable"})


def still_full(disk: SmallDisk) -> bool:
    """Take the room, too, that the server gave back by moving its log into the file."""
    disk.fill()
    return True


def test_a_disk_that_is_full_for_a_while(tmp_path: Path, start: Callable[..., Gna]) -> None:
    with small_disk(tmp_path / "disk", megabytes=8) as disk, ScriptedSmtp() as server:
        url = f"sqlite:///{disk.folder}/gna.db"
        gna = start(DATABASE_URL=url, EMAIL_PROVIDER="smtp", SMTP_URL=server.url)
        accepted = [address for n in range(5) if gna.subscribe(address := f"before{n}@example.org").status_code == 201]
        until(lambda: len(server.received) == 5, within=20)

        until(lambda: still_full(disk) and gna.status("/healthz") == 503, within=20)
        refused = 0
        for number in range(10):
            disk.fill()
            answer = gna.subscribe(address := f"during{number}@example.org")
            if answer.status_code == 201:
                accepted.append(address)
            else:
                assert (answer.status_code, answer.json()) == AWAY
                refused += 1
        assert refused > 0
        assert gna.status("/health") == 200
        assert gna.status("/subscribe") == 200

        disk.make_room()
        until(lambda: gna.status("/healthz") == 200, within=20)
        accepted += [address for n in range(5) if gna.subscribe(address := f"after{n}@example.org").status_code == 201]
        assert len(accepted) == 20 - refused
        until(lambda: len(server.received) >= len(accepted), within=30)
        assert gna.process.poll() is None
        assert gna.stop() == 0
        received = Counter(mail.recipient for mail in server.received)
        assert received == Counter(accepted)
        connection = sqlite3.connect(disk.folder / "gna.db")
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        people = {row[0] for row in connection.execute("SELECT email FROM subscribers")}
        connection.close()
        assert people == set(accepted)


def test_a_campaign_goes_on_when_there_is_room_again(tmp_path: Path, start: Callable[..., Gna]) -> None:
    with small_disk(tmp_path / "disk", megabytes=8) as disk, ScriptedSmtp() as server:
        url = f"sqlite:///{disk.folder}/gna.db"
        assert command(tmp_path, "migrate", DATABASE_URL=url).returncode == 0
        db = Database(url)
        mailing = a_mailing(db, people=200)
        db.close()
        # Slow enough that mails are on their way when the disk is full: their results have to wait.
        server.delay = 0.03
        gna = start(DATABASE_URL=url, EMAIL_PROVIDER="smtp", SMTP_URL=server.url, SMTP_CONNECTIONS="2")
        until(lambda: len(server.received) > 20, within=30)
        waits = "results cannot be written yet; keeping them in memory"
        until(lambda: still_full(disk) and waits in gna.log.read_text(), within=30)
        disk.make_room()
        until(lambda: len(server.received) >= 200, within=60, otherwise=lambda: gna.log.read_text()[-3000:])
        assert gna.stop() == 0
        received = Counter(mail.recipient for mail in server.received)
        assert received == Counter(f"p{number}@example.org" for number in range(200))
        db = Database(url)
        with db.read() as tx:
            totals = mailings.totals(tx, mailing)
        db.close()
        assert (totals.sent, totals.failed) == (200, 0)


def test_a_postgresql_that_is_a_standby_for_a_while(tmp_path: Path, start: Callable[..., Gna]) -> None:
    with Postgres() as server:
        gna = start(DATABASE_URL=server.url)
        assert gna.subscribe("before@example.org").status_code == 201
        server.become_standby()
        until(lambda: gna.status("/healthz") == 503, within=20)
        answer = asking.get(f"{gna.url}/healthz", timeout=15)
        assert (answer.status_code, answer.json()) == AWAY
        answer = gna.subscribe("during@example.org")
        assert (answer.status_code, answer.json()) == AWAY
        done = command(tmp_path, "migrate", DATABASE_URL=server.url)
        assert done.stderr == (
            "gna: The database cannot be written: the PostgreSQL server is read-only, as a standby is.\n"
        )
        server.promote()
        until(lambda: gna.status("/healthz") == 200, within=20)
        assert gna.subscribe("after@example.org").status_code == 201
        assert gna.process.poll() is None
