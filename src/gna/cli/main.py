"""The `gna` command."""

import sys
from importlib import import_module
from typing import Annotated

import typer

from gna import __version__
from gna.cli import check, demo, migrate, serve, worker
from gna.errors import GnaError

app = typer.Typer(
    help="Gna runs a mailing from both ends.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (serve.serve, worker.worker, migrate.migrate, check.check, demo.demo):
    app.command()(command)
# A server lives long, and does not carry the commands that it is not.
if sys.argv[1:2] not in (["serve"], ["worker"]):
    for name in ("subscribers", "campaigns", "feed", "inbox"):
        app.add_typer(import_module(f"gna.cli.{name}").app, name=name)


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
