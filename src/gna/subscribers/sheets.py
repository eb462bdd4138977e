"""Opening what was uploaded: a CSV file, or a ZIP of them, read as a stream and never as a whole."""

import codecs
import csv
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import IO, BinaryIO, cast

from gna.errors import Refused
from gna.subscribers.formats import Layout, recognise
from gna.subscribers.formats.products import ANY

SAMPLE = 64 * 1024
DELIMITERS = ",;\t|"
# One row. A field has the 128 kB of the csv module, whose limit belongs to the whole process and stays as it is.
LONGEST_ROW = 1024 * 1024
MOST_ENTRIES = 10_000  # Substack packs a page and two logs for every post
MOST_SHEETS = 50
MOST_UNPACKED = 1024**3
PLAIN_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# All that `zipfile` raises for a file that is not what it says.
DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError)
NUL = "\0"

SAVE_AS_CSV = "This is a spreadsheet. Save the sheet as CSV first, then upload that file."
DAMAGED = "The ZIP is damaged. Unpack it and upload the CSV files one by one."
NOT_CSV = {
    b"\xd0\xcf\x11\xe0": SAVE_AS_CSV,
    b"\x1f\x8b": "The file is compressed in a way that cannot be read here. Unpack it and upload the CSV file.",
    b"%PDF": "This is a PDF, not a CSV file. Export the list as CSV and upload that.",
}

Opener = Callable[[], IO[bytes]]


@dataclass(frozen=True)
class Sheet:
    """One table: its rows that are not blank, numbered as a spreadsheet shows them, after the header."""

    name: str
    rows: Iterator[tuple[int, list[str]]]
    header: list[str]
    layout: Layout


class _NoPeople(Refused):
    """This file holds nobody; another one of the same ZIP may."""


def sheets(file: BinaryIO, name: str) -> Iterator[Sheet]:
    """The tables of people in an upload, those of people who left first; Refused at once if there is none."""
    file.seek(0)
    start = file.read(4)
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return iter(_unpacked(file))
    for magic, sentence in NOT_CSV.items():
        if start.startswith(magic):
            raise Refused(sentence)
    return iter([_sheet(lambda: _rewound(file), name)])


def _rewound(file: BinaryIO) -> BinaryIO:
    file.seek(0)
    return file


def _unpacked(file: BinaryIO) -> list[Sheet]:
    try:
        archive = zipfile.ZipFile(file)
    except DAMAGE as damage:
        raise Refused(DAMAGED) from damage
    found, refusals = _openable(archive, _entries(archive))
    if not found:
        raise Refused(_why_nobody(refusals))
    return sorted(found, key=lambda sheet: (not _of_people_who_left(sheet), sheet.name))


