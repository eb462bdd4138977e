"""The feeds that are kept as files, each with the expectation beside it."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from gna.feeds.entry import ADDRESS_MAX, EXCERPT_MAX, TITLE_MAX, Document
from gna.feeds.reading.pieces import GUID_MAX

FOLDER = Path(__file__).parent / "documents"
TURNING = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
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
        return {name: _told(value) for name, value in values.items() if value not in (None, "", (), False)}

    entries = [lean(asdict(entry)) for entry in document.entries]
    return lean({name: value for name, value in asdict(document).items() if name != "entries"}) | {"entries": entries}


def _told(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    assert value.utcoffset() == timedelta()
    return value.isoformat()


def assert_sound(document: Document) -> None:
    """Whatever a feed says, this holds."""
    for address in (document.site, document.hub, document.topic):
        _assert_address(address)
    _assert_line(document.title, TITLE_MAX)
    for entry in document.entries:
        assert entry.guid or entry.link or entry.title or entry.excerpt
        assert entry.guid is None or 0 < len(entry.guid) <= GUID_MAX
        _assert_address(entry.link)
        _assert_address(entry.picture)
        _assert_line(entry.guid or "", GUID_MAX)
        _assert_line(entry.title, TITLE_MAX)
        _assert_line(entry.excerpt, EXCERPT_MAX)
        at = entry.published
        assert at is None or (str(at.tzinfo) == "UTC" and 1990 <= at.year <= 2200)


def _assert_address(address: str | None) -> None:
    if address is not None:
        assert address.startswith(("http://", "https://"))
        _assert_line(address, ADDRESS_MAX)
        assert not set(address) & set(' "<>{}\\')


def _assert_line(text: str, longest: int) -> None:
    assert len(text) <= longest
    assert text == " ".join(text.split())
    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text)
    assert not set(text) & TURNING
    text.encode()
