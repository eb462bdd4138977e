"""`gna inbox violations`: who kept sending after an unsubscribe, and a report that proves it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gna import clock
from gna.cli import screen, start
from gna.cli.inbox_views import Json
from gna.errors import Refused

STDOUT = Path("-")


def violations(
    days: Annotated[int, typer.Option(min=1, max=36_500, help="How many days count as recent.")] = 7,
    json: Json = False,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every such mail as CSV; - is the standard output.")
    ] = None,
    evidence: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The same as JSON; - is the standard output.")
    ] = None,
) -> None:
    """Show who kept sending after you had left, the worst first; or write down every such mail, to prove it."""
    from gna.inbox import violations

    if (json, csv == STDOUT, evidence == STDOUT).count(True) > 1:
        raise typer.BadParameter("the standard output takes one document; name a file for the other")
    with start.opened() as (_, db), db.read() as tx:
        found = violations.summary(tx, days=days, now=clock.now())
        for file, form in ((csv, violations.as_csv), (evidence, violations.as_json)):
            if file:
                _write(file, form(violations.evidence(tx)))
    if json:
        screen.print_json(found)
    elif not (csv or evidence):
        _draw(found, days)


def _write(to: Path, pieces: Iterable[str]) -> None:
    if to == STDOUT:
        screen.write("".join(pieces))
        return
    try:
        with to.open("w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)
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
    for name in ("Last", "You left", "Grace"):
        table.add_column(name, no_wrap=True)
    for one in found["worst_offenders"]:
        count = f"{one['emails_after_unsubscribe']:,}"
        dates = (screen.moment(one[name]) for name in ("last_violation_at", "unsubscribed_at"))
        table.add_row(screen.clean(one["sender_email"]), count, *dates, one["grace"])
    console.print(table)
    senders, mails = found["total_violations"], found["total_violation_emails"]
    recent = len(found["recent"])
    console.print(f"{senders:,} keep sending, {mails:,} mails; in the last {days} days: {recent:,}", style="dim")
