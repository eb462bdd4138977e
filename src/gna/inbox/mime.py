"""What is in a mail: its header, and what it says as HTML and as plain text.

Every mail can be opened: cut off in the middle, wrongly encoded, or made to harm. The parser of the standard library
needs ten times as long, and most of that for attachments, which nobody here wants.
"""

import binascii
import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

# A part within a part within a part, and parts in all: a mail that somebody reads has fewer.
DEEPEST = 8
PARTS_MAX = 100
# A header is some kilobytes.
HEADER_MAX = 256 * 1024
# Characters of what a part says about itself.
VALUE_MAX = 4096

# Nothing else ends a line: what `splitlines` also takes for an end may stand in a value.
_LINE_END = re.compile(r"(?:\r\n?+|\n)(?![ \t])")
_FOLD = re.compile(r"\r\n?|\n")
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_PARAMETER = r"""(?:^|[;\s]){}\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))"""
_BOUNDARY = re.compile(_PARAMETER.format("boundary"), re.IGNORECASE)
_CHARSET = re.compile(_PARAMETER.format("charset"), re.IGNORECASE)
_FORMAT = re.compile(_PARAMETER.format("format"), re.IGNORECASE)
_DELSP = re.compile(_PARAMETER.format("delsp"), re.IGNORECASE)
_CHARSET_NAME = re.compile(r"[\w.:-]{1,40}", re.ASCII)
# Where a mail was cut off.
_HALF_ESCAPE = re.compile(rb"=[0-9A-Fa-f]?\Z")
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]+")
# Python counts these as encodings of text; no mail is written in them, and some take long or warn.
_NO_CHARSET = frozenset({"punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"})
_CUT_OFF = frozenset({"unexpected end of data", "incomplete multibyte sequence", "truncated data"})

_READ = frozenset({"text/html", "text/plain"})

Header = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Opened:
    """A mail. The header's names are in lower case, and each has its values in the order of the mail, unfolded."""

    header: Header
    # In UTF-8, or in nobody knows what.
    html: bytes = b""
    text: str = ""


@dataclass(slots=True)
class _Said:
    """What was found so far, and how many parts may still be looked at."""

    html: list[bytes] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    left: int = PARTS_MAX


def opened(raw: bytes) -> Opened:
    """The mail's header, and what its parts say; several of one kind follow each other."""
    header, body = _halves(raw)
    said = _Said()
    _collect(header, body, said, depth=0)
    return Opened(header, b"\n".join(said.html), "\n".join(said.text))


def _halves(raw: bytes) -> tuple[Header, bytes]:
    """A mail, or a part of one, as its header and what follows it."""
    if raw.startswith((b"\n", b"\r\n")):
        return {}, raw[raw.index(b"\n") + 1 :]
    end = _BLANK_LINE.search(raw, 0, HEADER_MAX)
    if end:
        return _header(raw[: end.start()]), raw[end.end() :]
    return _header(raw[:HEADER_MAX]), b""


def _header(block: bytes) -> Header:
    found: Header = {}
    for line in _LINE_END.split(_as_text(block, "utf-8")):
        name, colon, value = line.partition(":")
        if colon:
            value = value.strip()
            if "\n" in value or "\r" in value:
                value = _FOLD.sub("", value)
            found.setdefault(name.strip().lower(), []).append(value)
    return found


def _collect(header: Header, body: bytes, said: _Said, *, depth: int) -> None:
    said.left -= 1
    kind = _first(header, "content-type")
    media = kind.partition(";")[0].strip().lower() or "text/plain"
    if media.startswith("multipart/"):
        boundary = _parameter(_BOUNDARY, kind)
        if boundary and depth < DEEPEST:
            for part in _parts(body, b"\n--" + boundary.encode("utf-8", "replace")):
                if said.left <= 0:
                    return
                _collect(*_halves(part), said, depth=depth + 1)
        return
    # A mail within this one is somebody else's: its way out is not this sender's.
    if media not in _READ or _first(header, "content-disposition").lower().startswith("attachment"):
        return
    data, charset = _unpacked(body, _first(header, "content-transfer-encoding").lower()), _parameter(_CHARSET, kind)
    if media == "text/html":
        said.html.append(_as_utf8(data, charset))
        return
    text = _as_text(data, charset)
    if _parameter(_FORMAT, kind).lower() == "flowed":
        text = _unflowed(text, without_space=_parameter(_DELSP, kind).lower() == "yes")
    said.text.append(text)