def _entries(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The CSV files of a ZIP that may be opened without harm."""
    everything = archive.infolist()
    if any(entry.filename in ("[Content_Types].xml", "mimetype") for entry in everything):
        raise Refused(SAVE_AS_CSV)
    entries = [entry for entry in everything if _may_hold_people(entry.filename)]
    if len(everything) > MOST_ENTRIES or len(entries) > MOST_SHEETS:
        raise Refused("The ZIP holds too many files: at most 50 CSV files can be imported at once.")
    # `zipfile` never unpacks more than an entry says of itself, so the sum holds for what will be read.
    if sum(entry.file_size for entry in entries) > MOST_UNPACKED:
        raise Refused("The ZIP is larger than 1 GiB when unpacked. Import its files in parts.")
    if any(entry.flag_bits & 1 for entry in entries):
        raise Refused("The ZIP is protected by a password. Unpack it and upload the CSV files one by one.")
    if any(entry.compress_type not in PLAIN_COMPRESSION for entry in entries):
        raise Refused("The ZIP is compressed in an unusual way. Unpack it and upload the CSV files one by one.")
    return entries


def _may_hold_people(path: str) -> bool:
    folders, name = path.split("/")[:-1], path.rsplit("/", 1)[-1].casefold()
    if "__MACOSX" in folders or name.startswith("."):
        return False
    return name.endswith(".csv") and not name.endswith((".opens.csv", ".delivers.csv", ".clicks.csv"))


def _openable(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo]) -> tuple[list[Sheet], list[_NoPeople]]:
    found, refusals = [], []
    for entry in entries:
        try:
            found.append(_sheet(partial(_entry, archive, entry), entry.filename))
        except _NoPeople as refusal:
            refusals.append(refusal)
    return _of_the_same_product(found), refusals


def _entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> IO[bytes]:
    try:
        return cast("IO[bytes]", _Entry(archive.open(entry)))
    except DAMAGE as damage:
        raise Refused(DAMAGED) from damage


class _Entry(io.BufferedIOBase):
    """A file of a ZIP whose damage is told in our words, at whichever byte it shows."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        try:
            return self._file.read(-1 if size is None else size)
        except DAMAGE as damage:
            raise Refused(DAMAGED) from damage

    read1 = read


def _of_the_same_product(found: list[Sheet]) -> list[Sheet]:
    """Without tables of unknown meaning where the product's own are known: such are its logs and statistics."""
    known = [sheet for sheet in found if sheet.layout.name != ANY.name or _of_people_who_left(sheet)]
    return known if any(sheet.layout.name not in (ANY.name, "gna") for sheet in found) else found


def _of_people_who_left(sheet: Sheet) -> bool:
    columns = {name.strip().casefold() for name in sheet.header}
    name = sheet.name.rsplit("/", 1)[-1].casefold()
    return not columns.isdisjoint({"unsub_time", "clean_time"}) or name.startswith(("unsubscri", "cleaned"))


def _why_nobody(refusals: list[_NoPeople]) -> str:
    if not refusals:
        return "The ZIP holds no CSV file."
    if len(refusals) == 1:
        return str(refusals[0])
    return "No CSV file in the ZIP is a list of people: none has both a column of e-mail addresses and rows."


def _sheet(opener: Opener, name: str) -> Sheet:
    rows = _rows(opener, _delimiter(_sample(opener)))
    _, header = next(rows, (0, []))
    layout = recognise(header, file_name=name)
    first = next(rows, None)
    if first is None:
        raise _NoPeople("The file has a header but no rows.")
    return Sheet(name, chain([first], rows), header, layout)


def _sample(opener: Opener) -> str:
    with _text(opener) as text:
        sample = text.read(SAMPLE).replace(NUL, "").lstrip("\ufeff \t\r\n")
    if not sample:
        raise _NoPeople("The file is empty.")
    if sample.startswith("<"):
        raise _NoPeople("This is a web page, not a CSV file. Export the list as CSV and upload that.")
    return sample


def _delimiter(sample: str) -> str:
    """The separator with which the header has a column of addresses, and the most columns."""
    headers = {delimiter: _header(sample, delimiter) for delimiter in DELIMITERS}
    refusals = {delimiter: _why_not(header) for delimiter, header in headers.items()}
    widest = sorted(DELIMITERS, key=lambda delimiter: -len(headers[delimiter]))
    for delimiter in widest:
        if refusals[delimiter] is None:
            return delimiter
    raise _NoPeople(refusals[widest[0]])


def _header(sample: str, delimiter: str) -> list[str]:
    records = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    with suppress(csv.Error):
        return next((cells for cells in records if not _blank(cells)), [])
    return []


def _why_not(header: list[str]) -> str | None:
    """Why this is no header, or None if it is one."""
    try:
        recognise(header)
    except Refused as refusal:
        return str(refusal)
    return None


def _blank(cells: Sequence[str]) -> bool:
    text = "".join(cells)
    # Excel's own first line says which separator follows.
    return not text or text.isspace() or (text.startswith("sep=") and len(text) <= 5)


def _rows(opener: Opener, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, the header included, with its number."""
    number = 0
    with _text(opener) as text:
        lines = _Lines(text)
        # Strict: a stray quotation mark would otherwise swallow the rows up to the next one, and the people in them.
        records = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            for number, cells in enumerate(records, start=1):
                lines.held = 0
                if not _blank(cells):
                    yield number, cells
        except (csv.Error, _TooLong) as error:
            raise Refused(
                f"Row {number + 1} cannot be read: it is too long, or a quotation mark is missing or too many."
            ) from error


class _TooLong(Exception):
    """A row goes on and on."""


class _Lines:
    """The lines of a text without NUL, as long as they and the row they belong to have a sane length."""

    def __init__(self, text: IO[str]) -> None:
        self._readline = text.readline
        self.held = 0

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._readline(LONGEST_ROW)
        if not line:
            raise StopIteration
        self.held += len(line)
        if self.held >= LONGEST_ROW:
            raise _TooLong
        return line.replace(NUL, "") if NUL in line else line


@contextmanager
def _text(opener: Opener) -> Iterator[IO[str]]:
    """The file as text, given back open, since it belongs to the caller."""
    wide = opener().read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    encoding, errors = ("utf-16", "replace") if wide else ("utf-8-sig", WINDOWS)
    text = io.TextIOWrapper(opener(), encoding=encoding, errors=errors, newline="")
    try:
        yield text
    finally:
        with suppress(ValueError):  # the caller closed the file before the last row
            text.detach()


# A byte that is not UTF-8 is read as Windows-1252 wherever it stands. The first 64 kB are often plain ASCII and
# prove nothing; refusing row 80,000 would help nobody, and a replaced letter would be a wrong name.
WINDOWS = "gna-windows-1252"


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(WINDOWS, _as_windows)
