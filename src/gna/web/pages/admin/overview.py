"""The first page: how the publication is doing, what goes out, and what needs a person."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gna import activity, clock
from gna.activity import Verb
from gna.campaigns import overview, traffic
from gna.campaigns.states import State
from gna.campaigns.table import campaigns
from gna.campaigns.traffic import Sums
from gna.config import Settings
from gna.db import timed
from gna.delivery import bounces
from gna.errors import Refused
from gna.subscribers import tally
from gna.subscribers.tally import Day
from gna.web import attention, charts
from gna.web.attention import Need
from gna.web.ground import ground
from gna.web.identity import Identity, who
from gna.web.language import language_of, translated
from gna.web.pages.admin.shell import N_, screen, zone_of

PERIODS = (7, 30, 90)
LATEST = 5
NOTHING = Sums(0, 0)
# Columns of a longer period are weeks.
LONG, WEEK = 31, 7
MORNING, AFTERNOON, EVENING = N_("Good morning"), N_("Good afternoon"), N_("Good evening")


@dataclass(frozen=True)
class Steps:
    """How far a new publication is; each is done or not."""

    form: bool
    people: bool
    campaign: bool


@dataclass(frozen=True)
class Overview:
    """Everything that is on the page."""

    period: int
    days: Sequence[Day]
    mails: Sequence[tuple[date, Sums]]
    under_way: Sequence[dict[str, Any]]
    coming: Sequence[Any]
    latest: Sequence[dict[str, Any]]
    campaigns: int
    bounced: int
    needs: Sequence[Need]
    steps: Steps | None

    @property
    def now(self) -> Day:
        """Today so far."""
        return self.days[-1]

    @property
    def in_weeks(self) -> bool:
        """Whether there are too many days for a column each."""
        return self.period > LONG

    @property
    def is_new(self) -> bool:
        """Whether there are no numbers to show yet."""
        return not (self.campaigns or self.now.confirmed or self.now.pending)

    @property
    def grown(self) -> int | None:
        """How many more there are than when the period began; None if nobody counted then."""
        return self.now.confirmed - self.days[0].confirmed if len(self.days) > self.period else None

    @property
    def sent(self) -> int:
        """Mails sent in the period."""
        return sum(sums.sent for _, sums in self.mails[-self.period :])

    @property
    def sent_before(self) -> int:
        """Mails sent in the period before."""
        return sum(sums.sent for _, sums in self.mails[: -self.period])

    @property
    def failed(self) -> int:
        """Mails of the period that could not be sent."""
        return sum(sums.failed for _, sums in self.mails[-self.period :])

    @property
    def left(self) -> int:
        """Who unsubscribed in the period."""
        return sum(day.left for day in self.days[-self.period :])


async def show(request: Request) -> Response:
    """The overview."""
    here, lang = ground(request), language_of(request)
    found: Overview = await here.look(timed(look), parse_period(request), here.settings)
    growth = charts.area(
        [(day.day, day.confirmed) for day in found.days[-found.period :]],
        label=translated(N_("Confirmed subscribers by day"), lang),
        language=lang,
    )
    by_day = found.mails[-found.period :]
    mails = charts.bars(
        by_week(by_day) if found.in_weeks else by_day,
        series=(translated(N_("Sent"), lang), translated(N_("Not sent"), lang)),
        label=translated(N_("Mails by week") if found.in_weeks else N_("Mails by day"), lang),
        language=lang,
    )
    hour = clock.now().astimezone(zone_of(request)).hour
    hello, name = translated(greeting(hour), lang), first_name(who(request))
    drawn = {"growth": growth, "mails": mails}
    return screen(request, "overview.html", it=found, drawn=drawn, periods=PERIODS, hello=hello, name=name)


def look(tx: Connection, period: int, settings: Settings, *, now: datetime) -> Overview:
    """Everything that is on the page, as it is at one moment."""
    today = now.astimezone(UTC).date()
    # The period, and as many days before it to compare with.
    all_days = [today - timedelta(days=ago) for ago in reversed(range(2 * period))]
    sums = traffic.per_day(tx, since=datetime.combine(all_days[0], time(), UTC))
    latest, total = overview.newest(tx, state=None, page=1, per_page=LATEST)
    return Overview(
        period=period,
        days=tally.of_days(tx, period + 1, now=now),
        mails=[(day, sums.get(day, NOTHING)) for day in all_days],
        under_way=traffic.under_way(tx),
        coming=traffic.coming(tx),
        latest=latest,
        campaigns=total,
        bounced=bounces.count(tx, now=now),
        needs=attention.needs(tx, settings, now=now),
        steps=_steps(tx, total),
    )


def _steps(tx: Connection, written: int) -> Steps | None:
    """The first steps, until the first campaign is out."""
    out = sa.select(campaigns.c.id).where(campaigns.c.state.in_((State.PUBLISHING, State.PUBLISHED)))
    if tx.execute(out.limit(1)).first():
        return None
    return Steps(form=tally.anybody_signed_up(tx), people=_imported(tx), campaign=written > 0)


def _imported(tx: Connection) -> bool:
    noted = sa.select(activity.activity.c.id).where(activity.activity.c.verb == Verb.IMPORT_STARTED)
    return tx.execute(noted.limit(1)).first() is not None


def by_week(mails: Sequence[tuple[date, Sums]]) -> list[tuple[date, Sums]]:
    """The sums of each seven days, by the first of them; the last seven end today, and the first may be fewer."""
    begins = range(len(mails) % WEEK - WEEK if len(mails) % WEEK else 0, len(mails), WEEK)
    weeks = [mails[max(begin, 0) : begin + WEEK] for begin in begins]
    return [(week[0][0], Sums(*map(sum, zip(*(sums for _, sums in week), strict=True)))) for week in weeks]


def parse_period(request: Request) -> int:
    """How many days to look back."""
    asked = request.query_params.get("days", "30")
    if asked not in map(str, PERIODS):
        raise Refused("days must be 7, 30 or 90")
    return int(asked)


def greeting(hour: int) -> str:
    """What one says at that hour."""
    return MORNING if 4 <= hour < 12 else AFTERNOON if 12 <= hour < 18 else EVENING


def first_name(identity: Identity) -> str:
    """What to call somebody whose address is all that is known; nothing if it does not look like a name."""
    found = re.match(r"([^\W\d_]{2,20})(?=[._+@-])", identity.email)
    return found[1].capitalize() if found else ""


routes = [Route("/admin", show)]
