"""Bringing the schema up to date, at every start, safely when several processes start at once."""

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import __version__
from gna.db import Database, lock_schema
from gna.errors import CannotStart

# The newest file in `versions/`; a test keeps the two the same. Knowing it here spares a server that is
# up to date the import of Alembic, which is 9 MB and a third of a second.
HEAD = "0001"


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
        _refuse_newer(have)
        _upgrade(tx)
    return True


def version(tx: Connection) -> str | None:
    """The revision that the database is at, or None if it is empty."""
    if not sa.inspect(tx).has_table("alembic_version"):
        return None
    row = tx.execute(sa.text("SELECT version_num FROM alembic_version")).first()
    return str(row[0]) if row else None


def _refuse_newer(have: str | None) -> None:
    known = {file.name.split("_")[0] for file in (Path(__file__).parent / "versions").glob("0*.py")}
    if have is not None and have not in known:
        raise CannotStart(
            f"The database is at {have}, which Gna {__version__} does not know (it knows {HEAD}). "
            "Install the newer Gna that made it, or restore the backup from before the upgrade."
        )


def _upgrade(tx: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "gna:migrations")
    config.attributes["connection"] = tx
    command.upgrade(config, HEAD)
