"""Alembic's entry: it works on the transaction that `migrate` opened."""

from alembic import context

from gna.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
