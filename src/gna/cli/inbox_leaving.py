"""Staying and leaving: `keep`, `unkeep`, and `unsubscribe`, which asks before each one."""

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console
from sqlalchemy.engine import Connection

from gna.activity import Verb
from gna.cli import screen, start
from gna.cli.inbox_views import Json, attempt_line, named, way_lines
from gna.cli.noted import note
from gna.config import Settings
from gna.db import Database, timed
from gna.errors import GnaError
from gna.inbox import subscriptions
from gna.inbox.meanings import MEANINGS
from gna.inbox.unsubscribe import Pace, Result, Seen
from gna.inbox.unsubscribe import unsubscribe as unsubscribe_from

Ids = Annotated[
    list[int], typer.Argument(metavar="ID", max=2**31 - 1, help="Their numbers, as `gna inbox list` shows them.")
]
QUESTION = "Type 'yes' to confirm: "
ABORTED = "Aborted; nothing was sent"
ATTEMPTS_SHOWN = 3
SAYS = {"failed": "Failed", "refused": "Not done", "dry_run": "Dry run, nothing was sent"}
STYLES = {"success": "green", "failed": "red", "refused": "yellow", "dry_run": "cyan"}


def keep(ids: Ids) -> None:
    """Keep subscriptions: nothing unsubscribes from them, and their way out stays as it is."""
    with start.opened() as (_, db):
        _each(db, ids, Verb.INBOX_KEPT, subscriptions.keep, "is kept")


def unkeep(ids: Ids) -> None:
    """Keep subscriptions no more; what their newest mail offers counts again."""
    with start.opened() as (settings, db):
        thaw = partial(subscriptions.unkeep, allowed=settings.inbox_allow_private_hosts)
        _each(db, ids, Verb.INBOX_UNKEPT, thaw, "is not kept any more")


def unsubscribe(
    ids: Ids,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done; nothing is sent.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Unsubscribe, after showing how, and asking, for each one."""
    with start.opened(quietly=True) as (settings, db), asyncio.Runner() as runner:
        pace = Pace(settings.inbox_request_delay)
        leaver = Leaver(db, settings, runner, pace, screen.console(stderr=json), dry_run=dry_run, yes=yes, quiet=json)
        results = [leaver.leave(id) for id in dict.fromkeys(ids)]
    if json:
        screen.print_json({"results": results})
    if any(result["status"] in ("refused", "failed") for result in results):
        raise typer.Exit(1)


@dataclass(frozen=True)
class Leaver:
    """Somebody at a terminal or a script, who wants to leave one subscription after the other."""

    db: Database
    settings: Settings
    runner: asyncio.Runner
    pace: Pace
    console: Console
    dry_run: bool
    yes: bool
    quiet: bool

    def leave(self, id: int) -> dict[str, Any]:
        """Leave one subscription; what becomes of it keeps nobody from leaving the next."""
        try:
            result = self._leave(id)
        except GnaError as error:
            result = asdict(Result(id, "refused", None, None, None, str(error)))
        self._tell(result)
        return result

    def _leave(self, id: int) -> dict[str, Any]:
        with self.db.read() as tx:
            found = subscriptions.show(tx, id, allowed=self.settings.inbox_allow_private_hosts)
        asks = not (self.yes or self.dry_run)
        if asks or not self.quiet:
            self._present(found)
        # Every check without the deed: what is refused is not asked about.
        would = self._act(id, dry_run=True)
        if self.dry_run or would["status"] == "refused":
            return would
        if asks and not self._is_sure():
            return would | {"status": "refused", "message": ABORTED}
        # A yes is to what was shown; with --yes it is to whatever there is.
        seen = (found["unsubscribe_method"], found["unsubscribe_link"]) if asks else None
        try:
            done = self._act(id, seen=seen)
        except GnaError as error:
            # Nobody knows how far it came.
            return would | {"status": "failed", "message": str(error)}
        if done["status"] != "refused":
            # It is done and told, whether or not it can be noted.
            with suppress(GnaError), self.db.write() as tx:
                _note(tx, Verb.INBOX_LEFT if done["status"] == "success" else Verb.INBOX_TRIED, id)
        return done

    def _act(self, id: int, *, dry_run: bool = False, seen: Seen | None = None) -> dict[str, Any]:
        leaving = unsubscribe_from(
            self.db,
            self.settings,
            id,
            dry_run=dry_run,
            seen=seen,
            pace=self.pace,
        )
        return asdict(self.runner.run(leaving))

    def _present(self, found: Mapping[str, Any]) -> None:
        for label, line in _details(found):
            self.console.print(f"{label:<14}{screen.clean(line)}", soft_wrap=True)

    def _is_sure(self) -> bool:
        """Whether somebody types, or has written into the pipe, the one word."""
        self.console.print(QUESTION, end="")
        answer = sys.stdin.readline() if sys.stdin else ""
        # Only at a terminal somebody has pressed enter here.
        if not (answer.endswith("\n") and sys.stdin.isatty()):
            self.console.print()
        return answer.strip().lower() == "yes"

    def _tell(self, result: Mapping[str, Any]) -> None:
        if self.quiet and result["status"] not in ("refused", "failed"):
            return
        status = result["status"]
        self.console.print(f"{result['id']}: {screen.clean(_said(result))}", style=STYLES[status], soft_wrap=True)
        if result["outcome"]:
            self.console.print(f"{result['id']}: The attempt is recorded.", style="dim")


def _said(result: Mapping[str, Any]) -> str:
    """What became of it; what only may have helped is not called an unsubscribe."""
    message = result["message"] or ""
    if result["status"] != "success":
        return f"{SAYS[result['status']]}: {message}"
    word, meaning = MEANINGS[result["outcome"]]
    return f"{'Unsubscribed' if result['outcome'] == 'accepted' else word}: {message}. {meaning}"


def _details(found: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """What one should know before leaving."""
    yield "Id", str(found["id"])
    yield "Sender", named(found)
    yield "Kind", f"{found['kind']}. {found['advice']}"
    yield "Emails", f"{found['email_count']:,}"
    yield "Keep", "yes" if found["keep_subscription"] else "no"
    for number, attempt in enumerate(found["attempts"][:ATTEMPTS_SHOWN]):
        yield "" if number else "Tried", attempt_line(attempt)
    yield "Method", found["unsubscribe_method"] or "none"
    yield "Link", found["unsubscribe_link"] or "none"
    for way in found["methods"][:1]:
        for line in list(way_lines(way))[1:]:
            yield "", line.strip()
    yield from (("", f"careful: {doubt}") for doubt in found["doubts"])


def _each(db: Database, ids: list[int], verb: Verb, act: Callable[..., Any], says: str) -> None:
    """Do it to each subscription; one that is not there keeps no other from it."""
    failed = False
    for id in dict.fromkeys(ids):
        try:
            with db.write() as tx:
                timed(act)(tx, [id])
                _note(tx, verb, id)
        except GnaError as error:
            failed = True
            print(f"gna: {error}", file=sys.stderr)
        else:
            print(f"{id} {says}.")
    if failed:
        raise typer.Exit(1)


def _note(tx: Connection, verb: Verb, id: int) -> None:
    """Write down what was done to which one; who writes to somebody is no business of a log."""
    note(tx, verb, about=str(id), target=str(id))
