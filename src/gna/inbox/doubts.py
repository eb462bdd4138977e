"""What there is to mind before a subscription is left, beyond what the address itself says."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gna.inbox import seals
from gna.inbox.ways import Way

STRANGER = "Only one mail of theirs was seen; an answer to spam tells the sender that your address is read"


def with_seal(way: Way, seal: Mapping[str, Any] | None) -> Way:
    """The way, with a warning if it is one-click and nobody signed that."""
    doubt = seals.why_not(seal) if way.method == "one_click" else None
    return replace(way, warnings=(*way.warnings, doubt)) if doubt else way


def about(subscription: Any) -> list[str]:
    """What to mind about the sender, whichever way is gone."""
    return [STRANGER] if subscription.email_count < 2 else []
