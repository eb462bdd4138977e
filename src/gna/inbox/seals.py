"""How a header is sealed: which signature covers the list fields, and what the reader's own mail server found.

A signature proves who wrote the fields, not that they mean well. Nothing is fetched: it is all in the header.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

LIST_FIELDS = {"list-unsubscribe", "list-unsubscribe-post"}
TAG = re.compile(r"(?:^|;)\s*([a-z][a-z0-9_]*)\s*=\s*([^;]*)", re.IGNORECASE)
COMMENT = re.compile(r"\([^()]*\)")
RESULT = re.compile(r"dkim\s*=\s*([a-z]+)(.*)", re.IGNORECASE | re.DOTALL)
SIGNER = re.compile(r"header\.(?:d\s*=\s*|i\s*=\s*[^\s;@]{0,320}+@)([a-z0-9._-]+)", re.IGNORECASE)
ADDRESS = re.compile(r"@([a-z0-9._-]+)", re.IGNORECASE)
# Somebody's header may have thousands; honest ones have two or three. One that is longer is as good as none.
MOST = 20
NESTED = 10
LONGEST = 8192
LONGEST_DOMAIN = 253


def read(header: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """By whom both list fields are signed (`by`), whether that was checked (`passed`), and whether it is the sender.

    `passed` is None where the mail server said nothing about that signature. `over` says that nobody could have put
    another field on top afterwards.
    """
    verdicts = _verdicts(header.get("authentication-results", ()))
    signatures = header.get("dkim-signature", ())[:MOST]
    found = [_Seal(value, verdicts) for value in signatures if len(value) <= LONGEST]
    covering = [seal for seal in found if seal.covers]
    sender = _domain(header.get("from", ()))
    best = max(covering, key=lambda seal: (seal.passed is True, seal.passed is None, seal.is_of(sender)), default=None)
    if best is None:
        return {"covered": False, "passed": None, "by": None, "aligned": False, "over": False}
    return {
        "covered": True,
        "passed": best.passed,
        "by": best.domain,
        "aligned": best.is_of(sender),
        "over": best.over,
    }


def why_not(seal: Mapping[str, Any] | None) -> str | None:
    """What a header's seal leaves to doubt; None if the list fields are signed and nobody found that wrong."""
    if not seal or not seal["covered"]:
        return "No signature (DKIM) covers the fields that offer one-click"
    if seal["passed"] is False:
        return f"Your mail server found the signature (DKIM) of {seal['by']} wrong"
    return None


class _Seal:
    """One signature."""

    def __init__(self, value: str, verdicts: Mapping[str, bool]) -> None:
        tags = {name.lower(): text.strip() for name, text in TAG.findall(value)}
        self.domain = re.sub(r"\s", "", tags.get("d", "")).lower().rstrip(".")
        signed = [name.strip().lower() for name in tags.get("h", "").split(":")]
        self.covers = 0 < len(self.domain) <= LONGEST_DOMAIN and set(signed) >= LIST_FIELDS
        # Signing a name once more than it is there leaves no room for another.
        self.over = all(signed.count(name) > 1 for name in LIST_FIELDS)
        self.passed = verdicts.get(self.domain)

    def is_of(self, sender: str) -> bool:
        """Whether the signer is the one that the mail says it is from."""
        from gna.inbox.dangers import same_domain

        return bool(sender) and same_domain(self.domain, sender)


def _verdicts(fields: Sequence[str]) -> dict[str, bool]:
    """What was found of each signer. Only the topmost field counts: the reader's own server adds its own above all."""
    found: dict[str, bool] = {}
    for part in _without_comments(fields[0]).split(";")[1:] if fields and len(fields[0]) <= LONGEST else ():
        result = RESULT.match(part.strip())
        signer = SIGNER.search(result[2]) if result else None
        if result and signer:
            domain = signer[1].lower().rstrip(".")
            # Several signatures of one domain: one that holds is enough.
            found[domain] = found.get(domain, False) or result[1].lower() == "pass"
    return found


def _without_comments(text: str) -> str:
    """A comment may hold others."""
    for _ in range(NESTED):
        shorter = COMMENT.sub(" ", text)
        if shorter == text:
            break
        text = shorter
    return text


def _domain(fields: Sequence[str]) -> str:
    found = ADDRESS.findall(fields[0]) if len(fields) == 1 and len(fields[0]) <= LONGEST else ()
    return found[-1].lower()[:LONGEST_DOMAIN] if found else ""
