"""Bringing the schema up to date, at every start, safely when several processes start at once."""

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import __version__
from gna.db import Database, lock_schema
from gna.errors import CannotStart
from gna.tables import metadata

# The newest file in `versions/`; a test keeps the two the same. Knowing it here, and making a new database
# from the declared tables, spares a server the import of Alembic: 9 MB and a third of a second. That both
# ways arrive at the same schema is proved by a test on both databases.
HEAD = "0012"

# Where Alembic remembers the revision, exactly as it would make the table itself.
ALEMBIC = (
    "CREATE TABLE alembic_version "
    "(version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)


def migrate(db: Database) -> bool:
    """Apply what is missing, all of it or nothing; True if something was."""
    with db.read() as tx:
        if version(tx) == HEAD:
            return False
    with db.write() as tx:
        lock_schema(tx)
        have = version(tx)
        if have == HEAD:
            return False  # another process was faster
        if have is None:
            _create(tx)
        else:
            if newer := why_too_new(have):
                raise CannotStart(newer)
            upgrade(tx)
    return True


def version(tx: Connection) -> str | None:
    """The revision that the database is at, or None if it is empty."""
    if not sa.inspect(tx).has_table("alembic_version"):
        return None
    row = tx.execute(sa.text("SELECT version_num FROM alembic_version")).first()
    return str(row[0]) if row else "no revision"


def _create(tx: Connection) -> None:
    metadata.create_all(tx)
    tx.execute(sa.text(ALEMBIC))
    tx.execute(sa.text("INSERT INTO alembic_version (version_num) VALUES (:head)"), {"head": HEAD})


def why_too_new(have: str) -> str | None:
    """Why this version must not touch a database at that revision, and what to do; None if it may."""
    known = {file.name.split("_")[0] for file in (Path(__file__).parent / "versions").glob("0*.py")}
    if have in known:
        return None
    return (
        f"The database is at {have}, which Gna {__version__} does not know (it knows {HEAD}). "
        "Install the newer Gna that made it, or restore the backup from before the upgrade."
    )


def upgrade(tx: Connection, to: str = HEAD) -> None:
    """Apply every migration that the database has not had."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "gna:migrations")
    config.attributes["connection"] = tx
    command.upgrade(config, to)
