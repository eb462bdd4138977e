"""A campaign out of posts. Pure: rows in, what a publisher would have written out."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from itertools import accumulate
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from gna.campaigns.writing import BODY_MAX, PREHEADER_MAX, SUBJECT_MAX
from gna.campaigns.writing import parse_subject as parse_subject_of_campaign
from gna.errors import Refused
from gna.lines import shortened
from gna.mail.render.fields import WORD_JOINER, WRITTEN, without_slots

# What a subject may say of the posts; every other field is one of the campaign's.
FIELDS = ("title", "count", "others", "feed", "date")
# So many posts have their beginning and picture in the mail; of so many more it has the titles.
WHOLE, TITLES = 50, 300
# And so much room they have at most, in letters: together they stay below what a campaign may hold.
WHOLE_ROOM, TITLES_ROOM = BODY_MAX * 7 // 10, BODY_MAX * 2 // 10
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
# A title with less room than this in a subject says nothing any more.
ROOM = 20
BETWEEN = "\n\n* * *\n\n"


def parse_subject(value: object) -> str | None:
    """A subject with fields for the posts; nothing means the usual one."""
    if value in (None, ""):
        return None
    said = _filled(value, dict.fromkeys(FIELDS, "?")) if isinstance(value, str) else value
    try:
        parse_subject_of_campaign(said)
    except Refused as refused:
        if "known are" not in str(refused):
            raise
        raise Refused(f"{refused}; of the posts: {', '.join(FIELDS)}") from None
    return str(value).strip()


def write(feed: Any, posts: Sequence[Any], *, language: str, now: datetime) -> dict[str, Any]:
    """The campaign of these posts, newest first; columns as a publisher's own campaign has them."""
    language = language if language in SUBJECTS else "en"
    whole = _fitting([_whole(post, feed, language) for post in posts[:WHOLE]], WHOLE_ROOM)
    titles = _fitting([_brief(post, feed) for post in posts[len(whole) :][:TITLES]], TITLES_ROOM)
    rest = _rest(len(posts) - len(whole) - len(titles), feed, language)
    return {
        "subject": _subject(feed, posts, language, now),
        "preheader": _preheader(posts),
        "body": _body(whole, titles, rest, language),
        "body_format": "html",
        "body_text": _text(whole, titles, rest),
        "body_text_made": True,
        "audience": feed.audience,
        "archived": feed.archived,
    }


def _subject(feed: Any, posts: Sequence[Any], language: str, now: datetime) -> str:
    title = _harmless(_title(posts[0]) or feed.title or feed.url)
    values = {
        "title": title if feed.subject or len(posts) == 1 else shortened(title, FIRST),
        "count": str(len(posts)),
        "others": str(len(posts) - 1),
        "feed": _harmless(feed.title or ""),
        "date": _date(now, feed, language),
    }
    template = feed.subject or SUBJECTS[language][len(posts) > 1]
    said = _one_line(template, values)
    room = len(title) - (len(said) - SUBJECT_MAX)
    if ROOM <= room < len(title):
        said = _one_line(template, values | {"title": shortened(title, room)})
    # A template of nothing but fields that say nothing here, or a very long one.
    return said if 0 < len(said) <= SUBJECT_MAX else shortened(title, SUBJECT_MAX)


def _one_line(template: str, values: Mapping[str, str]) -> str:
    return " ".join(_filled(template, {name: _apart(value) for name, value in values.items()}).split())


def _preheader(posts: Sequence[Any]) -> str | None:
    """What is beside the subject in an inbox: how the post begins, or what else there is."""
    said = posts[0].excerpt if len(posts) == 1 else " · ".join(filter(None, map(_title, posts[1:11])))
    return _harmless(shortened(said, PREHEADER_MAX // 2)) or None


class _Part(NamedTuple):
    """A post, or a line about several, in both parts of a mail."""

    html: str
    text: str


def _fitting(parts: Sequence[_Part], room: int) -> list[_Part]:
    """As many of them as there is room for, in order."""
    sizes = accumulate(max(len(part.html), len(part.text)) + len(BETWEEN) for part in parts)
    return [part for part, size in zip(parts, sizes, strict=True) if size <= room]


def _body(whole: Sequence[_Part], titles: Sequence[_Part], rest: Sequence[_Part], language: str) -> str:
    parts = [part.html for part in whole]
    if titles:
        lines = "".join(f"<li>{part.html}</li>" for part in titles)
        parts.append(f"<h2>{ALSO[language]}</h2><ul>{lines}</ul>")
    return "\n<hr>\n".join([*parts, *(f"<p>{part.html}</p>" for part in rest)])


def _text(whole: Sequence[_Part], titles: Sequence[_Part], rest: Sequence[_Part]) -> str:
    """The plain-text part, without the brackets and underlines that one made from HTML would have."""
    return BETWEEN.join(part.text for part in (*whole, *titles, *rest))


def _whole(post: Any, feed: Any, language: str) -> _Part:
    # There is always something to read, even of a post that says nothing.
    html = "\n".join(_parts(post, feed, language)) or f"<p>{escape(feed.title or feed.url)}</p>"
    return _part(html, "\n".join(_lines(post, feed, language)).strip("\n") or feed.title or feed.url)


def _brief(post: Any, feed: Any) -> _Part:
    return _line(_title(post) or post.link or feed.title or feed.url, post.link)


def _rest(count: int, feed: Any, language: str) -> list[_Part]:
    return [_line(REST[language].format(count=count), feed.site_url)] if count > 0 else []


def _line(text: str, link: str | None) -> _Part:
    return _part(_linked(text, link), f"{text}\n{link or ''}".rstrip())


def _part(html: str, text: str) -> _Part:
    # As an entity, so that what a post says is never taken for a merge field.
    return _Part(without_slots(html, "&#123;"), _harmless(text))


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
        label = f' aria-label="{escape(f"{MORE[language]}: {_title(post)}")}"' if _title(post) else ""
        yield f"<p>{_framed(MORE[language], post.link, label)}</p>"


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


def _apart(text: str) -> str:
    """What a post says, so that its last brace makes no merge field with what follows."""
    return text + WORD_JOINER if text.endswith("{") else text


def _filled(template: str, values: Mapping[str, str]) -> str:
    """The subject with what the posts say, or what it says instead; the fields of campaigns stay."""

    def said(found: Any) -> str:
        name, _, fallback = (part.strip() for part in (found[1] or "").partition("|"))
        return values[name] or fallback if name in values else str(found[0])

    return WRITTEN.sub(said, template)


def _date(moment: datetime, feed: Any, language: str) -> str:
    # Imported late: it is large, and few processes write campaigns.
    from babel.dates import format_date

    return format_date(moment.astimezone(ZoneInfo(feed.zone)), format="long", locale=language)
