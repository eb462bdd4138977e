"""What a publisher should know before a campaign is sent."""

from dataclasses import dataclass
from enum import StrEnum

from gna.errors import Refused
from gna.mail.render.campaign import compose
from gna.mail.render.draft import Draft
from gna.mail.render.fields import check_fields
from gna.mail.render.template import Frame


class Level(StrEnum):
    """How bad it is: an error keeps the campaign from being sent."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Finding:
    """Something that the publisher should mend, and how."""

    level: Level
    code: str
    message: str


def check(draft: Draft, frame: Frame) -> list[Finding]:
    """What is wrong with a draft, errors first; never raises."""
    found = []
    if not draft.subject.strip():
        found.append(Finding(Level.ERROR, "missing_subject", "There is no subject: write what the mail is about."))
    if not draft.body.strip():
        found.append(Finding(Level.ERROR, "missing_body", "There is no text: write something to your readers."))
    try:
        for text in draft.texts:
            check_fields(text)
        compose(draft, frame)
    except Refused as refused:
        found.append(Finding(Level.ERROR, "unknown_field", f"{refused}."))
    return found
