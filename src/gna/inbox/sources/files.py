"""Mails in files: mbox, Maildir, .eml, folders of these, and archives of Google Takeout; in memory is one at a time."""

import os
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from gna import clock
from gna.errors import GnaError, NotFound, Refused
from gna.inbox import heads, moments
from gna.inbox.heads import Broken, Head
from gna.inbox.sources.folder_names import is_usually_skipped

# Bytes: of a mail that is larger the beginning; of a header in a file of its own.
LARGEST, HEADER = 524_288, 16_384
# As `From someone@example.org Mon Nov 16 17:23:03 2026`; Takeout has a zone before the year. Some leave the moment out,
# which might as well be text unless a blank line is before it.
FROM_LINE, SHORT = re.compile(rb"From +\S+ .*\d\d:\d\d.* \d{4}\s*$"), re.compile(rb"From +\S+\s*$")
STAMP = re.compile(rb"([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d) (?:([+-]\d{4}) )?(\d{4})\s*$")
ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
END_OF_HEADER = re.compile(rb"\r?\n\r?\n")
# In these Gmail keeps what the owner sent, wrote, threw away or never wanted.
UNWANTED = frozenset(("sent", "drafts", "draft", "trash", "spam"))
LABELS = re.compile(rb"^X-Gmail-Labels:[ \t]*([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)", re.MULTILINE | re.IGNORECASE)

Raw = Callable[[], bytes]
Found = tuple[Head | Broken, Raw]


def mails(path: Path) -> Iterator[Found]:
    """Every mail of a file or folder: what its header says, or that it is broken; and how to read all of it."""
    if not path.exists():
        raise NotFound(f"There is no {path}")
    try:
        yield from _folder(path) if path.is_dir() else _file(path)
    except GnaError:
        raise
    except Exception as error:  # each way to pack has its own ways to fail
        raise Refused(f"{path} cannot be read: {_why(error)}") from None


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, NotImplementedError):
        return "it is packed in a way that is not known here"
    return "it is encrypted" if isinstance(error, RuntimeError) else "it is damaged"


def _folder(path: Path) -> Iterator[Found]:
    """A Maildir with the folders in it but those that nobody scans either, or a folder of .eml and .mbox files."""
    for where, names, files in os.walk(path):
        names.sort()
        here = Path(where)
        if here != path and "cur" in names and is_usually_skipped(here.name):
            names.clear()
            continue
        if here.name == "tmp" and (here.parent / "cur").is_dir():
            continue
        is_maildir = here.name in ("cur", "new")
        for name in sorted(files):
            if is_maildir or name.lower().endswith(".eml"):
                yield _single(here / name)
            elif name.lower().endswith(".mbox"):
                yield from _opened(here / name)


def _file(path: Path) -> Iterator[Found]:
    if zipfile.is_zipfile(path):
        yield from _zip(path)
    elif tarfile.is_tarfile(path):
        yield from _tar(path)
    else:
        with path.open("rb") as file:
            is_mbox = file.read(5) == b"From "
        if not is_mbox and path.suffix.lower() == ".mbox" and path.stat().st_size:
            raise Refused(f"{path} is no mbox file: that begins with a line `From …`")
        yield from _opened(path) if is_mbox else [_single(path)] if path.stat().st_size else []


def _opened(path: Path) -> Iterator[Found]:
    with path.open("rb") as file:
        yield from _mbox(file)


def _zip(path: Path) -> Iterator[Found]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if _is_mail(member.filename):
                with archive.open(member) as file:
                    yield from _member(member.filename, file)


def _tar(path: Path) -> Iterator[Found]:
    # As a stream: going back in a compressed archive would unpack it anew.
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            if member.isfile() and _is_mail(member.name) and (file := archive.extractfile(member)):
                yield from _member(member.name, file)


def _is_mail(name: str) -> bool:
    return name.lower().endswith((".mbox", ".eml"))


def _member(name: str, file: IO[bytes]) -> Iterator[Found]:
    if name.lower().endswith(".mbox"):
        yield from _mbox(file)
        return
    raw = file.read(LARGEST)
    yield _found(raw, None, lambda: raw)


def _single(path: Path) -> Found:
    """A mail in a file of its own; when that was written counts as when it came."""

    def raw() -> bytes:
        with path.open("rb") as file:
            return file.read(LARGEST)

    try:
        with path.open("rb") as file:
            written = clock.iso(datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC))
            block = file.read(HEADER)
            if not END_OF_HEADER.search(block):
                block += file.read(LARGEST)
    except OSError:
        return Broken("It cannot be read"), raw
    return _found(block, written, raw)


def _mbox(file: IO[bytes]) -> Iterator[Found]:
    """The mails between lines that begin with `From `, in a single pass."""
    lines, size, came = list[bytes](), 0, None
    begun = False
    before = b""
    while line := file.readline(LARGEST):
        if line.startswith(b"From ") and (FROM_LINE.match(line) or (not before.strip() and SHORT.match(line))):
            if begun:
                yield from _wanted(lines, came)
            begun, lines, size, came = True, [], 0, _stamp(line)
        elif begun and size < LARGEST:
            lines.append(line)
            size += len(line)
        # A line that is longer than what is read at once is no end of anything.
        before = line if line.endswith(b"\n") else b"..."
    if begun:
        yield from _wanted(lines, came)


def _wanted(lines: list[bytes], came: str | None) -> Iterator[Found]:
    raw = ESCAPED.sub(rb"\1", b"".join(lines))
    header = _header(raw)
    labels = LABELS.search(header)
    named = {label.strip().lower() for label in labels[1].decode("utf-8", "replace").split(",")} if labels else set()
    if not named & UNWANTED:
        yield _found(raw, came, lambda: raw)


def _found(raw: bytes, came: str | None, whole: Raw) -> Found:
    try:
        return heads.read(_header(raw), came), whole
    except Broken as broken:
        return broken, whole
    except Exception as error:  # one broken mail must not keep the others from being read
        return Broken(type(error).__name__), whole


def _header(raw: bytes) -> bytes:
    end = END_OF_HEADER.search(raw)
    return raw[: end.end()] if end else raw


def _stamp(line: bytes) -> str | None:
    found = STAMP.search(line)
    if found is None:
        return None
    month, day, time, zone, year = (part.decode("ascii", "replace") if part else "" for part in found.groups())
    return moments.text(year, month, day.zfill(2), time, zone or "+0000")
