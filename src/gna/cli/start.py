"""What every command does first, and last."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

from gna import config, log, migrations
from gna.config import Settings
from gna.db import Database, rewrite_a_row
from gna.provider_history import refuse_rehearsal


def begin(**overrides: object) -> tuple[Settings, Database]:
    """Read the settings, set up the logs, open the database."""
    settings = config.load(**overrides)  # type: ignore[arg-type]
    log.setup(level=settings.log_level, format=settings.log_format)
    return settings, Database(settings.database_url.get_secret_value())


@contextmanager
def opened(*, quietly: bool = False) -> Iterator[tuple[Settings, Database]]:
    """The settings, and the database with the present schema, for a command that does one thing and ends.

    One that answers in sentences of its own does it `quietly`: it logs warnings, unless LOG_LEVEL was given.
    """
    settings, db = begin()
    if quietly and "log_level" not in settings.model_fields_set:
        log.setup(level="warning", format=settings.log_format)
    try:
        migrations.migrate(db)
        yield settings, db
    finally:
        db.close()


def make_ready(db: Database) -> bool:
    """Bring the schema up to date and prove that work can begin; True if the schema changed.

    What is wrong with the disk is one sentence here, and would be a traceback of the first step later.
    """
    db.check_writable()
    changed = migrations.migrate(db)
    with db.write() as tx:
        rewrite_a_row(tx)
    return changed


def refuse_to_rehearse(settings: Settings, db: Database) -> None:
    """Stop a sending process if EMAIL_PROVIDER=mailbox, but the database has sent real mail."""
    if settings.email_provider == "mailbox":
        with db.read() as tx:
            refuse_rehearsal(tx)


def settle_down() -> None:
    """Leave all that is loaded out of garbage collections, and collect less often.

    Sending gains a tenth by it. What was imported is left out since its import (`lazy`).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def end(db: Database) -> None:
    """Close the database; when a transaction hangs in it, leave anyway, as whoever stopped us expects."""
    if not db.close():
        log.get(__name__).error("the database hangs; leaving without its answer")
        os._exit(1)
