"""Ways out: what a mail offers to whoever wants no more of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self


class Source(StrEnum):
    """Where in a mail it stands, the most reliable first."""

    HEADER = "header"
    HTML = "html"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Form:
    """A form in a mail: how it is sent, and what it sends without anybody typing."""

    method: str
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Link:
    """An address that somebody may leave by, as the mail has it; not yet judged."""

    url: str
    source: Source
    form: Form | None = None


@dataclass(frozen=True, slots=True)
class Offers:
    """All that one mail offers. Fields that are there twice count twice: whoever adds one on top is no sender."""

    list_unsubscribe: tuple[str, ...] = ()
    list_unsubscribe_post: tuple[str, ...] = ()
    body: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """One way out, classified and judged."""

    # The name of a file in `methods/`, or `invalid`.
    method: str
    url: str
    source: Source
    # Whether it may be gone at all; if not, `error` says why. Warnings are for whoever decides.
    safe: bool = True
    warnings: tuple[str, ...] = ()
    error: str | None = None
    # What a form sends, or what the address of a page says.
    fields: tuple[tuple[str, str], ...] = ()
    # What a mail to unsubscribe says.
    to: str | None = None
    subject: str | None = None
    body: str | None = None

    def shown(self) -> dict[str, Any]:
        """As JSON has it: a field by its name, and if several have that name, all their values."""
        values: dict[str, list[str]] = {}
        for name, value in self.fields:
            values.setdefault(name, []).append(value)
        fields = {name: several if len(several) > 1 else several[0] for name, several in values.items()}
        return self._plain() | {"warnings": list(self.warnings), "fields": fields}

    def stored(self) -> dict[str, Any]:
        """As the database keeps it: a form may have two fields of one name."""
        return self._plain() | {"warnings": list(self.warnings), "fields": [list(pair) for pair in self.fields]}

    def _plain(self) -> dict[str, Any]:
        # Faster than `asdict`, which copies every value; a scan stores thousands.
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def restored(cls, kept: Mapping[str, Any]) -> Self:
        """What `stored` made."""
        fields = tuple((name, value) for name, value in kept["fields"])
        return cls(
            **dict(kept) | {"source": Source(kept["source"]), "warnings": tuple(kept["warnings"]), "fields": fields}
        )
