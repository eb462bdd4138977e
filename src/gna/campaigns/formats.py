"""Switching a draft between Markdown and HTML. Pure: what was typed in, what is stored out."""

import re
from typing import NamedTuple

from gna.mail.render import Format, markdown_to_html

# A tag or a comment; an autolink of Markdown, `<https://…>`, is neither.
BEGINS_AS_HTML = re.compile(r"\s*<(?:!--|/?[a-z][a-z0-9]*[\s/>])", re.IGNORECASE)


class Switched(NamedTuple):
    """A body in its new format, and the Markdown to return to."""

    body: str
    body_markdown: str | None


def switch(body: str, *, to: Format, markdown: str | None) -> Switched:
    """The body in the other format; `markdown` is what the stored HTML was made from.

    HTML that was edited stays as it is on the way back to Markdown, which may hold HTML.
    """
    if to is Format.HTML:
        # Without a script, an author may paste HTML and switch in the same step.
        if BEGINS_AS_HTML.match(body):
            return Switched(body, None)
        return Switched(markdown_to_html(body), body)
    is_unchanged = markdown is not None and markdown_to_html(markdown) == body.strip()
    return Switched(markdown if markdown and is_unchanged else body, None)
