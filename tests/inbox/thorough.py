"""The same question as `gna.inbox.markup` answers, asked of a parser that builds the whole tree, and slowly."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gna.inbox import sentences, words
from gna.inbox.sentences import Surroundings
from gna.inbox.tags import introduces_quote
from gna.inbox.ways import Form, Link, Source

BLOCKS = (
    *("td", "th", "tr", "table", "tbody", "div", "p", "li", "ul", "ol", "dl", "dt", "dd", "center", "blockquote"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "form", "section", "header", "footer", "article", "body", "hr"),
)
HIDDEN = re.compile(r"display:\s?none|visibility:hidden", re.IGNORECASE)
SMALL = re.compile(r"font-size\s*:\s*0(px|pt|em|%)?\s*([;!]|$)", re.IGNORECASE)
QUOTE = re.compile(r"gmail_quote|protonmail_quote|yahoo_quoted|zmail")


@dataclass
class Anchor:
    """A link: its words, and the words before and after it, up to a block or another link."""

    url: str
    seen: bool
    spoken: str
    label: str = ""
    before: str = ""
    after: str = ""
    open: bool = True
    after_link: bool = False
    before_link: bool = False


@dataclass
class Reading:
    """The page, read from its start to its end."""

    base: str
    anchors: list[Anchor] = field(default_factory=list)
    forms: list[Link] = field(default_factory=list)
    # The words since the last block or link, and whether that was a link.
    words: str = ""
    follows_link: bool = False
    lines: int = 0
    # All that was read so far.
    all: str = ""

    def text(self, text: str) -> None:
        self.all += text
        if text.strip():
            self.lines = 0
        self.words += text
        if self.anchors and self.anchors[-1].open:
            self.anchors[-1].label += text

    def bound(self, *, by_link: bool) -> None:
        """Here a block or a link starts or ends."""
        for anchor in self.anchors[-1:]:
            if not anchor.open and not anchor.after and self.follows_link:
                anchor.after, anchor.before_link = self.words, by_link
        self.words, self.follows_link, self.lines = "", by_link, 0


def links(html: str) -> list[Link]:
    """The forms and links that speak of leaving: the last of the mail first."""
    tree = LexborHTMLParser(html)
    base = tree.css_first("base[href]")
    reading = Reading((base.attributes["href"] or "") if base else "")
    assert tree.root
    _read(tree.root, reading, seen=True)
    reading.bound(by_link=False)
    anchors = [anchor for anchor in reading.anchors[::-1] if anchor.seen and anchor.url]
    urls = list(_by_words(anchors))
    if not urls or "mailto:" in html:
        urls += _by_address(anchors)
    for kind in (_by_context, _by_pictures, _by_choice):
        urls = urls or list(kind(anchors))
    return [*reading.forms[::-1], *(Link(url, Source.HTML) for url in urls)]


def _whole(url: str | None, base: str) -> str:
    url = (url or "").strip()
    if re.match(r"[a-z]+:", url):
        return url
    return urljoin(base, url) if base and url and not url.startswith("#") else ""


def _read(node: LexborNode, reading: Reading, *, seen: bool) -> None:
    for child in node.iter(include_text=True):
        tag = child.tag or ""
        if tag == "-text":
            reading.text(child.text(deep=False) or child.text_content or "")
        elif tag in ("script", "style", "title", "-comment", "_comment"):
            continue
        elif tag == "br":
            reading.lines += 1
            if reading.lines > 1:
                reading.bound(by_link=False)
            reading.text(" ")
        elif tag == "a":
            _read_anchor(child, reading, seen=seen)
        else:
            _read_element(child, tag, reading, seen=seen)


def _read_element(node: LexborNode, tag: str, reading: Reading, *, seen: bool) -> None:
    said = node.attributes
    hidden = HIDDEN.search(said.get("style") or "") or "gmail_quote" in (said.get("class") or "")
    hidden = hidden or (tag == "blockquote" and _quotes_a_mail(said, reading.all))
    if tag in BLOCKS:
        reading.bound(by_link=False)
    if tag == "form" and seen:
        reading.forms += _form(node, reading.base)
    _read(node, reading, seen=seen and not hidden)
    if tag in BLOCKS:
        reading.bound(by_link=False)


def _quotes_a_mail(said: dict[str, str | None], before: str) -> bool:
    name = f"{said.get('class')} {said.get('id')}"
    if "cite" in said or said.get("type") == "cite" or QUOTE.search(name):
        return True
    return introduces_quote(before[-500:])


def _form(node: LexborNode, base: str) -> Iterator[Link]:
    url = _whole(node.attributes.get("action"), base)
    controls = [(one.tag, one.text(), one.attributes) for one in node.css("input, button")]
    kinds = [(said.get("type") or ("submit" if tag == "button" else "text")).lower() for tag, _, said in controls]
    sent, said_by_it, buttons = [], words.normal(node.text()), []
    for kind, (tag, text, said) in zip(kinds, controls, strict=True):
        name, value = said.get("name") or "", said.get("value") or ""
        if kind == "submit":
            said_by_it += " | " + words.normal(text if tag == "button" else value)
            buttons.append((words.leaving(words.normal(text if tag == "button" else value)), name, value))
        elif kind == "hidden":
            said_by_it += f" | {name} {value}"
        if name and ((kind in ("hidden", "text") and value) or "checked" in said):
            sent.append((name, value or "on"))
    # The first of those that say it best.
    for _, name, value in sorted(buttons, key=lambda button: not button[0])[:1]:
        sent += [(name, value)] if name else []
    if url and (words.leaving(said_by_it) or words.address_says(words.LEAVE_URL, url)):
        method = (node.attributes.get("method") or "get").lower()
        yield Link(url, Source.HTML, Form(method, tuple(sent)))


def _read_anchor(node: LexborNode, reading: Reading, *, seen: bool) -> None:
    before, after_link = reading.words, reading.follows_link
    reading.bound(by_link=True)
    said = node.attributes
    style = said.get("style") or ""
    images = node.css("img")
    hidden = HIDDEN.search(style) or ((SMALL.search(style) or "hidden" in said) and not images)
    url = _whole(said.get("href"), reading.base)
    spoken = [item.attributes.get(name) for item in (node, *images) for name in ("alt", "title", "aria-label")]
    anchor = Anchor(url, seen and not hidden, words.normal(" ".join(filter(None, spoken))))
    anchor.before, anchor.after_link = words.normal(before), after_link
    reading.anchors.append(anchor)
    _read(node, reading, seen=seen)
    anchor.open, anchor.label = False, words.normal(anchor.label)
    reading.words, reading.follows_link, reading.lines = "", True, 0


def _by_words(anchors: list[Anchor]) -> Iterator[str]:
    found = [anchor for anchor in anchors if len(anchor.label) <= 150 and words.LEAVE.said(anchor.label)]
    yield from (anchor.url for anchor in sorted(found, key=lambda anchor: words.CHOOSE.said(anchor.label)))


def _by_pictures(anchors: list[Anchor]) -> Iterator[str]:
    yield from (anchor.url for anchor in anchors if words.LEAVE.said(anchor.spoken))


def _by_address(anchors: list[Anchor]) -> Iterator[str]:
    yield from (anchor.url for anchor in anchors if words.address_says(words.LEAVE_URL, anchor.url))


def _by_context(anchors: list[Anchor]) -> Iterator[str]:
    for anchor in anchors:
        if len(anchor.label) > 150:
            continue
        if words.GOING.said(anchor.label) or (words.points(anchor.label) and _about_leaving(anchor)):
            yield anchor.url


def _about_leaving(anchor: Anchor) -> bool:
    before, after = anchor.before[-250:], words.normal(anchor.after)[:150]
    around = Surroundings(before, after, anchor.after_link, anchor.before_link)
    return not words.is_social(anchor.url) and sentences.speak(around, anchor.label, sentences.leaving)


def _by_choice(anchors: list[Anchor]) -> Iterator[str]:
    for anchor in anchors:
        said = words.CHOOSE.said(anchor.label) or words.CHOOSE.said(anchor.spoken)
        if said or words.address_says(words.CHOOSE_URL, anchor.url):
            yield anchor.url
