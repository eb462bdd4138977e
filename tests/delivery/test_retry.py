from datetime import timedelta

import pytest

from gna.delivery.retry import WAITS, GiveUp, NotBegun, Retry, after_failure
from gna.outbox import LINKS, Kind
from gna.providers.protocol import RefusedForGood, TryLater, Unknown
from tests.factories import NOW


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 1), (2, 4), (3, 10), (4, 30), (5, 60)])
def test_the_first_tries_follow_each_other_quickly(attempt: int, seconds: int) -> None:
    decision = after_failure(TryLater("busy"), kind=Kind.CAMPAIGN, attempt=attempt, now=NOW)
    assert decision == Retry(at=NOW + timedelta(seconds=seconds), reason="busy")


def test_a_provider_may_be_away_for_a_day() -> None:
    assert sum(WAITS, timedelta()) > timedelta(hours=20)


@pytest.mark.parametrize("attempt", range(1, len(WAITS) + 1))
def test_every_wait_is_used(attempt: int) -> None:
    decision = after_failure(Unknown("lost"), kind=Kind.CAMPAIGN, attempt=attempt, now=NOW)
    assert decision == Retry(at=NOW + WAITS[attempt - 1], reason="lost")


def test_it_gives_up_in_the_end() -> None:
    decision = after_failure(Unknown("lost"), kind=Kind.CAMPAIGN, attempt=len(WAITS) + 1, now=NOW)
    assert decision == GiveUp(f"Given up after {len(WAITS) + 1} attempts: lost", exhausted=True)


def test_a_refusal_for_good_is_not_tried_again() -> None:
    assert after_failure(RefusedForGood("no such mailbox"), kind=Kind.CAMPAIGN, attempt=1, now=NOW) == GiveUp(
        "no such mailbox"
    )


@pytest.mark.parametrize("attempt", [1, 99])
def test_waiting_as_the_provider_asked_costs_no_attempt(attempt: int) -> None:
    decision = after_failure(
        TryLater("slow down", after=timedelta(seconds=7), away=True), kind=Kind.CAMPAIGN, attempt=attempt, now=NOW
    )
    assert decision == Retry(at=NOW + timedelta(seconds=7), reason="slow down", spent=False)


@pytest.mark.parametrize("kind", LINKS)
def test_a_link_that_somebody_waits_for_is_tried_every_minute_until_it_expires(kind: Kind) -> None:
    waits = []
    for attempt in (1, 2, 3, 4, 5, 6, 12, 13, 1000):
        decision = after_failure(TryLater("away"), kind=kind, attempt=attempt, now=NOW)
        assert isinstance(decision, Retry)
        waits.append((decision.at - NOW).total_seconds())
    assert waits == [1, 4, 10, 30, 60, 60, 60, 60, 60]


def test_an_address_that_is_always_busy_comes_to_an_end() -> None:
    busy = TryLater("greylisted", after=timedelta(minutes=5))
    decision = after_failure(busy, kind=Kind.CAMPAIGN, attempt=1, now=NOW)
    assert decision == Retry(at=NOW + timedelta(minutes=5), reason="greylisted")
    assert isinstance(after_failure(busy, kind=Kind.CAMPAIGN, attempt=len(WAITS) + 1, now=NOW), GiveUp)


@pytest.mark.parametrize("away", [True, False])
def test_a_wish_to_be_asked_again_at_once_is_not_granted(away: bool) -> None:
    decision = after_failure(TryLater("now", timedelta(), away), kind=Kind.CAMPAIGN, attempt=1, now=NOW)
    assert isinstance(decision, Retry)
    assert decision.at == NOW + timedelta(seconds=1)


def test_what_was_never_begun_costs_nothing_and_is_due_at_once() -> None:
    decision = after_failure(NotBegun(), kind=Kind.CAMPAIGN, attempt=5, now=NOW)
    assert decision == Retry(at=NOW, reason=NotBegun().reason, spent=False)
