"""What a publisher does, in verbs, and the work that goes on behind it."""

import asyncio
from datetime import timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa
from httpx2 import Client, Response

from gna import clock
from gna.campaigns.publisher import Publisher
from gna.campaigns.table import campaigns, deliveries
from gna.db import Database
from gna.delivery.pace import Pace
from gna.delivery.sender import Sender
from gna.mail.compile import Sender as From
from gna.mail.render import Frame
from gna.outbox import messages
from tests.factories import a_subscriber, the_subscriber
from tests.fakes import FakeProvider

FRAME = Frame(site="The Quiet Web", base_url="http://127.0.0.1:8000")
FROM = From("The Quiet Web <news@example.org>", FRAME.base_url)
API = "/admin/api/campaigns"


class Sums(NamedTuple):
    """What became of a campaign's people: always all of them."""

    audience: int
    sent: int
    failure: int
    skipped: int
    remaining: int

    @property
    def agree(self) -> bool:
        """Whether everybody is counted once."""
        return self.audience == sum(self[1:])


class Desk:
    """A publisher at the admin API, and the worker that serves them."""

    def __init__(self, client: Client, db: Database) -> None:
        self.client = client
        self.db = db
        self.provider = FakeProvider()

    def writes(self, **fields: Any) -> dict[str, Any]:
        """A draft."""
        said = {"subject": "Issue 1", "body": "<p>Hello</p>"} | fields
        answer = self.client.post(API, json=said)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def asks(self, campaign: dict[str, Any], verb: str, **body: Any) -> Response:
        """POST to one of a campaign's verbs."""
        return self.client.post(f"{API}/{campaign['id']}/{verb}", json=body or None)

    def changes(self, campaign: dict[str, Any], **fields: Any) -> Response:
        """PATCH."""
        return self.client.patch(f"{API}/{campaign['id']}", json=fields)

    def deletes(self, campaign: dict[str, Any]) -> Response:
        """DELETE."""
        return self.client.delete(f"{API}/{campaign['id']}")

    def retries(self, campaign: dict[str, Any]) -> Response:
        """Try the campaign's delivery again."""
        return self.client.post(f"/admin/api/deliveries/{campaign['deliveries'][0]['id']}/retry")

    def sees(self, campaign: dict[str, Any]) -> dict[str, Any]:
        """The campaign as it is now."""
        answer = self.client.get(f"{API}/{campaign['id']}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def sends(self, **fields: Any) -> dict[str, Any]:
        """Write, send, and let the worker do all there is to do."""
        campaign = self.writes(**fields)
        answer = self.asks(campaign, "send")
        assert answer.status_code == 200, answer.text
        self.works()
        return self.sees(campaign)

    def in_state(self, state: str) -> dict[str, Any]:
        """A campaign in this state; one that is `publishing` waits for the worker."""
        campaign = self.writes()
        if state == "scheduled":
            assert self.asks(campaign, "schedule", scheduled_at=in_an_hour()).status_code == 200
        elif state in ("publishing", "published", "failed"):
            assert self.asks(campaign, "send").status_code == 200
        if state == "failed":
            self.has_readers("refused@example.org")
            self.provider.refuses("refused@example.org", permanently=True)
        if state in ("published", "failed"):
            self.works()
        return self.sees(campaign)

    def has_readers(self, *emails: str, **columns: Any) -> None:
        """These people have confirmed."""
        with self.db.write() as tx:
            for email in emails:
                if the_subscriber(tx, email) is None:
                    a_subscriber(tx, email=email, activated=True, **columns)

    def works(self, stale_after: timedelta = timedelta(hours=6)) -> None:
        """The worker does everything that can be done now."""
        while self.publishes(stale_after):
            pass
        asyncio.run(self._send())
        self.publishes(stale_after)

    def publishes(self, stale_after: timedelta = timedelta(hours=6)) -> bool:
        """The publisher does one round: starts what is due, and makes a chunk of messages for each campaign."""
        return Publisher(self.db, frame=FRAME, stale_after=stale_after).work()

    def time_comes(self, campaign: dict[str, Any], ago: timedelta = timedelta(seconds=1)) -> None:
        """The moment of a scheduled campaign was so long ago."""
        with self.db.write() as tx:
            its = campaigns.c.id == campaign["id"]
            tx.execute(sa.update(campaigns).where(its).values(scheduled_at=clock.now() - ago))

    def sums(self, campaign: dict[str, Any]) -> Sums:
        """What became of it so far."""
        return Sums._make(self.sees(campaign)[f"{name}_count"] for name in Sums._fields)

    def is_published(self, campaign: dict[str, Any]) -> bool:
        """Whether it has ended, well or not."""
        return bool(self.sees(campaign)["state"] == "published")

    def got(self) -> list[str]:
        """Who got a mail, in order."""
        return [mail.to for mail in self.provider.sent]

    def rows(self, table: sa.Table) -> list[Any]:
        """What is in a table."""
        with self.db.read() as tx:
            return list(tx.execute(sa.select(table)).all())

    def delivery_rows(self) -> list[Any]:
        """The deliveries as they are stored."""
        return self.rows(deliveries)

    def message_rows(self) -> list[Any]:
        """The messages as they are stored."""
        return self.rows(messages)

    async def _send(self) -> None:
        sender = Sender(self.db, self.provider, worker="w1", sender=FROM, pace=Pace("fake", None))
        await sender.send_due()
        await sender.finish()


def in_an_hour() -> str:
    """A moment to schedule for."""
    return clock.iso(clock.now() + timedelta(hours=1))
