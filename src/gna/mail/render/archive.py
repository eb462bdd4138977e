"""What a campaign says to nobody in particular: for a public page."""

import re
from html import escape

from gna.mail.render.draft import Draft
from gna.mail.render.fields import Field, without_slots
from gna.mail.render.sanitise import each_tag
from gna.mail.render.template import Frame
from gna.mail.render.text import shortened
from gna.mail.render.written import Written

# Attributes that would let a mail dress itself up as the page around it.
LOOKS = re.compile(r' (?:style|class|id|name|align|valign|bgcolor|color|face|size|role)="[^"]*"')
REL = ' rel="noopener nofollow"'
HREF = re.compile(r' href="(https?:[^"]*)"', re.IGNORECASE)


def reading(draft: Draft, frame: Frame) -> str:
    """The body as a fragment for a public web page: nobody's data, no looks of its own."""
    written = Written(draft, frame.base_url)

    def plain(tag: re.Match[str]) -> str:
        attributes = LOOKS.sub("", tag[2])
        href = HREF.search(attributes) if tag[1] == "a" else None
        return f"<{tag[1]}{attributes}{REL if href and not _is_ours(href[1], frame) else ''}>"

    whole = without_slots(each_tag(plain, written.html), "&#123;")
    return written.words.put_back(whole, lambda field: escape(_for_nobody(field, frame)))


def excerpt(draft: Draft, frame: Frame, length: int = 200) -> str:
    """How a campaign begins: its preheader, else its text, cut at a word."""
    written = Written(draft, frame.base_url)
    said = written.preheader or written.text
    return shortened(written.words.put_back(said, lambda field: _for_nobody(field, frame)), length)


def _for_nobody(field: Field, frame: Frame) -> str:
    ours = {"unsubscribe_url": f"{frame.base_url}/subscribe", "profile_url": f"{frame.base_url}/profile", "email": ""}
    return ours.get(field.name, field.fallback)


def _is_ours(url: str, frame: Frame) -> bool:
    return url == frame.base_url or url.startswith((f"{frame.base_url}/", f"{frame.base_url}?", f"{frame.base_url}#"))
