"""What commands print and ask: drawn for a terminal, plain for a pipe."""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import typer
from rich.console import Console

from gna.errors import Refused

# What a terminal would obey instead of show, and what turns the direction of the text around.
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
CONTROLS_BUT_LINES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Lines in a pipe are not folded.
WIDEST = 1000


def clean(text: str) -> str:
    """What somebody wrote, as one line that no terminal obeys."""
    return CONTROLS.sub("", text)


def subject(campaign: Mapping[str, Any]) -> str:
    """The subject of a campaign; a draft may have none yet."""
    return clean(campaign["subject"]) or "Without a subject"


def moment(time: datetime | str) -> str:
    """A time as people read it."""
    when = datetime.fromisoformat(time) if isinstance(time, str) else time
    return f"{when:%Y-%m-%d %H:%M} UTC"


def people(number: int) -> str:
    """So many people."""
    return f"{number:,} {'person' if number == 1 else 'people'}"


def count(number: int, noun: str) -> str:
    """So many of them; for nouns that take an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def write(text: str) -> None:
    """A whole document to the standard output: byte for byte into a pipe, harmless on a terminal."""
    write_pieces([text])


def write_pieces(pieces: Iterable[str]) -> None:
    """The same, of a document that nobody has whole in memory."""
    is_terminal = sys.stdout.isatty()
    for piece in pieces:
        sys.stdout.buffer.write((CONTROLS_BUT_LINES.sub("", piece) if is_terminal else piece).encode())
    sys.stdout.buffer.write(b"\n" if is_terminal else b"")
    sys.stdout.flush()


def print_json(document: Any) -> None:
    """One JSON document; what a terminal would obey is written as `\\u009b`, which means the same."""
    said = json.dumps(document, ensure_ascii=False, indent=2)
    print(CONTROLS_BUT_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", said))


def console(*, stderr: bool = False) -> Console:
    """Where tables and bars are drawn; what is in brackets or between colons is shown as it is."""
    wide = None if (sys.stderr if stderr else sys.stdout).isatty() else WIDEST
    return Console(stderr=stderr, width=wide, markup=False, emoji=False, highlight=False)


def make_sure(question: str, *, yes: bool) -> None:
    """Go on only if somebody says so, or has said so with --yes."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise Refused("Nobody is here to be asked; add --yes if you are sure.")
    if not typer.confirm(question):
        raise Refused("Nothing was done.")
