"""The body of a mail as bytes with holes, where each person's values go."""

import re
from collections.abc import Callable, Mapping

from gna.mail import encode
from gna.mail.content import Pieces, Slot
from gna.mail.encode import CRLF

LONGEST_LINE = 998
# In a mail that travels unencoded, room on each line for each value.
ROOM = 200
# A line that a value could make begin with "From ".
FROM_SO_FAR = re.compile(f"(?:F|Fr|Fro|From)x{{{ROOM}}}").match
PLAIN_VALUE = re.compile(r"[A-Za-z0-9](?:[ -~]{0,198}[!-~])?").fullmatch


class Base64Part:
    """A part in base64, where what follows a hole depends on how many bytes it took: base64 goes in threes.

    Each static piece is therefore encoded three times, once for each number of bytes that its predecessor may borrow.
    """

    def __init__(self, pieces: Pieces) -> None:
        self._slots = pieces[1::2]
        statics = [piece.replace("\n", "\r\n").encode() for piece in pieces[0::2] if isinstance(piece, str)]
        self._statics = [tuple(_lent(static, borrowed) for borrowed in range(3)) for static in statics]

    def merge(self, values: Mapping[str, str]) -> bytes:
        """The part for one person."""
        out: list[bytes] = []
        carried = b""
        for place, lent in enumerate(self._statics):
            if place:
                slot = self._slots[place - 1]
                carried += slot.of(values).replace("\n", "\r\n").encode() if isinstance(slot, Slot) else b""
            head, whole, tail = lent[-len(carried) % 3]
            out += (encode.base64_lines(carried + head), whole) if whole else ()
            carried = tail if whole else carried + head + tail
        return b"".join((*out, encode.base64_lines(carried)))


def _lent(static: bytes, borrowed: int) -> tuple[bytes, bytes, bytes]:
    """What the predecessor borrows, whole threes in base64, and what is left for the successor."""
    head, rest = static[:borrowed], static[borrowed:]
    whole = len(rest) - len(rest) % 3
    return head, encode.base64_lines(rest[:whole]), rest[whole:]


class Body:
    """Bytes with holes."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = [b""]
        self._holes: dict[tuple[Slot, Callable[[str], bytes | None]], list[int]] = {}
        self._parts: list[tuple[int, Base64Part]] = []

    def add(self, data: bytes) -> None:
        """Something that is the same for everybody."""
        self._pieces[-1] += data

    def leave(self, slot: Slot, written: Callable[[str], bytes | None]) -> None:
        """A hole, and how a value is written there: None if it cannot be."""
        self._holes.setdefault((slot, written), []).append(self._hole())

    def leave_part(self, part: Base64Part) -> None:
        """A part that is another for each person from its first hole on."""
        self._parts.append((self._hole(), part))

    def merge(self, values: Mapping[str, str]) -> list[bytes] | None:
        """The pieces for one person; None if a value does not fit."""
        pieces = self._pieces.copy()
        for (slot, written), places in self._holes.items():
            data = written(slot.safe(values[slot.name] or slot.fallback))
            if data is None:
                return None
            for place in places:
                pieces[place] = data
        for place, part in self._parts:
            pieces[place] = part.merge(values)
        return pieces

    def _hole(self) -> int:
        self._pieces += (b"", b"")
        return len(self._pieces) - 2


def encoded(text: Pieces, html: Pieces, boundary: bytes) -> Body:
    """Both parts, each in quoted-printable or base64, whichever is shorter."""
    body = Body()
    for kind, pieces in ((b"plain", _joined(text)), (b"html", _joined(html))):
        if _is_shorter_in_base64(pieces):
            body.add(_part_head(kind, boundary, b"base64"))
            body.leave_part(Base64Part(pieces))
        else:
            body.add(_part_head(kind, boundary, b"quoted-printable"))
            _add_quoted(body, pieces)
        body.add(CRLF)
    body.add(b"--" + boundary + b"--\r\n")
    return body


def _joined(pieces: Pieces) -> Pieces:
    """Static, slot, static, …, static, whatever stood side by side before."""
    out: Pieces = [""]
    for piece in pieces:
        last = out[-1]
        if isinstance(piece, str) and isinstance(last, str):
            out[-1] = last + piece
        elif isinstance(piece, str) or isinstance(last, str):
            out.append(piece)
        else:
            out += ["", piece]
    return out if isinstance(out[-1], str) else [*out, ""]


def _add_quoted(body: Body, pieces: Pieces) -> None:
    for place, piece in enumerate(pieces):
        if isinstance(piece, str):
            body.add(encode.quoted(piece, goes_on=place < len(pieces) - 1))
        else:
            body.leave(piece, encode.quoted_value)


def _is_shorter_in_base64(pieces: Pieces) -> bool:
    """Whether the text has so many letters beyond ASCII; with a bias for what a person can still read."""
    data = "".join(piece for piece in pieces if isinstance(piece, str)).encode()
    return sum(byte > 126 for byte in data) * 4 > len(data)


def plain(text: Pieces, html: Pieces, boundary: bytes) -> Body | None:
    """Both parts as they are, if mails may carry them so."""
    body = Body()
    for kind, pieces in ((b"plain", text), (b"html", html)):
        if not _can_be_plain(pieces):
            return None
        body.add(_part_head(kind, boundary, b"7bit"))
        for piece in pieces:
            if isinstance(piece, str):
                body.add(piece.replace("\n", "\r\n").encode())
            else:
                body.leave(piece, _plain_value)
        body.add(CRLF)
    body.add(b"--" + boundary + b"--\r\n")
    return body


def _can_be_plain(pieces: Pieces) -> bool:
    lines = "".join(piece if isinstance(piece, str) else "x" * ROOM for piece in pieces).split("\n")
    return all(encode.is_plain(line) and len(line) <= LONGEST_LINE and not FROM_SO_FAR(line) for line in lines)


def _plain_value(value: str) -> bytes | None:
    return value.encode() if PLAIN_VALUE(value) and value[0] != "F" else None


def _part_head(kind: bytes, boundary: bytes, encoding: bytes) -> bytes:
    return b'--%b\r\nContent-Type: text/%b; charset="utf-8"\r\nContent-Transfer-Encoding: %b\r\n\r\n' % (
        boundary,
        kind,
        encoding,
    )
