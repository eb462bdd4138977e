"""What a reader does, in verbs: sign up, open a mail, click."""

from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from httpx2 import Response
from starlette.testclient import TestClient

from gna import clock
from gna.db import Database
from gna.outbox import messages
from gna.subscribers.table import subscribers
from tests.factories import the_subscriber

HTML = {"Accept": "text/html"}
BASE = "http://127.0.0.1:8000"


class Reader:
    """Somebody with a browser and a mailbox, and a look into the database."""

    def __init__(self, client: TestClient, db: Database) -> None:
        self.client = client
        self.db = db

    def subscribes(self, email: str = "ana@example.org", **more: Any) -> Response:
        """Fill in the form."""
        return self.client.post("/api/subscribe", json={"email": email, **more})

    def is_activated(self, email: str = "ana@example.org", **more: Any) -> Any:
        """Sign up and click the link."""
        assert self.subscribes(email, **more).status_code == 201
        assert self.client.get(self.link("confirm_url")).status_code == 303
        return self.row(email)

    def asks_for_link(self, email: str = "ana@example.org") -> Response:
        """Ask for a magic link."""
        return self.client.post("/api/profile/request-link", json={"email": email})

    def enters(self, email: str = "ana@example.org") -> str:
        """Ask for a magic link and take its token out of the mail."""
        assert self.asks_for_link(email).status_code == 200
        return token_of(self.link("profile_url"))

    def updates(self, token: Any, **wish: Any) -> Response:
        """Send the profile form."""
        return self.client.post("/api/profile/update", json={"token": token, **wish})

    def mails(self, slot: str) -> list[Any]:
        """The mails that wait with this kind of link, oldest first."""
        with self.db.read() as tx:
            rows = tx.execute(sa.select(messages).order_by(messages.c.id)).all()
        return [row for row in rows if row.slots and slot in row.slots]

    def link(self, slot: str) -> str:
        """The path of the link in the newest mail of its kind."""
        return str(self.mails(slot)[-1].slots[slot]).removeprefix(BASE)

    def row(self, email: str = "ana@example.org") -> Any:
        """The person's row, or None."""
        with self.db.read() as tx:
            return the_subscriber(tx, email)

    def expires(self, *columns: str) -> None:
        """These moments are in the past now."""
        past = clock.now() - timedelta(seconds=1)
        with self.db.write() as tx:
            tx.execute(sa.update(subscribers).values(dict.fromkeys(columns, past)))


def token_of(link: str) -> str:
    """The token in a link."""
    return link.partition("token=")[2]
