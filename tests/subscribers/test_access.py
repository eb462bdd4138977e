"""Whoever asks what we know of them is told all of it."""

import sqlalchemy as sa

from gna.db import Database
from gna.outbox import bounces, dead_letters
from gna.subscribers import access, lists
from gna.tables import metadata
from tests.factories import NOW, a_message, a_subscriber, the_subscriber

# The tables that hold something of a person, and where in the answer it is.
TOLD = {"memberships": "lists", "messages": "messages", "bounces": "bounces", "dead_letters": "dead_letters"}
NOT_TOLD = {"used_tokens": "nothing but a token of ours, for a day"}


def test_every_table_that_knows_a_person_is_told_or_has_a_reason_not_to() -> None:
    known = {table.name for table in metadata.tables.values() if "subscriber_id" in table.c}
    assert known == {*TOLD, *NOT_TOLD}


def test_everything_of_one_person_and_nothing_of_others_is_told(db: Database) -> None:
    with db.write() as tx:
        for name in ("ana", "zoe"):
            person = a_subscriber(tx, email=f"{name}@example.org", nickname=name, pending_email=f"{name}2@example.org")
            lists.put_on(tx, [person], f"list-{name}", now=NOW)
            a_message(tx, to=f"{name}3@example.org", subscriber_id=person, last_error=f"450 {name}")
            theirs = {"subscriber_id": person, "created_at": NOW}
            tx.execute(sa.insert(bounces).values(id=name, email=f"{name}4@example.org", reason=f"550 {name}", **theirs))
            payload = {"to": f"{name}5@example.org"}
            tx.execute(sa.insert(dead_letters).values(id=name, topic="mail", payload=payload, error=name, **theirs))
        told = access.everything(tx, the_subscriber(tx, "ana@example.org").id, now=NOW)
    assert all(told[where] for where in TOLD.values())
    for text in ("ana@", "ana2@", "ana3@", "ana4@", "ana5@", "list-ana", "450 ana", "550 ana"):
        assert text in str(told), text
    assert "zoe" not in str(told)
