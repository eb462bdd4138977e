"""Passwords: where they come from, where they are kept, and where they never are."""

import base64
import json
import os
import stat
import sys
import threading
import types
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gna.config import Settings
from gna.db import Database
from gna.errors import Refused
from gna.inbox import accounts, credentials
from gna.inbox.accounts import Wish
from tests.conftest import settings_for
from tests.factories import NOW

EMAIL = "ana@example.org"
SECRET = "vi\"o'let ✓"
KEY = "k" * 40


def an_account(db: Database, **wish: Any) -> Any:
    with db.write() as tx:
        accounts.add(tx, Wish(EMAIL, "imap://mail.example.org", **wish), now=NOW)
        return accounts.find(tx, EMAIL)


def settings_with(url: str, folder: Path, **environ: str) -> Settings:
    return settings_for(url, folder, INBOX_CREDENTIALS=str(folder / "kept"), **environ)


class Keyring:
    """A keyring as a desktop has it; or one that is locked."""

    def __init__(self, *, locked: bool = False) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = locked

    def get_keyring(self) -> object:
        return self

    def set_password(self, service: str, name: str, secret: str) -> None:
        if self.locked:
            raise RuntimeError("locked")
        self.kept[service, name] = secret

    def get_password(self, service: str, name: str) -> str | None:
        if self.locked:
            raise RuntimeError("locked")
        return self.kept.get((service, name))

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> Keyring:
    """A desktop's."""
    ring = Keyring()
    backends, fail = types.ModuleType("keyring.backends"), types.ModuleType("keyring.backends.fail")
    fail.Keyring = type("Keyring", (), {})  # type: ignore[attr-defined]
    backends.fail = fail  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.setitem(sys.modules, "keyring.backends", backends)
    monkeypatch.setitem(sys.modules, "keyring.backends.fail", fail)
    return ring


