"""The connections of one event loop, and the mails that wait for them."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from gna.errors import GnaError
from gna.mail.compile import Mail
from gna.providers.protocol import TryLater
from gna.providers.smtp.carrier import Carrier, Group, State
from gna.providers.smtp.opening import Opened
from gna.providers.smtp.parcel import Batch, Parcel
from gna.providers.smtp.server import Timeouts

# So often a mail that is not to blame goes back to the queue.
RETURNS = 2
# One mail can spoil as many connections as it has tries; one more in a row shows that it is not the mail.
FRUITLESS = RETURNS + 2
# So many connections keep a limit that was learned; then one tries again, in case it was but a mood.
KEEPING = 20


class Known:
    """What was learned about the server, and is worth remembering from one connection to the next."""

    def __init__(self) -> None:
        self.pipelining = True
        self.groups: set[Group] = set()  # ways of sending commands together that were answered rightly
        self.mails_per_connection: int | None = None
        self._hung_up_after: int | None = None
        self._kept = 0

    def limit(self, mails: int) -> None:
        """Remember how many mails the server takes on a connection."""
        self.mails_per_connection, self._kept = mails, 0

    def limit_was_kept(self) -> None:
        """A connection was closed because of it."""
        self._kept += 1
        if self._kept == KEEPING:
            self.mails_per_connection = None

    def hung_up_after(self, mails: int) -> None:
        """Believe in a limit when two connections end after as many mails; one alone may be an accident."""
        if mails and mails == self._hung_up_after:
            self.limit(mails)
        self._hung_up_after = mails


class Pool:
    """Shares the mails among a few connections, which are opened when there is work and kept for more."""

    def __init__(
        self, opening: Callable[[], Awaitable[Opened]], known: Known, *, connections: int, timeouts: Timeouts
    ) -> None:
        self.known = known
        self.timeouts = timeouts
        self._opening_one = opening
        self._connections = connections
        self._urgent: deque[Parcel] = deque()
        self._usual: deque[Parcel] = deque()
        self._carriers: set[Carrier] = set()  # those that may be given work
        self._resting: list[Carrier] = []
        self._leaving: set[Carrier] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._fruitless = 0

    async def send(self, batch: Batch) -> None:
        """Queue the mails and wait until each was reported."""
        for parcel in batch.parcels:
            self._queue(parcel).append(parcel)
        batch.parcels = []
        self._wake()
        self._open(self._connections)
        try:
            await batch.wait()
        except asyncio.CancelledError:
            self._drop(batch)
            raise

    def recall(self) -> list[Mail]:
        """Take out what no connection has begun."""
        waiting = [*self._urgent, *self._usual]
        self._urgent.clear()
        self._usual.clear()
        for parcel in waiting:
            parcel.batch.leave()
        return [parcel.mail for parcel in waiting]

    def allow(self, connections: int) -> None:
        """Use so many connections from now on; those too many go after the mail that they are at."""
        self._connections = connections
        self._open(connections)

    async def close(self) -> None:
        """Say goodbye on every connection; nobody waits long for an answer."""
        self._connections = 0
        for task in self._opening:
            task.cancel()
        for carrier in list(self._carriers):
            if carrier.state is State.RESTING:
                self.retire(carrier)
        for carrier in list(self._carriers):
            carrier.abort()
        self._give_up(TryLater("The sender was closed."))
        going = [*self._opening, *(carrier.closed for carrier in self._leaving)]
        if going:
            await asyncio.wait(going, timeout=self.timeouts.goodbye)
        for carrier in list(self._leaving):
            carrier.abort()

    # -- What a carrier calls --

    @property
    def is_too_large(self) -> bool:
        """Whether there are more connections than there may be."""
        return len(self._carriers) > self._connections

    def next(self) -> Parcel | None:
        """The mail whose turn it is."""
        if self._urgent:
            return self._urgent.popleft()
        return self._usual.popleft() if self._usual else None

    def put_back(self, parcel: Parcel, why: str) -> None:
        """The mail was not handed over, and is not to blame: it is the next again, unless that happens too often."""
        parcel.content = []
        parcel.returned += 1
        if parcel.batch.cancelled:
            return
        if parcel.returned > RETURNS:
            parcel.settle(TryLater(why))
        else:
            self._queue(parcel).appendleft(parcel)

    def rested(self, carrier: Carrier) -> None:
        """The carrier has nothing to do."""
        if carrier.fruitful:
            self._fruitless = 0
        self._resting.append(carrier)

    def retire(self, carrier: Carrier) -> None:
        """Let a connection go that has done its work."""
        self._part_with(carrier)
        self._leaving.add(carrier)
        carrier.closed.add_done_callback(lambda _: self._leaving.discard(carrier))
        carrier.leave()
        self._open(1)

    def ended(self, carrier: Carrier, why: str, *, excused: bool) -> None:
        """A connection ended by itself. Where nothing comes of connections, no more are tried."""
        self._part_with(carrier)
        self._wake()
        if carrier.fruitful or excused:
            self._fruitless = 0
            self._open(1)
            return
        self._fruitless += 1
        self._fail(why, for_good=self._fruitless >= FRUITLESS)

    # -- Inside --

    def _queue(self, parcel: Parcel) -> deque[Parcel]:
        return self._urgent if parcel.mail.urgent else self._usual

    def _part_with(self, carrier: Carrier) -> None:
        self._carriers.discard(carrier)
        if carrier in self._resting:
            self._resting.remove(carrier)

    def _drop(self, batch: Batch) -> None:
        batch.cancelled = True
        self._urgent = deque(parcel for parcel in self._urgent if parcel.batch is not batch)
        self._usual = deque(parcel for parcel in self._usual if parcel.batch is not batch)

    def _wake(self) -> None:
        """Give work to those that rest; the one that was busy last is the first, so that others may go."""
        while self._resting and (self._urgent or self._usual):
            self._resting.pop().work()

    def _open(self, most: int) -> None:
        """Open connections for what waits, as many as are allowed."""
        room = self._connections - len(self._carriers) - len(self._opening)
        waiting = len(self._urgent) + len(self._usual) - len(self._opening)
        for _ in range(min(most, room, waiting)):
            task = asyncio.get_running_loop().create_task(self._add_carrier())
            self._opening.add(task)

    async def _add_carrier(self) -> None:
        task = asyncio.current_task()
        assert task
        try:
            opened = await self._opening_one()
        except Exception as error:
            self._opening.discard(task)
            why = str(error) if isinstance(error, GnaError) else f"The connection failed: {type(error).__name__}"
            self._fail(why, for_good=True)
            return
        self._opening.discard(task)
        carrier = Carrier(self, opened.transport, opened.offers)
        self._carriers.add(carrier)
        carrier.work()

    def _fail(self, why: str, *, for_good: bool) -> None:
        """A connection came to nothing. As long as another is there, it carries on with what waits."""
        if self._carriers or self._opening:
            return
        if for_good:
            self._fruitless = 0
            self._give_up(TryLater(why, away=True))
        else:
            self._open(1)

    def _give_up(self, outcome: TryLater) -> None:
        while parcel := self.next():
            parcel.settle(outcome)
