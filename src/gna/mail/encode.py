"""How text travels in a mail: quoted-printable, base64, and header values.

Whatever is encoded here has no line that begins with a dot, so nothing is left for SMTP to double, and none that
begins with "From ", so no mailbox file changes it and breaks a signature.
"""

import binascii
import re
from email.header import Header
from functools import lru_cache

CRLF = b"\r\n"
SOFT = b"=\r\n"
LINE = 75
# A header line of 76, less "Subject: " and the frame of an encoded word: so many bytes in base64.
WORD = 39
HEADER_LINE = 76
# Words that stand in front of an address as they are (RFC 5322: atoms), one space between them.
ATOMS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?: [A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")

_WRITTEN = [bytes([byte]) if 32 <= byte < 127 and byte != 61 else b"=%02X" % byte for byte in range(256)]
# What needs no encoding and fits on a line; it does not begin with a dot or an F, which might have to be encoded there.
_SIMPLE = re.compile(r"[!-\-/-<>-EG-~][ !-<>-~]{0,70}").fullmatch


def quoted(text: str, *, goes_on: bool) -> bytes:
    """The text in quoted-printable, from the start of a line; if it `goes_on`, the next piece starts one too."""
    lines = text.encode().split(b"\n")
    out = [_quoted_line(line, hard=True) + CRLF for line in lines[:-1]]
    last = _quoted_line(lines[-1], hard=not goes_on)
    return b"".join((*out, last, SOFT if goes_on and last else b""))


def quoted_value(value: str) -> bytes:
    """A person's value between two pieces; most are short and simple."""
    if _SIMPLE(value):
        return value.encode() + SOFT
    return _quoted_value(value)


@lru_cache(1024)
def _quoted_value(value: str) -> bytes:
    # In C where it fits on a line; it writes other things only in the middle of a text or in a longer one.
    data = binascii.b2a_qp(value.encode(), istext=False)
    if data and len(data) <= LINE and b"\n" not in data and data[0] not in b".F":
        return data + SOFT
    return quoted(value, goes_on=True)


def _quoted_line(line: bytes, *, hard: bool) -> bytes:
    """One line of text in lines of at most 76; a `hard` line must not end in white space."""
    out, current = [], b""
    for place, byte in enumerate(line):
        written = _WRITTEN[byte]
        if byte == 32 and hard and place == len(line) - 1:
            written = b"=20"
        if len(current) + len(written) > LINE:
            out.append(current + SOFT)
            current = b""
        if not current and byte in b".F":
            written = b"=%02X" % byte
        current += written
    return b"".join((*out, current))


def base64_lines(data: bytes) -> bytes:
    """Base64 in lines of 76."""
    return b"".join(binascii.b2a_base64(data[at : at + 57], newline=False) + CRLF for at in range(0, len(data), 57))


def is_plain(line: str) -> bool:
    """Whether a line can travel as it is."""
    if not line:
        return True
    return line.isascii() and line.isprintable() and not line.startswith((".", "From ")) and not line.endswith(" ")


@lru_cache(1024)
def header(text: str, used: int) -> bytes:
    """A header's value after so many bytes of its name: as it is, folded at its spaces, or in encoded words."""
    if text.isascii() and text.isprintable() and "=?" not in text:
        if used + len(text) <= HEADER_LINE:
            return text.encode()
        words = text.split(" ")
        if max(map(len, words)) <= HEADER_LINE - used and "" not in words:
            return _folded(words, used)
    return b"\r\n ".join(
        b"=?utf-8?b?" + binascii.b2a_base64(chunk.encode(), newline=False) + b"?=" for chunk in _chunks(text)
    )


def from_header(name: str, address: str) -> bytes:
    """The value of `From:`, of an ASCII address and a name as `NamedAddress` has it."""
    if not name:
        return address.encode()
    phrase = _phrase(name, used=len("From: "))
    last_line = phrase.rpartition("\r\n")[2]
    used = len(last_line) if last_line != phrase else len("From: ") + len(phrase)
    fits = used + len(f" <{address}>") <= HEADER_LINE
    gap = " " if fits else "\r\n "
    return f"{phrase}{gap}<{address}>".encode()


def _phrase(name: str, *, used: int) -> str:
    """The name in front of an address: as it is, in quotes, or in encoded words."""
    # A text with "=?" could be read as an encoded word.
    if name.isascii() and "=?" not in name:
        words = name.split(" ")
        if ATOMS.fullmatch(name) and max(map(len, words)) <= HEADER_LINE - used:
            return _folded(words, used).decode()
        quoted = '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'
        # It is never folded: some parsers keep a line break within quotes.
        if used + len(quoted) <= HEADER_LINE:
            return quoted
    # Writes in each encoded word only what may stand in a phrase, and splits no character.
    words_only = Header(name, "utf-8", maxlinelen=HEADER_LINE, header_name="From")
    return words_only.encode(linesep="\r\n")


def _folded(words: list[str], used: int) -> bytes:
    lines, length = [words[0]], used + len(words[0])
    for word in words[1:]:
        if length + 1 + len(word) > HEADER_LINE:
            lines.append(word)
            length = 1 + len(word)
        else:
            lines[-1] += f" {word}"
            length += 1 + len(word)
    return "\r\n ".join(lines).encode()


def _chunks(text: str) -> list[str]:
    """The text in pieces that fit an encoded word each; no letter is cut."""
    chunks, size = [""], 0
    for letter in text:
        length = len(letter.encode())
        if size + length > WORD:
            chunks.append("")
            size = 0
        chunks[-1] += letter
        size += length
    return chunks
