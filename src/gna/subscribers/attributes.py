"""Attributes as lines that a person can edit: `city = Cluj`, one a line."""

import json
from collections.abc import Mapping
from typing import Any

from gna.errors import Refused


def written(attributes: Mapping[str, Any]) -> str:
    """The attributes, a line for each; what is not a text is written as JSON."""
    return "\n".join(_line(name, value) for name, value in attributes.items())


def read(text: str, before: Mapping[str, Any]) -> dict[str, Any]:
    """What somebody made of the lines; a line that was not touched means exactly what it meant before."""
    kept = {_line(name, value): (name, value) for name, value in before.items()}
    found: dict[str, Any] = {}
    # Only at line feeds: other signs that end lines in Unicode are a part of the text.
    for line in filter(str.strip, text.split("\n")):
        name, value = kept.get(line) or _parse(line, before)
        if name in found:
            raise Refused("Two lines of the attributes have the same name")
        found[name] = value
    return found


def _line(name: str, value: object) -> str:
    plain_name = name and name == name.strip() and not name.startswith('"') and not {"=", "\n"} & {*name}
    plain_value = isinstance(value, str) and value == value.strip() and "\n" not in value
    shown = value if plain_value else json.dumps(value, ensure_ascii=False)
    return f"{name if plain_name else json.dumps(name, ensure_ascii=False)} = {shown}"


def _parse(line: str, before: Mapping[str, Any]) -> tuple[str, Any]:
    name, rest = _name(line.strip())
    if not name or not rest.startswith("="):
        raise Refused("Write each attribute on a line of its own, as name = value")
    value = rest[1:].strip()
    # A text stays a text, also if it looks like a number: it may be a postcode.
    return name, value if isinstance(before.get(name, ""), str) else _json(value)


def _name(line: str) -> tuple[str, str]:
    """The name in front of the `=`, in quotes if it is an odd one; and the rest."""
    if line.startswith('"'):
        try:
            name, end = json.JSONDecoder().raw_decode(line)
            return name, line[end:].lstrip()
        except ValueError:
            pass
    name, sign, rest = line.partition("=")
    return name.strip(), sign + rest


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
