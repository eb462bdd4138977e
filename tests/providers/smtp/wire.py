"""Connections without a network, on which the tests say what the server says, piece by piece."""

import asyncio
from collections.abc import Callable, Sequence

from gna.errors import ProviderAway
from gna.mail.compile import Mail
from gna.providers.protocol import Report
from gna.providers.smtp.offers import Offers
from gna.providers.smtp.opening import Opened
from gna.providers.smtp.parcel import Batch
from gna.providers.smtp.pool import Known, Pool
from gna.providers.smtp.server import Timeouts


class Wire(asyncio.Transport):
    """A connection without a network."""

    def __init__(self, says: list[bytes]) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self._says = iter(says)
        self._protocol: asyncio.BaseProtocol | None = None
        self._is_over = False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol
        self._soon(self._speak)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))

    @property
    def written(self) -> bytes:
        """All that the server was told."""
        return b"".join(self.writes)

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        self.abort()

    def abort(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._soon(lambda: self._talker.connection_lost(None))

    def _speak(self) -> None:
        said = next(self._says, None)
        if said is None:
            self.abort()
        elif not self._is_over:
            self._talker.data_received(said)
            self._soon(self._speak)

    @property
    def _talker(self) -> asyncio.Protocol:
        assert isinstance(self._protocol, asyncio.Protocol)
        return self._protocol

    def _soon(self, act: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_soon(act)


def talk(
    mails: Sequence[Mail],
    report: Report,
    conversations: Sequence[list[bytes]],
    *,
    pipelining: bool = True,
    connections: int = 1,
) -> tuple[list[Wire], list[object]]:
    """Send the mails over these conversations, then the server is away.

    Returns the connections, with what was written to each, and whatever the event loop had to complain about.
    """
    wires: list[Wire] = []
    complaints: list[object] = []
    to_come = iter(conversations)

    async def open_one() -> Opened:
        conversation = next(to_come, None)
        if conversation is None:
            raise ProviderAway("no more")
        wires.append(Wire(conversation))
        return Opened(wires[-1], Offers(pipelining=pipelining))

    async def story() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        pool = Pool(open_one, Known(), connections=connections, timeouts=Timeouts())
        async with asyncio.timeout(20):
            await pool.send(Batch(mails, report))
        await pool.close()

    asyncio.run(story())
    return wires, complaints
