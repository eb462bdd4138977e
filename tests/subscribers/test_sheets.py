import csv
import io
import struct
import tracemalloc
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.errors import Refused
from gna.subscribers.sheets import DELIMITERS, Sheet, sheets

SUBSCRIBED = "Email Address,OPTIN_TIME,CONFIRM_TIME,LEID,EUID\nana@example.org,,,1,2\n"
UNSUBSCRIBED = "Email Address,UNSUB_TIME,LEID,EUID\ndan@example.org,2020-01-01 00:00:00,1,2\n"
CLEANED = "Email Address,CLEAN_TIME,LEID,EUID\neva@example.org,2020-01-01 00:00:00,1,2\n"


def opened(content: str | bytes, name: str = "people.csv") -> list[Sheet]:
    data = content.encode() if isinstance(content, str) else content
    return list(sheets(io.BytesIO(data), name))


def rows(content: str | bytes) -> list[tuple[int, list[str]]]:
    (sheet,) = opened(content)
    return list(sheet.rows)


def zipped(files: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def names(content: bytes) -> list[str]:
    return [sheet.name for sheet in opened(content, "export.zip")]


def refusal(content: str | bytes) -> str:
    with pytest.raises(Refused) as refused:
        for sheet in opened(content):
            list(sheet.rows)
    assert "@" not in str(refused.value)
    return str(refused.value)


def test_a_csv_is_one_sheet_with_rows_numbered_as_in_a_spreadsheet() -> None:
    (sheet,) = opened("email,nickname\nana@example.org,Ana\n\n , \ndan@example.org,Dan")
    assert (sheet.name, sheet.header, sheet.layout.name) == ("people.csv", ["email", "nickname"], "gna")
    assert list(sheet.rows) == [(2, ["ana@example.org", "Ana"]), (5, ["dan@example.org", "Dan"])]


def test_a_quoted_line_end_stays_in_its_row() -> None:
    assert rows('email,note\nana@example.org,"one\ntwo"\ndan@example.org,x\n')[1] == (3, ["dan@example.org", "x"])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["unix", "dos", "mac"])
def test_every_line_end_is_understood(end: str) -> None:
    assert rows(end.join(["email,nickname", "ana@example.org,Ana", ""])) == [(2, ["ana@example.org", "Ana"])]


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_every_separator_is_found_by_the_header(delimiter: str) -> None:
    assert rows(f"nickname{delimiter}email\nA,;|\t{delimiter}x\n".replace("A,;|\t", '"A,;|\t"')) == [
        (2, ["A,;|\t", "x"])
    ]


def test_a_separator_inside_a_quoted_name_does_not_mislead() -> None:
    assert rows('"a,b,c,d";email\n1;ana@example.org\n') == [(2, ["1", "ana@example.org"])]


def test_of_two_possible_separators_the_one_with_more_columns_wins() -> None:
    assert rows("mail,a;email;b\n1;ana@example.org;2\n") == [(2, ["1", "ana@example.org", "2"])]


def test_excels_line_about_the_separator_is_no_header() -> None:
    assert rows("sep=;\nemail;nickname\nana@example.org;Ana\n") == [(3, ["ana@example.org", "Ana"])]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_every_encoding_is_understood(encoding: str) -> None:
    assert rows("email;Straße\nana@example.org;Köln – Süd\n".encode(encoding)) == [
        (2, ["ana@example.org", "Köln – Süd"])
    ]


def test_big_endian_utf_16_is_understood() -> None:
    assert rows(b"\xfe\xff" + "email\nană@example.org\n".encode("utf-16-be")) == [(2, ["ană@example.org"])]


def test_a_windows_letter_after_a_long_ascii_start_is_read_as_it_was_meant() -> None:
    start = b"email,nickname\n" + b"ana@example.org,Ana\n" * 10_000
    assert rows(start + "dan@example.org,Jörg\n".encode("cp1252"))[-1] == (10_002, ["dan@example.org", "Jörg"])


