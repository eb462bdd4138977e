"""Whether HTML is nested so deep that parsers would take minutes for it.

A parser closes what a writer left open, and opens bold and the like again in every paragraph until it is closed. For a
hostile text that takes the square of its length, so we follow the tags first, in one pass, and refuse.
"""

import re

from gna.errors import Refused
from gna.mail.render.stack import FORMATTING, Stack

DEEPEST = 250
# So often may bold and the like be opened again.
REOPENED = 200_000
# A parser compares each attribute of a tag with all others.
MOST_ATTRIBUTES = 200

# As a parser reads them: a comment, an element that holds only text, or a tag. The end of the text ends each of them.
VALUE = r"""[ \t\n]*+=[ \t\n]*+(?:"[^"]*+"|'[^']*+'|[^>"' \t\n][^> \t\n]*+)?+"""
ATTRIBUTE = rf"[^/> \t\n][^/>= \t\n]*+(?:{VALUE})?+"
ATTRIBUTES = rf"(?:[/ \t\n]++|{ATTRIBUTE})*+"
HEAD = re.compile(rf"<[a-z][^/> \t\n]*+({ATTRIBUTES})", re.IGNORECASE)
COMMENT = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))", re.DOTALL)
TAG = re.compile(
    rf"{COMMENT.pattern}|<(?:[!?]|/[^a-z>])[^>]*+"
    r"|<(script|style|textarea|title|xmp|iframe|noembed|noframes|noscript)(?=[/> \t\n])"
    rf"{ATTRIBUTES}>.*?(?:</\1(?=[/> \t\n])|\Z)"
    rf"|<(/?)([a-z][^/> \t\n]*+){ATTRIBUTES}(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
DRAWING = re.compile(r"<(/?)(?:svg|math|select)\b[^>]*>?", re.IGNORECASE)


def without_drawings(html: str) -> str:
    """The HTML without drawings, formulas and menus, which no mail can hold and which parsers read by other rules."""
    # One that was commented out has no end, or that of another.
    html = COMMENT.sub(lambda comment: "" if DRAWING.search(comment[0]) else comment[0], html)
    kept, end, start = [], 0, None
    for tag in DRAWING.finditer(html):
        if not tag[1]:
            start = tag.start() if start is None else start
        elif start is not None:
            kept.append(html[end:start])
            end, start = tag.end(), None
    rest = "".join((*kept, html[end:]))
    # Whatever is left is no pair, and becomes a tag that means nothing.
    return re.sub(r"<(/?)(svg|math|select|option|optgroup)\b", r"<\1x-\2", rest, flags=re.IGNORECASE)


def check_nesting(html: str) -> None:
    """Refuse HTML that is nested too deep, or leaves too much open."""
    stack, reopened = Stack(), 0
    for tag in TAG.finditer(html):
        if tag.end() - tag.start() > 2 * MOST_ATTRIBUTES:
            _check_attributes(tag[0])
        name = (tag[3] or "").lower()
        if name in FORMATTING:
            stack.format(name, opens=not tag[2])
        else:
            reopened += stack.formatting
            (stack.close if tag[2] else stack.open)(name)
        if stack.depth > DEEPEST or reopened > REOPENED:
            raise Refused("The HTML is nested too deep, or leaves too many tags open; close every tag that it opens")


def style_sheets(html: str) -> str:
    """What stands in the style elements."""
    return "".join(_inside(tag[0]) for tag in TAG.finditer(html) if (tag[1] or "").lower() == "style")


def _inside(element: str) -> str:
    head = HEAD.match(element)
    return element[head.end() :] if head else ""


def _check_attributes(tag: str) -> None:
    head = HEAD.match(tag)
    if head and sum(1 for _ in re.finditer(ATTRIBUTE, head[1])) > MOST_ATTRIBUTES:
        raise Refused(f"A tag of the HTML has more than {MOST_ATTRIBUTES} attributes; leave some out")
