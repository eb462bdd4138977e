"""Whether the database can be written, found out by a small write, however many load balancers ask."""

import asyncio
import time

from gna.db import Database, rewrite_a_row
from gna.errors import DatabaseAway

# Seconds between two writes; in between, the last outcome is the answer.
EVERY = 3.0
# Seconds that a question waits. A writer who is busy for longer is not broken.
PATIENCE = 2.0
# Seconds without a write that succeeded, after which a busy writer counts as broken.
SILENCE = 30.0


class WriteProbe:
    """Remembers the outcome of the last small write."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._failure: DatabaseAway | None = None
        self._is_trying = False
        self._tried_at = float("-inf")
        self._succeeded_at = time.monotonic()

    async def check(self) -> None:
        """Raise DatabaseAway if nothing can be written."""
        is_due = time.monotonic() - self._tried_at >= EVERY
        if is_due and not self._is_trying:
            self._is_trying = True
            try:
                self._failure = await self._try()
            finally:
                self._is_trying = False
                self._tried_at = time.monotonic()
        if self._failure:
            raise self._failure

    async def _try(self) -> DatabaseAway | None:
        try:
            async with asyncio.timeout(PATIENCE):
                await self._db.run(rewrite_a_row)
        except DatabaseAway as failure:
            return failure
        except TimeoutError:
            silence = time.monotonic() - self._succeeded_at
            if silence < SILENCE:
                return self._failure
            return DatabaseAway(f"Nothing could be written to the database for {silence:.0f} seconds.")
        self._succeeded_at = time.monotonic()
        return None
