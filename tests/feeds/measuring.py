"""Reads feeds in a process of their own, as the product does, and tells what that process used."""

import asyncio
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from gna.feeds.entry import Document
from gna.feeds.reading import reader
from gna.feeds.reading.refusal import NotAFeed
from tests.feeds.documents import URL

USAGE = str(Path(__file__).with_name("usage.py"))


@dataclass(frozen=True)
class Reading:
    """What came back, and what it cost from the start of the process to its end: seconds of CPU, peak bytes."""

    outcome: Document | NotAFeed
    seconds: float
    memory: int


def measured(body: bytes, *, content_type: str = "") -> Reading:
    """Read it apart."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        with patch.object(reader, "COMMAND", [sys.executable, "-IS", USAGE, str(report), *reader.COMMAND]):
            outcome = asyncio.run(_outcome(body, content_type))
        return Reading(outcome, **json.loads(report.read_text()))


async def _outcome(body: bytes, content_type: str) -> Document | NotAFeed:
    try:
        return await reader.read_apart(body, content_type=content_type, url=URL)
    except NotAFeed as refusal:
        return refusal
