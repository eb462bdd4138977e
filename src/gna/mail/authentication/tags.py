"""The lists of `tag=value;` in which DKIM keys and DMARC policies are written."""

import re

TAG = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*)\s*=\s*(.*?)\s*", re.DOTALL)


def read(text: str) -> dict[str, str] | None:
    """The tags by their names, in order; None if it is no such list, or names one twice."""
    tags: dict[str, str] = {}
    for part in text.split(";"):
        if not part.strip():
            continue
        found = TAG.fullmatch(part)
        if not found or found[1] in tags:
            return None
        tags[found[1]] = found[2]
    return tags


def write(tags: dict[str, str]) -> str:
    """The list again."""
    return "; ".join(f"{name}={value}" for name, value in tags.items())
