"""What a publisher writes, before it is a mail."""

import re
from dataclasses import dataclass
from enum import StrEnum

# What no mail can carry: halves of characters, and control characters other than tab and line ends.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Format(StrEnum):
    """How a body is written."""

    HTML = "html"
    MARKDOWN = "markdown"


@dataclass(frozen=True)
class Draft:
    """A campaign as its publisher wrote it; without `body_text`, the text part is made from the body."""

    subject: str
    body: str
    body_format: Format = Format.HTML
    body_text: str | None = None
    preheader: str | None = None
    archive_url: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything in which a merge field may stand."""
        return self.subject, self.preheader or "", self.body, self.body_text or ""


def printable(text: str) -> str:
    """The text without what no mail can carry, its line ends as ours."""
    return UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
