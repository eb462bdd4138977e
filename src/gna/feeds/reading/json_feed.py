"""JSON Feed 1.0 and 1.1."""

from datetime import datetime
from typing import Any

from gna.feeds.entry import Document, Entry
from gna.feeds.reading import words
from gna.feeds.reading.addresses import absolute
from gna.feeds.reading.dates import written
from gna.feeds.reading.pictures import first_picture
from gna.feeds.reading.pieces import guid_of, says_anything
from gna.feeds.reading.refusal import NotAFeed
from gna.feeds.reading.skim import newest

VERSION = "://jsonfeed.org/version/1"


def document(told: object, *, url: str) -> Document:
    """What a decoded JSON document says, if it is a feed."""
    if not isinstance(told, dict) or VERSION not in str(told.get("version"))[:100] or _list(told, "items") is None:
        raise NotAFeed("It is JSON, but not a JSON Feed; look for another address of the feed.")
    items = [item for item in told["items"] if isinstance(item, dict)]
    kept = newest([at[0] if (at := _published(item)) else None for item in items])
    entries = (_entry(items[place], url=url) for place in kept)
    return Document(
        title=words.title(told.get("title")),
        site=absolute(told.get("home_page_url"), base=url),
        entries=tuple(filter(says_anything, entries)),
        hub=_hub(told, url=url),
        topic=absolute(told.get("feed_url"), base=url),
    )


def _entry(item: dict[str, Any], *, url: str) -> Entry:
    link = absolute(item.get("url"), base=url) or absolute(item.get("external_url"), base=url)
    at = _published(item)
    return Entry(
        guid=guid_of(_identifier(item.get("id"))),
        link=link,
        title=words.title(item.get("title")),
        excerpt=words.excerpt(item.get("summary"), markup=False)
        or words.excerpt(item.get("content_text"), markup=False)
        or words.excerpt(item.get("content_html"), markup=True),
        picture=_picture(item, base=link or url),
        published=at[0] if at else None,
        whole_day=at[1] if at else False,
    )


def _identifier(value: object) -> str:
    # Version 1.0 allows a number, whose text names the item.
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""


def _published(item: dict[str, Any]) -> tuple[datetime, bool] | None:
    return written(item.get("date_published")) or written(item.get("date_modified"))


def _picture(item: dict[str, Any], *, base: str) -> str | None:
    named = [{"src": item.get(name)} for name in ("image", "banner_image")]
    attached = [
        {"src": part.get("url")}
        for part in _list(item, "attachments") or []
        if isinstance(part, dict) and str(part.get("mime_type")).startswith("image/")
    ]
    return first_picture([*named, *attached, *words.pictures(item.get("content_html"))], base=base)


def _hub(told: dict[str, Any], *, url: str) -> str | None:
    hubs = [hub for hub in _list(told, "hubs") or [] if isinstance(hub, dict)]
    return next((absolute(hub.get("url"), base=url) for hub in hubs if str(hub.get("type")).lower() == "websub"), None)


def _list(told: dict[str, Any], name: str) -> list[Any] | None:
    value = told.get(name)
    return value if isinstance(value, list) else None
