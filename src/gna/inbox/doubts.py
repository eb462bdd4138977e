"""What there is to mind before a subscription is left, beyond what the address itself says."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gna.inbox import seals
from gna.inbox.ways import Way

STRANGER = "Only one mail of theirs was seen; an answer to spam tells the sender that your address is read"


def with_doubts(way: Way, subscription: Any, seal: Mapping[str, Any] | None) -> Way:
    """The way with all its warnings, if it is the one that would be gone."""
    if (way.method, way.url) != (subscription.unsubscribe_method, subscription.unsubscribe_link):
        return way
    return replace(way, warnings=(*way.warnings, *_doubts(subscription, seal)))


def _doubts(subscription: Any, seal: Mapping[str, Any] | None) -> Iterator[str]:
    if subscription.unsubscribe_method == "one_click" and (doubt := seals.why_not(seal)):
        yield doubt
    if subscription.email_count < 2:
        yield STRANGER
