"""Mails in files: each form holds the same ones, a broken one stops no other, and a large file takes little memory."""

import io
import mailbox
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest

from gna import clock
from gna.errors import NotFound, Refused
from gna.inbox.heads import Broken, Head
from gna.inbox.sources import files
from tests.inbox.post import letters

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
RAWS = [letter.raw for letter in letters(12, until=NOW, senders=10, size=500)]
STAMP = b"From sender@example.org Sun Nov 15 12:00:00 2026\n"


def an_mbox(raws: list[bytes]) -> bytes:
    return b"".join(STAMP + raw.replace(b"\r\n", b"\n").replace(b"\nFrom ", b"\n>From ") + b"\n" for raw in raws)


def in_mbox(folder: Path) -> Path:
    path = folder / "all.mbox"
    path.write_bytes(an_mbox(RAWS))
    return path


def in_mbox_of_the_library(folder: Path) -> Path:
    box = mailbox.mbox(folder / "library.mbox")
    for raw in RAWS:
        box.add(raw)
    box.close()
    return folder / "library.mbox"


def in_mbox_without_a_name(folder: Path) -> Path:
    path = folder / "inbox"
    path.write_bytes(an_mbox(RAWS))
    return path


def in_a_maildir(folder: Path) -> Path:
    box = mailbox.Maildir(folder / "Maildir")
    archive = box.add_folder("Archive")
    for number, raw in enumerate(RAWS):
        (archive if number % 3 == 0 else box).add(raw)
    (folder / "Maildir" / "tmp" / "half").write_bytes(b"From: half@example.org\r\n")
    (folder / "Maildir" / "dovecot-uidlist").write_bytes(b"3 V1 N1")
    return folder / "Maildir"


def in_single_files(folder: Path) -> Path:
    (folder / "mails" / "more").mkdir(parents=True)
    for number, raw in enumerate(RAWS):
        (folder / "mails" / ("more" if number % 2 else "") / f"{number}.eml").write_bytes(raw)
    (folder / "mails" / "notes.txt").write_text("From: nobody@example.org")
    return folder / "mails"


def in_a_takeout_zip(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "takeout.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Takeout/archive_browser.html", "<html>")
        archive.writestr("Takeout/Mail/All mail Including Spam and Trash.mbox", an_mbox(RAWS))
    return folder / "takeout.zip"


def in_a_takeout_tgz(folder: Path) -> Path:
    with tarfile.open(folder / "takeout.tgz", "w:gz") as archive:
        for name, content in (("Takeout/x.html", b"<html>"), ("Takeout/Mail/All.mbox", an_mbox(RAWS))):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return folder / "takeout.tgz"


FORMS = [
    in_mbox,
    in_mbox_of_the_library,
    in_mbox_without_a_name,
    in_a_maildir,
    in_single_files,
    in_a_takeout_zip,
    in_a_takeout_tgz,
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_form_holds_the_same_mails(form: Callable[[Path], Path], tmp_path: Path) -> None:
    found = list(files.mails(form(tmp_path)))
    assert len(found) == len(RAWS)
    raws = {raw().replace(b"\r\n", b"\n").rstrip() for _, raw in found}
    assert raws == {raw.replace(b"\r\n", b"\n").rstrip() for raw in RAWS}
    senders = [head.sender_email for head, _ in found if isinstance(head, Head)]
    assert len(senders) == len(RAWS)


def test_one_mail_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "one.eml").write_bytes(RAWS[0])
    [(head, raw)] = files.mails(tmp_path / "one.eml")
    assert isinstance(head, Head)
    assert raw() == RAWS[0]


def test_lines_that_begin_like_a_mail_are_text(tmp_path: Path) -> None:
    text = b"Hello\nFrom here on it is text\n\n>From a quote\n>>From a quote of it\n\nFrom now on too\n"
    body = b"From: a@b.example\n\n" + text
    (tmp_path / "x.mbox").write_bytes(STAMP + body + b"\n" + STAMP + b"From: c@d.example\n\nBye\n")
    first, second = files.mails(tmp_path / "x.mbox")
    assert b"\nFrom a quote\n>From a quote of it\n" in first[1]()
    assert b"From now on too" in first[1]()
    assert isinstance(second[0], Head)
    assert second[0].sender_email == "c@d.example"


def test_without_a_date_the_line_before_the_mail_counts(tmp_path: Path) -> None:
    takeout = b"From 1781@xxx Sun Nov 15 14:00:00 +0200 2026\n"
    for line in (STAMP, takeout):
        (tmp_path / "x.mbox").write_bytes(line + b"From: a@b.example\n\nHello\n")
        [(head, _)] = files.mails(tmp_path / "x.mbox")
        assert isinstance(head, Head)
        assert head.date_sent == clock.iso(NOW)


