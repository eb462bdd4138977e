"""What a campaign says to nobody in particular: for a public page."""

import re

from gna.lines import shortened
from gna.mail.content import filled, html_pieces, one_line, text_pieces
from gna.mail.render.draft import Draft
from gna.mail.render.fields import WORD_JOINER, without_slots
from gna.mail.render.sanitise import each_tag
from gna.mail.render.template import Frame
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

    slots = written.words.put_back(without_slots(each_tag(plain, written.html), "&#123;"), lambda field: field.slot)
    return filled(html_pieces(slots), _nobody(frame))


def headline(draft: Draft, frame: Frame) -> str:
    """The subject as nobody in particular reads it."""
    written = Written(draft, frame.base_url)
    slots = written.words.put_back(without_slots(written.subject, "{" + WORD_JOINER), lambda field: field.slot)
    return one_line(filled(text_pieces(slots), _nobody(frame)))


def excerpt(draft: Draft, frame: Frame, length: int = 200) -> str:
    """How a campaign begins: its preheader, else its text, cut at a word."""
    written = Written(draft, frame.base_url)
    # A word that stands for a field is longer than what it stands for.
    said = without_slots(written.beginning(length * 4), "{" + WORD_JOINER)
    slots = written.words.put_back(said, lambda field: field.slot)
    return shortened(filled(text_pieces(slots), _nobody(frame)), length)


def _nobody(frame: Frame) -> dict[str, str]:
    ours = {"unsubscribe_url": f"{frame.base_url}/subscribe", "profile_url": f"{frame.base_url}/profile"}
    return ours | {"email": "", "nickname": ""}


def _is_ours(url: str, frame: Frame) -> bool:
    return url == frame.base_url or url.startswith((f"{frame.base_url}/", f"{frame.base_url}?", f"{frame.base_url}#"))
