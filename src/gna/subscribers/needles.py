"""Needles: what search looks at, `address newline nickname` in lower case for each person.

Both databases keep them by themselves, so that rows which other tools insert are found too. The reasons are in
`docs/decisions/0009-search-without-leftovers.md`.
"""

import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.types import NullType

from gna.subscribers.table import subscribers

s = subscribers.c
needle: sa.ColumnClause[str] = sa.column("needle", sa.Text)
# When somebody came, as the database keeps it: other tools write it otherwise than Gna, and it sorts as it is written.
MOMENT = sa.type_coerce(s.created_at, NullType()).label("moment")
# Those who came at the same moment are in the order of their addresses.
NEWEST = (s.created_at.desc(), needle.desc())
OLDEST = (s.created_at, needle)

# What makes and keeps the needles; migration 0003 runs the same, so a change needs a migration of its own.
NEEDLE = "lower(email) || char(10) || lower(coalesce(nickname, ''))"
SQLITE = (
    f"ALTER TABLE subscribers ADD COLUMN needle TEXT GENERATED ALWAYS AS ({NEEDLE}) VIRTUAL",
    "CREATE INDEX idx_subscribers_newest ON subscribers (created_at, needle)",
    # In the order in which people came: read from end to end, twice as fast as an index that grew in any order.
    # `wide` needles have letters beyond ASCII, and only they can match a text that has some.
    """CREATE TABLE subscriber_needles (
         needle TEXT NOT NULL, created_at TEXT NOT NULL, subscriber_id TEXT NOT NULL UNIQUE,
         wide INTEGER GENERATED ALWAYS AS (length(needle) < length(CAST(needle AS BLOB))) STORED)""",
    """CREATE TRIGGER subscriber_needles_insert AFTER INSERT ON subscribers BEGIN
         INSERT OR REPLACE INTO subscriber_needles VALUES (new.needle, new.created_at, new.id);
       END""",
    """CREATE TRIGGER subscriber_needles_update AFTER UPDATE OF email, nickname, created_at ON subscribers BEGIN
         UPDATE subscriber_needles SET needle = new.needle, created_at = new.created_at WHERE subscriber_id = new.id;
       END""",
    """CREATE TRIGGER subscriber_needles_delete AFTER DELETE ON subscribers BEGIN
         DELETE FROM subscriber_needles WHERE subscriber_id = old.id;
       END""",
    "INSERT INTO subscriber_needles SELECT needle, created_at, id FROM subscribers",
)
POSTGRESQL = (
    f"""ALTER TABLE subscribers ADD COLUMN needle text COLLATE "C"
          GENERATED ALWAYS AS ({NEEDLE.replace("char", "chr")}) STORED""",
    "CREATE INDEX idx_subscribers_newest ON subscribers (created_at, needle)",
)
BY_TRIGRAM = "CREATE INDEX idx_subscribers_needle ON subscribers USING gin (needle gin_trgm_ops)"
# Without the right to create it, search still works: every needle is read then.
TRIGRAMS = ("CREATE EXTENSION IF NOT EXISTS pg_trgm", BY_TRIGRAM)
# No letter from here on has an upper and a lower case, or a mark above or below.
UNMARKED = 0x20000
# Marks above, below and through letters; those of other scripts make other letters.
MARKS = re.compile("[\u0300-\u036f]")
# Letters that people type as others, although Unicode takes none of them apart. The small dotless i is Turkish.
AS_TYPED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})
# Needles with letters beyond ASCII; the others can only match a text that has none.
WIDE = {
    "sqlite": sa.func.length(needle) < sa.func.length(sa.cast(needle, sa.LargeBinary)),
    "postgresql": sa.func.char_length(needle) < sa.func.octet_length(needle),
}


def install(tx: Connection) -> None:
    """Make what searching needs, in a database whose tables were just made or brought up to date."""
    if tx.dialect.name == "sqlite":
        for statement in SQLITE:
            tx.exec_driver_sql(statement)
        return
    for statement in POSTGRESQL:
        tx.exec_driver_sql(statement)
    with suppress(sa.exc.DBAPIError), tx.begin_nested():
        for statement in TRIGRAMS:
            tx.exec_driver_sql(statement)