def test_broken_mails_are_told_and_stop_no_other(tmp_path: Path) -> None:
    broken = [b"", b"\0\xff", b"Subject: from nobody\n\nHello", b"no header at all"]
    (tmp_path / "x.mbox").write_bytes(an_mbox([*broken, *RAWS]))
    found = [head for head, _ in files.mails(tmp_path / "x.mbox")]
    assert sum(isinstance(head, Broken) for head in found) == len(broken)
    assert sum(isinstance(head, Head) for head in found) == len(RAWS)


def test_what_gmail_labels_as_sent_or_unwanted_is_left_out(tmp_path: Path) -> None:
    labels = ["Inbox,Unread", "Sent", "Archived,Spam", "Trash", "Drafts", "Sent orders"]
    raws = [f"From: a@b.example\nX-Gmail-Labels: {label}\n\nHello".encode() for label in labels]
    (tmp_path / "x.mbox").write_bytes(an_mbox(raws))
    assert len(list(files.mails(tmp_path / "x.mbox"))) == 2


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        list(files.mails(tmp_path / "nowhere.mbox"))
    (tmp_path / "cut.tgz").write_bytes(in_a_takeout_tgz(tmp_path).read_bytes()[:-40])
    (tmp_path / "text.mbox").write_text("This is no mbox")
    for name in ("cut.tgz", "text.mbox"):
        with pytest.raises(Refused):
            list(files.mails(tmp_path / name))
    (tmp_path / "empty.mbox").write_bytes(b"")
    assert list(files.mails(tmp_path / "empty.mbox")) == []


def damaged(folder: Path, kind: int) -> Path:
    """A zip in which a mail's bytes are others than when it was packed."""
    path = folder / "x.zip"
    with zipfile.ZipFile(path, "w", kind) as archive:
        archive.writestr("All.mbox", an_mbox(RAWS))
    raw = bytearray(path.read_bytes())
    raw[60:200] = b"\xff" * 140
    path.write_bytes(raw)
    return path


def marked(folder: Path, *, flag: int = 0, method: int = 0) -> Path:
    """A zip that says of itself that it is encrypted, or packed in this way."""
    path = folder / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("All.mbox", an_mbox(RAWS))
    raw = bytearray(path.read_bytes())
    for at in (raw.index(b"PK\x03\x04") + 6, raw.index(b"PK\x01\x02") + 8):
        raw[at], raw[at + 2] = flag, method
    path.write_bytes(raw)
    return path


ARCHIVES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "deflated": (lambda folder: damaged(folder, zipfile.ZIP_DEFLATED), "damaged"),
    "bz2": (lambda folder: damaged(folder, zipfile.ZIP_BZIP2), "cannot be read"),
    "lzma": (lambda folder: damaged(folder, zipfile.ZIP_LZMA), "damaged"),
    "encrypted": (lambda folder: marked(folder, flag=1), "encrypted"),
    "another packer": (lambda folder: marked(folder, method=97), "not known"),
}


@pytest.mark.parametrize(("made", "says"), ARCHIVES.values(), ids=ARCHIVES.keys())
def test_an_archive_that_cannot_be_unpacked_is_said(made: Callable[[Path], Path], says: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=says):
        list(files.mails(made(tmp_path)))


def test_of_a_maildir_what_was_sent_or_thrown_away_is_left_out(tmp_path: Path) -> None:
    box = mailbox.Maildir(tmp_path / "Maildir")
    for number, name in enumerate(("Archive", "Sent", "INBOX.Drafts", "Trash", "junk", "Sent orders")):
        box.add_folder(name).add(RAWS[number])
    box.add(RAWS[6])
    mailbox.Maildir(tmp_path / "Maildir" / "Spam").add(RAWS[7])
    assert len(list(files.mails(tmp_path / "Maildir"))) == 3
    # Whoever names one wants it.
    assert len(list(files.mails(tmp_path / "Maildir" / ".Sent"))) == 1


def test_a_large_file_takes_little_memory(tmp_path: Path) -> None:
    huge = b"From: a@b.example\n\n" + b"x" * 70 + b"\n"
    with (tmp_path / "x.mbox").open("wb") as file:
        file.write(STAMP + huge + b"y" * 20_000_000 + b"\n\n")
        for _ in range(5000):
            file.write(STAMP + huge + b"z" * 2000 + b"\n\n")
    tracemalloc.start()
    try:
        count = sum(1 for _ in files.mails(tmp_path / "x.mbox"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 5001
    assert peak < 6_000_000


def test_mails_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    assert len(list(islice(files.mails(in_mbox(tmp_path)), 3))) == 3
