"""Sign-in by a proxy that sends a signed token with every request: Cloudflare Access, or one that works alike."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Self

from gna.config import Settings
from gna.errors import Unreachable
from gna.web.access.keys import Keys
from gna.web.access.tokens import NO_TOKEN, Refusal, Rules, identify, invalid, key_id
from gna.web.identity import Identity

__all__ = ["Access", "Refusal"]

AWAY = Refusal(503, "Service temporarily unavailable")


class Access:
    """Knows whose tokens are good, and who shows one."""

    def __init__(self, rules: Rules, keys: Keys, *, header: str) -> None:
        self._rules = rules
        self._keys = keys
        self.header = header

    @classmethod
    def of(cls, settings: Settings, *, tick: Callable[[], float] = time.monotonic) -> Self | None:
        """As the operator configured it; None as long as something is missing."""
        if settings.sign_in_lacks:
            return None
        algorithm = settings.cf_access_algorithm
        rules = Rules(settings.access_issuer, frozenset(settings.cf_access_aud), algorithm)
        return cls(rules, Keys(settings.access_certs_url, algorithm, tick=tick), header=settings.cf_access_header)

    async def identify(self, given: Sequence[str], *, now: datetime) -> Identity | Refusal:
        """Who it is, by what stands in the header, each time that it was sent."""
        if len(given) > 1:
            # One of them may be the visitor's own.
            return invalid("the header was sent twice")
        token = self._token(given[0].strip()) if given else ""
        if not token:
            return NO_TOKEN
        name = key_id(token, self._rules)
        if isinstance(name, Refusal):
            return name
        try:
            key = await self._keys.find(name)
        except Unreachable:
            return AWAY
        return identify(token, key, self._rules, now=now) if key else invalid("nobody knows its key")

    def _token(self, value: str) -> str:
        if self.header.lower() != "authorization":
            return value
        scheme, _, token = value.partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""
