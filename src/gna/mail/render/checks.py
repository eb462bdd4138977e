"""What a publisher should know before a campaign is sent."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from gna.errors import Refused
from gna.mail.render.allowed import names
from gna.mail.render.campaign import composed
from gna.mail.render.draft import Draft, Format
from gna.mail.render.fields import WRITTEN, check_fields, readable_fields
from gna.mail.render.links import absolute, is_relative, links, why_broken
from gna.mail.render.nesting import TAG
from gna.mail.render.template import Frame
from gna.mail.render.written import Written

LONGEST_SUBJECT = 78
# Gmail hides what comes after.
LARGEST = 102 * 1024
# So many links of a kind are named.
SHOWN = 5
# What publishers miss when it is gone; nobody misses the head of a page.
MISSED = names(
    "applet audio base button canvas embed form frame frameset iframe input link math object script select svg",
    "template textarea video",
)
NO_FALLBACK = "{{ nickname }} is empty for readers without a nickname; write {{ nickname | friend }} instead."
CODE = re.compile(r"<(pre|code|kbd|samp)\b.*?</\1>", re.DOTALL)
STARRED = re.compile(r"\*\|[\w: ]{1,40}\|\*")
PICTURE = re.compile(r'<img(?: [^\s="<>/]+="[^"]*")*>')
# In Markdown, brackets without a word say nothing of a picture, and nobody means that it only decorates.
UNSAID = re.compile(r"!\[\s*\][(\[]")
ELSEWHERE = re.compile(
    rf"{STARRED.pattern}|%%[\w ]{{1,40}}%%|%recipient[.\w]{{0,40}}%|\[\[ ?\w{{1,40}} ?\]\]|\{{%.{{1,40}}?%\}}"
    r"|\{ ?[A-Za-z_.]{1,40} ?\}"
)


class Level(StrEnum):
    """How bad it is: with an error, a campaign cannot be sent."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Finding:
    """Something that the publisher should mend, and how."""

    level: Level
    code: str
    message: str


def check(draft: Draft, frame: Frame) -> list[Finding]:
    """What is wrong with a draft, errors first; a bad draft is never an exception."""
    return sorted(_findings(draft, frame), key=lambda finding: finding.level is Level.WARNING)


def _findings(draft: Draft, frame: Frame) -> Iterator[Finding]:
    if not draft.subject.strip():
        yield _error("missing_subject", "There is no subject; say in a few words what the mail is about.")
    if len(draft.subject.strip()) > LONGEST_SUBJECT:
        told = f"The subject has {len(draft.subject.strip())} characters"
        yield _warning("long_subject", f"{told}; inboxes show at most {LONGEST_SUBJECT}, so make it shorter.")
    fields = [field for text in draft.texts for field in readable_fields(text)]
    if any(field.name == "nickname" and not field.fallback for field in fields):
        yield _warning("missing_fallback", NO_FALLBACK)
    try:
        for text in draft.texts:
            check_fields(text)
    except Refused as refused:
        yield _error("unknown_field", f"{refused}.")
        yield from _of_elsewhere(draft, draft.body)
        return
    try:
        yield from _in_the_mail(draft, frame)
    except Refused as refused:
        yield _error("unusable_body", f"{refused}.")


def _in_the_mail(draft: Draft, frame: Frame) -> Iterator[Finding]:
    written = Written(draft, frame.base_url)
    if not written.html.strip() or not (written.text.strip() or "<img" in written.html):
        yield _error("missing_body", "There is nothing to read in the body; write something to your readers.")
    yield from _of_elsewhere(draft, CODE.sub(" ", written.html))
    yield from _of_links(written, frame)
    yield from _of_pictures(written.html, draft)
    yield from _of_what_is_gone(written.as_html)
    size = len(composed(written, draft, frame).html.encode())
    if size > LARGEST:
        told = f"The mail has {size // 1024} kB of HTML, and Gmail hides what comes after {LARGEST // 1024} kB"
        yield _warning("too_large", f"{told}; make it shorter, or link to the rest.")


def _of_elsewhere(draft: Draft, body: str) -> Iterator[Finding]:
    """Fields of another product, which would be mailed as they are."""
    texts = (draft.subject, draft.preheader or "", draft.body_text or "", body, *_before_markdown(draft))
    found = {field[0]: None for text in texts for field in ELSEWHERE.finditer(WRITTEN.sub(" ", text))}
    for field in [*found][:SHOWN]:
        instead = "write {{ nickname | friend }}, or another of our merge fields, instead"
        yield _warning("unresolved_field", f"{field} looks like a merge field of another product; {instead}.")


def _before_markdown(draft: Draft) -> list[str]:
    """Fields that Markdown takes for emphasis, so that their asterisks are gone."""
    return STARRED.findall(draft.body) if draft.body_format is Format.MARKDOWN else []


def _of_links(written: Written, frame: Frame) -> Iterator[Finding]:
    broken, relative = {}, {}
    for link in links(written.unchecked):
        if written.words.first(link) == 0:
            continue
        if why := why_broken(link):
            broken[link] = f"The link {_named(link, written)} is broken: {why}."
        elif is_relative(link):
            where = _named(absolute(link, frame.base_url) or "", written)
            relative[link] = (
                f"The link {_named(link, written)} will lead to {where}; write the whole address to be sure."
            )
    for code, messages in (("broken_link", [*broken.values()]), ("relative_link", [*relative.values()])):
        yield from (_warning(code, message) for message in messages[:SHOWN])
        if len(messages) > SHOWN:
            yield _warning(code, f"There are {len(messages) - SHOWN} more such links; look at them too.")


def _named(link: str, written: Written) -> str:
    shown = written.words.put_back(link, lambda field: field.slot)
    return "“" + "".join(letter for letter in shown if letter.isprintable())[:80] + "”"


def _of_pictures(html: str, draft: Draft) -> Iterator[Finding]:
    silent = sum(' alt="' not in picture[0] for picture in PICTURE.finditer(html))
    silent += len(UNSAID.findall(draft.body)) if draft.body_format is Format.MARKDOWN else 0
    if silent:
        told = "1 picture has no alt text" if silent == 1 else f"{silent} pictures have no alt text"
        where = "between ![ and ]" if draft.body_format is Format.MARKDOWN else 'in alt="…"'
        yield _warning("missing_alt", f'{told}; say {where} what it shows, or write alt="" if it only decorates.')


def _of_what_is_gone(html: str) -> Iterator[Finding]:
    gone = {(tag[1] or tag[3] or "").lower() for tag in TAG.finditer(html)} & MISSED
    if gone:
        tags = ", ".join(f"<{name}>" for name in sorted(gone))
        were = "it was" if len(gone) == 1 else "they were"
        yield _warning("removed", f"Mails cannot hold {tags}, so {were} taken out; put a link there instead.")


def _error(code: str, message: str) -> Finding:
    return Finding(Level.ERROR, code, message)


def _warning(code: str, message: str) -> Finding:
    return Finding(Level.WARNING, code, message)
