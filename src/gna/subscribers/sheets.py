"""Opening what was uploaded: a CSV file, or a ZIP of them, read as a stream and never as a whole."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import IO, BinaryIO, cast

from gna.errors import Refused
from gna.subscribers.formats import (
    AS_IT_IS,
    Layout,
    Mapping,
    NoAddress,
    Proposal,
    columns_with_words_of_leaving,
    propose,
    recognise,
    standing_by_file_name,
)
from gna.subscribers.formats.person import ENDED
from gna.subscribers.formats.products import ANY
from gna.subscribers.records import NoPeople, Opener, header_in, records, sample_of

DELIMITERS = ",;\t|"
# Among so many rows values are looked for that a person must explain.
MOST_LOOKED_AT = 10_000
MOST_ENTRIES = 10_000  # Substack packs a page and two logs for every post
MOST_SHEETS = 50
MOST_UNPACKED = 1024**3
PLAIN_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# All that `zipfile` raises for a file that is not what it says.
DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError)

SAVE_AS_CSV = "This is a spreadsheet. Save the sheet as CSV first, then upload that file."
NOT_ZIP = "Columns can be named for a CSV file only; the files of a ZIP are recognised by theirs."
NO_ROWS = "The file has a header but no rows."
DAMAGED = "The ZIP is damaged. Unpack it and upload the CSV files one by one."
NOT_CSV = {
    b"\xd0\xcf\x11\xe0": SAVE_AS_CSV,
    b"\x1f\x8b": "The file is compressed in a way that cannot be read here. Unpack it and upload the CSV file.",
    b"%PDF": "This is a PDF, not a CSV file. Export the list as CSV and upload that.",
}


@dataclass(frozen=True)
class Sheet:
    """One table: its rows that are not blank, numbered as a spreadsheet shows them, after the header."""

    name: str
    rows: Iterator[tuple[int, list[str]]]
    header: list[str]
    layout: Layout


def sheets(file: BinaryIO, name: str, mapping: Mapping = AS_IT_IS) -> Iterator[Sheet]:
    """The tables of people in an upload, those of people who left first; Refused at once if there is none."""
    if not is_zip(file):
        return iter([_sheet(lambda: _rewound(file), name, mapping)])
    if mapping.columns is not None:
        raise Refused(NOT_ZIP)
    return iter(_unpacked(file, mapping))


def header_of(file: BinaryIO) -> list[str]:
    """The names of the columns of a CSV file, whatever they are."""
    return next(_nameable(file), (0, []))[1]


def glance(file: BinaryIO, name: str) -> Proposal:
    """What the columns of a CSV file are, as far as its beginning tells."""
    rows = _nameable(file)
    _, header = next(rows, (0, []))
    first: list[list[str]] = []
    with suppress(Refused):  # the beginning may end in the middle of a row
        for _, cells in islice(rows, MOST_LOOKED_AT):
            first.append(cells)
    if not first:
        raise NoPeople(NO_ROWS)
    return propose(header, first, file_name=name)


def _nameable(file: BinaryIO) -> Iterator[tuple[int, list[str]]]:
    if is_zip(file):
        raise Refused(NOT_ZIP)

    def opener() -> BinaryIO:
        return _rewound(file)

    return records(opener, _delimiter(sample_of(opener), named=True))


def is_zip(file: BinaryIO) -> bool:
    """Whether the upload holds several files; Refused if it is neither a ZIP nor a text."""
    start = _rewound(file).read(4)
    for magic, sentence in NOT_CSV.items():
        if start.startswith(magic):
            raise Refused(sentence)
    return start.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def _rewound(file: BinaryIO) -> BinaryIO:
    file.seek(0)
    return file


def _unpacked(file: BinaryIO, mapping: Mapping) -> list[Sheet]:
    try:
        archive = zipfile.ZipFile(file)
    except DAMAGE as damage:
        raise Refused(DAMAGED) from damage
    found, refusals = _openable(archive, _entries(archive), mapping)
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


def _openable(
    archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], mapping: Mapping
) -> tuple[list[Sheet], list[NoPeople]]:
    found, refusals = [], []
    for entry in entries:
        try:
            found.append(_sheet(partial(_entry, archive, entry), entry.filename, mapping))
        except NoPeople as refusal:
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
    return not columns.isdisjoint({"unsub_time", "clean_time"}) or standing_by_file_name(sheet.name) in ENDED


def _why_nobody(refusals: list[NoPeople]) -> str:
    if not refusals:
        return "The ZIP holds no CSV file."
    if len(refusals) == 1:
        return str(refusals[0])
    return "No CSV file in the ZIP is a list of people: none has both a column of e-mail addresses and rows."


def _sheet(opener: Opener, name: str, mapping: Mapping) -> Sheet:
    delimiter = _delimiter(sample_of(opener), named=mapping.columns is not None)
    rows = records(opener, delimiter)
    _, header = next(rows, (0, []))
    layout = recognise(header, file_name=name, mapping=mapping)
    if layout.looks_at_values:
        columns = columns_with_words_of_leaving(_readable(rows))
        layout = recognise(header, file_name=name, mapping=mapping, with_words_of_leaving=columns)
        rows = records(opener, delimiter)
        next(rows)
    first = next(rows, None)
    if first is None:
        raise NoPeople(NO_ROWS)
    return Sheet(name, chain([first], rows), header, layout)


def _readable(rows: Iterator[tuple[int, list[str]]]) -> Iterator[list[str]]:
    """The cells of the rows before the first that cannot be read; the import itself will say why it cannot."""
    with suppress(Refused):
        for _, cells in rows:
            yield cells


def _delimiter(sample: str, *, named: bool) -> str:
    """The separator with which the header has a column of addresses, and the most columns; the person may name it."""
    headers = {delimiter: header_in(sample, delimiter) for delimiter in DELIMITERS}
    refusals = {delimiter: _why_not(header) for delimiter, header in headers.items()}
    widest = sorted(DELIMITERS, key=lambda delimiter: -len(headers[delimiter]))
    for delimiter in widest:
        if refusals[delimiter] is None:
            return delimiter
    if named and isinstance(refusals[widest[0]], NoAddress):
        return widest[0]
    raise NoPeople(str(refusals[widest[0]]))


def _why_not(header: list[str]) -> Refused | None:
    """Why this is no header, or None if it is one."""
    try:
        recognise(header)
    except Refused as refusal:
        return refusal
    return None