def test_a_byte_that_means_nothing_anywhere_is_replaced() -> None:
    assert rows(b"email,nickname\nana@example.org,A\x81\n") == [(2, ["ana@example.org", "A\ufffd"])]


def test_nul_bytes_are_left_out() -> None:
    assert rows("email,nickname\nana@exam\0ple.org,\0Ana\n") == [(2, ["ana@example.org", "Ana"])]


@pytest.mark.parametrize("tail", ['dan@example.org,"Dan\n', 'dan@example.org,"D"an\neva@example.org,"Eva"\n'])
def test_a_stray_quotation_mark_is_told_with_its_row_instead_of_losing_people(tail: str) -> None:
    assert refusal(f"email,nickname\nana@example.org,Ana\n{tail}").startswith("Row 3 cannot be read")


def test_an_unclosed_quotation_in_a_long_file_is_told_with_its_row() -> None:
    assert refusal('email,nickname\n"ana@example.org,Ana\n' + "dan@example.org,Dan\n" * 50_000).startswith("Row 2 ")


def test_a_row_of_a_million_cells_is_told_with_its_row() -> None:
    assert refusal("email,nickname\nx,y\n" + "a," * 1_000_000 + "\n").startswith("Row 3 ")
    assert refusal("email,nickname\nx,y\n" + '"\n",' * 1_000_000 + "\n").startswith("Row 3 ")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "The file is empty"),
        ("\ufeff \n\n", "The file is empty"),
        ("email,nickname\n", "a header but no rows"),
        ("email,nickname\n\n , \n", "a header but no rows"),
        ("<!doctype html><html>", "web page"),
        ("ana@example.org,Ana\ndan@example.org,Dan\n", "first row must name the columns"),
        ("name;city\nAna;Cluj\n", "Name that column email"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Save the sheet as CSV first"),
        (b"\x1f\x8b\x08\x00", "Unpack it"),
        (b"%PDF-1.7", "PDF"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "Name that column email"),
        (zipped({"[Content_Types].xml": "", "xl/workbook.xml": ""}), "Save the sheet as CSV first"),
        (zipped({"mimetype": "application/vnd.oasis.opendocument.spreadsheet"}), "Save the sheet as CSV first"),
        (zipped({}), "no CSV file"),
        (zipped({"readme.txt": "hello", "inner.zip": zipped({"a.csv": SUBSCRIBED})}), "no CSV file"),
        (zipped({"a.csv": "email\n"}), "a header but no rows"),
        (zipped({"a.csv": "email\n", "b.csv": "name\nAna\n"}), "No CSV file in the ZIP is a list of people"),
        (zipped({f"{number}.csv": SUBSCRIBED for number in range(51)}), "too many files"),
        (zipped({"a.csv": SUBSCRIBED}, zipfile.ZIP_LZMA), "unusual way"),
        (zipped({"a.csv": SUBSCRIBED * 9})[:-30], "ZIP is damaged"),
        (b"PK\x03\x04", "ZIP is damaged"),
    ],
)
def test_a_file_that_is_no_list_is_refused_in_plain_words(content: str | bytes, sentence: str) -> None:
    assert sentence in refusal(content)


def test_those_who_left_come_first_so_that_their_no_wins() -> None:
    members = {"subscribed.csv": SUBSCRIBED, "x/zz_cleaned.csv": CLEANED, "unsubscribed.csv": UNSUBSCRIBED}
    assert names(zipped({"b.csv": SUBSCRIBED, "a.csv": SUBSCRIBED, **members})) == [
        "unsubscribed.csv",
        "x/zz_cleaned.csv",
        "a.csv",
        "b.csv",
        "subscribed.csv",
    ]


