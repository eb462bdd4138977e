"""`gna feed`: look at feeds now, list, add and remove them. A server or worker elsewhere does the sending."""

import asyncio
from typing import Annotated, Any

import typer
from rich.table import Table

from gna.activity import Verb
from gna.cli import screen, start
from gna.cli.noted import note
from gna.config import Settings
from gna.db import Database, timed
from gna.errors import NotAllowedNow, NotFound, Refused
from gna.feeds import directory
from gna.feeds.address import parse_address
from gna.feeds.editor import Editor
from gna.feeds.notices import Notices
from gna.feeds.poll import Poller

app = typer.Typer(help="Look at feeds, whose new posts become campaigns.", no_args_is_help=True)

# More than there can be: those that were added, and the one of FEED_URL.
ALL = 1000
Which = Annotated[str, typer.Argument(help="Its address or its id.")]
Mode = Annotated[str | None, typer.Option(help="`send` its campaigns, or leave them as a `draft`.")]
Cadence = Annotated[str | None, typer.Option(help="`every` post, or `daily`, `weekly`, `monthly` all at once.")]
At = Annotated[str | None, typer.Option(help="At what time of day: 09:00.")]
Zone = Annotated[str | None, typer.Option(help="Of which time zone: Europe/Bucharest.")]
Weekday = Annotated[str | None, typer.Option(help="Weekly: on which day.")]
Monthday = Annotated[int | None, typer.Option(help="Monthly: on which day.")]
Subject = Annotated[str | None, typer.Option(help="The subject; may hold {{ title }}, {{ count }} and others.")]
ListKey = Annotated[str | None, typer.Option("--list", help="Only for those on this list; empty for everybody.")]
Archived = Annotated[bool | None, typer.Option(help="Whether everybody may read its campaigns at /archive.")]


@app.command()
def check(which: Annotated[str, typer.Argument(help="The address or id of one feed; all if left out.")] = "") -> None:
    """Look at the feeds now, as the timetable does every hour; new posts become a campaign."""
    with start.opened() as (settings, db):
        failed = [feed for feed in asyncio.run(_check(db, settings, which)) if feed["last_error"]]
    if failed:
        raise typer.Exit(1)


@app.command("list")
def list_(json: Annotated[bool, typer.Option("--json", help="One JSON document instead of a table.")] = False) -> None:
    """Show the feeds, newest first."""
    with start.opened() as (_, db), db.read() as tx:
        found, total = directory.listed(tx, page=1, per_page=ALL)
    if json:
        screen.print_json({"items": found, "page": 1, "per_page": ALL, "total": total})
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("Feed", "Mailed", "Looked at", "Now"):
        table.add_column(name, overflow="fold")
    for feed in found:
        looked = screen.moment(feed["last_checked_at"]) if feed["last_checked_at"] else "not yet"
        table.add_row(screen.clean(feed["url"]), _plan(feed), looked, _state(feed))
    screen.console().print(table)


@app.command()
def add(
    url: Annotated[str, typer.Argument(help="Where the feed is.")],
    mode: Mode = None,
    cadence: Cadence = None,
    at: At = None,
    zone: Zone = None,
    weekday: Weekday = None,
    monthday: Monthday = None,
    subject: Subject = None,
    list_key: ListKey = None,
    archived: Archived = None,
) -> None:
    """Follow another feed; the first look comes at once, and only remembers what is there."""
    when = {"cadence": cadence, "at": at, "zone": zone, "weekday": weekday, "monthday": monthday}
    said = _said({"mode": mode, "subject": subject, "archived": archived, **when}, list_key)
    wish = directory.parse({"url": url, **said}, new=True)
    with start.opened() as (settings, db):
        with db.write() as tx:
            feed_id = timed(directory.add)(tx, wish)
            note(tx, Verb.FEED_ADDED, about=wish["url"], target=feed_id)
        [feed] = asyncio.run(_check(db, settings, feed_id))
    print(f"Followed as {feed_id}{', but it cannot be read yet' if feed['last_error'] else ''}.")
    if feed["last_error"]:
        raise typer.Exit(1)


@app.command()
def change(
    which: Which,
    mode: Mode = None,
    cadence: Cadence = None,
    at: At = None,
    zone: Zone = None,
    weekday: Weekday = None,
    monthday: Monthday = None,
    subject: Subject = None,
    list_key: ListKey = None,
    archived: Archived = None,
    active: Annotated[bool | None, typer.Option("--active/--paused", help="Whether it is looked at.")] = None,
    url: Annotated[str | None, typer.Option(help="Where it is from now on.")] = None,
) -> None:
    """Change what becomes of a feed's posts; what is left out stays."""
    when = {"cadence": cadence, "at": at, "zone": zone, "weekday": weekday, "monthday": monthday}
    said = _said(
        {"mode": mode, "subject": subject, "archived": archived, "active": active, "url": url, **when}, list_key
    )
    wish = directory.parse(said)
    with start.opened() as (_, db), db.write() as tx:
        feed_id = _the(tx, which)["id"]
        timed(directory.edit)(tx, feed_id, wish)
        feed = directory.show(tx, feed_id)
        note(tx, Verb.FEED_CHANGED, about=feed["url"], target=feed_id)
    print(f"{screen.clean(feed['url'])}: mailed {_plan(feed)}; {_state(feed)}.")


