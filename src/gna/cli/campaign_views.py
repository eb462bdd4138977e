"""Looking at campaigns: a table of them, one with everything, and as a reader will see it."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text
from sqlalchemy.engine import Connection

from gna.campaigns import audience, overview, writing
from gna.campaigns import preview as campaign_preview
from gna.campaigns.audience import Audience
from gna.campaigns.frame import frame_of
from gna.campaigns.short_ids import short, whole
from gna.campaigns.states import EDITABLE, Sending, State
from gna.cli import screen, start
from gna.mail.compile import Sender
from gna.mail.render import Finding, check

Id = Annotated[str, typer.Argument(help="Its id, or at least 4 characters of the beginning or end of it.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document instead.")]
# In the order in which they add up to the audience.
SUMS = {"sent_count": "sent", "failure_count": "failed", "skipped_count": "skipped", "remaining_count": "to go"}


def list_(
    state: Annotated[State | None, typer.Option(help="Only those in this state.")] = None,
    page: Annotated[int, typer.Option(min=1, max=10**9, help="Which page.")] = 1,
    per_page: Annotated[int, typer.Option(min=1, max=100, help="How many on it.")] = 20,
    json: Json = False,
) -> None:
    """Show campaigns, newest first."""
    with start.opened() as (_, db), db.read() as tx:
        found, total = overview.newest(tx, state=state, page=page, per_page=per_page)
    if json:
        screen.print_json({"items": found, "page": page, "per_page": per_page, "total": total})
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("Id", "Subject", "State", "When"):
        table.add_column(name, no_wrap=name != "Subject")
    for name in ("Sent", "Failed", "Audience"):
        table.add_column(name, justify="right", no_wrap=True)
    for campaign in found:
        table.add_row(*_cells(campaign))
    console = screen.console()
    console.print(table)
    console.print(f"{len(found)} of {total:,}", style="dim")


def show(id: Id, json: Json = False) -> None:
    """Show one campaign: what it says, to whom, how far it is, and what to mend before it is sent."""
    with start.opened() as (settings, db):
        with db.read() as tx:
            campaign = looked_up(tx, id)
            reach = audience.count(tx, Audience.parse(campaign["audience"])) if _is_editable(campaign) else None
        found = checked(campaign, frame_of(settings))
    if json:
        screen.print_json(campaign | {"checks": [as_json(finding) for finding in found]})
        return
    for label, value in _fields(campaign, reach):
        if value:
            print(f"{label:<12}{screen.clean(value)}")
    for delivery in campaign["deliveries"]:
        counted = "" if delivery["state"] == Sending.PENDING else f": {sums(delivery)}"
        print(f"{'Delivery':<12}{delivery['channel_type']}, {delivery['state']}{counted}")
        for line in _why(delivery):
            print(f"{'':<12}{screen.clean(line)}")
    for finding in found:
        print(f"{'Check':<12}{said(finding)}")


def preview(
    id: Id,
    text: Annotated[bool, typer.Option("--text", help="The plain-text part; so it is by default.")] = False,
    html: Annotated[bool, typer.Option("--html", help="The HTML part.")] = False,
    source: Annotated[bool, typer.Option("--source", help="The whole mail, raw.")] = False,
    as_: Annotated[str, typer.Option("--as", help="The address or id of the subscriber who would see it so.")] = "",
) -> None:
    """Write a campaign as a reader will see it to the standard output."""
    if text + html + source > 1:
        raise typer.BadParameter("choose one of --text, --html and --source")
    with start.opened() as (settings, db):
        with db.read() as tx:
            campaign = looked_up(tx, id)
            by = campaign_preview.reader_named(tx, as_) if as_ else campaign_preview.Reader()
        frame = frame_of(settings)
    draft = writing.draft_of(campaign, frame)
    if source:
        sender = Sender(settings.email_from_address, settings.base_url)
        screen.write(campaign_preview.source(draft, frame, by, sender=sender))
        return
    seen = campaign_preview.seen(draft, frame, by)
    screen.write(seen.html if html else seen.text)


def looked_up(tx: Connection, id: str) -> dict[str, Any]:
    """The campaign that a person means, with everything."""
    return overview.get(tx, whole(tx, id))


def checked(campaign: Mapping[str, Any], frame: Any) -> list[Finding]:
    """What there is to mend before a campaign is sent."""
    return check(writing.draft_of(campaign, frame), frame)


def as_json(finding: Finding) -> dict[str, str]:
    """A finding as the API has it."""
    return {"level": finding.level, "code": finding.code, "message": finding.message}


def said(finding: Finding) -> str:
    """A finding as a line."""
    return f"{finding.level}: {screen.clean(finding.message)}"


def marked(campaign: Mapping[str, Any]) -> str:
    """A campaign's state, and what keeps it there."""
    its = campaign["deliveries"]
    if campaign.get("held"):
        return f"{campaign['state']} (held)"
    if any(delivery["paused"] for delivery in its):
        return f"{campaign['state']} (paused)"
    return f"{campaign['state']} (failed)" if any(one["state"] == Sending.FAILED for one in its) else campaign["state"]