def matching(tx: Connection, q: str) -> sa.ColumnElement[bool]:
    """The condition on `subscribers` that address or nickname contains the text, whatever its case and diacritics."""
    if not q:
        return sa.true()
    if "\n" in q:
        return sa.false()
    kind, folded = tx.dialect.name, fold(q)
    spelled: sa.ColumnElement[bool]
    plain: sa.ColumnElement[bool]
    if kind == "postgresql":
        # The database lowers needles by its locale, which may leave letters beyond ASCII as they are.
        spelled = needle.op("~", is_comparison=True)(regex(folded))
        plain = needle.like(like(folded), escape="/")
    else:
        spelled = _folding(tx)(needle, folded)
        pattern = re.sub("[*?[]", r"[\g<0>]", folded)
        plain = needle.op("GLOB", is_comparison=True)(f"*{pattern}*")
    wide = sa.and_(WIDE[kind], spelled)
    # Diacritics make a search slow: they are looked at only where there can be any.
    return sa.or_(plain, wide) if folded.isascii() else wide


def fold(text: str) -> str:
    """The text without case and diacritics: `Ștefan` and `STEFAN` are `stefan`, `Straße` is `strasse`."""
    letters = MARKS.sub("", unicodedata.normalize("NFD", text.casefold())).translate(AS_TYPED)
    # A text of marks alone is looked for as it is.
    return unicodedata.normalize("NFC", letters) or text


def after(moment: Any, last: str) -> sa.ColumnElement[bool]:
    """The condition for those who stand behind this one in a list, newest first."""
    # A comparison of pairs starts in the index where the other ended; an OR would start anew.
    return sa.tuple_(MOMENT, needle) < sa.tuple_(sa.literal(moment, NullType()), sa.literal(last))


def like(folded: str) -> str:
    """The plain pattern on PostgreSQL."""
    return "%" + re.sub("[%_/]", r"/\g<0>", folded) + "%"


def regex(folded: str) -> str:
    """The pattern on PostgreSQL that finds a text in every case, with and without diacritics and ligatures."""
    found = []
    for at, letter in enumerate(folded):
        if letter.isalnum():
            found.append(_choice(letter))
        else:
            found.append(f"\\{letter}" if letter.isascii() else letter)
        for sequence, ligatures in _ligatures().items():
            if folded.endswith(sequence, 0, at + 1):
                start = at + 1 - len(sequence)
                found[start:] = [f"(?:{''.join(found[start:])}|[{ligatures}])", *[""] * (len(sequence) - 1)]
    return "".join(found)


def _folding(tx: Connection) -> Callable[..., sa.ColumnElement[bool]]:
    """A function of this SQLite connection: whether a needle without case and diacritics contains a text.

    A pattern with a choice of letters is five to ten times as slow: SQLite tries each of sixty spellings of an `a`.
    """
    if "contains_folded" not in tx.info:
        connection = tx.connection.driver_connection
        assert connection
        connection.create_function("contains_folded", 2, _contains_folded, deterministic=True)
        tx.info["contains_folded"] = True
    return sa.func.contains_folded


def _contains_folded(text: str, folded: str) -> bool:
    return folded in text.translate(_table())


@cache
def _table() -> dict[int, str]:
    """What each letter is without case and diacritics; marks are nothing."""
    marks = dict.fromkeys(range(0x300, 0x370), "")
    ascii = {code: chr(code) for code in range(0x80)}
    return ascii | marks | {ord(letter): folded for folded, letters in _folded().items() for letter in letters}


def _choice(letter: str) -> str:
    letters = _letters().get(letter, letter)
    return f"[{letters}]" if len(letters) > 1 else letter


@cache
def _letters() -> dict[str, str]:
    """By a letter without case and diacritics: all that are the same letter, `sSșȘşŞšŠ…` by `s`."""
    return {folded: letters for folded, letters in _folded().items() if len(folded) == 1}


@cache
def _ligatures() -> dict[str, str]:
    """By the letters that a ligature stands for: `ßẞ` by `ss`."""
    return {folded: letters for folded, letters in _folded().items() if len(folded) > 1}


@cache
def _folded() -> dict[str, str]:
    found: dict[str, str] = {}
    for letter in filter(str.isalpha, map(chr, range(UNMARKED))):
        # Hangul is taken apart and put together again.
        folded = fold(letter)
        if folded != letter or letter.upper() != letter:
            found[folded] = found.get(folded, folded if len(folded) == 1 else "")
            if letter != folded:
                found[folded] += letter
    return found
