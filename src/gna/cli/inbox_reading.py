"""Reading mails: a scan of a mailbox on its server, and an audit of a file that somebody already has."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gna import log
from gna.activity import Verb
from gna.cli import screen, start
from gna.cli.inbox_views import NONE_YET, Json, show_table
from gna.cli.noted import note
from gna.config import Settings
from gna.db import Database
from gna.errors import GnaError, NotFound, Refused
from gna.inbox import accounts
from gna.inbox import audit as mail_audit
from gna.inbox import scan as mailbox_scan

FORMS = "it should be an mbox, a Maildir, .eml files or a Takeout archive."


def scan(
    email: Annotated[str, typer.Argument(help="The mailbox; all of them if left out.")] = "",
    days: Annotated[int, typer.Option(min=1, max=36_500, help="How far back the first look goes.")] = 30,
    folder: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Which folder, `*` for all; may be repeated.")
    ] = None,
    json: Json = False,
) -> None:
    """Read the headers of new mails and find subscriptions in them. Nothing in the mailbox changes."""
    with start.opened() as (settings, db):
        with db.read() as tx:
            chosen = [accounts.find(tx, email)._asdict()] if email else accounts.listed(tx)
        if not chosen:
            raise NotFound(NONE_YET)
        folders = tuple(folder) if folder else ("INBOX",)
        done = [_scan(db, settings, account, days=days, folders=folders) for account in chosen]
    if json:
        screen.print_json(_sums(done) | {"accounts": done})
    else:
        for one in done:
            if one["error"] is None or one["new"]:
                print(_told(one))
    if any(one["error"] for one in done):
        raise typer.Exit(1)


def audit(
    file: Annotated[Path, typer.Argument(help="An mbox, a Maildir, .eml files, or a Takeout archive (.zip, .tgz).")],
    json: Json = False,
) -> None:
    """Find the subscriptions in mails on this machine: no password, no network, no database, nothing is written."""
    log.setup(level="warning", format="console")
    with _bar("Reading") as bar:
        task = bar.add_task("", total=None)
        found = mail_audit.audit(file, tell=lambda done: bar.update(task, completed=done))
    if json:
        screen.print_json(found)
    if found["errors"] and not found["messages"]:
        raise Refused(f"No mail can be read in {file}: {FORMS}")
    if json:
        return
    if not found["items"]:
        print(f"There is no mail in {screen.clean(str(file))}; {FORMS}")
        return
    show_table(found["items"])
    broken = f"; {found['errors']:,} could not be read" if found["errors"] else ""
    sums = f"{screen.count(found['messages'], 'mail')}, {screen.count(len(found['items']), 'sender')}{broken}"
    screen.console().print(sums, style="dim")


def _scan(
    db: Database, settings: Settings, account: dict[str, Any], *, days: int, folders: tuple[str, ...]
) -> dict[str, Any]:
    """Read one mailbox; what goes wrong with it keeps no other from being read."""
    with db.write() as tx:
        note(tx, Verb.INBOX_SCANNED, target=str(account["id"]))
    email = screen.clean(account["email"])
    one = {"email": account["email"], "new": 0, "errors": 0, "violations": 0}
    try:
        with _bar(email) as bar:
            task = bar.add_task("", total=None)

            def tell(now: mailbox_scan.Progress) -> None:
                bar.update(task, description=now.phase, completed=now.done, total=now.total)

            found = mailbox_scan.scan(
                db,
                settings,
                account["id"],
                days=days,
                folders=folders,
                tell=tell,
            )
            why = found.error
            one |= {"new": found.new, "errors": found.errors, "violations": found.violations}
    except GnaError as error:
        why = str(error)
    if why:
        print(f"gna: {email}: {screen.clean(why)}", file=sys.stderr)
    return one | {"error": why}


def _sums(done: list[dict[str, Any]]) -> dict[str, int]:
    return {name: sum(one[name] for one in done) for name in ("new", "errors", "violations")}


def _told(one: dict[str, Any]) -> str:
    said = [screen.count(one["new"], "new mail")]
    said += [f"{one['errors']:,} could not be read"] if one["errors"] else []
    said += [f"{one['violations']:,} came after you had left (gna inbox violations)"] if one["violations"] else []
    return f"{screen.clean(one['email'])}: {', '.join(said)}."


def _bar(what: str) -> Progress:
    """How far it is; only a terminal sees it."""
    console = screen.console(stderr=True)
    # An address may hold braces, which a column would fill in.
    shown = what.replace("{", "{{").replace("}", "}}")
    words = TextColumn(f"{shown} {{task.description}}", markup=False)
    columns = (words, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
