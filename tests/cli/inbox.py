"""`gna inbox`, run on a database and in a folder of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import Done, Run, running

IMAP = "imap://127.0.0.1:1?tls=none"
# A terminal would obey it: colours, clearing, going back to the start of the line, turning the text around.
EVIL = "a\x1b[31mb\x9b2Jc\u202ed\re"


def inbox(
    database_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """Runs `gna inbox`."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("LOG_LEVEL", "error")
    monkeypatch.setenv("INBOX_REQUEST_DELAY", "0")
    yield from running("inbox", monkeypatch, capfd)


def refused(done: Done) -> str:
    """The one sentence of a refusal."""
    assert (done.code, done.err.count("\n"), done.err[:5]) == (1, 1, "gna: "), done
    return done.err[5:].strip()


def is_harmless(done: Done) -> bool:
    """Whether no terminal would obey anything of it."""
    return not [letter for letter in "\x1b\x9b\u202e\r" if letter in done.out + done.err]
