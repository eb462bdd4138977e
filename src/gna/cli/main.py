"""The `gna` command."""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gna import __version__
from gna.cli.lazy import LazyCommand
from gna.errors import GnaError

# The help is that of the command itself, which is not imported for it; a test compares the two.
COMMANDS = [
    LazyCommand(
        "serve",
        target="gna.cli.serve:serve",
        help="Answer requests, and run the background work beside it unless PROCESS_ROLE=api.",
    ),
    LazyCommand(
        "worker",
        target="gna.cli.worker:worker",
        help="Run the background work without a web server; start as many as you like on one PostgreSQL.",
    ),
    LazyCommand(
        "migrate",
        target="gna.cli.migrate:migrate",
        help="Bring the database schema up to date. Servers and workers do this at their start too.",
    ),
    LazyCommand(
        "check",
        target="gna.cli.check:check",
        help="Say what is configured, what is missing, and whether database, Redis and mail provider answer.",
    ),
    LazyCommand(
        "demo",
        target="gna.cli.demo:demo",
        help="Fill an empty database with an example publication, to look around in; for the `mailbox` provider only.",
    ),
    LazyCommand(
        "subscribers",
        target="gna.cli.subscribers:app",
        help="List, import and export subscribers.",
    ),
    LazyCommand(
        "campaigns",
        target="gna.cli.campaigns:app",
        help="Write, preview, send and look after campaigns.",
    ),
    LazyCommand(
        "feed",
        target="gna.cli.feed:app",
        help="Look at feeds, whose new posts become campaigns.",
    ),
    LazyCommand(
        "inbox",
        target="gna.cli.inbox:app",
        help="Find the subscriptions in a mailbox, leave them safely, and see who kept sending.",
    ),
]


class Commands(TyperGroup):
    """The group `gna`, of the commands above."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for command in COMMANDS:
            self.add_command(command)


app = typer.Typer(
    cls=Commands,
    help="Gna runs a mailing from both ends.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    """Gna runs a mailing from both ends."""
    if version:
        typer.echo(f"gna {__version__}")
        raise typer.Exit


def main() -> None:
    """Run a command; what Gna itself refuses is one sentence, not a traceback."""
    try:
        app(prog_name="gna")
    except GnaError as error:
        for line in str(error).splitlines():
            print(f"gna: {line}", file=sys.stderr)
        sys.exit(1)
