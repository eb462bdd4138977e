"""The form in which a campaign is written: what stands in its fields, and what was typed into them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from gna.campaigns.audience import Audience
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
    # The format of the text in the field; another one than `body_format` if the author has just switched.
    written_in: str = Format.MARKDOWN
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
            written_in=campaign["body_format"],
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
            written_in=fields.get("written_in") or fields.get("body_format"),
            list_key=fields.get("list"),
            attributes=[(name.strip(), value.strip()) for name, value in pairs if name.strip() or value.strip()],
            archived=fields.get("archived") != "",
        )

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing yet to keep."""
        return not (self.subject.strip() or self.body.strip())

    @property
    def switches_to(self) -> Format | None:
        """The format that the author switched to, if they did."""
        formats = (self.written_in, self.body_format)
        is_switched = self.written_in != self.body_format and set(formats) <= set(Format)
        return Format(self.body_format) if is_switched else None

    @property
    def has_whole_audience(self) -> bool:
        """Whether every condition has a name and a value."""
        return all(name and value for name, value in self.attributes)

    def sent(self) -> dict[str, Any]:
        """As the API would get it; without the audience while one of its conditions is half typed."""
        fields: dict[str, Any] = {
            "subject": self.subject,
            "preheader": self.preheader,
            "body": self.body,
            "body_format": self.body_format,
            "body_text": self.body_text,
            "archived": self.archived,
        }
        if self.has_whole_audience:
            attributes = dict(self.attributes)
            fields["audience"] = {"list": self.list_key or None, "attributes": attributes}
        return fields
