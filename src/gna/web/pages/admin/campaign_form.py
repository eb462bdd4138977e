"""The form in which a campaign is written: what stands in its fields, and what was typed into them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request

from gna.campaigns.audience import Audience
from gna.errors import Refused
from gna.mail.render import Format
from gna.web.pages.admin.shell import N_, Fields

NO_VALUE = N_("An attribute needs a name and a value; empty both to leave it out")


def is_script(request: Request) -> bool:
    """Whether the page's own script sent the form, and reads the answer."""
    return "application/json" in request.headers.get("accept", "")


@dataclass(frozen=True)
class Typed:
    """What stands in the form."""

    subject: str = ""
    preheader: str = ""
    body: str = ""
    body_format: str = Format.MARKDOWN
    body_text: str = ""
    list_key: str = ""
    attributes: list[tuple[str, str]] = field(default_factory=list)
    archived: bool = True

    @classmethod
    def of(cls, campaign: Mapping[str, Any]) -> "Typed":
        """A campaign as it is stored."""
        audience = Audience.parse(campaign["audience"])
        return cls(
            subject=campaign["subject"],
            preheader=campaign["preheader"] or "",
            body=campaign["body"],
            body_format=campaign["body_format"],
            body_text=campaign["body_text"] or "",
            list_key=audience.list_key or "",
            attributes=list(audience.attributes.items()),
            archived=campaign["archived"],
        )

    @classmethod
    def read(cls, fields: Fields) -> "Typed":
        """The form as it was sent."""
        pairs = zip(fields.all("attribute"), fields.all("value"), strict=False)
        return cls(
            subject=fields.get("subject"),
            preheader=fields.get("preheader"),
            body=fields.text("body"),
            body_format=fields.get("body_format"),
            body_text=fields.text("body_text") if fields.get("body_text") else "",
            list_key=fields.get("list"),
            attributes=[(name.strip(), value.strip()) for name, value in pairs if name.strip() or value.strip()],
            archived=fields.get("archived") != "",
        )

    def sent(self) -> dict[str, Any]:
        """As the API would get it."""
        if not all(name and value for name, value in self.attributes):
            raise Refused(NO_VALUE)
        return {
            "subject": self.subject,
            "preheader": self.preheader,
            "body": self.body,
            "body_format": self.body_format,
            "body_text": self.body_text,
            "audience": {"list": self.list_key or None, "attributes": dict(self.attributes)},
            "archived": self.archived,
        }
