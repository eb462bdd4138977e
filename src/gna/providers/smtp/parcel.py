"""A mail in the hands of this provider, and the call that it came with."""

import asyncio
from collections.abc import Sequence

from gna.mail.compile import Mail
from gna.providers.protocol import Outcome, Report
from gna.providers.smtp.envelope import Envelope

NO_ENVELOPE = Envelope(b"", b"")


class Batch:
    """One call of `send`: it returns when nothing is left."""

    def __init__(self, mails: Sequence[Mail], report: Report) -> None:
        self.parcels = [Parcel(mail, self) for mail in mails]
        self.cancelled = False
        self._report = report
        self._left = len(mails)
        self._error: Exception | None = None
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settle(self, mail: Mail, outcome: Outcome) -> None:
        """Report the mail. A caller that fails there is told at the end, and stops nobody else's mails."""
        try:
            self._report(mail, outcome)
        except Exception as error:
            self._error = self._error or error
        self.leave()

    def leave(self) -> None:
        """One mail less to wait for."""
        self._left -= 1
        if not self._left and not self._done.done():
            self._done.set_result(None)

    async def wait(self) -> None:
        """Wait until each mail was reported."""
        await self._done
        if self._error:
            raise self._error


class Parcel:
    """A mail with what is needed to hand it over. It is composed while a connection has it, and only then."""

    __slots__ = ("batch", "content", "envelope", "mail", "returned")

    def __init__(self, mail: Mail, batch: Batch) -> None:
        self.mail = mail
        self.batch = batch
        self.returned = 0
        self.content: list[bytes] = []
        self.envelope = NO_ENVELOPE

    def settle(self, outcome: Outcome) -> None:
        """Say what became of it, once."""
        self.content = []
        self.batch.settle(self.mail, outcome)
