"""How often somebody may ask."""

import asyncio
import time
from collections.abc import Callable

import pytest

from gna.limits import Allowance, Limits, Memory
from tests.servers.valkey import Valkey

THREE = Allowance("test", 3, 60)


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
    limits, quick = Limits(), Allowance("quick", 2, 1)
    assert spend(limits, allowance=quick, times=3) == [True, True, False]
    time.sleep(1.1)
    assert spend(limits, allowance=quick, times=3) == [True, True, False]


def test_a_refused_time_does_not_prolong_the_wait() -> None:
    limits, quick = Limits(), Allowance("quick", 1, 1)
    assert spend(limits, allowance=quick) == [True]
    time.sleep(0.6)
    assert spend(limits, allowance=quick) == [False]
    time.sleep(0.6)
    assert spend(limits, allowance=quick) == [True]


def test_what_is_over_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory()
    memory.acquire_entry("old", 3, 1)
    now = time.time()
    monkeypatch.setattr("gna.limits.time.time", lambda: now + 100)
    memory.acquire_entry("new", 3, 1)
    assert set(memory.events) == {"new"}


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
