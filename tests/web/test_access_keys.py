"""The keys of sign-in: where they come from, how long they are kept, and what happens when they are not there."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Self

import httpx2
import pytest
from jwt.algorithms import RSAAlgorithm
from starlette.testclient import TestClient

from gna.web.access import keys
from gna.web.access.keys import read
from tests.gate import HEADER, INVALID, LATER, NEEDED, Clock, gate, named, unknown, visit
from tests.issuer import ANA, CERTS, Issuer, private, public, signed
from tests.servers.web import Page, Web

Ask = Callable[[str], Coroutine[Any, Any, tuple[int, Any]]]


def together(issuer: Issuer, seconds: Clock, story: Callable[[Ask], Awaitable[None]]) -> None:
    """Play a story with visitors who come at the same time."""

    async def play() -> None:
        transport = httpx2.ASGITransport(gate(issuer.settings, seconds))
        async with httpx2.AsyncClient(transport=transport, base_url="http://news.example.org") as client:

            async def ask(token: str) -> tuple[int, Any]:
                answer = await client.get("/admin", headers={HEADER: token})
                return answer.status_code, answer.json()

            async with asyncio.timeout(60):
                await story(ask)

    asyncio.run(play())


async def fetched(issuer: Issuer, times: int) -> None:
    """Wait until the keys were asked for so often; the story has a limit."""
    while issuer.fetches < times:
        await asyncio.sleep(0.005)


class Slowly:
    """While the block lasts the keys are answered only when it says so."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        self._go = threading.Event()
        self.answers = self._go.set

    def __enter__(self) -> Self:
        def answer(_: object) -> Page:
            self._go.wait(30)
            return Page(json.dumps({"keys": self._issuer.published}).encode())

        self._issuer.web.answers(CERTS, answer)
        return self

    def __exit__(self, *_: object) -> None:
        self._go.set()
        self._issuer.comes_back()


def test_keys_that_are_not_for_this_are_passed_over(guest: TestClient, issuer: Issuer) -> None:
    good = public("RS256", "key 1") | {"kid": "key 1"}
    others: list[Any] = [
        public("RS256", "eve's") | {"kid": "for encryption", "use": "enc"},
        public("RS256", "eve's") | {"kid": "another algorithm", "alg": "RS512"},
        public("RS256", "short") | {"kid": "short"},
        public("ES256", "key 1") | {"kid": "another kind"},
        {"kty": "oct", "k": "AAAA", "kid": "secret"},
        {"kty": "RSA", "kid": "empty"},
        {"kty": "RSA", "n": "AAAA", "e": 7, "kid": "odd"},
        {"kty": "RSA", "n": "%%%%", "e": "AQAB", "kid": "garbage"},
        good | {"kid": 7},
        good | {"kid": ""},
        public("RS256", "eve's"),
        public("RS256", "eve's") | {"kid": "key 1"},  # the first of a name counts
        None,
        "text",
        [],
    ]
    issuer.says(json.dumps({"keys": [good, *others]}))
    assert visit(guest, issuer.token()) == named()
    for name in ("for encryption", "another algorithm", "another kind", "secret", "empty", "odd", "garbage"):
        token = signed(issuer.claims(), "RS256", private("RS256", "eve's"), {"kid": name})
        assert visit(guest, token) == (403, INVALID)
    assert set(read(json.dumps({"keys": [good, *others]}).encode(), "RS256")) == {"key 1"}


def test_a_key_with_its_private_half_is_only_half_used() -> None:
    key: Any = private("RS256", "key 1")
    whole = dict(RSAAlgorithm.to_jwk(key, as_dict=True)) | {"kid": "key 1", "key_ops": ["verify"]}
    assert "d" in whole
    assert not hasattr(read(json.dumps({"keys": [whole]}).encode(), "RS256")["key 1"], "private_numbers")


GARBAGE = [
    b"",
    b"<html>Sign in</html>",
    b"null",
    b"[]",
    b"{}",
    b'{"keys": null}',
    b'{"keys": {}}',
    b'{"keys": []}',
    b'{"keys": [{}]}',
    b'{"keys": ["key"]}',
    b"[" * 200_000,
    b"\xff\xfe\x00",
    b'{"keys": [' + b" " * 300_000 + b"]}",
]


@pytest.mark.parametrize("document", GARBAGE, ids=range(len(GARBAGE)))
def test_a_document_without_keys_is_none_and_replaces_nothing(
    guest: TestClient, issuer: Issuer, seconds: Clock, logged: Callable[[], str], document: bytes
) -> None:
    issuer.says(document)
    assert visit(guest, issuer.token()) == (503, LATER)
    assert "the keys of sign-in cannot be fetched" in logged()
    seconds.passes(1)
    issuer.comes_back()
    assert visit(guest, issuer.token()) == named()
    issuer.says(document)
    seconds.passes(3600)
    assert visit(guest, issuer.token()) == named()
    assert issuer.fetches == 3


@pytest.mark.parametrize("status", [204, 301, 304, 401, 404, 500, 503])
def test_keys_that_cannot_be_had_are_a_503_that_says_when_to_try_again(
    guest: TestClient, issuer: Issuer, logged: Callable[[], str], status: int
) -> None:
    issuer.says("", status=status)
    answer = guest.get("/admin", headers={HEADER: issuer.token()})
    assert (answer.status_code, answer.json()) == (503, LATER)
    assert int(answer.headers["Retry-After"]) > 0
    assert "error" in logged()
    assert ANA not in logged()


