"""An example publication, as rows."""

import random
import unicodedata
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import ids, tokens
from gna.campaigns import writing
from gna.campaigns.states import Sending, State
from gna.campaigns.table import campaigns, deliveries
from gna.campaigns.writing import Wish
from gna.cli import demo_inbox
from gna.cli.demo_texts import BODY, DRAFT, FIRST_NAMES, LAST_NAMES, NEXT, SUBJECTS
from gna.delivery import bounces
from gna.delivery.bounces import Bounce
from gna.delivery.mailings import State as MailingState
from gna.delivery.mailings import mailings
from gna.errors import Refused
from gna.feeds.table import feeds
from gna.outbox import Kind
from gna.subscribers import tally
from gna.subscribers.suppressions import Reason
from gna.subscribers.table import memberships, subscribers, suppressions

PEOPLE, DAYS = 1200, 120
PENDING, LEFT = 0.3, 60
REFUSED = "550 5.1.1 No such user here"


def fill(tx: Connection, *, now: datetime) -> None:
    """People who came over some months, a campaign every week, one to come and one half written."""
    if tx.scalar(sa.select(sa.exists().where(subscribers.c.id.is_not(None)))):
        raise Refused(
            "This database has subscribers already, and the example needs an empty one. In a rehearsal: "
            "stop the server, rm -r rehearsal, then make demo. Else name another with DATABASE_URL."
        )
    chance = random.Random(7)  # noqa: S311
    joined = sorted(now - timedelta(days=DAYS * chance.random() ** 1.4, minutes=1) for _ in range(PEOPLE))
    people = [_person(chance, number, moment, now) for number, moment in enumerate(joined)]
    tx.execute(sa.insert(subscribers), people)
    weekly = [person for person in people if chance.random() < 0.25]
    tx.execute(
        sa.insert(memberships),
        [
            {"subscriber_id": person["id"], "list_key": key, "created_at": person["created_at"]}
            for person in weekly
            for key in ("general", "weekly")
        ],
    )
    for weeks, subject in enumerate(reversed(SUBJECTS), start=1):
        at = (now - timedelta(days=7 * weeks)).replace(hour=9, minute=0, second=0, microsecond=0)
        audience = sum(1 for person in people if person["activated_at"] and person["activated_at"] < at)
        _sent(tx, chance, subject, audience, at)
    coming = writing.create(tx, Wish({"subject": NEXT, "body": BODY, "body_format": "markdown"}), now=now)
    at = (now + timedelta(days=2)).replace(hour=9, minute=0, second=0, microsecond=0)
    its = campaigns.c.id == coming
    tx.execute(sa.update(campaigns).where(its).values(state=State.SCHEDULED, scheduled_at=at))
    writing.create(tx, Wish({"subject": DRAFT, "body": BODY, "body_format": "markdown"}), now=now)
    _trouble(tx, chance, people, now)
    _count_days(tx, now)
    _feed(tx, now)
    demo_inbox.fill(tx, chance, now=now)


def _trouble(tx: Connection, chance: random.Random, people: list[dict[str, Any]], now: datetime) -> None:
    """Some have left, and some addresses do not work."""
    left = [
        {
            "hash": tokens.new(),
            "reason": Reason.UNSUBSCRIBED,
            "created_at": now - timedelta(days=DAYS * chance.random()),
        }
        for _ in range(LEFT)
    ]
    tx.execute(sa.insert(suppressions), left)
    confirmed = [person for person in people if person["activated_at"]]
    gone = [Bounce(one["id"], one["email"], REFUSED) for one in chance.sample(confirmed, 4)]
    bounces.note(tx, gone, now=now - timedelta(days=1))


def _count_days(tx: Connection, now: datetime) -> None:
    """Count the days anew: a server that ran before has counted each of them as empty."""
    tx.execute(sa.delete(tally.days))
    tally.keep(tx, tally.count(tx, now=now))


def _feed(tx: Connection, now: datetime) -> None:
    """A feed that nobody looks at: its site is not there."""
    columns = {"url": "https://quiet.example/feed.xml", "title": "The Quiet Web", "active": False, "due_at": now}
    tx.execute(sa.insert(feeds).values(id=ids.new(), created_at=now, cadence="weekly", **columns))


def _person(chance: random.Random, number: int, at: datetime, now: datetime) -> dict[str, Any]:
    first, last = chance.choice(FIRST_NAMES), chance.choice(LAST_NAMES)
    plain = unicodedata.normalize("NFKD", first).encode("ascii", "ignore").decode()
    waits = chance.random() < PENDING and (now - at) < timedelta(hours=20)
    return {
        "id": ids.new(),
        "email": f"{plain}.{last}{number}@example.{chance.choice(('org', 'net', 'com'))}".lower(),
        "nickname": first if chance.random() < 0.8 else None,
        "unsubscribe_token": tokens.new(),
        "created_at": at,
        "activated_at": None if waits else at + timedelta(seconds=50),
        "confirmation_expires_at": now + timedelta(hours=20) if waits else None,
    }


def _sent(tx: Connection, chance: random.Random, subject: str, audience: int, at: datetime) -> None:
    """A campaign that went out then."""
    before = at - timedelta(days=1)
    wish = Wish({"subject": subject, "body": BODY, "body_format": "markdown"})
    campaign = writing.create(tx, wish, now=before)
    failed = chance.randrange(0, 1 + audience // 90)
    sums = {"audience": audience, "sent_count": audience - failed, "failed_count": failed}
    reasons = [{"reason": REFUSED, "count": failed}] if failed else []
    end = at + timedelta(seconds=8)
    mailing = tx.execute(
        sa.insert(mailings)
        .values(kind=Kind.CAMPAIGN, state=MailingState.DONE, created_at=at, finished_at=end, filled_at=at)
        .values(**sums, reasons=reasons)
        .returning(mailings.c.id)
    ).scalar_one()
    done = {"state": Sending.SENT, "mailing_id": mailing, "started_at": at, "finished_at": end}
    tx.execute(sa.update(deliveries).where(deliveries.c.campaign_id == campaign).values(**done))
    published = {"state": State.PUBLISHED, "published_at": at, "updated_at": at}
    tx.execute(sa.update(campaigns).where(campaigns.c.id == campaign).values(**published))
