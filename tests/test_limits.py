"""Rate limits, by monotonic time in memory and by the time of day in Redis."""

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from gna.limits import Allowance, Limits, MemoryCounter, Verdict
from tests.servers.valkey import Valkey

THREE = Allowance("test", 3, 60)
JUMPS = [sign * jump for jump in (timedelta(minutes=2), timedelta(hours=6), timedelta(days=30)) for sign in (1, -1)]


class Clock:
    """Monotonic time that passes when it is told to."""

    def __init__(self) -> None:
        self._seconds = 1000.0

    def __call__(self) -> float:
        return self._seconds

    def passes(self, seconds: float) -> None:
        """Let time pass."""
        self._seconds += seconds


def set_the_clock(monkeypatch: pytest.MonkeyPatch, jump: timedelta) -> None:
    """The time of day jumps, as when an operator or NTP sets it; monotonic time goes on."""
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump.total_seconds())


def verdict(limits: Limits, who: str = "ana", allowance: Allowance = THREE) -> Verdict:
    return asyncio.run(limits.spend(allowance, who))


def spend(limits: Limits, who: str = "ana", allowance: Allowance = THREE, times: int = 1) -> list[bool]:
    async def all_of_them() -> list[bool]:
        return [(await limits.spend(allowance, who)).allowed for _ in range(times)]

    return asyncio.run(all_of_them())


def test_so_many_times_and_no_more() -> None:
    assert spend(Limits(), times=5) == [True, True, True, False, False]


def test_everybody_has_their_own() -> None:
    limits = Limits()
    spend(limits, "ana", times=3)
    assert spend(limits, "bo") == [True]
    assert spend(limits, "ana", Allowance("other", 3, 60)) == [True]


def test_the_window_moves() -> None:
    clock = Clock()
    limits, quick = Limits(tick=clock), Allowance("quick", 2, 60)
    assert spend(limits, allowance=quick) == [True]
    clock.passes(30)
    assert spend(limits, allowance=quick, times=2) == [True, False]
    clock.passes(31)
    assert spend(limits, allowance=quick, times=2) == [True, False]


def test_a_refused_time_does_not_prolong_the_wait() -> None:
    clock = Clock()
    limits, quick = Limits(tick=clock), Allowance("quick", 1, 60)
    assert spend(limits, allowance=quick) == [True]
    clock.passes(40)
    assert spend(limits, allowance=quick) == [False]
    clock.passes(21)
    assert spend(limits, allowance=quick) == [True]


def test_the_verdict_says_how_many_are_left_and_when_there_is_more() -> None:
    clock = Clock()
    limits = Limits(tick=clock)
    assert verdict(limits) == Verdict(allowed=True, remaining=2, reset=60)
    clock.passes(20)
    assert verdict(limits) == Verdict(allowed=True, remaining=1, reset=40)
    assert verdict(limits) == Verdict(allowed=True, remaining=0, reset=40)
    clock.passes(39.5)
    assert verdict(limits) == Verdict(allowed=False, remaining=0, reset=1)
    clock.passes(0.5)
    assert verdict(limits) == Verdict(allowed=True, remaining=0, reset=20)


@pytest.mark.parametrize("now", [0.1 + number / 7 for number in range(200)])
def test_a_visitor_never_waits_longer_than_the_window(now: float) -> None:
    memory = MemoryCounter(tick=lambda: now)
    assert memory.spend(THREE, "ana").reset == THREE.seconds


def test_what_is_over_is_forgotten() -> None:
    clock = Clock()
    memory = MemoryCounter(tick=clock)
    memory.spend(THREE, "old")
    clock.passes(100)
    memory.spend(THREE, "new")
    assert len(memory) == 1


@pytest.mark.parametrize("jump", JUMPS, ids=str)
def test_setting_the_clock_neither_locks_nor_frees_anybody(jump: timedelta, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits()
    assert spend(limits, "ana", times=4) == [True, True, True, False]
    assert spend(limits, "bo") == [True]
    set_the_clock(monkeypatch, jump)
    assert verdict(limits, "ana") == Verdict(allowed=False, remaining=0, reset=60)
    assert verdict(limits, "bo") == Verdict(allowed=True, remaining=1, reset=60)
    assert verdict(limits, "carl") == Verdict(allowed=True, remaining=2, reset=60)


@pytest.mark.parametrize("jump", JUMPS, ids=str)
def test_setting_the_clock_locks_nobody_with_redis(
    jump: timedelta, valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock that processes share is the time of day: a jump frees those who were refused, once."""
    limits, allowance = Limits(valkey.url, key="k" * 32), Allowance(f"jump of {jump}", 3, 60)
    assert spend(limits, "ana", allowance, times=4) == [True, True, True, False]
    assert spend(limits, "bo", allowance) == [True]
    set_the_clock(monkeypatch, jump)
    assert spend(limits, "ana", allowance, times=4) == [True, True, True, False]
    assert verdict(limits, "bo", allowance).reset <= 60


def test_processes_that_know_one_redis_count_together(valkey: Valkey) -> None:
    one, other = Limits(valkey.url, key="k" * 32), Limits(valkey.url, key="k" * 32)
    allowance = Allowance("shared", 3, 60)
    assert spend(one, allowance=allowance, times=2) == [True, True]
    assert spend(other, allowance=allowance, times=2) == [True, False]


def test_redis_keeps_neither_address_nor_ip_and_forgets_in_time(valkey: Valkey) -> None:
    import redis

    spend(Limits(valkey.url, key="k" * 32), "203.0.113.9", Allowance("privacy", 3, 60))
    client = redis.Redis.from_url(valkey.url)
    keys = [key for key in client.keys("*") if b"privacy" in key]
    assert keys
    assert not [key for key in client.keys("*") if b"203.0.113" in key]
    assert all(0 < client.ttl(key) <= 60 for key in keys)
    client.close()


def test_while_redis_is_away_each_process_counts_alone(logged: Callable[[], str]) -> None:
    limits = Limits("redis://127.0.0.1:1/0")
    assert spend(limits, times=4) == [True, True, True, False]
    assert logged().count("redis does not answer") == 1
