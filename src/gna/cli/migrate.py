"""`gna migrate`: bring the schema up to date without starting anything."""

from gna import migrations
from gna.cli import start


def migrate() -> None:
    """Bring the database schema up to date. Servers and workers do this at their start too."""
    _, db = start.begin()
    changed = start.make_ready(db)
    db.close()
    print(f"The database is at {migrations.HEAD}" + (", brought up to date just now." if changed else " already."))
