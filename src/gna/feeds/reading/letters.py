"""From the bytes of a feed to its characters, whatever it says about itself."""

import codecs
import re

BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# How `<?` or `<r` begins when there is no mark before it.
WIDE = ((re.compile(rb"<\x00[?\w]\x00"), "utf-16-le"), (re.compile(rb"\x00<\x00[?\w]"), "utf-16-be"))
DECLARED = re.compile(rb"""^\s{0,100}<\?xml[^>]{0,200}?encoding\s{0,5}=\s{0,5}["']([A-Za-z0-9._:-]{1,40})["']""")
CHARSET = re.compile(r"""charset\s{0,5}=\s{0,5}["']?([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
# What servers say of every text unless they are told otherwise; a document knows better.
SERVER_DEFAULTS = frozenset({"ascii", "cp1252"})
# XML forbids them even as references, and one of them would make the whole feed unreadable.
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
NOT_OF_FEEDS = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"})
# Many declare an old standard and write its successor.
MEANT = {"gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252", "shift_jis": "cp932", "euc_kr": "cp949"}
# Broken bytes per whole letter beyond ASCII, above which a text was not meant as UTF-8.
BROKEN = 0.2


def decoded(body: bytes, content_type: str) -> str:
    """The characters of a document, without those that XML forbids."""
    return FORBIDDEN.sub("", _decoded(body, content_type))


def _decoded(body: bytes, content_type: str) -> str:
    for mark, encoding in BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    for beginning, encoding in WIDE:
        if beginning.match(body):
            return body.decode(encoding, "replace")
    # Hardly any text in another encoding happens to be whole UTF-8, so this is believed before any declaration.
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return _other(body, content_type)
    # Japanese mail encodings hide in ASCII bytes.
    return _other(body, content_type) if "\x1b" in text else text


def _other(body: bytes, content_type: str) -> str:
    for encoding in _claims(body, content_type):
        try:
            return body.decode(encoding)
        except (UnicodeDecodeError, ValueError):
            continue
    text = body.decode(errors="replace")
    broken, whole = text.count("\ufffd"), sum(map(len, re.findall("[^\x00-\x7f\ufffd]+", text)))
    return text if broken <= whole * BROKEN else body.decode("cp1252", "replace")


def _claims(body: bytes, content_type: str) -> list[str]:
    """What the server and the document say, the more believable first; UTF-8 was tried before."""
    http = _codec(found[1]) if (found := CHARSET.search(content_type[:1000])) else ""
    own = _codec(declared[1].decode("ascii")) if (declared := DECLARED.match(body)) else ""
    claims = [own, http] if http in SERVER_DEFAULTS else [http, own]
    return [claim for claim in claims if claim and claim not in ("utf-8", "ascii")]


def _codec(name: str) -> str:
    """The codec of that name, as it is meant, if it is one of text."""
    try:
        codec = codecs.lookup(name)
    except LookupError:
        return ""
    # Such as "rot13" and "zlib"; Python marks them so for its own use.
    is_text = getattr(codec, "_is_text_encoding", True) and codec.name not in NOT_OF_FEEDS
    return MEANT.get(codec.name, codec.name) if is_text else ""
