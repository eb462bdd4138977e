"""`gna campaigns`: write, look at, send and look after campaigns. A server or worker elsewhere does the sending."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from gna import clock
from gna.activity import Verb
from gna.campaigns import audience, overview, preview, publish, writing
from gna.campaigns.audience import Audience
from gna.campaigns.frame import frame_of
from gna.campaigns.short_ids import whole
from gna.campaigns.states import EDITABLE, Sending, State
from gna.campaigns.table import NOT_NOW, Changed
from gna.cli import campaign_views as views
from gna.cli import screen, start
from gna.cli.campaign_views import Id
from gna.cli.campaign_writing import create
from gna.cli.noted import note
from gna.cli.watch import watch as watch_it
from gna.db import Database, timed
from gna.errors import NotAllowedNow, Refused
from gna.mail.render import Level, compose

app = typer.Typer(help="Write, preview, send and look after campaigns.", no_args_is_help=True)
app.command("list")(views.list_)
app.command("show")(views.show)
app.command("create")(create)
app.command("preview")(views.preview)

NO_AUDIENCE = "Its audience is empty: no mail would go out, and it would stay out of the archive. Send it anyway?"
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@app.command()
def test(id: Id, address: Annotated[list[str], typer.Argument(help="Where to send it; up to 20.")]) -> None:
    """Mail a campaign to a few addresses; nothing of that is kept or counted."""
    to = preview.parse_addresses(address)
    with start.opened() as (settings, db):
        frame = frame_of(settings)
        with db.read() as tx:
            content = compose(writing.draft_of(views.looked_up(tx, id), frame), frame)
        with db.write() as tx:
            timed(preview.send_trial)(tx, content, to, frame=frame)
            campaign = views.looked_up(tx, id)
            note(tx, Verb.CAMPAIGN_TESTED, about=campaign["subject"], target=campaign["id"])
    print(f"A test to {len(to)} {'address' if len(to) == 1 else 'addresses'} is on its way.")


@app.command()
def send(
    id: Id,
    yes: Yes = False,
    watch: Annotated[bool, typer.Option("--watch", help="Show how it goes out.")] = False,
) -> None:
    """Send a draft or a scheduled campaign now, after showing what goes to how many."""
    with start.opened() as (settings, db):
        frame = frame_of(settings)
        with db.read() as tx:
            campaign = views.looked_up(tx, id)
            row = overview.row(tx, campaign["id"])
            people = audience.count(tx, Audience.parse(campaign["audience"]))
        _must_be(campaign, EDITABLE)
        print(f"{'Subject':<12}{screen.subject(campaign)}\n{'For':<12}{screen.people(people)}")
        print(f"{'Links':<12}start with {frame.base_url}")
        _must_be_sendable(views.checked(campaign, frame))
        screen.make_sure(f"Send to {screen.people(people)}?" if people else NO_AUDIENCE, yes=yes)
        ready = publish.prepare(row, frame)
        _act(db, Verb.CAMPAIGN_SENT, campaign["id"], lambda tx, _: timed(publish.send)(tx, ready))
        print("It is being sent.")
        if watch:
            watch_it(db, campaign["id"])


@app.command()
def schedule(
    id: Id, when: Annotated[str, typer.Argument(help="ISO 8601 with a zone: 2030-01-31T09:00:00+02:00.")]
) -> None:
    """Send a draft at a time in the future, or a scheduled campaign at another time."""
    at = writing.parse_time(when, clock.now())
    with start.opened() as (settings, db):
        with db.read() as tx:
            campaign = views.looked_up(tx, id)
            row = overview.row(tx, campaign["id"])
        _must_be(campaign, EDITABLE)
        ready = publish.prepare(row, frame_of(settings))
        _act(db, Verb.CAMPAIGN_SCHEDULED, campaign["id"], lambda tx, _: timed(publish.schedule)(tx, ready, at=at))
    print(f"Scheduled for {screen.moment(at)}.")


@app.command()
def cancel(id: Id) -> None:
    """Make a scheduled campaign a draft again."""
    with start.opened() as (_, db):
        _act(db, Verb.CAMPAIGN_CANCELLED, id, timed(publish.cancel))
    print("It is a draft again.")


@app.command()
def pause(id: Id) -> None:
    """Send no more of a campaign for now; what is on its way arrives."""
    with start.opened() as (_, db):
        _act(db, Verb.CAMPAIGN_PAUSED, id, publish.pause)
    print("It is paused.")


@app.command()
def resume(id: Id) -> None:
    """Go on where a campaign was paused."""
    with start.opened() as (_, db):
        _act(db, Verb.CAMPAIGN_RESUMED, id, publish.resume)
    print("It goes on.")


@app.command()
def retry(id: Id) -> None:
    """Try again what a campaign's failed deliveries could not send, and nothing else."""
    with start.opened() as (_, db):
        mails = _act(db, Verb.DELIVERY_RETRIED, id, _retry)
    print(f"Trying again: {mails:,} {'mail' if mails == 1 else 'mails'}.")


@app.command()
def watch(id: Id) -> None:
    """Show how a campaign goes out until all of it has; Ctrl+C ends the watching alone."""
    with start.opened() as (_, db):
        with db.read() as tx:
            campaign_id = whole(tx, id)
        watch_it(db, campaign_id)


@app.command()
def duplicate(id: Id) -> None:
    """Make a new draft that says the same; says its id."""
    with start.opened() as (_, db):
        print(_act(db, Verb.CAMPAIGN_COPIED, id, timed(writing.duplicate)))


@app.command()
def delete(id: Id, yes: Yes = False) -> None:
    """Throw a draft away."""
    with start.opened() as (_, db):
        with db.read() as tx:
            campaign = views.looked_up(tx, id)
        _must_be(campaign, [State.DRAFT])
        screen.make_sure(f"Delete “{screen.subject(campaign)}”?", yes=yes)
        _act(db, Verb.CAMPAIGN_DELETED, campaign["id"], writing.delete)
    print("Deleted.")


def _act(db: Database, verb: Verb, id: str, action: Callable[..., Any]) -> Any:
    """Do something with a campaign, and note it; why it cannot be done now is said with its state."""
    with db.write() as tx:
        campaign = views.looked_up(tx, id)
        try:
            done = action(tx, campaign["id"])
        except Changed:
            raise
        except NotAllowedNow as error:
            raise NotAllowedNow(f"{error}: the campaign is {views.marked(campaign)}") from None
        target = done if verb is Verb.CAMPAIGN_COPIED else campaign["id"]
        note(tx, verb, about=campaign["subject"], target=target)
    return done


def _must_be(campaign: dict[str, Any], states: Iterable[State]) -> None:
    """Ask nobody about what cannot be done."""
    if campaign["state"] not in states:
        raise NotAllowedNow(f"{NOT_NOW}: the campaign is {views.marked(campaign)}")


def _must_be_sendable(found: list[Any]) -> None:
    for finding in found:
        print(f"{'Check':<12}{views.said(finding)}")
    if any(finding.level == Level.ERROR for finding in found):
        raise Refused("It has errors and cannot be sent so; mend them first.")


def _retry(tx: Any, campaign_id: str) -> int:
    """Try again every failed delivery; says how many mails that are."""
    before = overview.get(tx, campaign_id)
    failed = [delivery["id"] for delivery in before["deliveries"] if delivery["state"] == Sending.FAILED]
    if not failed:
        raise NotAllowedNow("No delivery of it has failed")
    for delivery_id in failed:
        timed(publish.retry)(tx, delivery_id)
    return int(before["failure_count"] - overview.get(tx, campaign_id)["failure_count"])
