"""A campaign goes out while its workers are killed: nobody is forgotten, and few get it twice."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random

import pytest
import sqlalchemy as sa

from gna import clock
from gna.db import Database
from gna.delivery.mailings import State, Totals
from gna.jobs.workers import workers
from gna.outbox import messages
from tests.crashes import (
    MESSAGE_ID,
    Campaign,
    Crew,
    Folder,
    Kill,
    Ledger,
    Mail,
    a_campaign,
    found,
    kill_workers,
    sending,
    the_end,
)
from tests.factories import count
from tests.running import Gna, until
from tests.servers.smtp import ScriptedSmtp

PEOPLE, KILLS = 3000, 5
WORKERS = {"sqlite": 1, "postgresql": 2}


class Server(ScriptedSmtp):
    """A mail server that thinks for a while before each answer, so that there is time to be killed."""

    def __init__(self) -> None:
        super().__init__()
        self.delays(0.05)

    def ids(self) -> Sequence[str]:
        """The ids in the Message-IDs of what it accepted."""
        return [mail.id for mail in self.accepted()]

    def accepted(self) -> Sequence[Mail]:
        """What it accepted."""
        return [Mail(found(MESSAGE_ID, mail.content), mail.recipient) for mail in self.received]


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as listening:
        yield listening


@pytest.fixture
def crew(server: Server, start: Callable[..., Gna], db: Database, database_url: str) -> Crew:
    """Workers that send to the server."""
    by_smtp = {"EMAIL_PROVIDER": "smtp", "SMTP_URL": server.url, "SMTP_CONNECTIONS": "16"}
    a_worker = partial(start, command="worker", DATABASE_URL=database_url, **by_smtp)
    return Crew(db, a_worker, size=WORKERS[db.kind], chance=Random())


def twelve_seconds_pass(db: Database, kills: Sequence[Kill]) -> None:
    """The killed were last seen so long ago; three seconds more, and everybody knows that they are dead."""
    killed = workers.c.id.in_([kill.worker for kill in kills])
    with db.write() as tx:
        tx.execute(sa.update(workers).where(killed).values(seen_at=clock.now() - timedelta(seconds=12)))


def check_that_it_went_well(campaign: Campaign) -> None:
    totals, people = campaign.totals(), len(campaign.people)
    assert totals == Totals(State.DONE, audience=people, sent=people, failed=0)
    assert totals.left == 0
    with campaign.db.read() as tx:
        assert count(tx, messages) == 0


def test_the_ledger_notices_what_must_not_be() -> None:
    people = frozenset({"ana@example.org", "ben@example.org"})
    ana, ben, again = Mail("1", "ana@example.org"), Mail("2", "ben@example.org"), Mail("3", "ben@example.org")
    killed = Kill("w1", frozenset({"2"}), Counter({"2": 1}))
    assert Ledger(people, [ana], []).lost == {"ben@example.org"}
    assert Ledger(people, [ana, ben, ben], []).unexplained == ["2"]
    assert Ledger(people, [ana, ben, ben], [killed]).unexplained == []
    assert Ledger(people, [ana, ben, ben, ben], [killed]).unexplained == ["2"]
    assert Ledger(people, [ana, ana, ben], [killed]).unexplained == ["1"]
    assert Ledger(people, [ana, ben, again], [killed]).renamed == ["ben@example.org"]
    assert Ledger(people, [ana, ben, ben], [killed]).had_left() == [1]


def test_killed_workers_lose_nothing_and_repeat_only_what_they_were_sending(
    crew: Crew, server: Server, db: Database
) -> None:
    campaign = a_campaign(db, people=PEOPLE)
    kills = kill_workers(crew, server, kills=KILLS, within=0.3)
    server.delays(0)
    twelve_seconds_pass(db, kills)
    ledger = the_end(campaign, crew, server, kills)
    assert all(kill.sending for kill in kills), "a kill came when nothing was being sent"
    assert not ledger.lost
    assert not ledger.renamed
    assert not ledger.unexplained
    assert 0 < ledger.repeats <= ledger.in_sending, "none: no kill came between a mail and the note that it had left"
    check_that_it_went_well(campaign)


@pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
def test_killed_workers_repeat_nothing_where_the_same_id_is_the_same_mail(
    start: Callable[..., Gna], db: Database, database_url: str, tmp_path: Path
) -> None:
    folder = Folder(tmp_path / "mailbox")
    # Without a rate a quick disk would have all of them before the last kill.
    by_mailbox = {"EMAIL_PROVIDER": "mailbox", "SEND_RATE": "1500"}
    a_worker = partial(start, command="worker", DATABASE_URL=database_url, **by_mailbox)
    crew = Crew(db, a_worker, size=WORKERS[db.kind], chance=Random())
    campaign = a_campaign(db, people=2000)
    kills = kill_workers(crew, folder, kills=KILLS, within=0.1)
    ledger = the_end(campaign, crew, folder, kills)
    assert ledger.in_sending, "every kill came when nothing was being sent"
    assert len(ledger.accepted) == len(list(folder.path.iterdir())) == 2000
    assert not ledger.lost
    check_that_it_went_well(campaign)


def test_a_worker_that_is_told_to_stop_loses_nothing_and_repeats_nothing(
    crew: Crew, server: Server, db: Database
) -> None:
    campaign = a_campaign(db, people=1000)
    until(lambda: server.received, within=30)
    hand = crew.anyone(within=0.3)
    assert hand.gna.stop() == 0
    assert not sending(db, hand.name)
    assert len(server.received) < 1000, "it was told too late"
    crew.replace(hand)
    server.delays(0)
    the_end(campaign, crew, server)
    assert sorted(server.recipients) == sorted(campaign.people)
    check_that_it_went_well(campaign)