def test_every_sheet_of_a_zip_can_be_read_at_any_time() -> None:
    found = opened(zipped({"subscribed.csv": SUBSCRIBED, "unsubscribed.csv": UNSUBSCRIBED}))
    people = [cells[0] for sheet in reversed(found) for _, cells in sheet.rows]
    assert people == ["ana@example.org", "dan@example.org"]


def test_a_zip_is_known_by_its_bytes_and_not_by_its_name() -> None:
    assert [sheet.name for sheet in opened(zipped({"a.CSV": SUBSCRIBED}), "people.csv")] == ["a.CSV"]


def test_other_files_of_a_substack_export_are_passed_over() -> None:
    people = "email,active_subscription,email_disabled\nana@example.org,false,false\n"
    log = "post_id,timestamp,email\n1,2020-01-01,dan@example.org\n"
    posts = {f"posts/{number}.html": "<p>Hello</p>" for number in range(100)}
    logs = {f"posts/{number}.opens.csv": log for number in range(100)}
    other = {"posts.csv": "post_id,title\n1,Hello\n", "log.csv": log, "payments.csv": "e-mail,amount\nx,1\n"}
    mac = {"__MACOSX/._email_list.csv": "\0\5", ".hidden.csv": people}
    assert names(zipped(posts | logs | other | mac | {"email_list.maps.csv": people})) == ["email_list.maps.csv"]


def test_a_file_of_those_who_left_is_kept_even_if_its_columns_are_unknown() -> None:
    subscribers = "email,subscriber_type\nana@example.org,regular\n"
    found = opened(zipped({"subscribers.csv": subscribers, "unsubscribers.csv": "E-Mail,Date\ndan@example.org,x\n"}))
    standings = [sheet.layout.read(cells).standing for sheet in found for _, cells in sheet.rows]
    assert [sheet.name for sheet in found] == ["unsubscribers.csv", "subscribers.csv"]
    assert standings == ["unsubscribed", "activated"]


def test_an_empty_sheet_in_a_zip_does_not_hide_the_others() -> None:
    assert names(zipped({"cleaned.csv": CLEANED.split("\n")[0], "subscribed.csv": SUBSCRIBED})) == ["subscribed.csv"]


def test_a_password_is_told() -> None:
    packed = bytearray(zipped({"a.csv": SUBSCRIBED}))
    packed[6] |= 1
    packed[packed.index(b"PK\x01\x02") + 8] |= 1
    assert "password" in refusal(bytes(packed))


def test_a_bomb_is_refused_by_what_it_says_of_itself() -> None:
    packed = bytearray(zipped({"a.csv": SUBSCRIBED}))
    struct.pack_into("<L", packed, packed.index(b"PK\x01\x02") + 24, 2**30 + 1)
    assert "1 GiB" in refusal(bytes(packed))


def test_a_bomb_that_lies_about_its_size_is_not_unpacked_further() -> None:
    packed = bytearray(zipped({"a.csv": "email\n" + "ana@example.org\n" * 100_000}))
    struct.pack_into("<L", packed, packed.index(b"PK\x01\x02") + 24, 1000)
    with suppress(Refused):
        assert sum(1 for sheet in opened(bytes(packed)) for _ in sheet.rows) < 100


def test_damage_in_the_middle_of_a_zip_is_told_when_it_is_reached() -> None:
    people = "email\n" + "ana@example.org\n" * 20_000
    packed = bytearray(zipped({"a.csv": people}, zipfile.ZIP_STORED))
    packed[len(people)] ^= 1
    (sheet,) = opened(bytes(packed))
    assert next(sheet.rows) == (2, ["ana@example.org"])
    with pytest.raises(Refused, match="ZIP is damaged"):
        list(sheet.rows)


def test_the_callers_file_stays_open_and_can_be_read_again() -> None:
    file = io.BytesIO(b"email\nana@example.org\ndan@example.org\n")
    for _ in range(2):
        (sheet,) = sheets(file, "people.csv")
        assert next(sheet.rows) == (2, ["ana@example.org"])
        del sheet
    assert not file.closed