def test_keys_that_were_away_at_the_start_are_found_later(guest: TestClient, issuer: Issuer, seconds: Clock) -> None:
    issuer.goes_away()
    for _ in range(20):
        assert visit(guest, issuer.token()) == (503, LATER)
    assert issuer.fetches == 1
    seconds.passes(1)
    assert visit(guest, issuer.token()) == (503, LATER)
    assert issuer.fetches == 2
    issuer.comes_back()
    seconds.passes(1)
    assert visit(guest, issuer.token()) == named()


def test_a_server_that_is_not_there_is_a_503(web: Web) -> None:
    issuer = Issuer(web)
    web.stop()
    with TestClient(gate(issuer.settings)) as guest:
        assert visit(guest, issuer.token()) == (503, LATER)
        assert visit(guest, "garbage") == (403, INVALID)
        assert visit(guest, None) == (401, NEEDED)


def test_any_other_failure_is_as_if_nobody_had_answered(
    guest: TestClient,
    issuer: Issuer,
    seconds: Clock,
    logged: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("no room for the library")

    with monkeypatch.context() as patch:
        patch.setattr(keys, "read", fails)
        assert visit(guest, issuer.token()) == (503, LATER)
    assert "no room for the library" in logged()
    seconds.passes(1)
    assert visit(guest, issuer.token()) == named()


def test_old_keys_are_good_while_the_new_ones_cannot_be_had(
    guest: TestClient, issuer: Issuer, seconds: Clock, logged: Callable[[], str]
) -> None:
    assert visit(guest, issuer.token()) == named()
    issuer.goes_away()
    for _ in range(30):
        seconds.passes(3600)
        assert visit(guest, issuer.token()) == named()
    assert "kept=1" in logged()
    # Whether a name that nobody knows is a new key cannot be said now.
    assert visit(guest, issuer.token(key="key 2")) == (503, LATER)
    issuer.comes_back()
    seconds.passes(10)
    assert visit(guest, issuer.token(key="key 2")) == (403, INVALID)
    assert visit(guest, issuer.token(key="key 1")) == named()


def test_a_new_key_is_found_and_the_old_one_is_good_until_it_is_withdrawn(
    guest: TestClient, issuer: Issuer, seconds: Clock
) -> None:
    old = issuer.token()
    assert visit(guest, old) == named()
    issuer.publishes("key 1", "key 2")
    assert visit(guest, issuer.token()) == named()  # at once: the first fetch does not count
    assert visit(guest, old) == named()
    assert issuer.fetches == 2
    issuer.publishes("key 2", "key 3")
    assert visit(guest, issuer.token()) == (403, INVALID)  # but from then on it is every ten seconds
    seconds.passes(10)
    assert visit(guest, issuer.token()) == named()
    assert visit(guest, old) == (403, INVALID)


def test_a_key_that_was_withdrawn_is_forgotten_within_the_hour(
    guest: TestClient, issuer: Issuer, seconds: Clock
) -> None:
    old = issuer.token()
    assert visit(guest, old) == named()
    issuer.publishes("key 2")
    seconds.passes(3599)
    assert visit(guest, issuer.token(key="key 1"))[0] == 200  # and the new keys are fetched meanwhile
    seconds.passes(1)
    assert visit(guest, old) == (403, INVALID)
    assert visit(guest, issuer.token()) == named()


def test_nobody_waits_for_keys_that_are_fetched_again_before_the_hour(issuer: Issuer, seconds: Clock) -> None:
    async def story(ask: Ask) -> None:
        assert await ask(issuer.token()) == named()
        seconds.passes(45 * 60)
        with Slowly(issuer) as slowly:
            assert await ask(issuer.token()) == named()  # though nobody has answered yet
            assert await ask(issuer.token()) == named()
            slowly.answers()
        await fetched(issuer, 2)

    together(issuer, seconds, story)


def test_a_flood_of_unknown_keys_is_one_fetch_in_ten_seconds(issuer: Issuer, seconds: Clock) -> None:
    async def story(ask: Ask) -> None:
        assert await ask(issuer.token()) == named()
        for round_ in range(1, 4):
            with Slowly(issuer) as slowly:
                asked = [asyncio.create_task(ask(unknown(issuer, f"{round_} {n}"))) for n in range(150)]
                await fetched(issuer, 1 + round_)
                assert await ask(issuer.token()) == named()  # whoever is known is not in the queue
                slowly.answers()
                assert set(map(str, await asyncio.gather(*asked))) == {str((403, INVALID))}
            for n in range(50):
                assert await ask(unknown(issuer, f"late {round_} {n}")) == (403, INVALID)
            seconds.passes(9.9)
            assert await ask(unknown(issuer, "too early")) == (403, INVALID)
            assert issuer.fetches == 1 + round_
            seconds.passes(0.1)

    together(issuer, seconds, story)


def test_the_first_visitors_wait_for_one_fetch_together(issuer: Issuer, seconds: Clock) -> None:
    async def story(ask: Ask) -> None:
        with Slowly(issuer) as slowly:
            asked = [asyncio.create_task(ask(issuer.token())) for _ in range(50)]
            await fetched(issuer, 1)
            asked[0].cancel()  # who began it leaves, and nobody else is the worse for it
            slowly.answers()
            answers = await asyncio.gather(*asked[1:])
        assert answers == [named()] * 49
        assert issuer.fetches == 1

    together(issuer, seconds, story)
