"""How a question and its answer pass between the server and the process that reads a feed."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

from gna.feeds.entry import Document, Entry
from gna.feeds.reading.refusal import NotAFeed


def asked(body: bytes, *, content_type: str, url: str) -> bytes:
    """The question: a line about the body, then the body. Not in the arguments, where other users could read it."""
    return json.dumps([content_type, url]).encode() + b"\n" + body


def question(told: bytes) -> tuple[bytes, str, str]:
    """The body, its type and its address, from a question."""
    line, _, body = told.partition(b"\n")
    content_type, url = json.loads(line)
    return body, content_type, url


def answer(document: Document) -> bytes:
    """A document on its way back."""
    return json.dumps(asdict(document), default=datetime.isoformat, ensure_ascii=False).encode()


def refusal(reason: str) -> bytes:
    """A reason on its way back."""
    return json.dumps({"error": reason}).encode()


def answered(told: bytes) -> Document:
    """The document in an answer; raises NotAFeed if it is a reason."""
    values = json.loads(told)
    if "error" in values:
        raise NotAFeed(values["error"])
    return Document(**values | {"entries": tuple(map(_entry, values["entries"]))})


def _entry(values: dict[str, Any]) -> Entry:
    published = values["published"]
    return Entry(**values | {"published": datetime.fromisoformat(published) if published else None})
