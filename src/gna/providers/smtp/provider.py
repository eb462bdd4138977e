"""The provider itself: what the rest of Gna sees."""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import replace

from gna.mail.compile import Mail
from gna.providers.protocol import Report
from gna.providers.smtp.offers import Offers
from gna.providers.smtp.opening import Opened, Opening
from gna.providers.smtp.parcel import Batch
from gna.providers.smtp.pool import Known, Pool
from gna.providers.smtp.server import Server, Timeouts, Tls

# Somebody waits for the answer.
CHECKING = {"connect": 5.0, "reply": 5.0}


class Smtp:
    """Hands mails to a mail server. A mail whose connection breaks at its end may have been taken or not."""

    exactly_once = False

    def __init__(
        self,
        server: Server,
        *,
        connections: int,
        sender: str = "",
        timeouts: Timeouts | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._sender = sender
        self.international = False  # until the server says that it is; what it said last counts
        self._server = server
        self._connections = self._share = connections
        self._timeouts = timeouts or Timeouts()
        self._tls = tls
        self._known = Known()
        # A pool lives and ends with its event loop.
        self._pool: Pool | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def send(self, mails: Sequence[Mail], report: Report) -> None:
        """Hand over the mails and report each exactly once."""
        if mails:
            await self._pool_here().send(Batch(mails, report))

    def recall(self) -> Sequence[Mail]:
        """Take out what no connection has begun."""
        return self._pool.recall() if self._pool else ()

    def share(self, workers: int) -> None:
        """Use as many connections as is fair among so many workers."""
        self._share = max(1, self._connections // max(1, workers))
        if self._pool:
            self._pool.allow(self._share)

    async def check(self) -> str:
        """Go all the way to a mail, without one."""
        opening = Opening(self._server, replace(self._timeouts, **CHECKING), self._context)
        opened = await self._open(opening)
        try:
            if self._sender:
                await opening.try_sender(self._sender)
        finally:
            await opening.leave()
        return f"{self._server.where} answers{_in_words(self._server, opened.offers)}"

    async def close(self) -> None:
        """Say goodbye; sending again opens new connections."""
        pool, self._pool = self._pool, None
        if pool and self._loop is asyncio.get_running_loop():
            await pool.close()

    def _pool_here(self) -> Pool:
        loop = asyncio.get_running_loop()
        if self._pool is None or self._loop is not loop:
            self._loop = loop
            self._pool = Pool(
                lambda: self._open(self._opening()), self._known, connections=self._share, timeouts=self._timeouts
            )
        return self._pool

    def _opening(self) -> Opening:
        return Opening(self._server, self._timeouts, self._context)

    async def _open(self, opening: Opening) -> Opened:
        opened = await opening.open()
        self.international = opened.offers.international
        return opened

    def _context(self) -> ssl.SSLContext:
        """Made when it is needed: reading the certificates of all authorities takes its time."""
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


def _in_words(server: Server, offers: Offers) -> str:
    said = {
        "STARTTLS": server.tls is Tls.STARTTLS,
        "TLS": server.tls is Tls.IMPLICIT,
        "login accepted": server.user is not None,
        "pipelining": offers.pipelining,
        "SMTPUTF8": offers.international,
    }
    words = ", ".join(word for word, so in said.items() if so)
    return f" ({words})" if words else ""
