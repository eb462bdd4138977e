"""Our own format: strict, since whoever wrote the file can still correct it."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from gna.errors import Refused
from gna.subscribers.formats import dates
from gna.subscribers.formats.header import FIRST_NAME, LAST_NAME, NAME, Header
from gna.subscribers.formats.leaving import ANY_OTHER, Meanings, PlacedSign, Sign, gravest, signs_of_unknown
from gna.subscribers.formats.mapping import LEFT_OUT, Column, Target
from gna.subscribers.formats.person import (
    LONGEST_NAME,
    LONGEST_VALUE,
    MOST_ATTRIBUTES,
    NO_ATTRIBUTES,
    Person,
    Read,
    Standing,
    one_line,
    padded,
)
from gna.subscribers.formats.proposal import Guess
from gna.subscribers.formats.words import STANDINGS, loose

STATE = "state"
COLUMNS = frozenset({"nickname", "status", "activated_at", "ocd_ids", STATE, "lists"})
# `state` is where a person lives. In files of others it may also say who left: then its values tell.
NEVER_SIGNS = COLUMNS - {STATE}
# A spreadsheet runs a cell that begins so. Where its separator is `;` or a tab, which depends on the language of the
# computer and not on the file, a cell also begins after each of these within the text: it does not heed our quotation
# marks then, and skips white space and quotation marks before the sign.
_CELL_BEGINS = r"(?:\A|(?<=[;\t\r\n]))"
_FORMULA = r"""(?=[\s'"]*[=+@\t\r＝＋－＠-])"""
FORMULA = re.compile(_CELL_BEGINS + _FORMULA)
# `'` is among the signs that are skipped, so a guard is told from a quotation mark of the text: each is guarded again.
GUARD = re.compile(_CELL_BEGINS + "'" + _FORMULA)

ACTIVATED = Standing.ACTIVATED
SAY_WHAT_IT_MEANS = "what another word means can be said: --value in the command, values in the API's mapping"


def wrote(header: Header) -> bool:
    """Whether the columns are ours, however the address is called."""
    return len(header.keys) == 1 or not COLUMNS.isdisjoint(header.keys)


def reader(
    header: Header,
    email: int,
    *,
    latest: datetime,
    default: Standing = ACTIVATED,
    answers: Mapping[str, Meanings] | None = None,
) -> Read:
    """Read rows with these columns; what can be known from the header is found once, here."""
    width = len(header.keys)
    status, activated = header.at("status"), header.at("activated_at")
    ocd_ids, lists = header.at("ocd_ids"), header.at("lists")
    nickname = _nickname(header)
    answers = answers or {}
    signs = placed_signs(header, email, answers)
    signed = {sign.at for sign in signs}
    others = _others(header, taken={email, nickname, status, activated, ocd_ids, lists, *signed})
    status_answers = {} if status is None else answers.get(header.names[status], {})

    def read(cells: Sequence[str]) -> Person:
        if len(cells) < width:
            cells = padded(cells, width)
        standing = None if status is None else _standing(cells[status], status_answers)
        if signs:
            standing = gravest((standing, *(sign.standing(cells) for sign in signs)), default)
        since = None if activated is None else _since(cells[activated].strip(), latest)
        standing = standing or default
        return Person(
            unguarded(cells[email]),
            None if nickname is None else one_line(unguarded(cells[nickname])) or None,
            standing,
            since if standing is ACTIVATED else None,
            None,
            () if ocd_ids is None else parts(cells[ocd_ids]),
            () if lists is None else parts(cells[lists]),
            _attributes(cells, others) if others else NO_ATTRIBUTES,
        )

    return read


def placed_signs(header: Header, email: int, answers: Mapping[str, Meanings]) -> list[PlacedSign]:
    """The columns beside `status` that say who left: this format has none, but a file with our columns may."""
    ours = [email, _nickname(header), header.among(FIRST_NAME), header.among(LAST_NAME)]
    return signs_of_unknown(header, answers, but=[*ours, *(header.at(column) for column in NEVER_SIGNS)])


# Words in our own column `status` that are not known; only the page asks about them, a row is refused by itself.
STATUS_SIGN = Sign(("status",), {**STANDINGS, "": None}, asks=True)


def guesses(header: Header, email: int) -> list[Guess]:
    """What each column is for this format."""
    columns = header.at("status"), header.at("activated_at"), header.at("ocd_ids"), header.at("lists")
    targets = (Target.STATUS, Target.ACTIVATED_AT, Target.OCD_IDS, Target.LISTS)
    known = dict(zip(columns, targets, strict=True)) | {_nickname(header): Target.NICKNAME, email: Target.EMAIL}
    signs = {placed.at: placed.sign for placed in placed_signs(header, email, {})}
    named = dict(_others(header, taken={*known, *signs}))

    def guess(at: int) -> Guess:
        if at in known:
            return Guess(Column(known[at]))
        if at in signs:
            return Guess(Column(Target.STATUS) if signs[at].is_status else LEFT_OUT, counts=True)
        return Guess(Column(Target.ATTRIBUTE, named[at]) if at in named else LEFT_OUT)

    return [guess(at) for at in range(len(header.keys))]


def _nickname(header: Header) -> int | None:
    places = (header.at("nickname"), header.among(FIRST_NAME), header.among(NAME))
    return next((place for place in places if place is not None), None)


def _others(header: Header, *, taken: set[int | None]) -> list[tuple[int, str]]:
    """The columns that become attributes, and their names."""
    first = header.among(FIRST_NAME)
    named = {first: "first_name", header.among(LAST_NAME): "last_name", header.at(STATE): STATE}
    return [
        (at, named.get(at, name)[:LONGEST_NAME])
        for at, name in enumerate(header.names)
        if name and (at not in taken or at == first)
    ]


def guarded(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula, whatever its separator is."""
    return FORMULA.sub("'", text)


def unguarded(cell: str) -> str:
    """The cell without outer space, and without the quotes that our export wrote before formulas."""
    return GUARD.sub("", cell.strip()).strip()


def _standing(cell: str, answers: Meanings) -> Standing | None:
    """What our own column says; None if it is empty or a person said that the word means nothing."""
    word = loose(cell)
    if not word:
        return None
    if word in STANDINGS:
        return STANDINGS[word]
    for known in (word, ANY_OTHER):
        if known in answers:
            return answers[known]
    raise Refused(f"Status must be Activated or Pending; {SAY_WHAT_IT_MEANS}")


def _since(text: str, latest: datetime) -> datetime | None:
    found = dates.moment(text) if text else None
    if text and found is None:
        raise Refused("activated_at is not a date")
    if found and not dates.EARLIEST <= found <= latest:
        raise Refused("activated_at must be between 1990 and now")
    return found


def parts(cell: str) -> tuple[str, ...]:
    """What a cell names, separated by semicolons."""
    return tuple(dict.fromkeys(part for part in map(str.strip, cell.split(";")) if part)) if cell else ()


def _attributes(cells: Sequence[str], others: list[tuple[int, str]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for at, name in others:
        if value := cells[at].strip():
            if len(value) > LONGEST_VALUE:
                raise Refused(f"Column {_spoken(name, at)} is longer than 1,000 characters")
            found.setdefault(name, value)
    if len(found) > MOST_ATTRIBUTES:
        raise Refused("A person can have at most 100 attributes")
    return found


def _spoken(name: str, at: int) -> str:
    """The column's name, or its number where the name could be somebody's address."""
    return str(at + 1) if "@" in name else name
