"""The mails that are kept as files, each with the expectation beside it."""

import json
from pathlib import Path
from typing import Any

CASES = sorted((Path(__file__).parent / "cases").glob("*.eml"))


def expected_of(case: Path) -> dict[str, Any]:
    """What such a mail offers."""
    return dict(json.loads(case.with_name(f"{case.name}.expected.json").read_text()))
