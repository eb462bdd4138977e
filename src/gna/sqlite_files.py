"""The files of an SQLite database: what is checked before SQLite opens them, since it would begin anew in silence."""

import errno
import os
import re
import tempfile
from pathlib import Path

from gna.errors import CannotStart

MAGIC = b"SQLite format 3\x00"
# Files beside the database without data of their own.
WITHOUT_DATA = ("-shm", "-lock", "-journal")
# Bytes: SQLite needs 32 kB for its index of the log, and some pages of log.
ROOM = 64 * 1024


def prepare(file: Path) -> None:
    """Refuse what is no place for a database, or what is left of one; create the file if it is missing."""
    if not file.parent.is_dir():
        raise CannotStart(f"DATABASE_URL names a file in {file.parent}, which is not a folder; create it first.")
    if file.is_dir():
        raise CannotStart(f"DATABASE_URL names {file}, which is a folder; name a file in it.")
    _refuse_remains(file.resolve())
    if not file.exists():
        # Addresses live in here: the file is for its owner alone (SQLite gives its side files the same mode).
        try:
            os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError as error:
            raise CannotStart(f"The database {file} cannot be made: {error.strerror}.") from None


def check_writable(file: Path) -> None:
    """Refuse a start that could write nothing; SQLite would tell later, and less clearly."""
    file = file.resolve()
    for part in (file, *(file.with_name(file.name + end) for end in ("-wal", "-shm", "-lock"))):
        if not part.exists():
            continue
        try:
            os.close(os.open(part, os.O_RDWR))
        except OSError as error:
            raise CannotStart(f"The database file {part} cannot be written: {_reason(error, part)}") from None
    try:
        with tempfile.TemporaryFile(dir=file.parent) as trial:
            trial.write(bytes(ROOM))
            trial.flush()
    except OSError as error:
        raise CannotStart(
            f"Nothing can be written to {file.parent}, the folder of the database: {_reason(error, file.parent)}"
        ) from None


def _refuse_remains(file: Path) -> None:
    """Refuse to begin a new database where one was: SQLite deletes the log of a file that is missing or empty."""
    # Looked at before the size: another process that makes a new database gives the file its size before the log.
    remains = [part for part in _parts_of(file) if _is_filled(part)]
    log = file.with_name(f"{file.name}-wal")
    if not file.exists():
        state, remains = "is missing", [part for part in remains if part == log]
    elif not _is_filled(file):
        state = "has 0 bytes"
    else:
        return
    if remains:
        names = " and ".join(part.name for part in remains)
        raise CannotStart(
            f"The database {file} {state}, but beside it there is {names}: this was a publication. Nothing was "
            f"changed. Move {names} to another folder, then restore a backup as {file.name}, or start without one."
        )


def _parts_of(file: Path) -> list[Path]:
    """The log and the backups of a database, as far as their names or their contents tell."""
    try:
        return sorted(other for other in file.parent.iterdir() if _is_part(other, file))
    except OSError:
        return []


def _is_part(other: Path, file: Path) -> bool:
    if other.name == file.name:
        return False
    rest = other.name.removeprefix(file.name)
    if file.suffix and rest != other.name:
        return rest not in WITHOUT_DATA
    if rest == "-wal":
        return True
    has_stem = re.search(rf"(?<![^\W_]){re.escape(file.stem)}(?![^\W_])", other.name)
    is_named_so = has_stem is not None or "backup" in other.name.lower()
    return is_named_so and _is_sqlite(other)


def _is_filled(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except OSError:
        return False


def _is_sqlite(file: Path) -> bool:
    try:
        with file.open("rb") as reading:
            return reading.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _reason(error: OSError, path: Path) -> str:
    """Why, and whose it is if that is the trouble."""
    if error.errno not in (errno.EACCES, errno.EPERM):
        return f"{error.strerror}."
    return f"{error.strerror}. It belongs to {_owner(path)}: run Gna as that user, or change its owner or mode."


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except (KeyError, NotImplementedError):  # a number without a name; Windows
        return "another user"
