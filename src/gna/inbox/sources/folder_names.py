"""Names of folders on the wire: modified UTF-7 (RFC 3501, 5.1.3), and which folders are worth a look."""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence

SHIFTED = re.compile(r"&([A-Za-z0-9+,]*)-")
BEYOND = re.compile(r"[^\x20-\x7e]+")
LISTED = re.compile(rb'\((?P<marks>[^)]*)\) (?:"(?:\\?.)"|NIL) (?P<name>.*)', re.DOTALL)
# What the owner sent, wrote, threw away or never wanted; and all of it once more, as Gmail has it.
SKIPPED = frozenset(("\\sent", "\\drafts", "\\trash", "\\junk", "\\all"))
CLOSED = frozenset(("\\noselect", "\\nonexistent"))
# For servers that do not mark them.
USUAL = frozenset(
    ("sent", "sent items", "sent messages", "drafts", "trash", "deleted items", "deleted messages", "junk", "spam")
)


def on_the_wire(name: str) -> bytes:
    """A folder's name as a quoted string."""
    shifted = BEYOND.sub(_shift, name.replace("&", "&-"))
    return b'"' + shifted.replace("\\", "\\\\").replace('"', '\\"').encode("ascii") + b'"'


def off_the_wire(name: bytes) -> str:
    """A folder's name as its owner reads it; one that breaks the rules stays as it is."""
    text = name.decode("utf-8", "replace")
    try:
        return SHIFTED.sub(_shift_back, text)
    except ValueError:
        return text


def worth_a_look(lines: Iterable[bytes | tuple[bytes, bytes]]) -> list[str]:
    """The folders of a LIST answer that are read when all are asked for."""
    found = [folder for folder in map(_listed, lines) if folder]
    marked = any(SKIPPED & marks for _, marks in found)
    return [
        name for name, marks in found if not marks & (SKIPPED | CLOSED) and (marked or not is_usually_skipped(name))
    ]


def is_usually_skipped(name: str) -> bool:
    """Whether folders of this name, or of this path, mostly hold what the owner sent or threw away."""
    return re.split(r"[./]", name)[-1].lower() in USUAL


def _listed(line: bytes | tuple[bytes, bytes]) -> tuple[str, frozenset[str]] | None:
    head, literal = (line, None) if isinstance(line, bytes) else line
    found = LISTED.match(head)
    if found is None:
        return None
    name = literal if literal is not None else _unquoted(found["name"])
    return off_the_wire(name), frozenset(found["marks"].decode("ascii", "replace").lower().split())


def _unquoted(name: bytes) -> bytes:
    return re.sub(rb"\\(.)", rb"\1", name[1:-1]) if name.startswith(b'"') else name


def _shift(beyond: re.Match[str]) -> str:
    return "&" + b64encode(beyond[0].encode("utf-16-be", "replace")).decode().rstrip("=").replace("/", ",") + "-"


def _shift_back(shifted: re.Match[str]) -> str:
    if not shifted[1]:
        return "&"
    packed = shifted[1].replace(",", "/")
    return b64decode(packed + "=" * (-len(packed) % 4)).decode("utf-16-be")


def ranges(uids: Sequence[int]) -> str:
    """UIDs in ascending order as IMAP writes a set: 1:4,7,9:12."""
    parts, start = [], 0
    for place in range(1, len(uids) + 1):
        if place == len(uids) or uids[place] != uids[place - 1] + 1:
            first, last = uids[start], uids[place - 1]
            parts.append(str(first) if first == last else f"{first}:{last}")
            start = place
    return ",".join(parts)


def numbers(written: str, *, most: int) -> list[int]:
    """Such a set again, in ascending order; ValueError if it has more than so many."""
    ends = [sorted(map(int, part.split(":"))) for part in written.split(",")]
    if sum(end[-1] - end[0] + 1 for end in ends) > most:
        raise ValueError("These are too many")
    return sorted({number for end in ends for number in range(end[0], end[-1] + 1)})
