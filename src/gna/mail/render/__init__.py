"""What a publisher writes, turned into the content of a mail."""

from gna.mail.render.archive import excerpt, headline, reading
from gna.mail.render.campaign import compose
from gna.mail.render.checks import Finding, Level, check
from gna.mail.render.draft import Draft, Format
from gna.mail.render.fields import check_fields
from gna.mail.render.template import Frame

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
    "reading",
]
