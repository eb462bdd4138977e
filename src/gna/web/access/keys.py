"""The keys that sign tokens: fetched from where the operator said, kept for an hour, fetched no oftener than needed."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from gna import log
from gna.errors import Unreachable
from gna.outside import ask

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    Key: TypeAlias = RSAPublicKey | EllipticCurvePublicKey

logger = log.get(__name__)

# Seconds. Keys that are soon an hour old are fetched anew beside the requests, so that hardly anybody waits for it.
SOON, HOUR = 45 * 60, 60 * 60
# How soon another fetch may begin: whoever makes up names of keys must not make us ask for each of them.
AGAIN, AGAIN_WITHOUT_ANY = 10, 1
PATIENCE = 5
LARGEST = 256 * 1024
RSA_BITS = 2048

# What a key of an algorithm looks like; the rest of it must be public too.
KINDS = {"RS256": {"kty": "RSA"}, "ES256": {"kty": "EC", "crv": "P-256"}}
PUBLIC = ("kty", "crv", "n", "e", "x", "y")


class Wanted(Enum):
    """Whether the keys must be fetched: before the answer, beside it, or not at all."""

    NOW, SOON, NO = "now", "soon", "no"


class Keys:
    """The keys of one issuer."""

    def __init__(self, url: str, algorithm: str, *, tick: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._algorithm = algorithm
        self._tick = tick
        self._known: Mapping[str, Key] = {}
        self._fetched_at = self._next_try = -float("inf")
        self._is_away = False
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, name: str) -> "Key | None":
        """The key of that name, or None; raises Unreachable if it cannot be known whether there is one."""
        wanted = self._wanted(name)
        if wanted is not Wanted.NO:
            fetching = self._fetch()
            if wanted is Wanted.NOW:
                # Others wait for the same fetch: it goes on when this visitor leaves.
                await asyncio.shield(fetching)
        key = self._known.get(name)
        if key is None and self._is_away:
            raise Unreachable("The keys of sign-in cannot be fetched.")
        return key

    def _wanted(self, name: str) -> Wanted:
        age, is_known = self._tick() - self._fetched_at, name in self._known
        if (is_known and age < SOON) or not self._may_fetch():
            return Wanted.NO
        # While nobody answers the old keys are good enough; each visitor would wait for nothing.
        waits = not is_known or (age >= HOUR and not self._is_away)
        return Wanted.NOW if waits else Wanted.SOON

    def _may_fetch(self) -> bool:
        is_running = self._fetching is not None and not self._fetching.done()
        return is_running or self._tick() >= self._next_try

    def _fetch(self) -> "asyncio.Task[None]":
        """The one fetch that runs now, begun if there is none."""
        if self._fetching is None or self._fetching.done():
            self._next_try = self._tick() + (AGAIN if self._known else AGAIN_WITHOUT_ANY)
            self._fetching = asyncio.create_task(self._renew())
        return self._fetching

    async def _renew(self) -> None:
        try:
            found = await fetch(self._url, self._algorithm)
        except Exception as error:  # whatever it was, there are no new keys, and nobody else would tell
            self._is_away = True
            trace = None if isinstance(error, Unreachable) else error
            kept = len(self._known)
            logger.error("the keys of sign-in cannot be fetched", reason=str(error), kept=kept, exc_info=trace)
            return
        if not self._known:
            # The first fetch does not count: a key that is made right after it shall be found.
            self._next_try = self._tick()
        self._known, self._fetched_at, self._is_away = found, self._tick(), False


async def fetch(url: str, algorithm: str) -> "Mapping[str, Key]":
    """The keys for an algorithm, by name; raises Unreachable with one sentence, also if there is none."""
    host = urlsplit(url).hostname or ""
    headers = {"Accept": "application/json"}
    # The operator's own address: it may be in their own network.
    answer = await ask(url, headers=headers, private_hosts=(host,), largest=LARGEST, within=PATIENCE)
    if answer.status != 200:
        raise Unreachable(f"{host} answered {answer.status} when it was asked for its keys.")
    # In a thread, since the first time the library has to be loaded.
    keys = await asyncio.to_thread(read, answer.body, algorithm)
    if not keys:
        raise Unreachable(f"{host} gave no key for {algorithm}; are CF_ACCESS_CERTS_URL and CF_ACCESS_ALGORITHM right?")
    return keys


def read(document: bytes, algorithm: str) -> "dict[str, Key]":
    """The keys of a JSON Web Key Set that can check this algorithm, by name; none if it is no such set."""
    try:
        found = json.loads(document)
    except (ValueError, RecursionError):
        return {}
    listed = found.get("keys") if isinstance(found, dict) else None
    keys: dict[str, Key] = {}
    for one in listed if isinstance(listed, list) else ():
        key = _key(one, algorithm) if isinstance(one, dict) and _is_for(one, algorithm) else None
        if key is not None:
            keys.setdefault(one["kid"], key)
    return keys


def _is_for(key: dict[str, Any], algorithm: str) -> bool:
    """Whether it has a name, the right kind, and no other purpose; a key need not say what it is for."""
    has_name = isinstance(key.get("kid"), str) and key["kid"] != ""
    has_kind = all(key.get(name) == value for name, value in KINDS[algorithm].items())
    return has_name and has_kind and key.get("use", "sig") == "sig" and key.get("alg", algorithm) == algorithm


def _key(key: dict[str, Any], algorithm: str) -> "Key | None":
    from jwt import PyJWTError
    from jwt.algorithms import ECAlgorithm, RSAAlgorithm

    public = {name: key[name] for name in PUBLIC if name in key}
    try:
        made: Any = (RSAAlgorithm if algorithm == "RS256" else ECAlgorithm).from_jwk(public)
    except (PyJWTError, ValueError, TypeError, AttributeError):
        return None
    return made if algorithm != "RS256" or made.key_size >= RSA_BITS else None
