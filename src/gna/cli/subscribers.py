"""`gna subscribers`: list, import and export people."""

import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from gna import ids
from gna.activity import Verb
from gna.cli import screen, start
from gna.cli.noted import note
from gna.config import Settings
from gna.db import Database, timed
from gna.errors import Refused
from gna.subscribers import directory, imports
from gna.subscribers.admission import Publication
from gna.subscribers.export import export as pieces
from gna.subscribers.export import problem_file
from gna.subscribers.importer import Importer
from gna.subscribers.search import page_of
from gna.subscribers.wanted import Wanted

# So many different reasons why rows brought nobody in are printed.
MOST_REASONS = 5

app = typer.Typer(help="List, import and export subscribers.", no_args_is_help=True)

Search = Annotated[str, typer.Option("--search", "-q", help="Only those whose address or nickname contains this.")]
Status = Annotated[str, typer.Option("--status", help="Only those who are Activated, or Pending.")]
OnList = Annotated[str, typer.Option("--list", help="Only those on the list with this key.")]


@app.command("list")
def list_(
    search: Search = "",
    status: Status = "",
    list_key: OnList = "",
    page: Annotated[int, typer.Option(min=1, max=10**9, help="Which page.")] = 1,
    per_page: Annotated[int, typer.Option(min=1, max=100, help="How many on it.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="One JSON document instead of a table.")] = False,
) -> None:
    """Show subscribers, newest first."""
    wanted = Wanted.parse(q=search, status=status, list_key=list_key)
    with start.opened() as (_, db):
        people, totals = asyncio.run(directory.find(db, wanted, page=page, per_page=per_page))
    total = totals.of(wanted.status)
    if json:
        screen.print_json(
            {"items": [person.shown() for person in people], "page": page, "per_page": per_page, "total": total}
        )
        return
    table = Table("Email", "Nickname", "Status", "Since", box=None, padding=(0, 2, 0, 0))
    for person in people:
        since = person.activated_at or person.created_at
        table.add_row(escape(person.email), escape(person.nickname or ""), person.status, f"{since:%Y-%m-%d}")
    console = Console(soft_wrap=True)
    console.print(table)
    console.print(f"{len(people)} of {total:,}", style="dim")


@app.command()
def export(search: Search = "", status: Status = "", list_key: OnList = "") -> None:
    """Write subscribers as CSV to the standard output."""
    wanted = Wanted.parse(q=search, status=status, list_key=list_key)
    with start.opened() as (_, db):
        _, totals = asyncio.run(page_of(db, wanted, offset=0, limit=1))
        with db.write() as tx:
            note(tx, Verb.SUBSCRIBERS_EXPORTED, about=str(totals.of(wanted.status)))
        for piece in pieces(db, wanted):
            sys.stdout.buffer.write(piece.encode())
    sys.stdout.flush()


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A CSV file, or a ZIP of them, from here or from another product.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would happen.")] = False,
    errors: Annotated[Path | None, typer.Option(help="Write the rows that brought nobody in to this file.")] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="COLUMN=FIELD",
            help="What a column is: email, nickname, status, activated_at, ocd_ids, lists, attribute:NAME or ignore. "
            "Once for each that is taken; the others are left out.",
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--value",
            metavar="COLUMN=VALUE=MEANING",
            help="What a value means in a column that may say who left: confirmed, left, unconfirmed, or ignore if it "
            "says nothing of the kind. The value * stands for all others.",
        ),
    ] = None,
) -> None:
    """Import subscribers. People who unsubscribed stay away; the same file twice changes nothing."""
    with start.opened() as (settings, db):
        row = _import(settings, db, file, dry_run=dry_run, said=_mapping(columns or [], values or []))
        with db.read() as tx:
            problems = imports.problems_of(tx, row.id)
        if errors:
            errors.write_text("".join(problem_file(problems)), "utf-8")
    if row.state == imports.State.FAILED:
        raise Refused(row.error)
    print(f"{'Would import' if dry_run else 'Imported'} {file.name} ({row.format or 'no rows'}): {row.position:,} rows")
    for fate, number in imports.totals(row.counts.items()).items():
        if number:
            print(f"  {number:>9,} {fate.replace('_', ' ')}")
    reasons = Counter(problem.reason for problem in problems)
    for reason, number in reasons.most_common(MOST_REASONS):
        print(f"Left out: {reason} ({number:,})")
    if problems and not errors:
        print("--errors FILE writes down which rows these are.")


def _mapping(columns: list[str], values: list[str]) -> dict[str, Any]:
    """What the options say of the columns and their values; a column's name may have a sign of equality in it."""
    fields = dict(column.rpartition("=")[::2] for column in columns)
    if "" in fields:
        raise Refused('Write the column and what it is, as in: --map "E-Mail=email"')
    meanings: dict[str, dict[str, str]] = {}
    for option in values:
        place, _, meaning = option.rpartition("=")
        column, _, value = place.rpartition("=")
        if not column:
            raise Refused('Write the column, the value and what it means, as in: --value "Consent=on paper=confirmed"')
        meanings.setdefault(column, {})[value] = meaning
    said: dict[str, Any] = {"columns": fields} if fields else {}
    return said | ({"values": meanings} if meanings else {})


def _import(settings: Settings, db: Database, file: Path, *, dry_run: bool, said: dict[str, Any]) -> Any:
    importer = Importer(db, worker=ids.new(), publication=Publication.of(settings))
    try:
        with file.open("rb") as opened:
            mapping = imports.parse_mapping(said, opened)
            imports.check_values(opened, file.name, mapping)
            about = imports.title_of(opened, file.name, mapping)
            with db.write() as tx:
                import_id = timed(imports.accept)(
                    tx, opened, name=file.name, dry_run=dry_run, mapping=mapping, worker=importer.worker
                )
                if not dry_run:
                    note(tx, Verb.IMPORT_STARTED, about=about, target=import_id)
    except imports.UnknownValues as unknown:
        example = f'--value "{unknown.column}={unknown.values[0]}=left"'
        raise Refused(f"{unknown}. As in: {example}") from None
    except OSError as error:
        raise Refused(f"{file} cannot be read: {error.strerror}.") from None
    columns = (TextColumn("Importing"), BarColumn(), TextColumn("{task.fields[rows]:,} rows"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("import", total=None, rows=0)
        return importer.finish(
            import_id, lambda row: progress.update(task, total=row.size, completed=row.read, rows=row.position)
        )
