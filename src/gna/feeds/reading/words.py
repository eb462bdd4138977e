"""The words of a feed as plain text: no markup, no line ends, nothing that a database would refuse."""

import re
from collections.abc import Iterator
from html import unescape
from unicodedata import category

from gna.feeds.entry import EXCERPT_MAX, TITLE_MAX
from gna.lines import shortened

# An excerpt is in the beginning of a text; the rest is never looked at, however long a hostile feed makes it.
LOOKED_AT = 20_000
# Control characters; half characters, which no database stores; marks that turn the direction of what follows.
UNWANTED = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\u202a-\u202e\u2066-\u2069]")
# The quantifiers that end in + never go back, so that no text takes longer than its length.
TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<[!?][^>]*+>|<(?P<end>/?)(?P<name>[a-zA-Z][a-zA-Z0-9:-]*+)"
    r"""(?P<attributes>(?:[^<>"']++|"[^"<]*+"|'[^'<]*+'|"[^"]*+"|'[^']*+')*+)>""",
    re.DOTALL,
)
ATTRIBUTE = re.compile(r"""([a-zA-Z][a-zA-Z0-9:_-]*+)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""")
# A picture inside its own address can be longer than all that is looked at.
INLINE_DATA = re.compile(r"data:[a-z]+/[^\"'\s>]*+")
# These go with all that is in them. `embed` is not among them: it is void, and what follows is not in it.
SILENT = re.compile(
    "applet|audio|canvas|head|iframe|math|noscript|object|script|select|style|svg|template|textarea|title|video"
)
# Of these, HTML parsers read everything as their content until the end tag, or the end of the document.
RAW = re.compile("iframe|script|style|template|textarea|title")
# The others stand apart from the words around them.
INLINE = re.compile(
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub|sup"
    "|tt|u|var|wbr"
)
# What makes us believe that a title that is called plain text is not.
PAIR = re.compile(r"<([a-zA-Z][a-zA-Z0-9]{0,9})\b[^<>]*+>[^<]*+</\1\s*+>")
VOID = re.compile(r"<(?:br|img|hr|wbr)\b[^<>]*+>", re.IGNORECASE)
ENTITY = re.compile(r"&(?:[a-zA-Z]{2,30}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")
# What blogs put below the beginning of a post.
LEFT_OFF = re.compile(
    r"\s*+(?:\[\s*+(?:…|\.\.\.)\s*+\]"
    r"|(?:Read [Mm]ore|Continue [Rr]eading|Keep [Rr]eading|Weiterlesen|Mehr lesen|Lire la suite|Leer más"
    r"|Seguir leyendo)(?:\s++[^.!?]{1,200})?"
    r"|(?:\d{1,6} posts? - \d{1,6} participants? )?Read full topic)[\s.…»›→>]*+$"
)
WORDPRESS = re.compile(
    r"(?:The post|Der Beitrag|L['’]article|La entrada|L['’]articolo|Het bericht|Articolul) "
    r".{1,300}? (?:appeared first on|erschien zuerst auf|est apparu en premier sur|se publicó primero en"
    r"|proviene da|verscheen eerst op|apare prima dată în) .{1,200}\.$"
)


def title(text: object, *, markup: bool = False) -> str:
    """One line of a title; `markup` says that the feed calls it HTML."""
    said = text[:LOOKED_AT] if isinstance(text, str) else ""
    # A title is often escaped once more than it should be, hence twice; "a < b" and "the <b> element" stay.
    for turn in range(2):
        if (markup and not turn) or PAIR.search(said) or VOID.search(said) or ENTITY.search(said):
            said = prose(said)
    said = shortened(storable(said), TITLE_MAX)
    return said if any(category(letter)[0] not in "CZ" for letter in said) else ""


def excerpt(text: object, *, markup: bool) -> str:
    """How a text begins, without what the blog wrote below it."""
    said = one_line(_unmarked(text, markup=markup)) if isinstance(text, str) else ""
    for end in (WORDPRESS, LEFT_OFF):
        # Only the end is searched, so that many beginnings of such words cost nothing. Nobody writes only such words.
        found = end.search(said, max(0, len(said) - 600))
        said = (_ended(said[: found.start()], found[0]) if found else "") or said
    return shortened(said, EXCERPT_MAX)


def _ended(said: str, left_off: str) -> str:
    """What was said before; where a blog cut it off, that can still be seen."""
    is_cut = left_off.lstrip().startswith("[")
    return said.rstrip(" ,;:–—-") + "…" if said.strip() and is_cut else said.rstrip()


def _unmarked(text: str, *, markup: bool) -> str:
    beginning = _beginning(text)
    if not markup and not PAIR.search(beginning) and not ENTITY.search(beginning):
        return beginning
    said = prose(beginning)
    # Tags that all were escaped were escaped once too often; beside real ones, they are what the text is about.
    return prose(said) if "<" not in beginning and PAIR.search(said) else said


def prose(fragment: str) -> str:
    """The text of HTML; where a block begins or ends there is a space."""
    said, end, silent = [], 0, ""
    fragment = _beginning(fragment)
    tags = [*TAG.finditer(fragment)]
    last_ends = {tag["name"].lower(): tag.start() for tag in tags if tag["end"]}
    # Of a text that was cut, the end tags may have been cut off.
    is_whole = len(fragment) < LOOKED_AT
    for tag in tags:
        name = (tag["name"] or "").lower()
        if not silent:
            said.append(fragment[end : tag.start()])
            said.append("" if not name or INLINE.fullmatch(name) else " ")
            is_left_open = is_whole and not RAW.fullmatch(name) and last_ends.get(name, -1) < tag.start()
            silent = name if _is_silent(tag) and not is_left_open else ""
        elif tag["end"] and name == silent:
            silent = ""
        end = tag.end()
    return unescape("".join(said) + ("" if silent else fragment[end:]))


def _is_silent(tag: re.Match[str]) -> bool:
    """Whether a tag opens an element whose content is not read."""
    name = (tag["name"] or "").lower()
    return bool(SILENT.fullmatch(name)) and not tag["end"] and not tag[0].endswith("/>")


def pictures(fragment: object) -> Iterator[dict[str, str]]:
    """The attributes of every picture in HTML, in order."""
    return _tags("img", fragment if isinstance(fragment, str) else "")


def links(page: str) -> Iterator[dict[str, str]]:
    """The attributes of what a web page says that it belongs to, in order."""
    return _tags("link", page)


def _tags(wanted: str, fragment: str) -> Iterator[dict[str, str]]:
    for tag in TAG.finditer(_beginning(fragment)) if "<" in fragment else ():
        if (tag["name"] or "").lower() == wanted and not tag["end"]:
            yield {
                name.lower(): unescape(one or two or bare)
                for name, one, two, bare in reversed(ATTRIBUTE.findall(tag["attributes"]))
            }


def _beginning(fragment: str) -> str:
    if "data:" in fragment:
        fragment = INLINE_DATA.sub("data:", fragment)
    return fragment[:LOOKED_AT]


def storable(text: str) -> str:
    """The text without what no database stores, no mail shows, or what turns the direction of the words after it."""
    return UNWANTED.sub("", text)


def one_line(text: str) -> str:
    """The text as one line with single spaces."""
    return " ".join(storable(text).split())
