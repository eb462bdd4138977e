"""Scans of servers that refuse mails, or hang up: no mail is lost for ever, and what came is counted."""

from collections.abc import Callable
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from gna import clock
from gna.db import Database
from gna.inbox import scan
from gna.inbox.scan import Scanned
from tests.conftest import settings_for
from tests.inbox.factories import an_account
from tests.inbox.scanning import Box
from tests.inbox.scripted import Lines, Script, a_server
from tests.servers.raw import Raw

Scans = Callable[..., Scanned]


def some(*uids: int) -> dict[int, bytes]:
    """Mails, each of a sender of its own."""
    date = format_datetime(clock.now())
    return {uid: f"From: s{uid}@shop.example\r\nDate: {date}\r\n\r\nHello".encode() for uid in uids}


@pytest.fixture
def box(db: Database, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    """An account without a server."""
    monkeypatch.setattr(scan, "WAITS", (0.01, 0.01))
    settings = settings_for(database_url, tmp_path, INBOX_PASSWORD="violet")
    return Box(None, db, settings, "ana@example.org", an_account(db))  # type: ignore[arg-type]


def scanned(box: Box, raw: Raw, **options: Any) -> Scanned:
    with raw:
        box.move(raw.port)
        return box.scan(**options)


def uids(box: Box) -> list[int]:
    return [mail.uid for mail in box.mails()]


def senders(box: Box) -> list[str]:
    return [one["sender_email"].partition("@")[0] for one in box.found()["subscriptions"]]


def test_a_server_that_always_hangs_up_is_given_up(box: Box) -> None:
    script = Script(some(1, 2))

    def hangs_up(tag: str, command: str) -> Lines | None:
        return ["* BYE for today"] if command.startswith("UID SEARCH") else script(tag, command)

    raw = a_server(hangs_up)
    found = scanned(box, raw)
    assert (raw.connections, found.new) == (3, 0)
    assert found.error == "The mail server ended the connection"


def test_what_came_before_the_line_was_lost_is_counted(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "HEADS", 2)
    script = Script(some(1, 2, 3, 4))

    def hangs_up(tag: str, command: str) -> Lines | None:
        return ["* BYE for today"] if command.startswith("UID FETCH 3:4") else script(tag, command)

    found = scanned(box, a_server(hangs_up))
    assert (found.new, found.subscriptions, found.error) == (2, 2, "The mail server ended the connection")
    assert (uids(box), senders(box), box.folder().seen_to) == ([1, 2], ["s1", "s2"], 2)
    assert (scanned(box, a_server(script)).new, senders(box)) == (2, ["s1", "s2", "s3", "s4"])


def test_a_mail_that_a_server_cannot_read_hides_no_other(box: Box) -> None:
    script = Script(some(1, 2, 3, 4))
    script.refused = {2}
    found = scanned(box, a_server(script))
    assert (found.new, found.errors, found.error) == (3, 1, None)
    assert (uids(box), box.folder().seen_to) == ([1, 3, 4], 4)
    assert scanned(box, a_server(script)).errors == 0


@pytest.mark.parametrize("no", ["[UNAVAILABLE] later", "cannot be fetched"])
def test_a_server_that_gives_nothing_is_asked_again_next_time(
    box: Box, monkeypatch: pytest.MonkeyPatch, no: str
) -> None:
    monkeypatch.setattr(scan, "HEADS", 2)
    script = Script(some(1, 2, 3, 4, 5), no=no)
    script.refused = {3, 4}
    found = scanned(box, a_server(script))
    assert (found.new, found.errors, "try again later" in (found.error or "")) == (2, 0, True)
    assert (uids(box), senders(box), box.folder().seen_to) == ([1, 2], ["s1", "s2"], 2)
    script.refused = ()
    assert (scanned(box, a_server(script)).new, uids(box)) == (3, [1, 2, 3, 4, 5])


def test_the_only_new_mail_stops_nothing_and_is_tried_again(box: Box) -> None:
    script = Script(some(1))
    script.refused = {1}
    for _ in range(2):
        found = scanned(box, a_server(script))
        assert (found.new, found.errors, found.error) == (0, 1, None)
    script.refused = ()
    assert (scanned(box, a_server(script)).new, uids(box)) == (1, [1])


@pytest.mark.parametrize("no", ["[UNAVAILABLE] later", "cannot be fetched"])
def test_a_body_that_is_refused_is_asked_for_again_and_its_sender_counted_all_the_same(box: Box, no: str) -> None:
    link = b'<a href="https://shop.example/unsubscribe?u=1">Unsubscribe</a>'
    script = Script({uid: raw + link for uid, raw in some(1, 2).items()}, no=no)
    script.bodiless = {1}
    found = scanned(box, a_server(script))
    assert (found.new, found.subscriptions) == (2, 2)
    script.bodiless = ()
    assert scanned(box, a_server(script)).new == 0
    assert [one["unsubscribe_method"] for one in box.found()["subscriptions"]] == ["http_get", "http_get"]
    fetches = len(script.fetches)
    scanned(box, a_server(script))
    assert len(script.fetches) == fetches