@app.command()
def remove(which: Which, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False) -> None:
    """Forget a feed; campaigns that it made stay."""
    with start.opened() as (_, db):
        with db.read() as tx:
            feed = _the(tx, which)
        screen.make_sure(f"Forget {screen.clean(feed['url'])}?", yes=yes)
        with db.write() as tx:
            directory.remove(tx, feed["id"])
            note(tx, Verb.FEED_REMOVED, about=feed["url"])
    print("Forgotten.")


@app.command()
def skip(which: Which) -> None:
    """Wait no more for a feed's campaign to be delivered; what is in it is not mailed again."""
    with start.opened() as (_, db), db.write() as tx:
        feed = _the(tx, which)
        directory.skip(tx, feed["id"])
        note(tx, Verb.FEED_SKIPPED, about=feed["url"], target=feed["id"])
    print("It waits no more; the campaign itself stays as it is.")


async def _check(db: Database, settings: Settings, which: str) -> list[dict[str, Any]]:
    """Look at one feed or all, tell what came of it, and say how they are then."""
    poller, editor = Poller(db, settings), Editor(db, Notices.of(settings))
    await db.run(timed(directory.know_setting), settings.feed_url)
    after = []
    for feed in await db.look(_found, which):
        if not which and not feed["active"]:
            print(f"{screen.clean(feed['url'])}: paused, so it is not looked at.")
            continue
        try:
            await poller.check(feed["id"], waits=lambda: print("Somebody else looks at it; waiting for them …"))
            await asyncio.to_thread(editor.tend, feed["id"])
            after.append(await db.look(directory.show, feed["id"]))
        except (NotAllowedNow, NotFound) as not_now:  # others look at it, or have removed it
            after.append(feed | {"last_error": f"{not_now}."})
        print(_told(feed, after[-1]))
    return after


def _said(options: dict[str, Any], list_key: str | None) -> dict[str, Any]:
    """What was really said, in the words of the API."""
    said = {name: value for name, value in options.items() if value is not None}
    return said if list_key is None else said | {"audience": {"list": list_key} if list_key else {}}


def _found(tx: Any, which: str) -> list[dict[str, Any]]:
    """All feeds, or the one that was named."""
    found, _ = directory.listed(tx, page=1, per_page=ALL)
    if not found:
        raise NotFound("There is no feed yet: set FEED_URL, or add one with `gna feed add ADDRESS`")
    named = {which, _spelled(which)}
    chosen = [feed for feed in found if not which or named & {feed["id"], feed["url"]}]
    if not chosen:
        raise NotFound("There is no such feed; `gna feed list` shows them")
    return chosen


def _spelled(which: str) -> str:
    """An address as it is kept."""
    try:
        return parse_address(which)
    except Refused:
        return which


def _the(tx: Any, which: str) -> dict[str, Any]:
    """The one feed that was named; a name that a script left empty is nobody's."""
    if not which:
        raise NotFound("Say which feed: its address or its id; `gna feed list` shows them")
    return _found(tx, which)[0]


def _told(before: dict[str, Any], after: dict[str, Any]) -> str:
    url = screen.clean(after["url"])
    if after["last_error"]:
        return f"{url}: {screen.clean(after['last_error'])}"
    older = after["passed_over"] - before["passed_over"]
    passed = f" Passed over, since they are dated before the newest that was mailed: {older}." if older else ""
    if after["campaign_id"] and after["campaign_id"] != before["campaign_id"]:
        what = "which waits for you" if after["campaign_state"] == "draft" else "which is being sent"
        return f"{url}: new posts became the campaign {after['campaign_id']}, {what}.{passed}"
    if before["known_since"] is None:
        return f"{url}: this was the first look; posts from now on are mailed."
    return f"{url}: {_state(after)}.{passed}"


def _waiting(campaign_id: str, state: str | None) -> str:
    if state == "draft":
        verbs = f"`gna campaigns send {campaign_id}` or `gna campaigns delete {campaign_id}`"
        return f"its campaign waits for you: {verbs}"
    return f"waits until the campaign {campaign_id} is delivered"


def _plan(feed: dict[str, Any]) -> str:
    when = {
        "every": "as they come",
        "daily": f"daily at {feed['at']} {feed['zone']}",
        "weekly": f"{feed['weekday']}s at {feed['at']} {feed['zone']}",
        "monthly": f"monthly on day {feed['monthday']} at {feed['at']} {feed['zone']}",
    }[feed["cadence"]]
    return when if feed["mode"] == "send" else f"{when}, as drafts"


def _state(feed: dict[str, Any]) -> str:
    if not feed["active"]:
        return "paused"
    if feed["last_error"]:
        return f"failing ({feed['consecutive_failures']}): {screen.clean(feed['last_error'])}"
    if feed["campaign_id"]:
        return _waiting(feed["campaign_id"], feed["campaign_state"])
    if feed["moved_to"]:
        return f"says that it has moved for good to {screen.clean(feed['moved_to'])}; change its address"
    if feed["waiting"]:
        return "1 post waits for its time" if feed["waiting"] == 1 else f"{feed['waiting']} posts wait for their time"
    return "nothing new"
