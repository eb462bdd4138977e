"""The HTML of a mail as its tags: read one at a time, and only where somebody looks."""

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property, lru_cache
from html import unescape
from urllib.parse import urljoin

from gna.inbox import words
from gna.inbox.sentences import split

# An address that is longer leads nowhere.
URL_MAX = 8192
# So far before a link the tag may be that hides it, and so many of these are looked at; farther away a whole page is
# hidden, as one for telephones is, and the link is in the other one too.
HIDDEN_BEFORE = 4000
HIDDEN_WITHIN = 6 * HIDDEN_BEFORE
HIDDEN_MAX = 20
# In the first part of a mail a quote starts, so many times at most.
QUOTED_WITHIN = 10_000
QUOTED_MAX = 100
# So far from its start a tag may say what it is; and so long is one at most that anybody looks into.
TAG_MAX = 1000
TAG_LONGEST = 16 * 1024

# Nothing is tried twice: whoever writes a mail may want it to be read for hours. Groups are not possessive, which
# Python gets wrong before 3.11.5; each of their turns begins with a sign that nothing before it can take.
_TAG = re.compile(rb"""<([a-z][a-z0-9]*+)([^>"']*+(?:"[^"]*+"[^>"']*+|'[^']*+'[^>"']*+)*)>""")
_BROKEN_TAG = re.compile(rb"<([a-z][a-z0-9]*+)([^>]*+)")
_ATTRIBUTE = re.compile(rb"""([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|["']?([^\s>]*)))?""")
_MARKUP = re.compile(rb"<!--.*?-->|<(br\b)?[^>]*>?", re.DOTALL)
_MARKUP_ALONE = re.compile(rb"<(br\b)?[^>]*>?")
# In an attribute `&copy=2` stays what it is; `&copy;=2` and `&amp` do not.
_ENTITY = re.compile(r"&(?:#[0-9]{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[a-zA-Z][a-zA-Z0-9]{1,31}(?:;|(?![a-zA-Z0-9=])))")
_BLANKS = "".join(map(chr, range(33)))
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
# A link that is not to be seen is there for machines, to find out who follows every link: it is no offer. Styles of a
# class are not looked at: they hide things on some screens only.
_HIDING = (b"display:none", b"display: none", b"visibility:hidden", b"visibility: hidden")
# The element around a mail that is quoted, which another sender wrote; newsletters use it for a margin, too.
_QUOTE, _GMAIL_QUOTE = b"<blockquote", b"gmail_quote"
_QUOTE_CLASSES = (b"gmail_quote", b"protonmail_quote", b"yahoo_quoted", b"zmail")
# So many bytes before a quote hold the line that introduces it: "On Monday Ann wrote:".
ATTRIBUTION_WITHIN = 1500
ATTRIBUTION_MAX = 200
_NOTHING_INSIDE = frozenset({b"img", b"input", b"br", b"hr", b"meta", b"link", b"col", b"area", b"source"})
_TOO_SMALL = re.compile(rb"font-size\s*:\s*0(?:px|pt|em|%)?\s*(?:[;!]|$)")

Attributes = dict[bytes, bytes]


class _Spans:
    """What stands between two signs, as comments do; the page is searched for them once, and only if need be."""

    def __init__(self, page: bytes, opening: bytes, closing: bytes) -> None:
        self._page, self._opening, self._closing = page, opening, closing
        # From here on nothing is closed.
        self._last = len(page)

    def around(self, at: int) -> bool:
        """Whether this place is within such a span."""
        # If the end is nearer, there first: mostly nothing is closed after the links in a footer.
        if at > len(self._page) // 2 and self._is_last(at):
            return False
        starts, ends = self._found
        number = bisect_right(starts, at) - 1
        return number >= 0 and at < ends[number]

    def _is_last(self, at: int) -> bool:
        """Whether nothing is closed from here on; nothing is searched twice for that."""
        if at < self._last and self._page.find(self._closing, at, self._last + len(self._closing)) < 0:
            self._last = at
        return at >= self._last

    @cached_property
    def _found(self) -> tuple[list[int], list[int]]:
        """Where they start, behind their signs, and where they end."""
        starts, ends, end = [], [], 0
        while (start := self._page.find(self._opening, end)) >= 0:
            end = self._page.find(self._closing, start)
            end = end + len(self._closing) if end >= 0 else len(self._page)
            starts.append(start + len(self._opening))
            ends.append(end)
        return starts, ends