def sums(counted: Mapping[str, Any]) -> str:
    """What became of the audience; the parts make the whole."""
    parts = [f"{counted[name]:,} {word}" for name, word in SUMS.items() if counted[name] or name != "remaining_count"]
    return f"{screen.people(counted['audience_count'])} = {' + '.join(parts)}"


def _why(delivery: Mapping[str, Any]) -> Iterable[str]:
    """Why mails failed, or have to wait."""
    if delivery["error_detail"]:
        yield delivery["error_detail"]
    else:
        yield from (f"{one['count']:,} failed: {one['reason']}" for one in delivery["reasons"])
    if delivery["waiting_for"]:
        yield f"Some wait for another try: {delivery['waiting_for']}"


def _is_editable(campaign: Mapping[str, Any]) -> bool:
    return campaign["state"] in EDITABLE


def _cells(campaign: Mapping[str, Any]) -> Iterable[Any]:
    numbers = ("sent_count", "failure_count", "audience_count")
    return (
        short(campaign["id"]),
        Text(screen.subject(campaign)),
        marked(campaign),
        _when(campaign),
        *("" if _is_editable(campaign) else f"{campaign[name]:,}" for name in numbers),
    )


def _when(campaign: Mapping[str, Any]) -> str:
    """The time for which it is scheduled, or at which it was published."""
    at = campaign["scheduled_at"] if campaign["state"] == State.SCHEDULED else campaign["published_at"]
    return screen.moment(at) if at else ""


def _fields(campaign: Mapping[str, Any], reach: int | None) -> Iterable[tuple[str, str]]:
    filters = campaign["audience"]
    chosen = [f"list {filters['list']}"] if filters.get("list") else []
    chosen += [f"{name}={value}" for name, value in filters.get("attributes", {}).items()]
    whom = ", ".join(chosen) or "everybody"
    return (
        ("Id", campaign["id"]),
        ("Subject", screen.subject(campaign)),
        ("Preheader", campaign["preheader"] or ""),
        ("Written in", campaign["body_format"]),
        ("For", whom if reach is None else f"{whom}, now {screen.people(reach)}"),
        ("State", marked(campaign)),
        ("Held", campaign["held"] or ""),
        (
            "Planned" if campaign["state"] == State.DRAFT else "Scheduled",
            screen.moment(campaign["scheduled_at"]) if campaign["scheduled_at"] else "",
        ),
        ("Published", screen.moment(campaign["published_at"]) if campaign["published_at"] else ""),
        ("Created", screen.moment(campaign["created_at"])),
        ("Archive", "everybody may read it" if campaign["archived"] else "not in the archive"),
    )
