"""Looking at what was found in a mailbox: all subscriptions, one with everything, and the sums."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from gna.cli import screen, start
from gna.inbox import accounts, subscriptions
from gna.inbox.table import Status

Id = Annotated[int, typer.Argument(metavar="ID", max=2**31 - 1, help="Its number, as `gna inbox list` shows it.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document instead.")]
# More senders than any mailbox has.
ALL = 10**6
# Below this a table has no room for names.
WIDE = 120
NONE_YET = "There is no mailbox yet: gna inbox account add EMAIL --imap 'imap://host:993?tls=implicit'"
NOTHING_YET = "No subscription was found yet. Read the mailbox: gna inbox scan (--days 365 looks back further)"
NO_MATCH = "None of them matches."
# Fields of a form, and characters of each.
FIELDS_SHOWN, FIELD_SHOWN = 20, 60
# The colour says how well one can do without.
KINDS = {
    "newsletter": "green",
    "discussion": "cyan",
    "notification": "yellow",
    "transactional": "red",
    "personal": "red",
}
NUMBER: dict[str, Any] = {"justify": "right", "no_wrap": True}
WORD: dict[str, Any] = {"no_wrap": True}
COLUMNS: dict[str, dict[str, Any]] = {
    "Id": NUMBER,
    "Mails": NUMBER,
    "Sure": NUMBER,
    "Sender": {"overflow": "fold", "min_width": 20},
    "Name": {"no_wrap": True, "overflow": "ellipsis", "max_width": 30},
    "Kind": WORD,
    "Newest": WORD,
    "Way out": WORD,
    "State": WORD,
}
STATS = {
    "accounts": "mailboxes",
    "messages": "mails read",
    "subscriptions": "subscriptions",
    "kept": "kept",
    "unsubscribed": "unsubscribed",
    "violations": "keep sending",
}


def list_(
    account: Annotated[str | None, typer.Option(metavar="EMAIL", help="Only of this mailbox.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="Only newsletter, discussion, notification, transactional or personal.")
    ] = None,
    search: Annotated[str, typer.Option("--search", "-q", help="Only those whose sender or list contains this.")] = "",
    kept: Annotated[
        bool | None, typer.Option("--kept/--not-kept", help="Only those that are kept, or are not.")
    ] = None,
    unsubscribed: Annotated[
        bool | None, typer.Option("--unsubscribed/--active", help="Only those that were left, or were not.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=ALL, help="At most so many.")] = ALL,
    json: Json = False,
) -> None:
    """Show the subscriptions, the surest first."""
    status = None if unsubscribed is None else Status.UNSUBSCRIBED if unsubscribed else Status.ACTIVE
    with start.opened() as (_, db), db.read() as tx:
        wanted = subscriptions.Wanted(_account(tx, account), _kind(kind), kept, status, search)
        found, total = subscriptions.listed(tx, wanted, page=1, per_page=limit)
        sums = subscriptions.stats(tx)
    if json:
        screen.print_json({"items": found, "page": 1, "per_page": len(found), "total": total})
        return
    if not found:
        print(NO_MATCH if sums["subscriptions"] else NOTHING_YET if sums["accounts"] else NONE_YET)
        return
    show_table(found)
    screen.console().print(f"{len(found):,} of {total:,}", style="dim")


def show(id: Id, json: Json = False) -> None:
    """Show one subscription: why it is taken for one, the ways out, what was offered before, and what was tried."""
    with start.opened() as (settings, db), db.read() as tx:
        found = subscriptions.show(tx, id, allowed=settings.inbox_allow_private_hosts)
    if json:
        screen.print_json(found)
        return
    console = screen.console()
    for label, value, style in _fields(found):
        if value:
            console.print(f"{label:<14}{screen.clean(str(value))}", style=style, soft_wrap=True)
    for title, lines in (("Ways out", _ways(found)), ("Before", _history(found)), ("Tried", _tried(found["attempts"]))):
        for number, line in enumerate(lines):
            console.print(f"{'' if number else title:<14}{screen.clean(line)}", soft_wrap=True)


def stats(json: Json = False) -> None:
    """Show how much was read, found, kept and left, and how many keep sending."""
    with start.opened() as (_, db), db.read() as tx:
        sums = subscriptions.stats(tx)
    if json:
        screen.print_json(sums)
        return
    for name, says in STATS.items():
        print(f"{sums[name]:>9,} {says}")


def show_table(found: Sequence[Mapping[str, Any]]) -> None:
    """Draw subscriptions. Those of an audit have no number and no state; names are for whoever has room."""
    console = screen.console()
    drawn = [name for name in COLUMNS if name not in ("Id", "State") or "id" in found[0]]
    if console.width < WIDE or not any(one["sender_name"] for one in found):
        drawn.remove("Name")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in drawn:
        table.add_column(name, **COLUMNS[name])
    for one in found:
        cells = _cells(one)
        table.add_row(*(cells[name] for name in drawn))
    console.print(table)


def way_lines(way: Mapping[str, Any]) -> Iterator[str]:
    """One way out, and what there is to know of it before it is gone."""
    yield f"{way['method']} ({way['source']}): {way['url']}"
    if way["to"]:
        yield f"  a mail to {way['to']}, subject “{way['subject']}”, text “{way['body']}”"
    # What another web address says stands in it.
    if way["method"] == "http_post" and way["fields"]:
        yield f"  a form with {_filled_in(way['fields'])}"
    if way["error"]:
        yield f"  not safe: {way['error']}"
    yield from (f"  careful: {warning}" for warning in way["warnings"])


def _filled_in(fields: Mapping[str, str | list[str]]) -> str:
    """What a form sends, as far as somebody would read it."""
    pairs = [(name, one) for name, said in fields.items() for one in ([said] if isinstance(said, str) else said)]
    shown = [f"{_short(name)}={_short(value)}" for name, value in pairs[:FIELDS_SHOWN]]
    return ", ".join(shown) + (f" and {len(pairs) - len(shown):,} more" if len(pairs) > len(shown) else "")


def _short(text: str) -> str:
    return f"{text[:FIELD_SHOWN]}…" if len(text) > FIELD_SHOWN else text


def attempt_line(attempt: Mapping[str, Any]) -> str:
    """One attempt as a line."""
    said = [attempt["method_used"], attempt["status"], attempt["outcome"]]
    said += [f"HTTP {attempt['response_code']}"] if attempt["response_code"] else []
    said += [attempt["error_message"]] if attempt["error_message"] else []
    return f"{screen.moment(attempt['attempted_at'])}  {', '.join(said)}"


def state_of(found: Mapping[str, Any]) -> tuple[str, str]:
    """How it stands in one word or two, and its colour."""
    if found["violation_count"]:
        return f"left, {found['emails_after_unsubscribe']:,} since", "red"
    if found["unsubscribe_status"] == "unsubscribed":
        return "left", "green"
    return ("kept", "blue") if found["keep_subscription"] else ("", "")


def _account(tx: Any, email: str | None) -> int | None:
    return None if email is None else int(accounts.find(tx, email).id)


def _kind(kind: str | None) -> str | None:
    if kind is not None and kind not in KINDS:
        raise typer.BadParameter(f"must be one of {', '.join(KINDS)}", param_hint="--kind")
    return kind


def _cells(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "Id": str(one.get("id", "")),
        "Mails": f"{one['email_count']:,}",
        "Sure": str(one["confidence"]),
        "Sender": Text(screen.clean(one["sender_email"])),
        "Name": Text(screen.clean(one["sender_name"])),
        "Kind": Text(one["kind"], style=KINDS.get(one["kind"], "")),
        "Newest": one["last_seen"][:10],
        "Way out": one["unsubscribe_method"] or "none",
        "State": Text(*state_of(one)),
    }


def _fields(found: Mapping[str, Any]) -> Iterable[tuple[str, Any, str]]:
    state, style = state_of(found)
    return (
        ("Id", found["id"], ""),
        ("Sender", named(found), "bold"),
        ("List", found["list_id"], ""),
        ("Kind", f"{found['kind']}. {found['advice']}", KINDS.get(found["kind"], "")),
        ("Mails", f"{found['email_count']:,}, the newest on {screen.moment(found['last_seen'])}", ""),
        ("Sure", f"{found['confidence']} of 100 ({'; '.join(found['reasons'])})", ""),
        ("State", state, style),
        ("Left", found["unsubscribed_at"] and screen.moment(found["unsubscribed_at"]), ""),
        ("Last after", found["last_violation_at"] and screen.moment(found["last_violation_at"]), ""),
    )


def named(found: Mapping[str, Any]) -> str:
    """A sender with the name that the mails have, if they have one."""
    name = found.get("sender_name")
    return f"{name} <{found['sender_email']}>" if name else str(found["sender_email"])


def _ways(found: Mapping[str, Any]) -> list[str]:
    lines = [line for way in found["methods"] for line in way_lines(way)]
    return [*lines, *(f"careful: {doubt}" for doubt in found["doubts"])] if lines else ["none was found"]


def _history(found: Mapping[str, Any]) -> list[str]:
    return [f"{screen.moment(was['email_date'])}  {was['method']}: {was['url']}" for was in found["history"]]


def _tried(attempts: Iterable[Mapping[str, Any]]) -> list[str]:
    return [attempt_line(attempt) for attempt in attempts]