def test_a_file_that_is_closed_too_early_harms_nobody() -> None:
    with io.BytesIO(b"email\nana@example.org\ndan@example.org\n") as file:
        (sheet,) = sheets(file, "people.csv")
    assert sheet.header == ["email"]


def test_an_upload_kept_in_memory_or_on_disk_is_read_alike() -> None:
    for limit in (10, 10_000):
        with SpooledTemporaryFile(limit) as file:
            file.write(b"email\nana@example.org\n")
            (sheet,) = sheets(cast("BinaryIO", file), "people.csv")
            assert list(sheet.rows) == [(2, ["ana@example.org"])]


class Endless(io.RawIOBase):
    """A large file that is never in memory as a whole."""

    LINE = b"somebody@example.org,Somebody\n"

    def __init__(self, size: int) -> None:
        self.size, self.at = size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        assert whence == 0
        self.at = offset
        return offset

    def read(self, size: int = -1) -> bytes:
        start, size = self.at, min(size, self.size - self.at)
        self.at += size
        if start == 0:
            return b"email,nickname\n".ljust(30, b"\n")[:size] + (self.LINE * (size // 30 + 1))[: max(0, size - 30)]
        shift = start % 30
        return (self.LINE * (size // 30 + 2))[shift : shift + size]


def test_memory_stays_flat_however_large_the_file_is() -> None:
    tracemalloc.start()
    try:
        (sheet,) = sheets(cast("BinaryIO", Endless(30 * 200_000)), "people.csv")
        count = sum(1 for _ in sheet.rows)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 199_999
    assert peak < 2 * 1024 * 1024


def read_all(content: bytes) -> None:
    with suppress(Refused):
        for sheet in sheets(io.BytesIO(content), "people.csv"):
            for _, cells in sheet.rows:
                with suppress(Refused):
                    sheet.layout.read(cells)


@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_but_refused(content: bytes) -> None:
    read_all(content)
    read_all(b"email;nickname;activated_at\n" + content)
    read_all(b"uuid,email,attributes,status\n" + content)
    read_all(b"\xff\xfe" + content)
    read_all(b"PK\x03\x04" + content)


WHOLE = zipped({"subscribed.csv": SUBSCRIBED * 20, "unsubscribed.csv": UNSUBSCRIBED})


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=6), st.integers(0, len(WHOLE)))
def test_no_broken_zip_raises_anything_but_refused(changes: list[tuple[int, int]], cut: int) -> None:
    packed = bytearray(WHOLE)
    for at, value in changes:
        packed[at] = value
    read_all(bytes(packed))
    read_all(bytes(packed[:cut]))


@given(
    st.lists(
        st.lists(st.text(alphabet="ab@,;\t|\"\n\r '=", max_size=8), min_size=2, max_size=2), min_size=1, max_size=5
    )
)
def test_what_a_spreadsheet_writes_comes_back_as_it_was(table: list[list[str]]) -> None:
    written = io.StringIO(newline="")
    csv.writer(written).writerows([["email", "nickname"], *table])
    filled = [cells for cells in table if "".join(cells).strip()]
    if filled:
        assert [cells for _, cells in rows(written.getvalue())] == filled
    else:
        assert "no rows" in refusal(written.getvalue())


def test_a_file_of_empty_rows_is_given_up_soon() -> None:
    assert refusal("email\n" + "\n" * 20_000) == "Rows 2 to 10002 are empty. Delete empty rows, then upload it again."
    assert refusal("email\n" + "\n" * 20_000 + "ana@example.org\n").startswith("Rows 2 to ")


def test_empty_rows_between_and_after_people_are_passed_over() -> None:
    found = rows("email\nana@example.org\n" + ",\n" * 50_000 + "dan@example.org\n" + "\n" * 50_000)
    assert found == [(2, ["ana@example.org"]), (50_003, ["dan@example.org"])]
