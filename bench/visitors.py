"""What visitors notice while a campaign leaves from the process that answers them.

A few come every second, all the time. The sink's log tells when the mail that confirms a sign-up has arrived.
"""

import asyncio
import ipaddress
import itertools
import json
import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.running import Gna

from bench.campaigns import Campaign, say, settings_for
from bench.load import Load, get, post_json, trickle
from bench.peer import NoRunError, Run, undisturbed, watched
from bench.sinks import CSink

PER_SECOND, CONNECTIONS = 20, 4
# Nobody comes when so much of the campaign has left: the last of them shall still see it going.
ENOUGH = 0.85
LOOK = 0.005
PATIENCE = 30.0
VISITOR = re.compile(rb"visitor\.(\d+)@")


@dataclass(frozen=True)
class Visits:
    """How quickly visitors were answered, and how long their mails took after that, in seconds."""

    health: Load
    sign_ups: Load
    waits: list[float]
    # The campaign's mails when the first came and when the last had been answered, and how many left in a second.
    before: int
    after: int
    rate: float


@dataclass
class Log:
    """The sink's log, read as it grows."""

    sink: CSink
    size: int = 0
    mails: int = 0
    arrived: dict[int, float] = field(default_factory=dict)

    async def follow(self, until: Callable[[], bool], within: float = math.inf) -> None:
        """Count the campaign's mails, and note when a visitor's came, until something holds or it takes too long."""
        deadline = time.monotonic() + within
        while not until() and time.monotonic() < deadline:
            self._read(time.perf_counter())
            await asyncio.sleep(LOOK)

    def _read(self, moment: float) -> None:
        whole = self.sink.logged_since(self.size).rpartition(b"\n")[0]
        if not whole:
            return
        self.size += len(whole) + 1
        visitors = {int(number): moment for number in VISITOR.findall(whole)}
        self.mails += whole.count(b"\n") + 1 - len(visitors)
        self.arrived |= visitors


def visited(campaign: Campaign, folder: Path) -> Visits:
    """A run that counts: one that is disturbed is repeated, with another copy."""

    def attempt() -> tuple[Visits, Run]:
        with campaign.copied() as copy, CSink(log=True) as sink:
            visits, run = _visit(copy, sink, folder)
        say(f"  visitors: {len(visits.sign_ups.latencies)} signed up, {visits.rate:,.0f} mails a second meanwhile")
        return visits, run

    return undisturbed(attempt, "visitors during a campaign")


def _visit(campaign: Campaign, sink: CSink, folder: Path) -> tuple[Visits, Run]:
    with (
        Gna(folder, **settings_for(campaign, sink)) as gna,
        watched(gna.process.pid, sink.pid) as run,
    ):
        visits = asyncio.run(_come(gna.port, sink, campaign.audience))
    if not 0 < visits.before < visits.after < campaign.audience or not visits.waits:
        raise NoRunError(f"The campaign was over too soon, after {visits.after:,} mails; it needs more people.")
    return visits, run


async def _come(port: int, sink: CSink, audience: int) -> Visits:
    log = Log(sink)
    await log.follow(lambda: log.mails > 0, PATIENCE)
    before, began = log.mails, time.perf_counter()
    answered: dict[int, float] = {}

    def note(request: bytes) -> None:
        answered[_number(request)] = time.perf_counter()

    following = asyncio.create_task(log.follow(lambda: False))
    health, sign_ups = await asyncio.gather(
        trickle(port, _while_it_goes(log, audience, _look), connections=CONNECTIONS, per_second=PER_SECOND),
        trickle(
            port, _while_it_goes(log, audience, _sign_up), connections=CONNECTIONS, per_second=PER_SECOND, answered=note
        ),
    )
    after, seconds = log.mails, time.perf_counter() - began
    following.cancel()
    assert health.statuses == {200}, health.statuses
    assert sign_ups.statuses == {201}, sign_ups.statuses
    await log.follow(lambda: answered.keys() <= log.arrived.keys(), PATIENCE)
    # A mail may leave before we have heard the answer.
    waits = [max(log.arrived.get(number, math.inf) - moment, 0) for number, moment in answered.items()]
    return Visits(health, sign_ups, waits, before, after, (after - before) / seconds)


def _while_it_goes(log: Log, audience: int, request: Callable[[int], bytes]) -> Iterator[bytes]:
    for number in itertools.count():
        if log.mails > audience * ENOUGH:
            return
        yield request(number)


def _look(_: int) -> bytes:
    return get("/healthz")


def _sign_up(number: int) -> bytes:
    """From an IP of their own, which the proxy that we play says."""
    ip = str(ipaddress.ip_address("10.0.0.1") + number)
    body = json.dumps({"email": f"visitor.{number}@example.org", "nickname": "Ana"})
    return post_json("/api/subscribe", body.encode(), X_Forwarded_For=ip)


def _number(request: bytes) -> int:
    found = VISITOR.search(request)
    assert found, request
    return int(found[1])