class Page:
    """The bytes of a page, as they are and in lower case. They become letters only where somebody looks: for all of it
    that would take as long as all else."""

    def __init__(self, html: bytes) -> None:
        self.raw = html
        self.low = html.lower()
        self._comments = _Spans(self.low, b"<!--", b"-->")
        self._scripts = _Spans(self.low, b"<script", b"</script")
        # Where elements end; several links may be in one.
        self._ends: dict[int, int] = {}

    def tag(self, at: int) -> tuple[Attributes, int]:
        """The attributes of the tag that starts there, with names in lower case, and where it ends."""
        last = at + TAG_LONGEST
        found = _TAG.match(self.low, at, last) or _BROKEN_TAG.match(self.low, at, last)
        if not found:
            return {}, at
        attributes: Attributes = {}
        for name, *values in _ATTRIBUTE.findall(self.raw[found.start(2) : found.end(2)]):
            attributes.setdefault(name.lower(), b"".join(values))
        return attributes, found.end()

    def address(self, value: bytes) -> str:
        """An attribute as an address, or nothing: where a mail is read, a part of an address leads nowhere."""
        url = attribute(value).strip(_BLANKS)
        url = url.replace("\t", "").replace("\r", "").replace("\n", "")
        if not _SCHEME.match(url):
            url = urljoin(self._base, url) if self._base and url and not url.startswith("#") else ""
        if url.lower().startswith("http"):
            url = url.replace(" ", "%20")
        return url if len(url) <= URL_MAX else ""

    @cached_property
    def _base(self) -> str:
        at = self.low.find(b"<base")
        if at < 0 or self._comments.around(at):
            return ""
        url = attribute(self.tag(at)[0].get(b"href", b"")).strip()
        return url if url.lower().startswith(("http://", "https://")) else ""

    def seen(self, at: int) -> bool:
        """Whether somebody who reads the mail sees what stands there as this sender's."""
        if self._comments.around(at) or self._scripts.around(at):
            return False
        return not self._hidden(at) and not self._is_quoted(at)

    def _is_quoted(self, at: int) -> bool:
        if any(start <= at < end for start, end in self._gmail_quotes):
            return True
        # The end is near, so that this is soon known.
        if self.low.find(b"</blockquote", at) < 0:
            return False
        return any(start <= at < end for start, end in self._quotes)

    @cached_property
    def _gmail_quotes(self) -> list[tuple[int, int]]:
        return self._elements_with(_GMAIL_QUOTE, QUOTED_WITHIN)

    @cached_property
    def _quotes(self) -> list[tuple[int, int]]:
        elements = self._elements_with(_QUOTE, len(self.low))
        return [(start, end) for start, end in elements if end and self._quotes_a_mail(start)]

    def _quotes_a_mail(self, start: int) -> bool:
        """Whether the element there says that it quotes, or the line before it does."""
        attributes, _ = self.tag(start)
        if b"cite" in attributes or attributes.get(b"type", b"").lower() == b"cite":
            return True
        name = (attributes.get(b"class", b"") + b" " + attributes.get(b"id", b"")).lower()
        if any(quote in name for quote in _QUOTE_CLASSES):
            return True
        before = self.low[max(start - ATTRIBUTION_WITHIN, 0) : start]
        return introduces_quote(text_of(before))

    def _elements_with(self, sign: bytes, last: int) -> list[tuple[int, int]]:
        starts = self._tags_with(sign, 0, last, QUOTED_MAX)
        return [(start, self._end(start, len(self.low))) for start in starts]

    def _hidden(self, at: int) -> bool:
        # The tag itself may say it, too.
        before, after = max(at - HIDDEN_BEFORE, 0), at + TAG_MAX
        signs = [sign for sign in _HIDING if self.low.rfind(sign, before, after) >= 0]
        starts = (start for sign in signs for start in self._tags_with(sign, before, after, HIDDEN_MAX))
        return any(start <= at < self._end_near(start) for start in starts)

    def _end_near(self, start: int) -> int:
        if start not in self._ends:
            self._ends[start] = self._end(start, start + HIDDEN_WITHIN)
        return self._ends[start]

    def _tags_with(self, sign: bytes, first: int, last: int, most: int) -> Iterator[int]:
        """Where tags start that have this in them, from the end."""
        at = self.low.rfind(sign, first, last)
        while at >= 0 and most:
            start = self._tag_around(at)
            if start >= 0:
                most -= 1
                yield start
            at = self.low.rfind(sign, first, at)

    def _tag_around(self, at: int) -> int:
        """Where the tag starts that has this place in it, or -1."""
        start = self.low.rfind(b"<", max(at - TAG_MAX, 0), at + 1)
        if start < 0 or self.low.rfind(b">", start, at + 1) >= 0 or self._comments.around(start):
            return -1
        return start

    def _end(self, start: int, last: int) -> int:
        """Where the element ends that starts there; 0, if it does not before that place, or has nothing inside."""
        tag = _BROKEN_TAG.match(self.low, start, start + TAG_LONGEST)
        if not tag or tag[1] in _NOTHING_INSIDE:
            return 0
        depth = 1
        for other in _same(tag[1]).finditer(self.low, tag.end(), last):
            depth += -1 if other[1] else 1
            if not depth:
                return other.start()
        return 0


def introduces_quote(text: str) -> bool:
    """Whether a text ends with the line by which a mail program introduces the mail that it quotes."""
    line = words.normal(text)[-ATTRIBUTION_MAX:]
    return line.endswith((":", "：", "-")) and words.WROTE.said(split(line)[-1])


@lru_cache(64)
def _same(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"<(/?)" + name + rb"[\s/>]")


def letters(piece: bytes) -> str:
    """A piece of a page as text. What in it is not UTF-8 is half a letter, or Latin-1 that nobody spoke of; the rest of
    the piece is none the worse for it."""
    return piece.decode("utf-8", LATIN)


def _latin(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


LATIN = "gna.latin-1"
codecs.register_error(LATIN, _latin)


def attribute(value: bytes) -> str:
    """The value of an attribute as it is meant."""
    text = letters(value)
    return _ENTITY.sub(lambda found: unescape(found[0]), text) if "&" in text else text


def text_of(markup: bytes) -> str:
    """What somebody reads of it. Only a new line parts words: a word may be partly bold."""
    # Behind the last comment nobody looks for the end of another one.
    before, end, after = markup.rpartition(b"-->")
    text = _MARKUP.sub(_between, before + end) + _MARKUP_ALONE.sub(_between, after)
    return meant(letters(text))


def _between(markup: re.Match[bytes]) -> bytes:
    return b" " if markup[1] else b""


def meant(text: str) -> str:
    """The text with the letters that it names or numbers; as it is, if a number is so long that none has it."""
    try:
        return unescape(text)
    except ValueError:
        return text


def shrunk(attributes: Attributes) -> bool:
    """Whether an element has letters without a size, or says that it is hidden."""
    return b"hidden" in attributes or bool(_TOO_SMALL.search(attributes.get(b"style", b"").lower()))
