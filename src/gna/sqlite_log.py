"""SQLite's log (the file that ends in `-wal`): moved into the database before it fills a small disk."""

import os
import shutil
from pathlib import Path

from sqlalchemy.engine import Engine

# Bytes: a longer log is moved into the file by `shorten`, which a worker calls every second.
LOG_BYTES = 16 * 1024**2
# Pages, 64 MB: without a worker, the commit that makes the log longer moves it, and waits for that.
LOG_PAGES = 16_000
PAGE_BYTES = 4096
FEWEST_PAGES = 100
# Milliseconds that writers wait for readers so that the log can begin anew: for each LOG_BYTES of it, and at most.
RESTART_MS = 250
RESTART_MOST_MS = 3000


def pages_before_checkpoint(file: Path) -> int:
    """How long a log a commit may leave behind: at most a quarter of what is free on the disk of this database."""
    free = shutil.disk_usage(file.parent).free
    return max(FEWEST_PAGES, min(LOG_PAGES, free // 4 // PAGE_BYTES))


class SqliteLog:
    """The log of one database file, seen from one process."""

    def __init__(self, writer: Engine, reader: Engine, *, busy_ms: int) -> None:
        self._writer = writer
        self._reader = reader
        self._busy_ms = busy_ms
        self._file = Path(f"{os.path.realpath(writer.url.database or '')}-wal")
        self._limit = LOG_BYTES

    @property
    def is_long(self) -> bool:
        """Whether `shorten` has something to do."""
        return self._size() > self._longest()

    def checkpoint(self) -> None:
        """Move what the log holds into the file while others go on reading and writing."""
        with self._reader.connect() as tx:
            # A log begins anew only when it was moved whole; what others wrote meanwhile takes another, shorter round.
            for _ in range(3):
                _, pages, moved = tx.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)").one()
                if pages == moved:
                    return

    def shorten(self) -> None:
        """Move a long log into the file and begin it anew.

        Readers that overlap keep a log from ever beginning anew by itself. Here new readers are sent to the file, and
        writers wait for the old ones: longer for a longer log, and again only after it has grown as much once more.
        """
        size = self._size()
        if size <= self._longest():
            return
        # Truncating gives the room back; it costs a new allocation of all that is written next.
        mode = "TRUNCATE" if size > self._free() else "RESTART"
        # Most of it is moved while others write.
        self.checkpoint()
        patience = min(RESTART_MS * size // LOG_BYTES, RESTART_MOST_MS)
        with self._reader.connect() as tx:
            execute = tx.connection.driver_connection.execute  # type: ignore[union-attr]
            execute(f"PRAGMA busy_timeout={patience}")
            try:
                is_busy, _, _ = execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
            finally:
                execute(f"PRAGMA busy_timeout={self._busy_ms}")
        self._limit = size + LOG_BYTES if is_busy else LOG_BYTES

    def empty(self) -> None:
        """Leave nothing in the log: what was deleted from the file still stands there in its old pages."""
        with self._writer.connect() as tx:
            tx.connection.driver_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[union-attr]

    def _longest(self) -> int:
        """Bytes: its limit, or what is still free on its disk if that is less."""
        return min(self._limit, self._free())

    def _free(self) -> int:
        return shutil.disk_usage(self._file.parent).free

    def _size(self) -> int:
        try:
            return self._file.stat().st_size
        except FileNotFoundError:
            return 0
