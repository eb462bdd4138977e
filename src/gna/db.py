"""The database: `with db.read() as tx`, `with db.write() as tx`, `await db.run(action, …)`.

The only file that knows whether it is SQLite or PostgreSQL. An action is a plain function on a
transaction; whoever opens the transaction commits it, and nothing else does.
"""

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import URL, Connection, Engine, make_url

from gna import clock, ids, sqlite_files
from gna.errors import CannotStart, DatabaseAway
from gna.group import Group
from gna.sqlite_log import LOG_BYTES, SqliteLog, pages_before_checkpoint

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

P = ParamSpec("P")
T = TypeVar("T")

# Every table is declared on this; `migrations/` must arrive at the same schema, and a test proves it.
metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "idx_%(table_name)s_%(column_0_name)s",
    }
)


@sa.event.listens_for(sa.Table, "before_create")
def _limit_indexes(table: sa.Table, connection: Connection, **_: Any) -> None:
    """Give PostgreSQL the condition of each index that is declared with `sqlite_where`.

    Declared with `postgresql_where`, too, it would load PostgreSQL's part of SQLAlchemy everywhere.
    """
    if connection.dialect.name != "postgresql":
        return
    for index in table.indexes:
        where = index.dialect_options["sqlite"]["where"]
        index.dialect_options["postgresql"]["where"] = where


BUSY_MS = 10_000
READERS = 4
# Connections for those who read outside of these threads, page by page.
EXPORTS = 12
# Seconds: longer than Python takes to wake a waiting thread.
GIVE_WAY = 0.01
# What SQLite says of a file or a disk, as against a statement; its words then name neither rows nor values.
BROKEN = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
}
# What to do is said here for each of these; the rest is in SQLite's own words.
SQLITE_SENTENCES = {
    sqlite3.SQLITE_FULL: "The database cannot be written: its disk is full.",
    sqlite3.SQLITE_READONLY: "The database cannot be written: its file, its folder or its disk is read-only for Gna.",
    sqlite3.SQLITE_CORRUPT: "The database file is damaged or was cut off; restore a backup.",
    sqlite3.SQLITE_NOTADB: "DATABASE_URL names a file that is no SQLite database; restore a backup, or name another.",
}
READ_ONLY_SERVER = "The database cannot be written: the PostgreSQL server is read-only, as a standby is."
POSTGRESQL_SENTENCES = {
    "0A000": READ_ONLY_SERVER,
    "25006": READ_ONLY_SERVER,
    "53100": "The database cannot be written: the disk of the PostgreSQL server is full.",
}
CONNECTIONS = 10
# PostgreSQL has a function for this from version 18 on: the milliseconds, then chance.
UUID7 = (
    "encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) placing"
    " substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)"
    " from 1 for 6), 52, 1), 53, 1), 'hex')::uuid::text"
)
# The kernel's own patience with a server that vanished is a quarter of an hour.
POSTGRES = {
    "connect_timeout": 3,
    "keepalives_idle": 30,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "gna",
    # A statement prepared by the server gets one plan for all values, and poolers in front of it lose it.
    "prepare_threshold": None,
}


