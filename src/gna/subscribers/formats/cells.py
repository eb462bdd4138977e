"""Cells that hold more than one value."""

import ast
import csv
import json
from collections.abc import Callable, Iterable
from typing import Any

from gna.subscribers.formats.person import LONGEST_NAME, LONGEST_VALUE

# What a cell adds to the attributes.
Unpack = Callable[[str], dict[str, Any]]

MOST_TAGS = 100
# Parsing costs more than reading; nobody keeps this much about one person.
LONGEST_DATA = 20_000


def tags_by(separator: str) -> Unpack:
    """Read a cell of tags with this separator."""
    return lambda cell: _tags(cell.split(separator))


def quoted_tags(cell: str) -> dict[str, Any]:
    """Read a cell of tags that is itself a line of CSV."""
    try:
        return _tags(next(csv.reader([cell], skipinitialspace=True), []))
    except csv.Error:
        return _tags(cell.split(","))


def data_in(column: str) -> Unpack:
    """Read a cell that holds an object as JSON or as Python writes it; another text is kept under its column."""

    def unpack(cell: str) -> dict[str, Any]:
        found = _loads(cell)
        if not isinstance(found, dict):
            return {column: cell[:LONGEST_VALUE]}
        return {
            name: _fitting(value)
            for key, value in found.items()
            if (name := key.strip()[:LONGEST_NAME]) and value not in (None, "", [], {})
        }

    return unpack


def _tags(parts: Iterable[str]) -> dict[str, Any]:
    tags = list(dict.fromkeys(part.strip()[:LONGEST_VALUE] for part in parts if part.strip()))
    return {"tags": tags[:MOST_TAGS]} if tags else {}


def _loads(text: str) -> Any | None:
    if len(text) > LONGEST_DATA:
        return None
    # JSON first: it reads what Python's notation would also accept, and its escapes as they were meant.
    for parse in (json.loads, ast.literal_eval):
        try:
            return _storable(parse(text))
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return None


def _storable(value: Any) -> Any:
    """The value as it comes back from JSON; ValueError if a database would not take it."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    text.encode()
    if "\\u0000" in text:
        raise ValueError
    return json.loads(text)


def _fitting(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE]
