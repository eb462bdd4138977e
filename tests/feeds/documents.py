"""The feeds that are kept as files, each with the expectation beside it."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from gna.feeds.entry import Document

FOLDER = Path(__file__).parent / "documents"
URL = "https://blog.example.org/feed.xml"


@dataclass(frozen=True)
class Kept:
    """A file and what is expected of it."""

    path: Path

    @property
    def body(self) -> bytes:
        return self.path.read_bytes()

    @cached_property
    def expected(self) -> dict[str, Any]:
        return dict(json.loads(self.path.with_name(f"{self.path.name}.expected.json").read_text()))

    @property
    def content_type(self) -> str:
        return str(self.expected.get("content_type", ""))


KEPT = [Kept(path) for path in sorted(FOLDER.iterdir()) if not path.name.endswith(".expected.json")]


def as_json(document: Document) -> dict[str, Any]:
    """A document as the files write it: only what it says."""

    def lean(values: dict[str, Any]) -> dict[str, Any]:
        return {name: _told(value) for name, value in values.items() if value not in (None, "", ())}

    entries = [lean(asdict(entry)) for entry in document.entries]
    return lean({name: value for name, value in asdict(document).items() if name != "entries"}) | {"entries": entries}


def _told(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    assert value.utcoffset() == timedelta()
    return value.isoformat()
