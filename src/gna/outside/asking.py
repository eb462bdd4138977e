"""The whole request: the redirects on the way, one deadline for all of it, and one sentence if it fails."""

import asyncio
import ssl
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from gna import __version__
from gna.errors import LedAstray, Unreachable
from gna.outside.place import Place, join, parse, plain_host

if TYPE_CHECKING:
    from gna.outside.wire import Question, Reply, Rules

MEGABYTE = 2**20
NONE: Mapping[str, str] = MappingProxyType({})
USER_AGENT = f"Gna/{__version__}"
REDIRECTS = {301, 302, 303, 307, 308}
PERMANENT = {301, 308}
# What another server may learn when the first one redirects to it; all else was meant for the first alone.
CARRIED = {
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "if-modified-since",
    "if-none-match",
    "user-agent",
}


@dataclass(frozen=True)
class Answer:
    """What came back in the end."""

    status: int
    # Names are in lower case; what was said twice is joined by a comma.
    headers: Mapping[str, str]
    # Unpacked; nothing if the status is not a success.
    body: bytes
    # Who answered, after all redirects.
    url: str
    # The same address, if every redirect on the way was meant to last.
    moved_to: str | None


async def ask(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] = NONE,
    content: bytes | None = None,
    private_hosts: Collection[str] = (),
    any_private: bool = False,
    redirects: int = 5,
    why_not: Callable[[str], str | None] = lambda _: None,
    largest: int = 10 * MEGABYTE,
    skim: bool = False,
    within: float = 30,
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """Ask an address that somebody else chose; raises Unreachable with one sentence, PrivateAddress if it is private.

    Redirects are followed for GET alone; with `redirects=0` the redirect itself is the answer. `why_not` may object to
    an address that is redirected to. With `skim` the status is what matters: of the body only the beginning is read,
    up to `largest`, and one that cannot be read is none.
    """
    # Only whoever asks carries the library: a server that has no feeds stays small.
    from gna.outside.wire import Question, Rules

    said = {"user-agent": USER_AGENT} | _lower(headers) | {"accept-encoding": "gzip"}
    question = Question(method, said, b"" if content is None and method == "POST" else content)
    trip = _Trip(_first(url), question, Rules(_hosts(private_hosts), any_private, largest, tls, skim), why_not)
    try:
        async with asyncio.timeout(within):
            return await trip.go(redirects if method == "GET" else 0)
    except TimeoutError:
        raise Unreachable(f"{trip.place.shown} took longer than {within:g} seconds.") from None


class _Trip:
    """From the address that was given to the one that answers."""

    def __init__(
        self, start: Place, question: "Question", rules: "Rules", why_not: Callable[[str], str | None]
    ) -> None:
        self.place = start
        self._why_not = why_not
        self._question = question
        self._rules = rules
        self._start = start
        self._seen = {start.url}
        self._lasts = True

    async def go(self, redirects: int) -> Answer:
        from gna.outside.wire import exchange

        for left in range(redirects, -1, -1):
            reply = await exchange(self.place, self._question, self._rules)
            if reply.status not in REDIRECTS or not redirects:
                return self._answer(reply)
            if left:
                self._move(reply)
        raise LedAstray(f"{self._start.shown} redirects more than {redirects} times.")

    def _move(self, reply: "Reply") -> None:
        place = self._next(reply)
        if place.url in self._seen:
            raise LedAstray(f"{self.place.shown} redirects in a circle.")
        if objection := self._why_not(place.url):
            raise LedAstray(f"{self.place.shown} redirects to where we do not go: {objection}.")
        if place.origin != self.place.origin:
            kept = {name: value for name, value in self._question.headers.items() if name in CARRIED}
            self._question = replace(self._question, headers=kept)
        self._lasts = self._lasts and reply.status in PERMANENT
        self._seen.add(place.url)
        self.place = place

    def _next(self, reply: "Reply") -> Place:
        # Escaped or not, in UTF-8 or not: the bytes that the server wrote are the bytes that it is asked for.
        location = reply.headers.get("location", "").strip().encode("latin-1").decode("utf-8", "surrogateescape")
        try:
            return join(self.place, location)
        except ValueError as error:
            raise LedAstray(f"The address that {self.place.shown} redirects to must {error}.") from None

    def _answer(self, reply: "Reply") -> Answer:
        moved = self._lasts and self.place != self._start
        return Answer(reply.status, reply.headers, reply.body, self.place.url, self.place.url if moved else None)


def _first(url: str) -> Place:
    try:
        return parse(url.strip())
    except ValueError as error:
        raise Unreachable(f"The address must {error}.") from None


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    # The host is the one that was checked, and no other.
    return {name.lower(): value for name, value in headers.items() if name.lower() != "host"}


def _hosts(names: Collection[str]) -> frozenset[str]:
    """Names that cannot be hosts permit nothing."""
    hosts = set()
    for name in names:
        try:
            hosts.add(plain_host(name.strip().strip("[]")))
        except ValueError:
            continue
    return frozenset(hosts)
