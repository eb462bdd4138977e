"""`gna feed`: look at feeds now, list, add and remove them. A server or worker elsewhere does the sending."""

import asyncio
from typing import Annotated, Any

import typer

from gna.cli import screen, start
from gna.config import Settings
from gna.db import Database, timed
from gna.errors import NotAllowedNow, NotFound

app = typer.Typer(help="Look at feeds, whose new posts become campaigns.", no_args_is_help=True)

# More than there can be: those that were added, and the one of FEED_URL.
ALL = 1000
Which = Annotated[str, typer.Argument(help="Its address or its id.")]


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
    from gna.feeds import directory

    with start.opened() as (_, db), db.read() as tx:
        found, total = directory.listed(tx, page=1, per_page=ALL)
    if json:
        screen.print_json({"items": found, "page": 1, "per_page": ALL, "total": total})
        return
    from rich.table import Table

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
    mode: Annotated[str, typer.Option(help="`send` its campaigns, or leave them as a `draft`.")] = "send",
    cadence: Annotated[
        str, typer.Option(help="`every` post, or all of a `daily`, `weekly`, `monthly` mail.")
    ] = "every",
    at: Annotated[str, typer.Option(help="At what time of day.")] = "09:00",
    zone: Annotated[str, typer.Option(help="Of which time zone.")] = "UTC",
    weekday: Annotated[str, typer.Option(help="Weekly: on which day.")] = "monday",
    monthday: Annotated[int, typer.Option(help="Monthly: on which day.")] = 1,
    subject: Annotated[str, typer.Option(help="The subject; may hold {{ title }}, {{ count }} and others.")] = "",
) -> None:
    """Follow another feed; the first look comes at once, and only remembers what is there."""
    from gna.feeds import directory

    when = {"cadence": cadence, "at": at, "zone": zone, "weekday": weekday, "monthday": monthday}
    wish = directory.parse({"url": url, "mode": mode, "subject": subject, **when}, new=True)
    with start.opened() as (settings, db):
        with db.write() as tx:
            feed_id = timed(directory.add)(tx, wish)
        asyncio.run(_check(db, settings, feed_id))
    print(f"Followed as {feed_id}.")


@app.command()
def remove(which: Which, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False) -> None:
    """Forget a feed; campaigns that it made stay."""
    from gna.feeds import directory

    with start.opened() as (_, db):
        with db.read() as tx:
            feed = _the(tx, which)
        screen.make_sure(f"Forget {screen.clean(feed['url'])}?", yes=yes)
        with db.write() as tx:
            directory.remove(tx, feed["id"])
    print("Forgotten.")


@app.command()
def skip(which: Which) -> None:
    """Wait no more for a feed's campaign to be delivered; what is in it is not mailed again."""
    from gna.feeds import directory

    with start.opened() as (_, db), db.write() as tx:
        directory.skip(tx, _the(tx, which)["id"])
    print("It waits no more.")


async def _check(db: Database, settings: Settings, which: str) -> list[dict[str, Any]]:
    """Look at one feed or all, tell what came of it, and say how they are then."""
    from gna.feeds import directory
    from gna.feeds.editor import Editor
    from gna.feeds.notices import Notices
    from gna.feeds.poll import Poller

    poller, editor = Poller(db, settings), Editor(db, Notices.of(settings))
    await poller.prepare()
    after = []
    for feed in await db.look(_found, which):
        if not which and not feed["active"]:
            continue
        try:
            await poller.check(feed["id"])
            await asyncio.to_thread(editor.tend, feed["id"])
            after.append(await db.look(directory.show, feed["id"]))
        except (NotAllowedNow, NotFound) as not_now:  # others look at it, or have removed it
            after.append(feed | {"last_error": f"{not_now}."})
        print(_told(feed, after[-1]))
    return after


def _found(tx: Any, which: str) -> list[dict[str, Any]]:
    """All feeds, or the one that was named."""
    from gna.feeds import directory

    found, _ = directory.listed(tx, page=1, per_page=ALL)
    if not found:
        raise NotFound("There is no feed yet: set FEED_URL, or add one with `gna feed add ADDRESS`")
    chosen = [feed for feed in found if not which or which in (feed["id"], feed["url"])]
    if not chosen:
        raise NotFound("There is no such feed; `gna feed list` shows them")
    return chosen


def _the(tx: Any, which: str) -> dict[str, Any]:
    """The one feed that was named; a name that a script left empty is nobody's."""
    if not which:
        raise NotFound("Say which feed: its address or its id; `gna feed list` shows them")
    return _found(tx, which)[0]


def _told(before: dict[str, Any], after: dict[str, Any]) -> str:
    url = screen.clean(after["url"])
    if after["last_error"]:
        return f"{url}: {screen.clean(after['last_error'])}"
    if before["known_since"] is None:
        return f"{url}: this was the first look; posts from now on are mailed."
    if after["campaign_id"] and after["campaign_id"] != before["campaign_id"]:
        return f"{url}: new posts became the campaign {after['campaign_id']}."
    return f"{url}: {_state(after)}."


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
        return f"waits until the campaign {feed['campaign_id']} is delivered"
    if feed["waiting"]:
        return "1 post waits for its time" if feed["waiting"] == 1 else f"{feed['waiting']} posts wait for their time"
    return "nothing new"
