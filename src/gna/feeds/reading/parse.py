"""Reads a feed of any format and age: bytes in, a `Document` out. It asks nobody and remembers nothing."""

import io
import json
import re
from collections.abc import Iterator
from typing import Any

from gna.feeds.entry import Document, Entry
from gna.feeds.reading import json_feed, words
from gna.feeds.reading.addresses import absolute
from gna.feeds.reading.dates import guessed, written
from gna.feeds.reading.letters import decoded
from gna.feeds.reading.pictures import first_picture
from gna.feeds.reading.pieces import guid_of, says_anything
from gna.feeds.reading.refusal import NotAFeed as NotAFeed
from gna.feeds.reading.skim import ROOTS, newest, skim

# How far into a document the feed may begin: servers put warnings and empty lines before it.
JUNK_MAX = 10_000
BEGINNING = re.compile(r"<\?xml\s|<!DOCTYPE\s++(?:rss|rdf|feed)|<(?:rss|feed|rdf:RDF|(?:\w{1,20}:)?RDF)[\s>]")
# Comments may hold whole pages.
ASIDE = re.compile(r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL)
ROOT = re.compile(r"<([a-zA-Z_][\w.-]{0,50}:)?([a-zA-Z_][\w.-]{0,50})")
PAGE = "It is a web page, not a feed; look for its feed's address, which often ends in /feed or /rss.xml."
# What people take for a feed, by the name of its first element.
OTHERS = {
    "html": PAGE,
    "head": PAGE,
    "body": PAGE,
    "opml": "It is a list of feeds (OPML), not a feed; give the address of one of the feeds in it.",
    "urlset": "It is a map of a website for search engines, not a feed; look for the address of its feed.",
    "sitemapindex": "It is a map of a website for search engines, not a feed; look for the address of its feed.",
}
FEEDS = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json"})
MARKUP = frozenset({"text/html", "application/xhtml+xml", "html", "xhtml"})


def read(body: bytes, *, content_type: str = "", url: str) -> Document:
    """What the feed says; `url` is where it was found in the end. Raises NotAFeed with what is wrong."""
    text = decoded(body, content_type).strip()
    if not text:
        raise NotAFeed("It is empty; look whether the website still has this feed.")
    if text[0] in "{[":
        return json_feed.document(_json(text), url=url)
    data, wrong = skim(_from_its_beginning(text, url=url))
    document = _document(_understood(data), url=url)
    if wrong and not document.entries:
        raise NotAFeed(f"It is not well-formed XML: {wrong}.")
    return document


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise NotAFeed("It looks like JSON, but cannot be read; look whether the website has another feed.") from None


def _from_its_beginning(text: str, *, url: str) -> str:
    """The document without what a server wrote before it; refused if it is something else."""
    start = BEGINNING.search(text, 0, JUNK_MAX)
    document = text[start.start() :] if start and not _is_page(text[: start.start()]) else text
    head = ASIDE.sub(" ", document[: JUNK_MAX * 10])
    root = ROOT.search(head)
    name = root[2].lower() if root else ""
    if name in OTHERS or "<!doctype html" in head[:1000].lower():
        raise NotAFeed(_named_in(text, url=url) or OTHERS.get(name, PAGE))
    if name not in ROOTS:
        raise NotAFeed(
            f"It is not a feed: it begins with <{name}>." if name else "It is not a feed: it is neither XML nor JSON."
        )
    return document


def _named_in(page: str, *, url: str) -> str:
    """What to say of a web page that names its feed."""
    for link in words.links(page):
        is_feed = link.get("type", "").lower() in FEEDS and "alternate" in link.get("rel", "").lower()
        if is_feed and (feed := absolute(link.get("href"), base=url)):
            return f"It is a web page, not a feed; its feed is at {feed}"
    return ""


def _is_page(text: str) -> bool:
    return "<html" in text.lower() or "<!doctype html" in text.lower()


def _understood(data: bytes) -> Any:
    """What feedparser makes of it."""
    # Only whoever reads a feed carries it in memory.
    import feedparser

    try:
        # Bytes in a file: text would be taken for the name of a file or an address, and be opened. The place of the
        # document is not told, because guids would be joined to it, and change whenever the feed moves.
        told = feedparser.parse(
            io.BytesIO(data),
            response_headers={"content-type": "application/xml; charset=utf-8"},
            resolve_relative_uris=False,
            sanitize_html=False,
        )
    except MemoryError:
        raise
    except Exception as error:
        # It has no list of what it raises on documents that are broken on purpose.
        raise NotAFeed(f"It is not well-formed XML ({type(error).__name__}).") from None
    if not told.get("version") and not told["entries"]:
        raise NotAFeed("It is not a feed: its format is unknown.")
    return told