class Instant(sa.TypeDecorator[datetime]):
    """A moment in UTC: ISO 8601 text on SQLite, where text sorts as time does; native on PostgreSQL."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        native = sa.TIMESTAMP(timezone=True) if dialect.name == "postgresql" else sa.Text()
        return dialect.type_descriptor(native)

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> Any:
        return clock.iso(value) if value is not None and dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002
        if value is None:
            return None
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class Json(sa.TypeDecorator[Any]):
    """JSON: text on SQLite, JSONB on PostgreSQL."""

    impl = sa.JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        native = _dialect(dialect.name).JSONB if dialect.name == "postgresql" else sa.JSON
        return dialect.type_descriptor(native(none_as_null=True))

    def coerce_compared_value(self, op: Any, value: Any) -> Any:
        """A key or an index into JSON is not JSON itself."""
        json = self.impl_instance
        coerced = json.coerce_compared_value(op, value)
        return self if coerced is json else coerced


type_json = Json(none_as_null=True)


class Database:
    """Short transactions on SQLite or PostgreSQL."""

    def __init__(self, url: str) -> None:
        parsed = _parse(url)
        self.kind = parsed.get_backend_name()
        self._log: SqliteLog | None = None
        if self.kind == "sqlite":
            self._writer, self._reader = _sqlite(parsed)
            self._log = SqliteLog(self._writer, self._reader, busy_ms=BUSY_MS)
            writers = 1
        else:
            self._writer = self._reader = _postgresql(parsed)
            writers = CONNECTIONS
        # On SQLite one thread writes, so that waiting for the writer never uses up the readers' threads.
        self._writing = ThreadPoolExecutor(writers, thread_name_prefix="db-write")
        self._reading = ThreadPoolExecutor(READERS, thread_name_prefix="db-read")
        # Who reads much waits for the others who do: whoever looks up one thing finds a thread soon.
        self.large = asyncio.Semaphore(1)
        self._lock: int | None = None
        self._group = Group(self.write, self._writing, _is_away) if writers == 1 else None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that cannot change anything."""
        with _translated(), self._reader.connect() as tx:
            if tx.dialect.name == "postgresql":
                tx.execution_options(postgresql_readonly=True)
            with tx.begin():
                yield tx

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that commits at the end of the block and is undone by an exception."""
        with _translated(), self._writer.begin() as tx:
            yield tx

    async def run(self, action: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a whole writing transaction in a thread: one hop, however many statements."""
        if self._group:
            return await self._group.run(lambda tx: action(tx, *args, **kwargs))
        return await _hop(self._writing, self.write, lambda tx: action(tx, *args, **kwargs))

    async def look(self, action: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a whole reading transaction in a thread."""
        return await _hop(self._reading, self.read, lambda tx: action(tx, *args, **kwargs))

    def give_way(self) -> None:
        """On SQLite, let those who wait for the one writer have it; who asks again at once would mostly win."""
        if self.kind == "sqlite":
            time.sleep(GIVE_WAY)

    def checkpoint(self) -> None:
        """On SQLite, move what the log holds into the file while others go on reading and writing."""
        if self._log:
            with _translated():
                self._log.checkpoint()

    @property
    def has_long_log(self) -> bool:
        """Whether `shorten_log` has something to do."""
        return self._log is not None and self._log.is_long

    def shorten_log(self) -> None:
        """On SQLite, move a long log into the file and begin it anew; writers may wait for a moment."""
        if self._log:
            with _translated():
                self._log.shorten()

    def empty_log(self) -> None:
        """On SQLite, leave nothing in the log: what was deleted from the file still stands there in its old pages."""
        if self._log:
            with _translated():
                self._log.empty()

    def check_writable(self) -> None:
        """On SQLite, refuse a start if the files cannot be written."""
        if self.kind == "sqlite":
            sqlite_files.check_writable(Path(self._writer.url.database or ""))

    def vacuum(self, table: str) -> None:
        """On PostgreSQL, do now what it would do some time after many rows changed."""
        if self.kind == "sqlite":
            return
        with _translated(), self._writer.connect().execution_options(isolation_level="AUTOCOMMIT") as tx:
            tx.exec_driver_sql(f"VACUUM (ANALYZE) {table}")

    @contextmanager
    def arrival(self) -> Iterator[bool]:
        """The moment in which a process begins to work; says whether no other does, so that all claims are leftovers.

        On SQLite that is known from a lock that ends with its process, however it ends. While one process arrives,
        others wait. Elsewhere other machines may be at work, and only their silence tells that they are not.
        """
        if self.kind != "sqlite" or fcntl is None:
            yield False
            return
        self._lock = os.open(f"{os.path.realpath(self._writer.url.database or '')}-lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            yield False
        else:
            yield True
            fcntl.flock(self._lock, fcntl.LOCK_SH)

    def close(self, within: float = 5) -> bool:
        """Let running transactions end, then give every connection back; False if one still hangs."""
        closing = threading.Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(within)
        return not closing.is_alive()

    def _close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
        self._writing.shutdown()
        self._reading.shutdown()
        self._writer.dispose()
        self._reader.dispose()


def _parse(url: str) -> URL:
    """The parts of DATABASE_URL; a mistake in it is not repeated, since it may be half a password."""
    try:
        parsed = make_url(url)
    except (exc.ArgumentError, ValueError):
        raise CannotStart("DATABASE_URL cannot be understood: is the port a number?") from None
    if "@" in (parsed.host or ""):
        raise CannotStart("DATABASE_URL has an @ too many: in a password, write it as %40.")
    return parsed


async def _hop(
    threads: ThreadPoolExecutor,
    begin: Callable[[], AbstractContextManager[Connection]],
    action: Callable[[Connection], T],
) -> T:
    def transaction() -> T:
        with begin() as tx:
            return action(tx)

    return await asyncio.get_running_loop().run_in_executor(threads, transaction)


def timed(action: Callable[..., T]) -> Callable[..., T]:
    """The action with `now` read in its own transaction: a clock that all processes on one database share."""

    def at_its_time(tx: Connection, *args: Any, **kwargs: Any) -> T:
        return action(tx, *args, now=now(tx), **kwargs)

    return at_its_time


def now(tx: Connection) -> datetime:
    """The database's time. Machines disagree about theirs, and a worker must not look dead for that."""
    if tx.dialect.name == "postgresql":
        moment: datetime = tx.execute(sa.text("SELECT clock_timestamp()")).scalar_one()
        return moment.astimezone(UTC)
    return clock.now()


def lock_schema(tx: Connection) -> None:
    """Until this transaction ends, no other process changes the schema."""
    if tx.dialect.name == "postgresql":
        tx.execute(sa.text("SELECT pg_advisory_xact_lock(7261980)"))
    # On SQLite a writing transaction already keeps every other writer out.


def answers(tx: Connection) -> str:
    """The database's name and version, proving that it answers."""
    if tx.dialect.name == "postgresql":
        return f"PostgreSQL {tx.scalar(sa.text('SHOW server_version'))}"
    tx.execute(sa.text("SELECT name FROM sqlite_master LIMIT 1")).all()
    return f"SQLite {tx.scalar(sa.text('SELECT sqlite_version()'))}"


def rewrite_a_row(tx: Connection) -> None:
    """Prove that the database can be written, and change nothing."""
    tx.execute(sa.text("UPDATE alembic_version SET version_num = version_num"))


def new_id(tx: Connection) -> sa.ColumnElement[str]:
    """A fresh id for each row of a statement; like `ids.new`, a UUIDv7."""
    return sa.literal_column(UUID7) if tx.dialect.name == "postgresql" else sa.func.gna_new_id(type_=sa.Text)


def row_time(tx: Connection, now: datetime) -> sa.ColumnElement[datetime]:
    """The time at which a statement made each row.

    PostgreSQL finds the next of many rows fast only if they have an order; on SQLite the order is that of the rows.
    """
    return sa.func.clock_timestamp(type_=Instant) if tx.dialect.name == "postgresql" else sa.literal(now, Instant)


def day_of(tx: Connection, moment: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
    """The day of a moment, in UTC, as ISO 8601 has it."""
    if tx.dialect.name == "postgresql":
        return sa.func.to_char(sa.func.timezone("UTC", moment), "YYYY-MM-DD", type_=sa.Text)
    return sa.func.substr(moment, 1, 10, type_=sa.Text)


def insert(tx: Connection, table: sa.Table) -> Any:
    """An INSERT that knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
    return _dialect(tx.dialect.name).insert(table)


def _dialect(name: str) -> Any:
    """What SQLAlchemy has for one kind of database.

    Loaded by name: PostgreSQL's part costs a server on SQLite 2.8 MB and 40 ms.
    """
    return import_module(f"sqlalchemy.dialects.{name}")


def prepared(build: Callable[[Callable[[sa.Table], Any]], sa.Executable]) -> Callable[[Connection], Any]:
    """A statement that is built once for each kind of database, for paths where building would cost most of the time.

    `build` is given the INSERT of that kind; values come as parameters when the statement is executed.
    """

    @cache
    def of(dialect: str) -> sa.Executable:
        return build(_dialect(dialect).insert)

    return lambda tx: of(tx.dialect.name)


def pouring(table: sa.Table, columns: Sequence[str], *, unique: Sequence[str]) -> Callable[..., int]:
    """An INSERT for many thousand rows, past what SQLAlchemy does for each of their values; says how many are new.

    Rows are tuples as the driver takes them, with moments as text (`clock.iso`). One that is there already, by the
    columns in `unique`, is left alone.
    """
    names, same = ", ".join(columns), ", ".join(unique)

    def pour(tx: Connection, rows: Sequence[tuple[Any, ...]]) -> int:
        mark = "%s" if tx.dialect.name == "postgresql" else "?"
        marks = ", ".join([mark] * len(columns))
        into = f"INSERT INTO {table.name} ({names}) VALUES ({marks}) ON CONFLICT ({same}) DO NOTHING"  # noqa: S608
        return tx.exec_driver_sql(into, list(rows)).rowcount if rows else 0

    return pour


def _postgresql(url: URL) -> Engine:
    return sa.create_engine(
        url.set(drivername="postgresql+psycopg"),
        connect_args={name: value for name, value in POSTGRES.items() if name not in url.query},
        pool_size=CONNECTIONS,
        max_overflow=READERS,
        pool_timeout=10,
        # A connection that died while it waited is replaced instead of failing a request.
        pool_pre_ping=True,
        hide_parameters=True,
    )


def _sqlite(url: URL) -> tuple[Engine, Engine]:
    """One connection that writes, a few that read: SQLite has room for one writer at a time."""
    sqlite_files.prepare(Path(url.database or ""))
    writer = _sqlite_engine(url, begin="BEGIN IMMEDIATE", size=1)
    return writer, _sqlite_engine(url, begin="BEGIN", size=READERS, more=EXPORTS)


def _sqlite_engine(url: URL, *, begin: str, size: int, more: int = 0) -> Engine:
    engine = sa.create_engine(
        url,
        connect_args={"check_same_thread": False, "timeout": BUSY_MS / 1000, "isolation_level": None},
        poolclass=sa.QueuePool,
        pool_size=size,
        max_overflow=more,
        pool_timeout=30,
        hide_parameters=True,
    )

    pages = pages_before_checkpoint(Path(url.database or ""))

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        _use_wal(connection)
        connection.execute("PRAGMA foreign_keys=ON")
        # FULL: what was answered with "201" survives a power cut, not only a crash.
        connection.execute("PRAGMA synchronous=FULL")
        # What was deleted is overwritten: a person who is gone is gone from the file too.
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute(f"PRAGMA wal_autocheckpoint={pages}")
        connection.execute(f"PRAGMA journal_size_limit={LOG_BYTES}")
        connection.create_function("gna_new_id", 0, ids.new)
        if begin == "BEGIN":
            connection.execute("PRAGMA query_only=ON")
            # Readers see the file as memory: a search that reads a million rows copies none of them.
            connection.execute("PRAGMA mmap_size=2000000000")
        else:
            # 8 MB: what the sender touches in one round shall still be there in the next.
            connection.execute("PRAGMA cache_size=-8000")

    @sa.event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _use_wal(connection: sqlite3.Connection) -> None:
    """Let readers and the writer not wait for each other."""
    # SQLite's own patience does not cover this change, which several processes may make at once in a new file.
    deadline = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


@contextmanager
def _translated() -> Iterator[None]:
    """Tell a database that is away from a mistake of ours."""
    try:
        yield
    except exc.DBAPIError as error:
        if _is_a_mistake(error):
            raise
        raise DatabaseAway(_sentence(error)) from error
    except exc.TimeoutError as error:
        raise DatabaseAway("The database does not answer: every connection is busy.") from error


def _is_away(error: Exception) -> bool:
    return isinstance(error, exc.DBAPIError) and not _is_a_mistake(error)


def _is_a_mistake(error: exc.DBAPIError) -> bool:
    """Whether the statement was wrong, and not the connection or the file."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF not in BROKEN
    # A server that became read-only, as after a failover, reports an internal error. A standby does not "support" the
    # BEGIN READ WRITE that follows a read on the same connection.
    away = isinstance(error, exc.OperationalError | exc.InterfaceError | exc.InternalError | exc.NotSupportedError)
    return error.statement is not None and not away


def _sentence(error: exc.DBAPIError) -> str:
    """What is wrong, in our own words; those of PostgreSQL about a statement may quote its values."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None and code & 0xFF in SQLITE_SENTENCES:
        return SQLITE_SENTENCES[code & 0xFF]
    state = getattr(error.orig, "sqlstate", None)
    if state in POSTGRESQL_SENTENCES:
        return POSTGRESQL_SENTENCES[state]
    if error.statement is not None and code is None:
        return "The database does not answer."
    return f"The database does not answer: {str(error.orig).strip().splitlines()[0]}."
