"""The rows of one CSV file, read as a stream and never as a whole."""

import codecs
import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO

from gna.errors import Refused

SAMPLE = 64 * 1024
# One row. A field has the 128 kB of the csv module, whose limit belongs to the whole process and stays as it is.
LONGEST_ROW = 1024 * 1024
NUL = "\0"
# So many rows in a row may be blank: as many as a spreadsheet has, and far fewer before anybody stands there, so that
# whoever asks what a file is has the answer soon.
MOST_BLANK, MOST_BLANK_BEFORE = 2**20, 10_000

Opener = Callable[[], IO[bytes]]


class NoPeople(Refused):
    """This file holds nobody; another one of the same ZIP may."""


def sample_of(opener: Opener) -> str:
    """The beginning of the text; NoPeople if it cannot be a CSV file."""
    with _text(opener) as text:
        sample = text.read(SAMPLE).replace(NUL, "").lstrip("\ufeff \t\r\n")
    if not sample:
        raise NoPeople("The file is empty.")
    if sample.startswith("<"):
        raise NoPeople("This is a web page, not a CSV file. Export the list as CSV and upload that.")
    return sample


def header_in(sample: str, delimiter: str) -> list[str]:
    """The first row that is not blank, if this is the separator."""
    rows = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    with suppress(csv.Error):
        return next((cells for cells in rows if not _blank(cells)), [])
    return []


def _blank(cells: Sequence[str]) -> bool:
    text = "".join(cells)
    # Excel's own first line says which separator follows.
    return not text or text.isspace() or (text.startswith("sep=") and len(text) <= 5)


def records(opener: Opener, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, the header included, with its number."""
    number, last, found = 0, 0, 0
    with _text(opener) as text:
        lines = _Lines(text)
        # Strict: a stray quotation mark would otherwise swallow the rows up to the next one, and the people in them.
        cells_of = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            for number, cells in enumerate(cells_of, start=1):
                lines.held = 0
                if not _blank(cells):
                    last, found = number, found + 1
                    yield number, cells
                elif number - last > (MOST_BLANK if found > 1 else MOST_BLANK_BEFORE):
                    raise NoPeople(f"Rows {last + 1} to {number} are empty. Delete empty rows, then upload it again.")
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
