"""Committing together: on SQLite one flush to the disk serves everybody who waits for the writer."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from sqlalchemy.engine import Connection

T = TypeVar("T")

# So many changes at most share one commit.
TOGETHER = 64


class Group:
    """Changes that wait for the one writer, committed in one transaction.

    Each is kept apart by a savepoint, so that one that fails is undone alone; none is answered before the commit.
    """

    def __init__(
        self,
        begin: Callable[[], AbstractContextManager[Connection]],
        writing: ThreadPoolExecutor,
        is_away: Callable[[Exception], bool],
    ) -> None:
        self._begin = begin
        self._writing = writing
        self._is_away = is_away
        self._waiting: deque[tuple[Callable[[Connection], Any], Future[Any]]] = deque()

    async def run(self, action: Callable[[Connection], T]) -> T:
        """Wait until the action was committed with whatever else was waiting."""
        done: Future[T] = Future()
        self._waiting.append((action, done))
        self._writing.submit(self._write)
        return await asyncio.wrap_future(done)

    def _write(self) -> None:
        """Take all that waits; what another round took already is not here any more."""
        taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), TOGETHER))]
        wanted = [(action, done) for action, done in taken if done.set_running_or_notify_cancel()]
        if not wanted:
            return
        try:
            with self._begin() as tx:
                outcomes = [(done, *self._apart(tx, action, alone=len(wanted) == 1)) for action, done in wanted]
        except BaseException as error:
            for _, done in wanted:
                done.set_exception(error)
            return
        for done, result, failure in outcomes:
            if failure:
                done.set_exception(failure)
            else:
                done.set_result(result)

    def _apart(
        self, tx: Connection, action: Callable[[Connection], T], *, alone: bool
    ) -> tuple[T | None, Exception | None]:
        """The action's result or its failure, which has then left no trace. A database that fails, fails for all."""
        if alone:
            return action(tx), None
        # Straight to the driver: SQLAlchemy's own savepoints would cost as much as the action.
        execute = tx.connection.driver_connection.execute  # type: ignore[union-attr]
        execute("SAVEPOINT apart")
        try:
            result = action(tx)
        except Exception as error:
            if self._is_away(error):
                raise
            execute("ROLLBACK TO apart")
            execute("RELEASE apart")
            return None, error
        execute("RELEASE apart")
        return result, None
