"""Ways out in the HTML of a mail.

A parser that builds the whole tree needs half a millisecond for a newsletter. One pattern finds all its links in a
tenth of that; only the few of them that speak of leaving are looked at closely.
"""

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from gna.inbox import sentences, words
from gna.inbox.forms import forms
from gna.inbox.sentences import Surroundings
from gna.inbox.tags import Page, attribute, letters, meant, shrunk, text_of
from gna.inbox.ways import Link, Source
from gna.inbox.words import Words

# Up to where a link's own words are a label, and those around it are about it.
LABEL_MAX = 150
BEFORE_MAX, AFTER_MAX = 250, 150
AROUND_MAX, NEAR = 3000, 500
# A link that does not say so in words counts only at the end of a mail, or among its first: stories are between them.
FOOTER = 12_000
TOP = 5
# So many links of one kind are looked at, from the end, and what so many of them say: a mail with more is no letter.
LOOKED_AT = 40
VALUES_MAX = 200

# A link ends where the next one starts, if nobody closed it.
_ANCHOR = re.compile(rb"<a(?:rea)?[\s/]([^<]*+(?:<(?!/?a(?:rea)?[\s>/])[^<]*+)*)")
_TEXT = re.compile(rb">([^<]++)")
_VALUE = rb"""\s*+=\s*+(?:"([^"]*+)|'([^']*+)|([^\s>"']++))"""
_HREF = re.compile(rb"href" + _VALUE)
_SPEAKING = {name: re.compile(name + _VALUE) for name in (b"alt", b"title", b"aria-label")}
_BOUND = re.compile(
    rb"<(?:/?(?:td|th|tr|table|tbody|div|p|li|ul|ol|dl|dt|dd|h[1-6]|center|blockquote|form|section|header|footer"
    rb"|article|body|hr)[\s/>]|(/?a)[\s/>]|br[^<>]*+>\s*+<br)"
)

