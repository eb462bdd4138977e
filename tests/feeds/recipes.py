"""Feeds that are too large to be kept as files, made when they are needed, each with what is expected of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

NEW_YEAR = datetime(2010, 1, 1, 8, tzinfo=UTC)
SENTENCE = "The river was higher than in any other spring, and the ferry did not go. "
URL = "https://blog.example.org/feed.xml"


@dataclass(frozen=True)
class Recipe:
    """A document and what must come of it: how many entries, the first and the last title, or words of the refusal."""

    make: Callable[[], bytes]
    entries: int = 0
    first: str = ""
    last: str = ""
    refusal: str = ""


def item(number: int, *, dated: bool = True, text: str = SENTENCE * 3) -> str:
    """An item of RSS as blogs write it, half a kilobyte."""
    at = format_datetime(NEW_YEAR + timedelta(hours=6 * number))
    return (
        f"<item><title>Letter {number} &amp; more</title><link>https://blog.example.org/{number}/</link>"
        f"<guid isPermaLink='false'>https://blog.example.org/?p={number}</guid>"
        + (f"<pubDate>{at}</pubDate>" if dated else "")
        + f"<category>Letters</category><description><![CDATA[<p>{text}</p>]]></description></item>\n"
    )


def rss(items: Iterator[str]) -> bytes:
    """A whole feed of these items."""
    head = "<?xml version='1.0' encoding='UTF-8'?><rss version='2.0'><channel><title>Letters</title>"
    return f"{head}<link>https://blog.example.org/</link>{''.join(items)}</channel></rss>".encode()


def feed_of(count: int, *, newest_first: bool = True, dated: bool = True) -> bytes:
    """A feed with the numbers from 0 as its items, 0 being the oldest."""
    numbers = range(count - 1, -1, -1) if newest_first else range(count)
    return rss(item(number, dated=dated) for number in numbers)


def rdf(count: int) -> bytes:
    """RSS 1.0, whose items stand beside the channel."""
    items = "".join(
        f"<item rdf:about='https://blog.example.org/{number}'><title>Letter {number}</title>"
        f"<link>https://blog.example.org/{number}</link><dc:date>{(NEW_YEAR + timedelta(days=number)).isoformat()}"
        "</dc:date></item>"
        for number in range(count)
    )
    return (
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'"
        " xmlns:dc='http://purl.org/dc/elements/1.1/'><channel rdf:about='https://blog.example.org/'>"
        f"<title>Letters</title><link>https://blog.example.org/</link></channel>{items}</rdf:RDF>"
    ).encode()


def entity_growth() -> bytes:
    """One long entity that is named very often."""
    return (
        f'<!DOCTYPE rss [<!ENTITY a "{"a" * 50_000}">]><rss version="2.0"><channel><item>'
        f"<title>{'&a;' * 40_000}</title></item></channel></rss>"
    ).encode()


def large(piece: str, count: int) -> bytes:
    """One post whose description is a piece of HTML over and over."""
    return rss(iter([f"<item><title>Large</title><description><![CDATA[{piece * count}]]></description></item>"]))


def in_title(text: str) -> bytes:
    """One post with this title."""
    return rss(iter([f"<item><title>{text}</title></item>"]))


def many_attributes() -> bytes:
    """An element that says very much."""
    said = " ".join(f"a{number}=''" for number in range(100_000))
    return rss(iter([f"<item {said}><title>Wide</title></item>"]))


def json_feed(count: int) -> bytes:
    """A JSON Feed, oldest first."""
    items = ", ".join(
        f'{{"id": "{number}", "title": "Letter {number}", "content_text": "{SENTENCE}", "date_published":'
        f' "{(NEW_YEAR + timedelta(days=number)).isoformat()}"}}'
        for number in range(count)
    )
    return f'{{"version": "https://jsonfeed.org/version/1.1", "title": "Letters", "items": [{items}]}}'.encode()


def nested_items(count: int) -> bytes:
    """Posts about posts: every item holds elements that are called item and entry too."""
    inner = (
        "<x:list xmlns:x='urn:example:x'><item><pubDate>Wed, 01 Jan 2098 00:00:00 GMT</pubDate></item><entry/></x:list>"
    )
    return rss(item(number).replace("</item>", f"{inner}</item>") for number in range(count))


def mismatched(count: int) -> bytes:
    """A feed with one tag that is never closed."""
    return feed_of(count).replace(b"<category>", b"<br><category>", 1)


RECIPES = {
    "newest_first_20000": Recipe(lambda: feed_of(20_000), 1000, "Letter 19999 & more", "Letter 19000 & more"),
    "oldest_first_20000": Recipe(
        lambda: feed_of(20_000, newest_first=False), 1000, "Letter 19000 & more", "Letter 19999 & more"
    ),
    "undated_5000": Recipe(lambda: feed_of(5000, dated=False), 1000, "Letter 4999 & more", "Letter 0 & more"),
    "just_a_thousand": Recipe(lambda: feed_of(1000), 1000, "Letter 999 & more", "Letter 0 & more"),
    "utf16_5000": Recipe(
        lambda: feed_of(5000).decode().encode("utf-16"), 1000, "Letter 4999 & more", "Letter 4000 & more"
    ),
    "rdf_3000": Recipe(lambda: rdf(3000), 1000, "Letter 2000", "Letter 2999"),
    "nested_1500": Recipe(lambda: nested_items(1500), 1000, "Letter 500 & more", "Letter 1499 & more"),
    "json_5000": Recipe(lambda: json_feed(5000), 1000, "Letter 4000", "Letter 4999"),
    "truncated_5000": Recipe(lambda: feed_of(5000)[:-700], 1000, "Letter 4999 & more", "Letter 4000 & more"),
    "ampersands_5000": Recipe(
        lambda: feed_of(5000).replace(b"&amp; more", b"& more"), 1000, "Letter 4999 & more", "Letter 4000 & more"
    ),
    "mismatched_20000": Recipe(lambda: mismatched(20_000), 1000, "Letter 19999 & more", "Letter 19000 & more"),
    "entity_growth": Recipe(entity_growth, refusal="entities that grow"),
    "deep_xml": Recipe(lambda: b"<rss><channel>" + b"<a>" * 200_000, refusal="nested too deeply"),
    "deep_json": Recipe(lambda: b"[" * 200_000, refusal="looks like JSON"),
    "deep_json_object": Recipe(lambda: b'{"a":' * 200_000, refusal="looks like JSON"),
    "long_number": Recipe(lambda: b'{"a":' + b"1" * 100_000 + b"}", refusal="looks like JSON"),
    "giant_title": Recipe(lambda: in_title("word " * 800_000), 1, "word " * 48 + "word…", "word " * 48 + "word…"),
    "giant_word": Recipe(lambda: in_title("w" * 4_000_000), 1, "w" * 249 + "…", "w" * 249 + "…"),
    "giant_attribute": Recipe(
        lambda: rss(iter([f"<item a='{'a' * 4_000_000}'><title>Wide</title></item>"])), 1, "Wide", "Wide"
    ),
    "many_attributes": Recipe(many_attributes, refusal="too many attributes"),
    "open_tags": Recipe(lambda: large("<a ", 1_000_000), 1, "Large", "Large"),
    "open_quotes": Recipe(lambda: large("<a x=\"<a y='", 300_000), 1, "Large", "Large"),
    "open_comments": Recipe(lambda: large("<!-- ", 700_000), 1, "Large", "Large"),
    "open_scripts": Recipe(lambda: large("<script>", 400_000), 1, "Large", "Large"),
    "posts_appeared": Recipe(lambda: large("The post x appeared first on ", 100_000), 1, "Large", "Large"),
    "ampersands_alone": Recipe(lambda: in_title("&" * 300_000), 1, "&" * 249 + "…", "&" * 249 + "…"),
    "cdata_never_closed": Recipe(lambda: b"<rss><channel><item>" + b"<![CDATA[" * 400_000, refusal="well-formed"),
    "only_spaces": Recipe(lambda: b" " * 4_000_000, refusal="empty"),
    "only_opening": Recipe(lambda: b"<" * 4_000_000, refusal="not a feed"),
    "only_zeros": Recipe(lambda: b"\x00" * 4_000_000, refusal="empty"),
}
