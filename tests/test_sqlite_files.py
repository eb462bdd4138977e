"""What is left of a publication is not begun anew, and a start that can write nothing says so in one sentence."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gna.db import Database
from gna.errors import CannotStart, DatabaseAway
from gna.migrations import migrate
from tests.disks import bound_by_modes, small_disk
from tests.forking import gna

COMMANDS = (("serve", "--port", "0"), ("worker",), ("migrate",))


@pytest.fixture
def publication(tmp_path: Path) -> Path:
    """A database with the schema in it, closed."""
    file = tmp_path / "gna.db"
    db = Database(f"sqlite:///{file}")
    migrate(db)
    db.close()
    return file


def a_log(publication: Path) -> bytes:
    """What the log of an open database holds."""
    connection = sqlite3.connect(publication)
    connection.execute("CREATE TABLE anything (x)")
    connection.commit()
    log = publication.with_name("gna.db-wal").read_bytes()
    connection.close()
    return log


def refusal(folder: Path, *command: str, **environ: str) -> str:
    """The one sentence of a command that does not start."""
    done = gna(folder, *command, **environ)
    assert done.returncode == 1, done
    [line] = done.stderr.splitlines()
    return line


@pytest.mark.parametrize("command", COMMANDS)
def test_an_empty_file_beside_its_log_is_not_begun_anew(publication: Path, command: tuple[str, ...]) -> None:
    log = publication.with_name("gna.db-wal")
    log.write_bytes(a_log(publication))
    size = log.stat().st_size
    publication.write_bytes(b"")
    sentence = refusal(publication.parent, *command)
    assert sentence.startswith(f"gna: The database {publication} has 0 bytes, but beside it there is gna.db-wal")
    assert "Move gna.db-wal to another folder, then restore a backup as gna.db" in sentence
    assert (publication.stat().st_size, log.stat().st_size) == (0, size), "nothing was changed"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_file_beside_its_log_is_not_begun_anew(publication: Path, command: tuple[str, ...]) -> None:
    publication.with_name("gna.db-wal").write_bytes(a_log(publication))
    publication.unlink()
    sentence = refusal(publication.parent, *command)
    assert sentence.startswith(f"gna: The database {publication} is missing, but beside it there is gna.db-wal")
    assert not publication.exists()


@pytest.mark.parametrize(
    "backup",
    [
        "gna.db.bak",
        "gna.db.backup",
        "gna.db~",
        "gna.db.1",
        "gna.db-2026",
        "gna-2026-11-01.db",
        "gna.old",
        "old-gna.db",
        "backup.db",
    ],
)
def test_an_empty_file_beside_a_backup_is_not_begun_anew(publication: Path, backup: str) -> None:
    publication.rename(publication.with_name(backup))
    publication.touch()
    with pytest.raises(CannotStart, match=f"has 0 bytes, but beside it there is {backup}: this was a publication"):
        Database(f"sqlite:///{publication}")


def test_a_compressed_backup_counts_too(publication: Path) -> None:
    publication.with_name("gna.db.gz").write_bytes(b"\x1f\x8b...")
    publication.write_bytes(b"")
    with pytest.raises(CannotStart, match=r"there is gna\.db\.gz"):
        Database(f"sqlite:///{publication}")


def test_a_link_is_followed_to_where_the_log_is(publication: Path, tmp_path: Path) -> None:
    publication.with_name("gna.db-wal").write_bytes(a_log(publication))
    publication.write_bytes(b"")
    link = tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(publication)
    with pytest.raises(CannotStart, match=r"gna\.db has 0 bytes, but beside it there is gna\.db-wal"):
        Database(f"sqlite:///{link}")


@pytest.mark.parametrize("neighbour", ["gnatcatcher.db", "demo.db", "gna.db-shm", "gna.db-lock", "gna.log", "mailbox"])
def test_an_empty_file_with_nothing_of_it_beside_is_a_new_database(tmp_path: Path, neighbour: str) -> None:
    file = tmp_path / "gna.db"
    file.touch()
    other = tmp_path / neighbour
    other.write_bytes(b"SQLite format 3\x00 and more" if neighbour.endswith(".db") else b"something")
    db = Database(f"sqlite:///{file}")
    assert migrate(db) is True
    db.close()


def test_a_database_without_its_backups_may_begin_anew(publication: Path) -> None:
    publication.rename(publication.with_name("gna.db.old"))
    db = Database(f"sqlite:///{publication}")
    assert migrate(db) is True
    db.close()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_was_cut_off_is_one_sentence(publication: Path, command: tuple[str, ...]) -> None:
    with publication.open("r+b") as file:
        file.truncate(publication.stat().st_size // 2)
    assert refusal(publication.parent, *command) == (
        "gna: The database file is damaged or was cut off; restore a backup."
    )


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="which is a folder; name a file in it"):
        Database(f"sqlite:///{tmp_path}")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("which", ["file", "folder", "lock"])
def test_what_may_not_be_written_is_one_sentence(publication: Path, which: str, command: tuple[str, ...]) -> None:
    prefix = bound_by_modes()
    folder = publication.parent
    lock = publication.with_name("gna.db-lock")
    lock.touch()
    modes = {publication: 0o666, lock: 0o666, folder: 0o777}
    closed = {"file": publication, "folder": folder, "lock": lock}[which]
    modes[closed] = 0o555 if which == "folder" else 0o444
    for path, mode in modes.items():
        path.chmod(mode)
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "gna", *command],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
    )
    folder.chmod(0o755)
    assert done.returncode == 1, done
    assert "cannot be written" in done.stderr or "Nothing can be written" in done.stderr
    assert "Permission denied. It belongs to" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_full_disk_stops_the_start_in_one_sentence(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", megabytes=2) as disk:
        url = f"sqlite:///{disk.folder}/gna.db"
        assert gna(tmp_path, "migrate", DATABASE_URL=url).returncode == 0
        disk.fill()
        for command in COMMANDS:
            sentence = refusal(tmp_path, *command, DATABASE_URL=url)
            assert sentence.startswith(f"gna: Nothing can be written to {disk.folder}, the folder of the database: No")
        disk.make_room()
        disk.make_read_only()
        for command in COMMANDS:
            sentence = refusal(tmp_path, *command, DATABASE_URL=url)
            assert sentence.endswith("gna.db cannot be written: Read-only file system.")
        disk.make_writable()
        assert gna(tmp_path, "migrate", DATABASE_URL=url).returncode == 0


def test_a_full_disk_for_the_mails_stops_the_start_in_one_sentence(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", megabytes=1) as disk:
        disk.fill()
        for command in COMMANDS[:2]:
            done = gna(tmp_path, *command, MAILBOX_DIR=str(disk.folder))
            assert done.returncode == 1
            expected = f"gna: MAILBOX_DIR {disk.folder} cannot be used: No space left on device."
            assert done.stderr.splitlines() == [expected]


def test_a_disk_that_is_full_or_read_only_is_said(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path / 'gna.db'}")
    migrate(db)
    with db.write() as tx:
        tx.exec_driver_sql("CREATE TABLE stuff (x BLOB)")
        tx.exec_driver_sql("PRAGMA max_page_count=1")
    with pytest.raises(DatabaseAway, match="cannot be written: its disk is full"), db.write() as tx:
        tx.exec_driver_sql("INSERT INTO stuff VALUES (zeroblob(100000))")
    with pytest.raises(DatabaseAway, match="its folder or its disk is read-only"), db.read() as tx:
        tx.exec_driver_sql("INSERT INTO stuff VALUES (1)")
    db.close()