Anchor = re.Match[bytes]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A link as somebody sees it: where it leads, what it says, what its pictures say."""

    anchor: Anchor
    url: str
    label: str
    spoken: str


@dataclass(frozen=True, slots=True)
class _Values:
    """Values, and what they say, with a sign between each two; `gist` is enough to find out whether one says it."""

    raw: Sequence[bytes]
    said: str
    gist: str

    def with_one_of(self, phrases: Collection[str]) -> dict[bytes, str]:
        """Those that say one of these, and what they say."""
        if not phrases:
            return {}
        said = list(zip(self.raw, self.said.split("\0"), strict=False))
        return {raw: label for phrase in phrases for raw, label in said if phrase in label}


class _Links:
    """Links of a page, and roughly what they say: too much rather than too little."""

    def __init__(self, page: Page, anchors: Sequence[Anchor]) -> None:
        self.page = page
        self.anchors = anchors

    @cached_property
    def _labels(self) -> list[bytes]:
        joined = b">\0<".join([anchor[1] for anchor in self.anchors])
        if joined.rfind(b"<br") >= 0:
            joined = joined.replace(b"<br", b"> <br")
        return b"".join(_TEXT.findall(joined)).split(b"\0")

    @cached_property
    def texts(self) -> _Values:
        """What they say."""
        # Most say the same: "Read more".
        values = list(dict.fromkeys(self._labels))
        said = words.normal(meant(letters(b" \0 ".join(values))))
        # Where an attribute has a `>` in it, the rest of the tag is among the words.
        return _Values(values, said, said.replace(">", " "))

    @cached_property
    def spoken(self) -> _Values:
        """What their pictures say."""
        values = list(dict.fromkeys(_spoken(b" ".join([anchor[1] for anchor in self.anchors]))))
        said = words.normal(attribute(b" \0 ".join(values)))
        return _Values(values, said, said)

    @cached_property
    def addresses(self) -> _Values:
        """Where they lead."""
        values = list(map(b"".join, _HREF.findall(b" ".join([anchor[1] for anchor in self.anchors]))))
        said = letters(b"\0".join(values))
        if "&#" in said:
            said = meant(said)
        return _Values(values, said, said if words.addresses_may_say(said) else "")

    def saying(self, phrases: Collection[str]) -> list[Anchor]:
        """The last of them that seem to say one of these."""
        found = self.texts.with_one_of(phrases)
        return [anchor for anchor, raw in zip(self.anchors, self._labels, strict=False) if raw in found][-LOOKED_AT:]

    def having(self, values: _Values, phrases: Words) -> list[Anchor]:
        """The last of them that seem to have a value with one of these."""
        found = list(values.with_one_of(phrases.within(values.gist)))[-VALUES_MAX:]
        if not found:
            return []
        return [anchor for anchor in self.anchors if any(value in anchor[1] for value in found)][-LOOKED_AT:]


def links(html: bytes, *, with_preferences: bool = True) -> list[Link]:
    """The forms and links that speak of leaving; of the links the last of the mail first, which is in its footer.

    What is said in plain words needs no guessing: each further kind of link is looked for only if none was found, links
    to preferences as the last.
    """
    page = Page(html)
    found = forms(page)
    for urls in _kinds(page, with_preferences=with_preferences):
        # What no browser opens is shown, but it stops nobody from looking further.
        more = sorted(urls, key=_leads_nowhere)
        found += [Link(url, Source.HTML) for url in more]
        if more and not _leads_nowhere(more[0]):
            break
    return found


def _kinds(page: Page, *, with_preferences: bool) -> Iterator[Iterable[str]]:
    start = max(len(page.low) - FOOTER, 0)
    footer = _Links(page, list(_ANCHOR.finditer(page.low, start)))
    if footer.anchors:
        found = list(_by_words(footer))
        # Who can leave by a page often can by a mail, too, which says so only in its address.
        if not found or page.low.rfind(b"mailto:", start) >= 0:
            found += _by_address(footer)
        yield found
        yield from (kind(footer) for kind in (_by_context, _by_pictures))
    before = _Links(page, list(_ANCHOR.finditer(page.low, 0, start)))
    top = _Links(page, before.anchors[:TOP])
    if before.anchors:
        yield _by_words(before)
        yield from (kind(top) for kind in (_by_address, _by_context, _by_pictures))
    if with_preferences:
        yield chain(*(_by_choice(links) for links in (footer, top) if links.anchors))


def _leads_nowhere(url: str) -> bool:
    return not url.lower().startswith(("https:", "http:", "mailto:"))


def _by_words(links: _Links) -> Iterator[str]:
    speaking = _looks(links, links.saying(words.LEAVE.within(links.texts.gist)))
    found = [seen for seen in speaking if len(seen.label) <= LABEL_MAX and words.LEAVE.said(seen.label)]
    if len(found) > 1:
        # "Unsubscribe" before "unsubscribe preferences".
        found.sort(key=lambda seen: words.CHOOSE.said(seen.label))
    yield from (seen.url for seen in found)


def _by_address(links: _Links) -> Iterator[str]:
    for seen in _looks(links, links.having(links.addresses, words.LEAVE_URL)):
        if words.address_says(words.LEAVE_URL, seen.url):
            yield seen.url


def _by_context(links: _Links) -> Iterator[str]:
    """A link that says "here", in a sentence that says what for; or a sentence that is a link."""
    gist = links.texts.gist
    for seen in _looks(links, links.saying([*words.GOING.within(gist), *words.pointers(gist)])):
        if len(seen.label) > LABEL_MAX:
            continue
        if words.GOING.said(seen.label) or (words.points(seen.label) and _about_leaving(links.page, seen)):
            yield seen.url


def _by_pictures(links: _Links) -> Iterator[str]:
    """A picture that says it, or what is shown when the mouse is over the link."""
    for seen in _looks(links, links.having(links.spoken, words.LEAVE)):
        if words.LEAVE.said(seen.spoken):
            yield seen.url


def _by_choice(links: _Links) -> Iterator[str]:
    speaking = [
        *links.saying(words.CHOOSE.within(links.texts.gist)),
        *links.having(links.spoken, words.CHOOSE),
        *links.having(links.addresses, words.CHOOSE_URL),
    ]
    for seen in _looks(links, speaking):
        said = words.CHOOSE.said(seen.label) or words.CHOOSE.said(seen.spoken)
        if said or words.address_says(words.CHOOSE_URL, seen.url):
            yield seen.url


def _spoken(markup: bytes) -> Iterator[bytes]:
    for name, pattern in _SPEAKING.items():
        if markup.rfind(name) >= 0:
            yield from map(b"".join, pattern.findall(markup))


def _looks(links: _Links, anchors: list[Anchor]) -> Iterator[_Seen]:
    """Each of them closely, the last of the mail first."""
    for anchor in sorted(set(anchors), key=re.Match.start, reverse=True):
        seen = _look(links.page, anchor)
        if seen:
            yield seen


def _look(page: Page, anchor: Anchor) -> _Seen | None:
    """The link, if it leads somewhere, and if somebody sees it."""
    attributes, end = page.tag(anchor.start())
    url = page.address(attributes.get(b"href", b""))
    inner = page.low[end : anchor.end()]
    if not url or not page.seen(anchor.start()) or (shrunk(attributes) and b"<img" not in inner):
        return None
    is_area = page.low.startswith(b"<area", anchor.start())
    label = "" if is_area else words.normal(text_of(inner))
    spoken = [*(attributes.get(name, b"") for name in _SPEAKING), *(() if is_area else _spoken(inner))]
    return _Seen(anchor, url, label, words.normal(attribute(b" ".join(spoken))))


def _about_leaving(page: Page, seen: _Seen) -> bool:
    """Whether the words about the link, up to the next link or the end of its block, speak of leaving."""
    if words.is_social(seen.url):
        return False
    anchor = seen.anchor
    before, follows_link = _before(page.low[max(anchor.start() - AROUND_MAX, 0) : anchor.start()])
    after, precedes_link = "", False
    if page.low.startswith(b"</a", anchor.end()):
        after, precedes_link = _after(page.low[anchor.end() : anchor.end() + AROUND_MAX].partition(b">")[2])
    around = Surroundings(before, after, follows_link, precedes_link)
    return sentences.speak(around, seen.label, sentences.leaving)


def _before(markup: bytes) -> tuple[str, bool]:
    """The words before a link, and whether they start at another link."""
    # Mostly the last one is near.
    bound = deque(_BOUND.finditer(markup, max(len(markup) - NEAR, 0)), maxlen=1)
    bound = bound or deque(_BOUND.finditer(markup), maxlen=1)
    text = words.normal(text_of(markup[bound[0].start() :] if bound else markup))
    return text[-BEFORE_MAX:], bool(bound and bound[0][1])


def _after(markup: bytes) -> tuple[str, bool]:
    """The words after a link, and whether they end at another link."""
    bound = _BOUND.search(markup)
    text = words.normal(text_of(markup[: bound.start()] if bound else markup))
    return text[:AFTER_MAX], bool(bound and bound[1])
