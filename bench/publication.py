"""A large publication as rows: a million people on several lists, two thousand campaigns, and what comes with them."""

import json
import random
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import sqlalchemy as sa

from bench.people import DOMAINS, EVERY, FIRST, LAST, SCARCE
from gna import clock, ids, tokens
from gna.campaigns.table import campaigns, deliveries
from gna.db import Database
from gna.delivery.mailings import mailings
from gna.feeds import directory
from gna.subscribers.table import memberships, subscribers
from gna.tables import metadata

CHUNK = 10_000
SOME = 2000
PENDING = 0.05
# What part of the people is on which list beside `general`.
LISTS = {"weekly": 0.2, "events": 0.05, "board": 0.0002}
BODY = "<p>A sentence about the week, with a <a href='https://example.org'>link</a>.</p>" * 40
# Of a hundred campaigns so many are in each state: its own, its delivery's, its mailing's.
STATES = (
    (90, "published", "sent", "done"),
    (94, "published", "failed", "done"),
    (97, "draft", "pending", None),
    (99, "scheduled", "pending", None),
    (100, "publishing", "sending", "paused"),
)

Row = dict[str, Any]


def fill(db: Database, *, people: int, campaigns_: int) -> None:
    """Fill a database that has its tables and no rows."""
    chance, now = random.Random(1), clock.now()
    began = now - timedelta(days=3000)

    def moment() -> Any:
        return began + timedelta(seconds=chance.randrange(3000 * 86400))

    on_lists: list[Row] = []
    known: list[Row] = []
    _insert(db, subscribers, _people(chance, moment, people, on_lists, known))
    _insert(db, memberships, on_lists)
    for number in range(campaigns_):
        _campaign(db, chance, number, began + timedelta(days=3000) * number / campaigns_)
    for table, make in OTHERS.items():
        if table in metadata.tables:
            many = directory.MOST if table == "feeds" else min(SOME, people)
            _insert(db, metadata.tables[table], (make(number, moment(), known) for number in range(many)))
    for table in metadata.tables:
        db.vacuum(table)
    db.checkpoint()


def _insert(db: Database, table: sa.Table, rows: Iterable[Row]) -> None:
    rows = iter(rows)
    while some := list(islice(rows, CHUNK)):
        with db.write() as tx:
            if db.kind == "sqlite":
                tx.execute(sa.insert(table), some)
            else:
                tx.execute(_at_once(table, some[0]), {"rows": json.dumps(some, default=datetime.isoformat)})


def _at_once(table: sa.Table, row: Row) -> sa.TextClause:
    """One statement for many rows: PostgreSQL takes longer to parse and plan one for each than to insert them."""
    columns = ", ".join(f'"{name}"' for name in row)
    many = f"json_populate_recordset(NULL::{table.name}, :rows)"
    return sa.text(f"INSERT INTO {table.name} ({columns}) SELECT {columns} FROM {many}")


def _people(
    chance: random.Random, moment: Callable[[], Any], people: int, on_lists: list[Row], known: list[Row]
) -> Iterator[Row]:
    """People in no order of time, the same in every run; of some it is noted who they are, and on which lists."""
    for number in range(people):
        first, last = chance.choice(FIRST), SCARCE if number % EVERY == 0 else chance.choice(LAST)
        local = f"{first}.{last}{number}".encode("ascii", "ignore").decode().lower()
        since = moment()
        person = {
            "id": ids.new(),
            "email": f"{local}@{chance.choice(DOMAINS)}",
            "nickname": first,
            "unsubscribe_token": tokens.new(),
            "created_at": since,
            "activated_at": None if chance.random() < PENDING else since,
        }
        keys = [key for key, part in LISTS.items() if chance.random() < part]
        on_lists += [
            {"subscriber_id": person["id"], "list_key": key, "created_at": since}
            for key in (["general", *keys] if keys else [])
        ]
        if len(known) < SOME:
            known.append(person)
        yield person


def _campaign(db: Database, chance: random.Random, number: int, at: Any) -> None:
    part = chance.randrange(100)
    state, sending, mailing = next(rest for up_to, *rest in STATES if part < up_to)
    campaign = {
        "id": ids.new(),
        "subject": f"Issue {number}: {chance.choice(LAST)} and {chance.choice(FIRST)}",
        "body": BODY,
        "state": state,
        "created_at": at,
        "updated_at": at,
        "published_at": at if mailing else None,
        "scheduled_at": clock.now() + timedelta(days=400 + number) if state == "scheduled" else None,
    }
    delivery = {"id": ids.new(), "campaign_id": campaign["id"], "state": sending}
    with db.write() as tx:
        tx.execute(sa.insert(campaigns).values(**campaign))
        if mailing:
            sums = {"audience": 1000, "sent_count": 0 if sending == "failed" else 990, "failed_count": 10}
            told = {"reasons": [{"reason": "550 No such user", "count": 10}], "filled_at": at, "fill_until": ""}
            row = {"kind": "campaign", "state": mailing, "created_at": at, **sums, **told}
            row["finished_at"] = at if mailing == "done" else None
            new = sa.insert(mailings).values(**row).returning(mailings.c.id)
            delivery |= {"mailing_id": tx.scalar(new), "started_at": at, "finished_at": row["finished_at"]}
        tx.execute(sa.insert(deliveries).values(**delivery))


def _activity(number: int, _: Any, __: list[Row]) -> Row:
    said = {"who": "editor@example.org", "verb": "campaign_sent", "about": f"Issue {number}"}
    return {"id": ids.new(), "at": clock.now(), **said}


def _bounce(number: int, _: Any, known: list[Row]) -> Row:
    person = known[number % len(known)]
    return {
        "id": ids.new(),
        "email": person["email"],
        "reason": "550 5.1.1 No such user",
        "created_at": clock.now() - timedelta(seconds=number),
        "subscriber_id": person["id"],
    }


def _message(number: int, at: Any, known: list[Row]) -> Row:
    person = known[number % len(known)]
    its = {"id": f"message-{number}", "delivery_key": f"key-{number}", "kind": "confirmation"}
    gone = {"status": "failed_permanent", "exhausted": True, "attempt_count": 4, "last_error": "421 Try again later"}
    return {**its, **gone, "subscriber_id": person["id"], "due_at": at, "created_at": clock.now()}


def _dead_letter(number: int, _: Any, known: list[Row]) -> Row:
    person = known[number % len(known)]
    about = {"message_id": f"message-{number}", "email": person["email"], "kind": "confirmation", "attempts": 4}
    its = {"topic": "send", "payload": about, "error": "421 Try again later", "kind": "confirmation"}
    here = {"message_id": f"message-{number}", "subscriber_id": person["id"], "created_at": clock.now()}
    return {"id": ids.new(), **its, **here}


def _import(number: int, _: Any, __: list[Row]) -> Row:
    done = {"state": "done", "dry_run": False, "size": 1000, "read": 1000, "position": 50, "counts": {"new": 50}}
    now = clock.now()
    return {"id": ids.new(), "name": f"people-{number}.csv", **done, "created_at": now, "finished_at": now}


def _feed(number: int, at: Any, _: list[Row]) -> Row:
    its = {"id": ids.new(), "url": f"https://blog{number}.example.org/feed.xml", "active": False}
    return {**its, "title": f"Blog {number}", "due_at": at, "created_at": at}


# In the order in which they refer to each other; a table that this version does not have is left out.
OTHERS: dict[str, Callable[[int, Any, list[Row]], Row]] = {
    "activity": _activity,
    "bounces": _bounce,
    "messages": _message,
    "dead_letters": _dead_letter,
    "imports": _import,
    "feeds": _feed,
}
