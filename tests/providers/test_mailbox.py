import asyncio
import stat
from pathlib import Path

import pytest

from gna.errors import CannotStart
from gna.providers.mailbox import Mailbox
from gna.providers.protocol import Accepted, TryLater
from tests.providers.mails import a_mail, sent

MAIL = a_mail(id="0195-a", raw=b"Subject: x\r\n\r\nHello\r\n")


def test_a_mail_becomes_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "mailbox"
    assert sent(Mailbox(folder), [MAIL]) == [Accepted("0195-a")]
    assert [(file.name, file.read_bytes()) for file in folder.iterdir()] == [("0195-a.eml", MAIL.raw())]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "0195-a.eml").stat().st_mode) == 0o600


def test_the_same_mail_again_is_still_one_file(tmp_path: Path) -> None:
    mailbox = Mailbox(tmp_path)
    sent(mailbox, [MAIL])
    sent(mailbox, [MAIL, a_mail(id=MAIL.id)])
    assert len(list(tmp_path.iterdir())) == 1


def test_a_reader_of_the_folder_never_sees_half_a_mail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise OSError(5, "power cut")

    monkeypatch.setattr(Path, "rename", crash)
    [outcome] = sent(Mailbox(tmp_path), [MAIL])
    assert isinstance(outcome, TryLater)
    assert list(tmp_path.glob("*.eml")) == []


def test_a_folder_that_cannot_be_written_means_later(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    [outcome] = sent(Mailbox(tmp_path / "file"), [MAIL])
    assert outcome == TryLater("The mailbox folder cannot be written: File exists")


def test_check_says_where_mails_go_and_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "mailbox"
    assert asyncio.run(Mailbox(folder).check()) == f"mails are written to {folder}"
    assert list(tmp_path.iterdir()) == []


def test_check_says_what_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotStart, match=r"MAILBOX_DIR .* cannot be used: .*file is not a folder"):
        asyncio.run(Mailbox(tmp_path / "file").check())
    with pytest.raises(CannotStart, match=r"MAILBOX_DIR /proc/mailbox cannot be used: "):
        asyncio.run(Mailbox(Path("/proc/mailbox")).check())
