"""RFC 2047: letters beyond ASCII in a header, as `=?utf-8?q?caf=C3=A9?=`; read as far as it can be."""

import re
from binascii import Error, a2b_base64, a2b_qp
from collections.abc import Iterator

# A question mark is not allowed within one, and some have it.
WORD = re.compile(r"=\?([^?*\s]{1,40})(?:\*[^?\s]{0,40})?\?([bBqQ])\?(.{0,800}?)\?=", re.DOTALL)
# Characters: whoever writes a longer field does not want it to be read.
LONGEST = 16 * 1024
# Names that Python would take for something else than a charset that mail uses.
NOT_TEXT = frozenset(("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"))


def decoded(text: str) -> str:
    """The text, as far as anybody reads it, with its encoded words decoded; one that is broken stays as it is."""
    return _storable("".join(_pieces(text[:LONGEST])))


def _pieces(text: str) -> Iterator[str]:
    """Words that follow each other are one: some senders cut them in the middle of a letter."""
    end, charset, raw = 0, "", b""
    for word in WORD.finditer(text):
        between = text[end : word.start()]
        content = _bytes(word[2], word[3])
        if content is None:
            continue
        if not raw or between.strip() or word[1].lower() != charset:
            yield _text(raw, charset)
            yield between if not raw or between.strip() else ""
            charset, raw = word[1].lower(), b""
        raw += content
        end = word.end()
    yield _text(raw, charset)
    yield text[end:]


def _bytes(kind: str, content: str) -> bytes | None:
    try:
        octets = content.encode("ascii")
        if kind in "qQ":
            return a2b_qp(octets, header=True)
        octets = octets.rstrip(b"=")
        return a2b_base64(octets + b"=" * (-len(octets) % 4))
    except (Error, ValueError):
        return None


def _text(raw: bytes, charset: str) -> str:
    if charset.replace("-", "_") in NOT_TEXT:
        charset = "latin-1"
    try:
        return raw.decode(charset, "replace")
    except (LookupError, ValueError):
        return raw.decode("utf-8", "replace")


def _storable(text: str) -> str:
    """Without what no database keeps: NUL, half a letter of UTF-16; and on one line. NUL leaves a mark: what stood
    before and after it was not one word."""
    text = text.encode("utf-8", "replace").decode() if not text.isascii() else text
    return text.replace("\0", "\ufffd").replace("\r", " ").replace("\n", " ")