def _document(told: Any, *, url: str) -> Document:
    feed = told["feed"]
    is_rss = not told.get("version", "").startswith("atom")
    # It also finds entries where no format has any, so the quick look may have missed them.
    said = [entry for entry in told["entries"] if any(map(entry.get, ("id", "link", "title", "summary", "content")))]
    kept = newest([_published(entry).get("published") for entry in said])
    entries = (_entry(said[place], is_rss=is_rss, url=url) for place in kept)
    return Document(
        title=_title(feed),
        site=_link(feed, url=url) or absolute(feed.get("link"), base=url),
        entries=tuple(filter(says_anything, entries)),
        hub=next(_hrefs(feed, "hub", url=url), None),
        topic=next(_hrefs(feed, "self", url=url), None),
    )


def _entry(entry: Any, *, is_rss: bool, url: str) -> Entry:
    link = _link(entry, url=url)
    if not link and is_rss:
        # The guid of RSS is its address, unless it says that it is not. A number in its place is not one.
        link = absolute(entry.get("link"), base="")
    return Entry(
        guid=guid_of(entry.get("id")),
        link=link,
        title=_title(entry),
        excerpt=next(filter(None, (words.excerpt(text, markup=markup) for text, markup in _texts(entry))), ""),
        picture=first_picture(_pictures(entry), base=link or url),
        **_published(entry),
    )


def _title(of: Any) -> str:
    return words.title(of.get("title"), markup=_is_markup(of.get("title_detail")))


def _is_markup(detail: Any) -> bool:
    return isinstance(detail, dict) and detail.get("type") in MARKUP


def _parts(of: Any, name: str) -> list[Any]:
    """The parts of that name; an element of that very name would stand in their place as text."""
    value = of.get(name)
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _hrefs(of: Any, rel: str, *, url: str) -> Iterator[str]:
    for link in _parts(of, "links"):
        if link.get("rel") == rel and (whole := absolute(link.get("href"), base=url)):
            yield whole


def _link(of: Any, *, url: str) -> str | None:
    """The first alternate that is a page, else the first."""
    links = [link for link in _parts(of, "links") if link.get("rel") == "alternate"]
    pages = [link for link in links if link.get("type") in MARKUP]
    return next(filter(None, (absolute(link.get("href"), base=url) for link in pages + links)), None)


def _texts(entry: Any) -> Iterator[tuple[str, bool]]:
    """The summary, then the contents, each with whether it is markup."""
    contents = [part for part in _parts(entry, "content") if part.get("value")]
    if summary := entry.get("summary"):
        # Without a description, the content is given in its place.
        detail = entry.get("summary_detail") or next((part for part in contents if part["value"] == summary), None)
        yield summary, _is_markup(detail)
    for part in contents:
        yield part["value"], _is_markup(part)


def _pictures(entry: Any) -> Iterator[dict[str, Any]]:
    for part in _parts(entry, "media_thumbnail"):
        yield {**part, "src": part.get("url")}
    for part in _parts(entry, "media_content"):
        if part.get("medium") == "image" or str(part.get("type")).startswith("image/"):
            yield {**part, "src": part.get("url")}
    for link in _parts(entry, "links"):
        if link.get("rel") == "enclosure" and str(link.get("type")).startswith("image/"):
            yield {"src": link.get("href")}
    if isinstance(image := entry.get("image"), dict):
        yield {"src": image.get("href")}
    for part in [*_parts(entry, "content"), entry.get("summary_detail"), {"value": entry.get("summary")}]:
        if isinstance(part, dict):
            for picture in words.pictures(part.get("value")):
                yield {**picture, "src": _joined(part.get("base"), picture.get("src"))}


def _joined(base: str | None, address: str | None) -> str | None:
    return absolute(address, base=base) or address if base else address


def _published(entry: Any) -> dict[str, Any]:
    for name in ("published", "updated", "created"):
        # Asking for `updated` would be answered with `published`, and a warning.
        if name not in entry:
            continue
        if found := written(entry[name]):
            return {"published": found[0], "whole_day": found[1]}
        if at := guessed(entry[name], entry.get(f"{name}_parsed")):
            return {"published": at}
    return {}
