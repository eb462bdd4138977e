"""`gna inbox violations`: who kept sending after an unsubscribe, and a report that proves it."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from gna import clock
from gna.cli import screen, start
from gna.cli.inbox_views import Json
from gna.errors import Refused

File = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the evidence as CSV; - is the standard output.")]


def violations(
    days: Annotated[int, typer.Option(min=1, max=36_500, help="How many days count as recent.")] = 7,
    json: Json = False,
    csv: File = None,
) -> None:
    """Show who kept sending after you had left, the worst first; with the mails that prove it, as a file."""
    from gna.inbox import violations

    if json and csv == Path("-"):
        raise typer.BadParameter("the standard output takes one document; give --csv a file", param_hint="--csv")
    with start.opened() as (_, db), db.read() as tx:
        found = violations.summary(tx, days=days, now=clock.now())
        if csv:
            _write(csv, lambda file: violations.write_csv(tx, file))
    if json:
        screen.print_json(found)
    elif csv != Path("-"):
        _draw(found, days)
