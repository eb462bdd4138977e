"""The owner of a mailbox, in verbs: gets mails, scans, looks, leaves. Only what commands say in JSON is believed."""

import imaplib
import io
import json
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from gna import clock
from tests.cli.commands import Done, Run
from tests.servers import HOST
from tests.servers.dovecot import Dovecot

SENDER = "news@shop.example"
ONE_CLICK = ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
Fields = Sequence[tuple[str, str]]


def a_mail(
    sender: str = SENDER,
    subject: str = "Hello",
    *,
    at: datetime,
    fields: Fields = (),
    html: str = "",
    text: str = "Good morning.",
) -> bytes:
    """A mail as it lies on a server; its header is written as it is given, also where that is wrong."""
    body, kind = (html, "html") if html else (text, "plain")
    header = [("From", sender), ("To", "ana@example.org"), ("Subject", subject), ("Date", format_datetime(at)), *fields]
    header += [("MIME-Version", "1.0"), ("Content-Type", f"text/{kind}; charset=utf-8")]
    return "".join(f"{name}: {value}\r\n" for name, value in header).encode() + b"\r\n" + body.encode() + b"\r\n"


class Owner:
    """Somebody with a mailbox and a shell."""

    def __init__(self, gna: Run, dovecot: Dovecot, monkeypatch: pytest.MonkeyPatch, email: str) -> None:
        self.gna = gna
        self.email = email
        self.dovecot = dovecot
        self._monkeypatch = monkeypatch
        self.imap = f"imap://localhost:{dovecot.tls_port}?tls=implicit"
        # A mailbox that never had a mail is not there at all.
        self.gets(a_mail(at=ago(days=1)), folder="Archive")

    def adds(self, *options: str) -> Done:
        """The mailbox is made known."""
        return self.gna("account", "add", self.email, "--imap", self.imap, *options)

    def sets(self, **settings: str) -> None:
        """The environment of the commands that follow."""
        for name, value in settings.items():
            self._monkeypatch.setenv(name, value)

    def types(self, answer: str) -> None:
        """What is in the pipe that the next command reads from."""
        self._monkeypatch.setattr("sys.stdin", io.StringIO(answer))

    def gets(self, *mails: bytes, folder: str = "INBOX", received: datetime | None = None) -> None:
        """Mails arrive, now or when it is said."""
        for raw in mails:
            self.dovecot.deliver(self.email, raw, folder, received=received)

    def finds(self, *mails: bytes) -> dict[str, Any]:
        """Mails arrive and are scanned; says everything of the first one's sender."""
        self.gets(*mails)
        self.scans()
        return self.shows(SENDER)

    def connects(self) -> imaplib.IMAP4:
        """A mail program."""
        imap = imaplib.IMAP4(HOST, self.dovecot.port)
        imap.login(self.email, self.dovecot.password)
        return imap

    def scans(self, *options: str) -> dict[str, Any]:
        """`gna inbox scan`, which must go well."""
        return self._said("scan", *options)

    def lists(self, *options: str) -> list[dict[str, Any]]:
        """`gna inbox list`."""
        items: list[dict[str, Any]] = self._said("list", *options)["items"]
        return items

    def shows(self, which: str | int = SENDER) -> dict[str, Any]:
        """`gna inbox show`, by number or by sender."""
        number = which if isinstance(which, int) else self.number_of(which)
        return self._said("show", str(number))

    def number_of(self, sender: str = SENDER) -> int:
        """The id that the list shows for a sender."""
        [number] = [one["id"] for one in self.lists() if one["sender_email"] == sender]
        return int(number)

    def leaves(self, which: str | int = SENDER, *options: str, expect: int = 0) -> dict[str, Any]:
        """`gna inbox unsubscribe --yes`; says its one result."""
        number = which if isinstance(which, int) else self.number_of(which)
        done = self.gna("unsubscribe", str(number), "--yes", "--json", *options)
        assert done.code == expect, done
        [result] = json.loads(done.out)["results"]
        return dict(result)

    def says(self, command: str, *options: str) -> dict[str, Any]:
        """Any other reading command."""
        return self._said(command, *options)

    def _said(self, command: str, *options: str) -> dict[str, Any]:
        done = self.gna(command, *options, "--json")
        assert done.code == 0, done
        return dict(json.loads(done.out))


def ago(**much: float) -> datetime:
    """A moment in the past."""
    return clock.now() - timedelta(**much)


def soon(**much: float) -> datetime:
    """A moment in the near future."""
    return clock.now() + timedelta(**much)


def wait(done: Callable[[], bool]) -> None:
    """Until it is so."""
    deadline = time.monotonic() + 30
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.02)
