"""Where a campaign and its deliveries are. Pure: values in, a decision out."""

from collections.abc import Collection
from enum import StrEnum


class State(StrEnum):
    """Where a campaign is."""

    DRAFT = "draft"
    SCHEDULED = "scheduled"
    PUBLISHING = "publishing"
    PUBLISHED = "published"


class Sending(StrEnum):
    """Where a delivery is: a campaign on one channel."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"


MOVES = {
    State.DRAFT: {State.SCHEDULED, State.PUBLISHING},
    State.SCHEDULED: {State.DRAFT, State.PUBLISHING},
    State.PUBLISHING: {State.PUBLISHED},
    State.PUBLISHED: {State.PUBLISHING},  # an admin retries a failed delivery
}
DELIVERY_MOVES = {
    Sending.PENDING: {Sending.SENDING},
    Sending.SENDING: {Sending.SENT, Sending.FAILED},
    Sending.SENT: set[Sending](),
    Sending.FAILED: {Sending.SENDING},
}
# What can still be written and thrown away.
EDITABLE = (State.DRAFT, State.SCHEDULED)
ENDED = {Sending.SENT, Sending.FAILED}


def derived(deliveries: Collection[Sending], before: State) -> State:
    """A campaign's state, as its deliveries have it; before any of them has begun it is a draft or scheduled."""
    if not {*deliveries} - {Sending.PENDING}:
        return before
    return State.PUBLISHED if {*deliveries} <= ENDED else State.PUBLISHING


def verdict(*, sent: int, failed: int, left_over: bool) -> Sending:
    """How a delivery ended: what was refused for good does not fail it, unless nothing else happened."""
    return Sending.FAILED if left_over or (failed and not sent) else Sending.SENT
