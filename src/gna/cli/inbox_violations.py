"""`gna inbox violations`: who kept sending after an unsubscribe, and a report that proves it."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from gna import clock
from gna.activity import Verb
from gna.cli import screen, start
from gna.cli.inbox_views import Json
from gna.cli.noted import note
from gna.errors import Refused
from gna.inbox import violations as recorded_violations

STDOUT = Path("-")
NOBODY = "Nobody kept sending after you had left. Every scan looks again: gna inbox scan"
Form = Callable[[Iterable[dict[str, Any]]], Iterator[str]]


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
    if (json, csv == STDOUT, evidence == STDOUT).count(True) > 1:
        raise typer.BadParameter("the standard output takes one document; name a file for the other")
    with start.opened() as (_, db):
        with db.read() as tx:
            found = recorded_violations.summary(tx, days=days, now=clock.now())
        reports = (
            (csv, recorded_violations.as_csv),
            (evidence, recorded_violations.as_json),
        )
        for file, form in reports:
            if file:
                _write(file, form, recorded_violations.evidence(db))
                with db.write() as tx:
                    note(tx, Verb.INBOX_EXPORTED, about=str(found["total_violation_emails"]))
    if json:
        screen.print_json(found)
    elif not (csv or evidence):
        _draw(found, days)


def _write(to: Path, form: Form, rows: Iterable[dict[str, Any]]) -> None:
    """Write every mail, one after the other; of a file it is said what is in it."""
    if to == STDOUT:
        screen.write_pieces(form(rows))
        return
    number = 0

    def counted() -> Iterator[dict[str, Any]]:
        nonlocal number
        for number, row in enumerate(rows, start=1):  # noqa: B007
            yield row

    try:
        with to.open("w", encoding="utf-8", newline="") as file:
            file.writelines(form(counted()))
    except OSError as error:
        raise Refused(f"{to} cannot be written: {error.strerror}.") from None
    print(f"{screen.count(number, 'mail')} written to {screen.clean(str(to))}.", file=sys.stderr)


def _draw(found: Mapping[str, Any], days: int) -> None:
    console = screen.console()
    if not found["worst_offenders"]:
        console.print(NOBODY)
        return
    console.print("The worst", style="bold")
    console.print(_table(found["worst_offenders"]))
    if found["recent"]:
        console.print(f"\nIn the last {screen.count(days, 'day')}", style="bold")
        console.print(_table(found["recent"]))
    senders, mails = screen.count(found["total_violations"], "sender"), found["total_violation_emails"]
    console.print(f"\n{senders} went on, with {screen.count(mails, 'mail')}", style="dim")


def _table(rows: Iterable[Mapping[str, Any]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("Sender", overflow="fold", min_width=20)
    table.add_column("After", justify="right", no_wrap=True)
    for name in ("Last", "You left", "Grace"):
        table.add_column(name, no_wrap=True)
    for one in rows:
        count = f"{one['emails_after_unsubscribe']:,}"
        dates = (screen.moment(one[name]) for name in ("last_violation_at", "unsubscribed_at"))
        table.add_row(screen.clean(one["sender_email"]), count, *dates, one["grace"])
    return table
