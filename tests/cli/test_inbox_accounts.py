"""`gna inbox account`: the mailboxes, and where their passwords are."""

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from gna.db import Database
from gna.inbox.table import accounts
from tests.cli.commands import Done, Run
from tests.cli.inbox import EVIL, IMAP, inbox, is_harmless, refused
from tests.inbox.factories import a_mail, a_subscription, an_account

EMAIL = "Ana@Example.org"
KEY = "a key of more than thirty-two characters"


@pytest.fixture
def gna(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    # Not the keyring of whoever runs the tests.
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    yield from inbox(database_url, tmp_path, monkeypatch, capfd)


def the_account(db: Database) -> sa.Row[tuple[object, ...]]:
    with db.read() as tx:
        return tx.execute(sa.select(accounts)).one()


def listed(gna: Run) -> list[dict[str, object]]:
    items: list[dict[str, object]] = json.loads(gna("account", "list", "--json").out)["items"]
    return items


def test_a_mailbox_is_added_without_a_word_to_its_server(gna: Run, db: Database) -> None:
    done = gna("account", "add", EMAIL, "--imap", IMAP, "--smtp", "smtp://127.0.0.1:2?tls=none")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Added {EMAIL}.\n")
    assert "INBOX_PASSWORD" in done.out
    row = the_account(db)
    assert (row.key, row.imap_url, row.smtp_url) == (EMAIL.lower(), IMAP, "smtp://127.0.0.1:2?tls=none")
    [item] = listed(gna)
    assert (str(item["email"]).lower(), item["imap_url"]) == (EMAIL.lower(), IMAP)


@pytest.mark.parametrize(
    ("imap", "warned"),
    [
        ("imap://mail.example.org?tls=none", True),
        ("imap://192.168.1.5:143?tls=none", True),
        ("imap://127.0.0.1:143?tls=none", False),
        ("imap://mail.example.org?tls=starttls", False),
        ("imap://mail.example.org", False),
    ],
)
def test_a_password_that_travels_in_the_clear_is_warned_of(gna: Run, imap: str, warned: bool) -> None:
    added = gna("account", "add", EMAIL, "--imap", imap)
    changed = gna("account", "change", EMAIL, "--imap", imap)
    for done in (added, changed):
        assert (done.code, "in the clear" in done.err) == (0, warned)
    assert gna("account", "change", EMAIL, "--smtp", "").err == ""


@pytest.mark.parametrize("again", [EMAIL, "ana@example.org", "ANA@EXAMPLE.ORG"])
def test_the_same_address_in_any_case_is_there_already(gna: Run, again: str) -> None:
    gna("account", "add", EMAIL, "--imap", IMAP)
    assert "already" in refused(gna("account", "add", again, "--imap", IMAP))
    assert len(listed(gna)) == 1


@pytest.mark.parametrize(
    ("email", "options"),
    [
        pytest.param("nonsense", ("--imap", IMAP), id="no address"),
        pytest.param(EMAIL, ("--imap", "https://mail.example.org"), id="no imap"),
        pytest.param(EMAIL, ("--imap", "imap://ana:hunter2@mail.example.org"), id="a password"),
        pytest.param(EMAIL, ("--imap", "imap://mail.example.org:993?tls=maybe"), id="no such tls"),
        pytest.param(EMAIL, ("--imap", IMAP, "--smtp", "http://mail.example.org"), id="no smtp"),
        pytest.param(EMAIL, ("--imap", IMAP, "--smtp", "smtp://ana:hunter2@mail.example.org"), id="another password"),
    ],
)
def test_what_cannot_be_a_mailbox_is_refused(gna: Run, email: str, options: tuple[str, ...]) -> None:
    assert "hunter2" not in refused(gna("account", "add", email, *options))
    assert listed(gna) == []


@pytest.mark.parametrize("command", [("add",), ("add", EMAIL), ("remove",), ("password",), ("nonsense",)])
def test_a_command_without_its_arguments_is_wrong_usage(gna: Run, command: tuple[str, ...]) -> None:
    assert gna("account", *command).code == 2


def test_a_password_from_elsewhere_is_not_asked_for(gna: Run, monkeypatch: pytest.MonkeyPatch, db: Database) -> None:
    assert gna("account", "add", EMAIL, "--imap", IMAP, "--password-command", "pass show mail") == Done(
        0, f"Added {EMAIL}.\n", ""
    )
    assert the_account(db).password_command == "pass show mail"
    monkeypatch.setenv("INBOX_PASSWORD", "hunter2")
    assert gna("account", "add", "bo@example.org", "--imap", IMAP).out == "Added bo@example.org.\n"


def test_a_password_is_kept_in_the_sealed_file(
    gna: Run, db: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SECRET_KEY", KEY)
    gna("account", "add", EMAIL, "--imap", IMAP)
    monkeypatch.setattr("sys.stdin", io.StringIO("hunter2\n"))
    done = gna("account", "password", EMAIL.lower())
    assert (done.code, "encrypted file" in done.out) == (0, True), done
    assert the_account(db).kept_in == "file"
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"hunter2" in file.read_bytes()]
    assert "hunter2" not in str(the_account(db)) + gna("account", "list", "--json").out


def test_no_password_is_not_kept(gna: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    gna("account", "add", EMAIL, "--imap", IMAP)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert refused(gna("account", "password", EMAIL)) == "No password was given; none is kept."
    assert "no account" in refused(gna("account", "password", "nobody@example.org")).lower()


@pytest.mark.parametrize(("key", "says"), [(KEY, "is kept in"), ("", "cannot be kept")])
def test_somebody_at_a_terminal_is_asked_and_nothing_is_shown(
    database_url: str, db: Database, tmp_path: Path, key: str, says: str
) -> None:
    screen, terminal = pty.openpty()
    environ = {"DATABASE_URL": database_url, "SECRET_KEY": key, "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    environ |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    command = [sys.executable, "-m", "gna", "inbox", "account", "add", EMAIL, "--imap", IMAP]
    # In a session of its own it has no other terminal than this one.
    with subprocess.Popen(
        command, cwd=tmp_path, env=environ, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal,
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(terminal)
        shown = b""
        while b"app password" not in shown:
            shown += os.read(screen, 1000)
        os.write(screen, b"hunter2\n")
        out, _ = process.communicate(timeout=60)
    os.close(screen)
    assert (process.returncode, says in out.decode()) == (0, True), out
    assert b"hunter2" not in shown + out
    assert the_account(db).kept_in == ("file" if key else None)


def test_servers_are_changed_and_what_is_left_out_stays(gna: Run, db: Database) -> None:
    account = an_account(db, password_command="pass show mail")
    a_subscription(db, account)
    done = gna("account", "change", EMAIL, "--smtp", "smtp://127.0.0.1:2?tls=none")
    assert (done.code, done.out) == (0, "Changed ana@example.org.\n")
    row = the_account(db)
    assert (row.imap_url, row.smtp_url) == ("imap://127.0.0.1:143?tls=none", "smtp://127.0.0.1:2?tls=none")
    assert row.password_command == "pass show mail"
    gna("account", "change", EMAIL, "--imap", IMAP, "--smtp", "", "--password-command", "")
    row = the_account(db)
    assert (row.imap_url, row.smtp_url, row.password_command) == (IMAP, None, None)
    assert "hunter2" not in refused(gna("account", "change", EMAIL, "--imap", "imap://ana:hunter2@mail.example.org"))
    assert "no account" in refused(gna("account", "change", "nobody@example.org")).lower()
    assert json.loads(gna("stats", "--json").out)["subscriptions"] == 1


def test_without_a_mailbox_the_next_step_is_said(gna: Run) -> None:
    assert gna("account", "list").out.startswith("There is no mailbox yet: gna inbox account add EMAIL --imap 'imap://")


def test_a_table_for_people(gna: Run, db: Database) -> None:
    an_account(db, kept_in="keyring")
    said = " ".join(gna("account", "list").out.split())
    assert "ana@example.org imap://127.0.0.1:143?tls=none keyring not yet" in said


def test_a_mailbox_is_removed_with_everything_when_somebody_is_sure(gna: Run, db: Database) -> None:
    account = an_account(db)
    a_mail(db, account)
    a_subscription(db, account)
    assert refused(gna("account", "remove", EMAIL)) == "Nobody is here to be asked; add --yes if you are sure."
    assert gna("account", "remove", EMAIL, "--yes").code == 0
    sums = json.loads(gna("stats", "--json").out)
    assert set(sums.values()) == {0}
    assert "no account" in refused(gna("account", "remove", EMAIL, "--yes")).lower()


def test_an_address_cannot_speak_to_the_terminal(gna: Run, db: Database) -> None:
    an_account(db, f"{EVIL}@example.org", imap_url=EVIL, kept_in=EVIL)
    for options in ((), ("--json",)):
        assert is_harmless(gna("account", "list", *options))
    assert is_harmless(gna("account", "add", f"{EVIL}@example.org", "--imap", IMAP))
