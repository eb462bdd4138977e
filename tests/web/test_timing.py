"""The answers that must not tell who is subscribed come after a random wait."""

import asyncio
import time
from itertools import pairwise

import pytest
from starlette.testclient import TestClient

from gna.web import timing


@pytest.mark.parametrize("path", ["/api/subscribe", "/api/profile/request-link"])
def test_an_answer_about_an_address_comes_after_a_random_wait(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(timing._random, "uniform", lambda shortest, longest: 10 * (shortest + longest))
    began = time.monotonic()
    assert client.post(path, json={"email": "ana@example.org"}).status_code in (200, 201)
    assert time.monotonic() - began >= 10 * timing.LONGEST_WAIT


def test_the_wait_varies() -> None:
    async def waits() -> list[float]:
        loop = asyncio.get_running_loop()
        moments = [loop.time()]
        for _ in range(50):
            await timing.blur()
            moments.append(loop.time())
        return [after - before for before, after in pairwise(moments)]

    took = asyncio.run(waits())
    assert max(took) - min(took) > timing.LONGEST_WAIT / 2