def _unflowed(text: str, *, without_space: bool) -> str:
    """The text with its wrapped lines joined (RFC 3676): a line that ends with a space goes on in the next one."""
    lines: list[list[str]] = []
    is_open = False
    for line in text.replace("\r\n", "\n").split("\n"):
        is_quote = line.startswith(">")
        content = line.removeprefix(" ")
        goes_on = content.endswith(" ") and content != "-- " and not is_quote
        if goes_on and without_space:
            content = content[:-1]
        if is_open and not is_quote and content != "-- ":
            lines[-1].append(content)
        else:
            lines.append([content])
        is_open = goes_on
    return "\n".join("".join(parts) for parts in lines)


def _parts(body: bytes, separator: bytes) -> Iterator[bytes]:
    """What stands between the lines of a boundary, which may be the start of another boundary's line."""
    pieces = (b"\n" + body).split(separator, PARTS_MAX)
    part: bytes | None = None
    for piece in pieces[1:]:
        line, newline, rest = piece.partition(b"\n")
        line = line.rstrip()
        if line not in (b"", b"--"):
            part = part + separator + piece if part is not None else None
            continue
        if part is not None:
            yield part.removesuffix(b"\r")
        if line:
            return
        part = rest if newline else b""
    if part is not None:
        yield _without_half(separator, part)


def _without_half(separator: bytes, part: bytes) -> bytes:
    """The last part of a mail that was cut off, maybe in the middle of a boundary."""
    end = part.rfind(b"\n")
    return part[:end] if end >= 0 and len(part) > end + 1 and separator.startswith(part[end:]) else part


def _first(header: Header, name: str) -> str:
    values = header.get(name)
    return values[0][:VALUE_MAX] if values else ""


def _parameter(pattern: re.Pattern[str], kind: str) -> str:
    found = pattern.search(kind)
    return (found[1] or found[2] or "").replace("\\", "").strip() if found else ""


def _unpacked(body: bytes, encoding: str) -> bytes:
    if encoding.startswith("base64"):
        return _from_base64(body)
    if encoding.startswith("quoted-printable"):
        return binascii.a2b_qp(_HALF_ESCAPE.sub(b"", body))
    return body


def _from_base64(data: bytes) -> bytes:
    try:
        return binascii.a2b_base64(data)
    except binascii.Error:
        # The end is missing: what is whole counts.
        data = _NOT_BASE64.sub(b"", data)
        return binascii.a2b_base64(data[: len(data) // 4 * 4]) + _rest_of_base64(data[len(data) // 4 * 4 :])


def _rest_of_base64(data: bytes) -> bytes:
    return binascii.a2b_base64(data + b"=" * (4 - len(data))) if len(data) > 1 else b""


def _as_utf8(data: bytes, charset: str) -> bytes:
    """The bytes in UTF-8. Whether those that claim to be are is not looked at: that is left to whoever reads some."""
    return data if _known(charset) == "utf-8" else _as_text(data, charset).encode("utf-8", "replace")


def _as_text(data: bytes, charset: str) -> str:
    """The bytes as text, if need be in another charset than they claim."""
    for name in (_known(charset), "utf-8"):
        try:
            return data.decode(name)
        except UnicodeDecodeError as error:
            # The last letter was cut in two.
            if error.start >= len(data) - 4 and error.reason in _CUT_OFF:
                return data.decode(name, "ignore")
        except (LookupError, ValueError):
            continue
    return data.decode("latin-1")


def _known(charset: str) -> str:
    """The charset as Python calls it; UTF-8, if it is none."""
    if charset.lower() in ("", "utf-8", "us-ascii") or not _CHARSET_NAME.fullmatch(charset):
        return "utf-8"
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        return "utf-8"
    return "utf-8" if name in _NO_CHARSET else name
