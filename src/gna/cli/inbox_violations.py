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
STDOUT = Path("-")


def violations(
    days: Annotated[int, typer.Option(min=1, max=36_500, help="How many days count as recent.")] = 7,
    json: Json = False,
    csv: File = None,
) -> None:
    """Show who kept sending after you had left, the worst first; or write down every such mail, to prove it."""
    from gna.inbox import violations

    if json and csv == STDOUT:
        raise typer.BadParameter("the standard output takes one document; name a file", param_hint="--csv")
    with start.opened() as (_, db), db.read() as tx:
        found = violations.summary(tx, days=days, now=clock.now())
        if csv:
            _write(csv, lambda file: violations.write_csv(tx, file))
    if json:
        screen.print_json(found)
    elif csv is None:
        _draw(found, days)


def _write(to: Path, fill: Callable[[TextIO], None]) -> None:
    if to == STDOUT:
        fill(sys.stdout)
        return
    try:
        with to.open("w", encoding="utf-8", newline="") as file:
            fill(file)
    except OSError as error:
        raise Refused(f"{to} cannot be written: {error.strerror}.") from None


def _draw(found: Mapping[str, Any], days: int) -> None:
    from rich.table import Table

    console = screen.console()
    if not found["worst_offenders"]:
        console.print("Nobody kept sending after you had left.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("Sender", overflow="fold", min_width=20)
    table.add_column("After", justify="right", no_wrap=True)
    for name in ("Last", "You left"):
        table.add_column(name, no_wrap=True)
    for one in found["worst_offenders"]:
        count = f"{one['emails_after_unsubscribe']:,}"
        dates = (screen.moment(one[name]) for name in ("last_violation_at", "unsubscribed_at"))
        table.add_row(screen.clean(one["sender_email"]), count, *dates)
    console.print(table)
    senders, mails = found["total_violations"], found["total_violation_emails"]
    recent = len(found["recent"])
    console.print(f"{senders:,} keep sending, {mails:,} mails; in the last {days} days: {recent:,}", style="dim")
