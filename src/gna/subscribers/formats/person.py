"""A person as a file describes them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

LONGEST_VALUE = 1000
MOST_ATTRIBUTES = 100
LONGEST_NAME = 100
BREAK = re.compile(r"\s*[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]\s*")

# Shared by all who have none: a million rows need not make a million empty mappings.
NO_ATTRIBUTES: Mapping[str, Any] = {}


class Standing(StrEnum):
    """What a row says of the person."""

    ACTIVATED = "activated"
    PENDING = "pending"  # they will be asked to confirm
    UNCONFIRMED = "unconfirmed"  # never confirmed in the other product
    UNSUBSCRIBED = "unsubscribed"
    CLEANED = "cleaned"  # bounced, complained or blocked


ENDED = frozenset({Standing.UNSUBSCRIBED, Standing.CLEANED})


@dataclass(frozen=True, slots=True)
class Person:
    """One row: the address is trimmed but not checked, and the moments are in UTC."""

    email: str
    nickname: str | None
    standing: Standing
    activated_at: datetime | None
    ended_at: datetime | None
    ocd_ids: tuple[str, ...]
    lists: tuple[str, ...]
    attributes: Mapping[str, Any]


Read = Callable[[Sequence[str]], Person]
# The columns of a row that have a value whose meaning a person must say.
Unknown = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True)
class Layout:
    """Who wrote a file, and how to read its rows; reading raises Refused for a row that cannot be understood."""

    name: str
    read: Read
    # None if no column has such values.
    unknown: Unknown | None = None
    # Whether rows may say that people left.
    tells_who_left: bool = True
    # Whether columns that say so may also be found by their values: the product is unknown.
    looks_at_values: bool = False


def padded(cells: Sequence[str], width: int) -> Sequence[str]:
    """The cells with empty ones added, so that every column of the header has one."""
    return cells if len(cells) >= width else [*cells, *[""] * (width - len(cells))]


def one_line(cell: str) -> str:
    """A name as it stands in a greeting or a header: a line break or a tab, with the space around it, is one space."""
    return BREAK.sub(" ", cell).strip()
