"""A campaign out of posts. Pure: rows in, what a publisher would have written out."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any
from zoneinfo import ZoneInfo

from gna.campaigns.writing import PREHEADER_MAX, SUBJECT_MAX
from gna.campaigns.writing import parse_subject as parse_subject_of_campaign
from gna.mail.render.fields import WORD_JOINER, WRITTEN, without_slots
from gna.mail.render.text import shortened

# What a subject may say of the posts; every other field is one of the campaign's.
FIELDS = ("title", "count", "others", "feed", "date")
# So many posts have their beginning and picture in the mail; of so many more it has the titles.
WHOLE, TITLES = 50, 300
SUBJECTS = {
    "en": ("{{ title }}", "{{ title }} and {{ others }} more"),
    "ro": ("{{ title }}", "{{ title }} și încă {{ others }}"),
}
MORE = {"en": "Read more", "ro": "Citiți mai departe"}
ALSO = {"en": "Also new", "ro": "Tot noi"}
REST = {"en": "And {count} more", "ro": "Și încă {count}"}
UNTITLED = 80
# A title that others follow is cut, so that an inbox shows that there are others.
FIRST = 60
# A heading is seen to be a link without a line under it.
PLAIN = ' style="text-decoration:none"'


def parse_subject(value: object) -> str | None:
    """A subject with fields for the posts; nothing means the usual one."""
    if value in (None, ""):
        return None
    parse_subject_of_campaign(_filled(value, dict.fromkeys(FIELDS, "?")) if isinstance(value, str) else value)
    return str(value).strip()


def write(feed: Any, posts: Sequence[Any], *, language: str, now: datetime) -> dict[str, Any]:
    """The campaign of these posts, newest first; columns as a publisher's own campaign has them."""
    language = language if language in SUBJECTS else "en"
    return {
        "subject": _subject(feed, posts, language, now),
        "preheader": _preheader(posts),
        "body": _body(feed, posts, language),
        "body_format": "html",
        "body_text": _text(feed, posts, language),
        "audience": feed.audience,
    }


def _subject(feed: Any, posts: Sequence[Any], language: str, now: datetime) -> str:
    title = _title(posts[0]) or feed.title or feed.url
    values = {
        "title": title if feed.subject or len(posts) == 1 else shortened(title, FIRST),
        "count": str(len(posts)),
        "others": str(len(posts) - 1),
        "feed": feed.title or "",
        "date": _date(now, feed, language),
    }
    template = feed.subject or SUBJECTS[language][len(posts) > 1]
    said = " ".join(_filled(template, {name: _harmless(value) for name, value in values.items()}).split())
    return said if len(said) <= SUBJECT_MAX else _harmless(shortened(title, SUBJECT_MAX))


def _preheader(posts: Sequence[Any]) -> str | None:
    """What is beside the subject in an inbox: how the post begins, or what else there is."""
    said = posts[0].excerpt if len(posts) == 1 else " · ".join(_title(post) for post in posts[1:11])
    return _harmless(shortened(said, PREHEADER_MAX // 2)) or None


def _body(feed: Any, posts: Sequence[Any], language: str) -> str:
    parts = ["\n".join(_parts(post, feed, language)) for post in posts[:WHOLE]]
    if titles := posts[WHOLE : WHOLE + TITLES]:
        lines = "".join(f"<li>{_linked(_title(post), post.link)}</li>" for post in titles)
        parts.append(f"<h2>{ALSO[language]}</h2><ul>{lines}</ul>")
    if (rest := len(posts) - WHOLE - TITLES) > 0:
        parts.append(f"<p>{_linked(REST[language].format(count=rest), feed.site_url)}</p>")
    # As an entity, so that what a post says is never taken for a merge field.
    return without_slots("\n<hr>\n".join(parts), "&#123;")


def _parts(post: Any, feed: Any, language: str) -> Iterable[str]:
    if post.title:
        yield f"<h2>{_framed(escape(post.title), post.link, PLAIN)}</h2>"
    if day := _day(post, feed, language):
        yield f"<p><small>{escape(day)}</small></p>"
    if post.picture:
        # It shows what the title says, so nobody who cannot see it misses anything.
        picture = f'<img src="{escape(post.picture)}" alt="" width="520">'
        yield f"<p>{_framed(picture, post.link)}</p>"
    if post.excerpt:
        yield f"<p>{escape(post.excerpt)}</p>"
    if post.link:
        # Several links with the same words would be one and the same to whoever hears them.
        label = f' aria-label="{escape(f"{MORE[language]}: {_title(post)}")}"'
        yield f"<p>{_framed(MORE[language], post.link, label)}</p>"


def _text(feed: Any, posts: Sequence[Any], language: str) -> str:
    """The plain-text part, without the brackets and underlines that one made from HTML would have."""
    parts = ["\n".join(_lines(post, feed, language)) for post in posts[:WHOLE]]
    parts += [f"{_title(post)}\n{post.link or ''}".rstrip() for post in posts[WHOLE : WHOLE + TITLES]]
    if (rest := len(posts) - WHOLE - TITLES) > 0:
        parts.append(f"{REST[language].format(count=rest)}\n{feed.site_url or ''}".rstrip())
    return _harmless("\n\n* * *\n\n".join(parts))


def _lines(post: Any, feed: Any, language: str) -> Iterable[str]:
    if post.title:
        yield post.title
    if day := _day(post, feed, language):
        yield day
    if post.excerpt:
        yield f"\n{post.excerpt}"
    if post.link:
        yield f"\n{MORE[language]}: {post.link}"


def _day(post: Any, feed: Any, language: str) -> str:
    """When it was published, if that can be believed."""
    is_past = post.published_at and post.published_at <= post.found_at
    return _date(post.published_at, feed, language) if is_past else ""


def _linked(text: str, link: str | None) -> str:
    return _framed(escape(text), link)


def _framed(html: str, link: str | None, attributes: str = "") -> str:
    return f'<a href="{escape(link)}"{attributes}>{html}</a>' if link else html


def _title(post: Any) -> str:
    return str(post.title or shortened(post.excerpt, UNTITLED))


def _harmless(text: str) -> str:
    """What a post says, in a line in which its braces are no merge field."""
    return without_slots(text, "{" + WORD_JOINER)


def _filled(template: str, values: Mapping[str, str]) -> str:
    """The subject with what the posts say; the fields of campaigns stay."""

    def said(found: Any) -> str:
        name = (found[1] or "").partition("|")[0].strip()
        return values.get(name, found[0])

    return WRITTEN.sub(said, template)


def _date(moment: datetime, feed: Any, language: str) -> str:
    # Imported late: it is large, and few processes write campaigns.
    from babel.dates import format_date

    return format_date(moment.astimezone(ZoneInfo(feed.zone)), format="long", locale=language)
