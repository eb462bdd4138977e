"""What a publisher writes, turned into the content of a mail."""

from gna.mail.render.archive import excerpt, headline, reading
from gna.mail.render.campaign import compose
from gna.mail.render.checks import Finding, Level, check
from gna.mail.render.draft import Draft, Format
from gna.mail.render.fields import check_fields
from gna.mail.render.template import Frame
from gna.mail.render.written import markdown_to_html

__all__ = [
    "Draft",
    "Finding",
    "Format",
    "Frame",
    "Level",
    "check",
    "check_fields",
    "compose",
    "excerpt",
    "headline",
    "markdown_to_html",
    "reading",
]
