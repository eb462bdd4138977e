"""`gna inbox account`: the mailboxes that are read, and where their passwords are."""

import getpass
import sys
from typing import Annotated

import typer
from rich.table import Table

from gna import clock
from gna.cli import screen, start
from gna.cli.inbox_views import NONE_YET
from gna.config import Settings
from gna.db import Database, timed
from gna.errors import Refused
from gna.inbox import accounts, credentials, server

app = typer.Typer(help="Add, list and remove the mailboxes that are read.", no_args_is_help=True)

IMAP = "Its server: imap://host:port?tls=implicit, or starttls, or none."
Smtp = Annotated[
    str | None, typer.Option(metavar="URL", help="Who carries its mail, to unsubscribe by mail: smtp://host:port.")
]
Command = Annotated[str | None, typer.Option(metavar="COMMAND", help="What prints the password, or an access token.")]
Email = Annotated[str, typer.Argument(help="The address of the mailbox.")]
PLACES = {"keyring": "system's keyring", "file": "encrypted file of INBOX_CREDENTIALS"}
HOW = (
    "No password is kept for it. Give one in INBOX_PASSWORD, or with --password-command,"
    " or type it once: gna inbox account password {email}"
)

IN_THE_CLEAR = (
    "gna: With tls=none the password and all mails travel in the clear, for everybody on the way to read. "
    "Most servers have tls=implicit on port 993, or tls=starttls."
)


@app.command()
def add(
    email: Email,
    imap: Annotated[str, typer.Option(metavar="URL", help=IMAP)],
    smtp: Smtp = None,
    password_command: Command = None,
) -> None:
    """Add a mailbox. Nothing is sent to its server until the first scan."""
    wish = accounts.Wish(email, imap, smtp=smtp, password_command=password_command)
    with start.opened() as (settings, db):
        with db.write() as tx:
            timed(accounts.add)(tx, wish)
        print(f"Added {screen.clean(email)}.")
        _warn(imap)
        if password_command or settings.inbox_password:
            return
        if not _somebody_types():
            print(HOW.format(email=screen.clean(email)))
            return
        try:
            _ask(settings, db, email)
        except Refused as not_kept:  # the mailbox is known all the same
            print(not_kept)


@app.command("list")
def list_(json: Annotated[bool, typer.Option("--json", help="One JSON document instead of a table.")] = False) -> None:
    """Show the mailboxes, and when each was read."""
    with start.opened() as (_, db), db.read() as tx:
        found = accounts.listed(tx)
    if json:
        screen.print_json({"items": [clock.in_json(account) for account in found]})
        return
    if not found:
        print(NONE_YET)
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("Mailbox", "Server", "Password", "Read"):
        table.add_column(name, overflow="fold")
    for account in found:
        read = screen.moment(account["last_scan_at"]) if account["last_scan_at"] else "not yet"
        kept = "by a command" if account["password_command"] else account["kept_in"] or "not kept"
        table.add_row(*map(screen.clean, (account["email"], account["imap_url"], kept, read)))
    screen.console().print(table)


@app.command()
def change(
    email: Email,
    imap: Annotated[str | None, typer.Option(metavar="URL", help=IMAP)] = None,
    smtp: Smtp = None,
    password_command: Command = None,
) -> None:
    """Change a mailbox's servers, or the command for its password; what is left out stays, what is empty goes."""
    with start.opened() as (_, db), db.write() as tx:
        account = accounts.find(tx, email)
        accounts.change(tx, account.id, imap=imap, smtp=smtp, password_command=password_command)
    print(f"Changed {screen.clean(account.email)}.")
    if imap:
        _warn(imap)


@app.command()
def remove(email: Email, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False) -> None:
    """Forget a mailbox, its password, and everything that was found in it."""
    with start.opened() as (settings, db):
        with db.read() as tx:
            account = accounts.find(tx, email)
        name = screen.clean(account.email)
        screen.make_sure(f"Forget {name}, its subscriptions, and what shows who kept sending?", yes=yes)
        credentials.forget(settings, account)
        with db.write() as tx:
            accounts.remove(tx, account.id)
    print("Forgotten. The mails themselves are where they were.")


@app.command()
def password(email: Email) -> None:
    """Ask for the password of a mailbox and keep it: in the system's keyring, or in an encrypted file."""
    with start.opened() as (settings, db):
        with db.read() as tx:
            account = accounts.find(tx, email)
        _ask(settings, db, account.email)


def _warn(imap: str) -> None:
    if server.parse(imap).is_overheard:
        print(IN_THE_CLEAR, file=sys.stderr)


def _somebody_types() -> bool:
    """Whether somebody is there who could type a password."""
    return sys.stdin is not None and sys.stdin.isatty()


def _piped() -> str:
    """The password that a script writes."""
    return sys.stdin.readline().rstrip("\r\n") if sys.stdin else ""


def _ask(settings: Settings, db: Database, email: str) -> None:
    """Ask for a password, and keep it."""
    prompt = f"Password or app password of {screen.clean(email)}: "
    try:
        secret = getpass.getpass(prompt) if _somebody_types() else _piped()
    except EOFError:
        secret = ""
    if not secret:
        raise Refused("No password was given; none is kept.")
    where = credentials.keep(settings, email, secret)
    with db.write() as tx:
        accounts.keep_in(tx, accounts.find(tx, email).id, where)
    print(f"The password is kept in the {PLACES.get(where, where)}.")