@pytest.fixture
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a server, where the extra is not installed."""
    monkeypatch.setitem(sys.modules, "keyring", None)


def test_the_first_line_of_the_command_comes_first(db: Database, database_url: str, tmp_path: Path) -> None:
    settings = settings_with(database_url, tmp_path, INBOX_PASSWORD="of another mailbox")
    account = an_account(db, password_command="printf 'violet green\\r\\nsecond line\\n'", kept_in="file")
    assert credentials.secret_of(settings, account) == "violet green"


@pytest.mark.parametrize("own", [{"password_command": "false"}, {"kept_in": "keyring"}, {"kept_in": "file"}], ids=str)
def test_the_setting_is_for_accounts_without_a_password_of_their_own(
    db: Database, database_url: str, tmp_path: Path, keyring: Keyring, own: dict[str, str]
) -> None:
    settings = settings_with(database_url, tmp_path, INBOX_PASSWORD=SECRET, SECRET_KEY=KEY)
    with pytest.raises(Refused) as refused:
        credentials.secret_of(settings, an_account(db, **own))
    assert "INBOX_PASSWORD" not in str(refused.value)
    with db.write() as tx:
        accounts.remove(tx, accounts.find(tx, EMAIL).id)
    assert credentials.secret_of(settings, an_account(db)) == SECRET


def test_the_command_sees_no_shell(db: Database, settings: Settings) -> None:
    account = an_account(db, password_command="echo '$HOME; ls' && echo")
    assert credentials.secret_of(settings, account) == "$HOME; ls && echo"


FAILING = {
    "false": "exit code 1",
    "sh -c 'echo violet >&2; exit 3'": "exit code 3",
    "true": "printed nothing",
    "/nowhere/at/all violet": "cannot be run",
    "'violet": "cannot be run",
}


@pytest.mark.parametrize(("command", "says"), FAILING.items(), ids=FAILING.keys())
def test_a_command_that_fails_says_how_and_nothing_else(
    db: Database, settings: Settings, command: str, says: str
) -> None:
    with pytest.raises(Refused, match=says) as refused:
        credentials.secret_of(settings, an_account(db, password_command=command))
    assert "violet" not in str(refused.value)


def test_a_command_that_asks_somebody_is_not_waited_for(
    db: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "COMMAND_SECONDS", 0.2)
    with pytest.raises(Refused, match="seconds"):
        credentials.secret_of(settings, an_account(db, password_command="sleep 60"))


def test_the_keyring_keeps_it_where_there_is_one(db: Database, settings: Settings, keyring: Keyring) -> None:
    assert credentials.keep(settings, EMAIL.upper(), SECRET) == "keyring"
    account = an_account(db, kept_in="keyring")
    assert credentials.secret_of(settings, account) == SECRET
    credentials.forget(settings, account)
    assert not keyring.kept
    with pytest.raises(Refused, match="gna inbox account password"):
        credentials.secret_of(settings, account)


def test_a_locked_keyring_is_none_and_says_so_later(
    db: Database, database_url: str, tmp_path: Path, keyring: Keyring
) -> None:
    keyring.locked = True
    settings = settings_with(database_url, tmp_path, SECRET_KEY=KEY)
    assert credentials.keep(settings, EMAIL, SECRET) == "file"
    with pytest.raises(Refused, match="Unlock"):
        credentials.secret_of(settings, an_account(db, kept_in="keyring"))


@pytest.mark.usefixtures("no_keyring")
def test_else_an_encrypted_file_keeps_it(db: Database, database_url: str, tmp_path: Path) -> None:
    settings = settings_with(database_url, tmp_path, SECRET_KEY=KEY)
    assert credentials.keep(settings, EMAIL, SECRET) == "file"
    assert credentials.keep(settings, "bob@example.org", "green") == "file"
    file = settings.inbox_credentials
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.glob("kept*")] == ["kept"]
    kept = json.loads(file.read_text())
    # The encrypted bytes, for their base64 may spell a short word by chance.
    assert SECRET.encode() not in base64.b64decode(kept[EMAIL], validate=True)
    assert b"green" not in base64.b64decode(kept["bob@example.org"], validate=True)
    account = an_account(db, kept_in="file")
    assert credentials.secret_of(settings, account) == SECRET
    credentials.forget(settings, account)
    assert EMAIL not in file.read_text()
    assert "bob@example.org" in file.read_text()


@pytest.mark.usefixtures("no_keyring")
def test_passwords_that_are_kept_at_once_are_all_kept(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_with(database_url, tmp_path, SECRET_KEY=KEY)
    both_read, usual = threading.Barrier(2), credentials._kept

    def kept(file: Path) -> dict[str, str]:
        found = usual(file)
        with suppress(threading.BrokenBarrierError):  # the other one has to wait
            both_read.wait(0.3)
        return found

    monkeypatch.setattr(credentials, "_kept", kept)
    names = ("ana@example.org", "bo@example.org")
    both = [threading.Thread(target=credentials.keep, args=(settings, name, SECRET)) for name in names]
    for one in both:
        one.start()
    for one in both:
        one.join(20)
    assert sorted(usual(settings.inbox_credentials)) == [*names]


@pytest.mark.usefixtures("no_keyring")
def test_nothing_is_written_where_somebody_else_has_put_a_link(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_with(database_url, tmp_path, SECRET_KEY=KEY)
    theirs = tmp_path / "theirs"
    theirs.write_text("theirs")
    monkeypatch.setattr(os, "urandom", bytes)
    monkeypatch.setattr(os, "getpid", lambda: 7)
    for middle in (bytes(6).hex(), "7"):
        (tmp_path / f"kept.{middle}.new").symlink_to(theirs)
    with pytest.raises(Refused, match="cannot be written"):
        credentials.keep(settings, EMAIL, SECRET)
    assert theirs.read_text() == "theirs"


@pytest.mark.usefixtures("no_keyring")
def test_another_key_or_another_address_opens_nothing(db: Database, database_url: str, tmp_path: Path) -> None:
    settings = settings_with(database_url, tmp_path, SECRET_KEY=KEY)
    credentials.keep(settings, EMAIL, SECRET)
    account = an_account(db, kept_in="file")
    for other, says in (({"SECRET_KEY": "o" * 40}, "SECRET_KEY is another"), ({}, "SECRET_KEY opens")):
        with pytest.raises(Refused, match=says):
            credentials.secret_of(settings_with(database_url, tmp_path, **other), account)
    file = settings.inbox_credentials
    file.write_text(file.read_text().replace(EMAIL, "bob@example.org"))
    with db.write() as tx:
        accounts.add(tx, Wish("bob@example.org", "imap://mail.example.org", kept_in="file"), now=NOW)
        bob = accounts.find(tx, "bob@example.org")
    with pytest.raises(Refused, match="cannot be opened"):
        credentials.secret_of(settings, bob)
    file.write_text("{")
    with pytest.raises(Refused, match="cannot be read"):
        credentials.secret_of(settings, bob)


@pytest.mark.usefixtures("no_keyring")
def test_each_sentence_says_what_helps(db: Database, database_url: str, tmp_path: Path) -> None:
    again = "gna inbox account password EMAIL"
    settings = settings_with(database_url, tmp_path, SECRET_KEY=KEY)

    def refusal(settings: Settings, account: Any) -> str:
        with pytest.raises(Refused) as refused:
            credentials.secret_of(settings, account)
        return str(refused.value)

    account = an_account(db)
    assert again in refusal(settings, account)
    assert "SECRET_KEY" not in refusal(settings, account)
    with db.write() as tx:
        accounts.keep_in(tx, account.id, "file")
        account = accounts.find(tx, EMAIL)
    elsewhere = refusal(settings, account)
    assert f"not here: {tmp_path / 'kept'}" in elsewhere
    assert "INBOX_CREDENTIALS" in elsewhere
    credentials.keep(settings, "bob@example.org", SECRET)
    assert f"{tmp_path / 'kept'} has no password" in refusal(settings, account)
    credentials.keep(settings, EMAIL, SECRET)
    other = refusal(settings_with(database_url, tmp_path, SECRET_KEY="o" * 40), account)
    for sentence in (elsewhere, other):
        assert again in sentence


@pytest.mark.usefixtures("no_keyring")
def test_without_any_way_all_three_are_named(db: Database, settings: Settings) -> None:
    with pytest.raises(Refused) as not_kept:
        credentials.keep(settings, EMAIL, SECRET)
    with pytest.raises(Refused) as not_there:
        credentials.secret_of(settings, an_account(db))
    for way in ("SECRET_KEY", "INBOX_PASSWORD", "--password-command"):
        assert way in str(not_kept.value)
        assert way in str(not_there.value)


def test_a_server_without_a_desktop_has_no_keyring(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring = pytest.importorskip("keyring")
    from keyring.backends import fail

    monkeypatch.setattr(keyring, "get_keyring", fail.Keyring)
    settings = settings_with(database_url, tmp_path, SECRET_KEY=KEY)
    assert credentials.keep(settings, EMAIL, SECRET) == "file"
