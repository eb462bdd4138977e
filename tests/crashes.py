"""A campaign whose workers are killed while they send: the parts of the story, and the ledger that judges it."""

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol

import sqlalchemy as sa

from gna import clock
from gna.db import Database
from gna.delivery import mailings
from gna.delivery.mailings import State
from gna.jobs.workers import workers
from gna.mail.content import Content
from gna.outbox import Kind, is_sending, messages
from gna.subscribers.table import subscribers
from tests.factories import NEWS, readers
from tests.running import Gna, until

# A server still reads what the dead had written to it: so long after a kill nothing more comes of it.
AFTERMATH = 0.1
# Seconds. When all workers were killed lately, a new one waits 15 seconds before it calls the others
# dead, sweeps within 5 more, and leaves suspects alone for another 5.
RECOVERY = 60
MESSAGE_ID = re.compile(rb"^Message-ID: <(.+)@.+>\r$", re.MULTILINE | re.IGNORECASE)
TO = re.compile(rb"^To: (.+)\r$", re.MULTILINE)


class Mail(NamedTuple):
    """A mail that was accepted: the id in its Message-ID, and its recipient."""

    id: str
    to: str


class Office(Protocol):
    """Whoever accepts mails and remembers them, also those that come twice."""

    def ids(self) -> Sequence[str]:
        """The id of every mail that it accepted so far."""

    def accepted(self) -> Sequence[Mail]:
        """Every mail that it accepted, in their order."""


class Folder:
    """The folder of the `mailbox` provider, where the same mail again is the same file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def ids(self) -> Sequence[str]:
        """The names of the files."""
        return [file.stem for file in self.path.glob("*.eml")]

    def accepted(self) -> Sequence[Mail]:
        """The id in the name of each file, and to whom it goes."""
        return [Mail(file.stem, found(TO, file.read_bytes())) for file in self.path.glob("*.eml")]


def found(what: re.Pattern[bytes], mail: bytes) -> str:
    """A part of a mail that has to be there."""
    match = what.search(mail)
    assert match, mail[:200]
    return match[1].decode()


@dataclass(frozen=True)
class Campaign:
    """A mailing, and everybody who shall get it."""

    db: Database
    mailing: int
    people: frozenset[str]

    def is_done(self) -> bool:
        """Whether it has ended."""
        return self.totals().state == State.DONE

    def totals(self) -> mailings.Totals:
        """What became of it so far."""
        with self.db.read() as tx:
            return mailings.totals(tx, self.mailing)


def sending(db: Database, worker: str) -> frozenset[str]:
    """The messages that a worker has claimed and not settled."""
    claimed = sa.select(messages.c.id).where(is_sending, messages.c.claimed_by == worker)
    with db.read() as tx:
        return frozenset(tx.scalars(claimed))


def a_campaign(db: Database, *, people: int, content: Content = NEWS) -> Campaign:
    """A campaign to so many people, all in the outbox."""
    now = clock.now()
    addresses = readers(db, people)
    with db.write() as tx:
        mailing = mailings.begin(tx, kind=Kind.CAMPAIGN, now=now)
        everybody = sa.select(subscribers.c.id)
        mailings.expect(tx, mailing, mailings.measure(tx, everybody))
        while mailings.fill(tx, mailing, content, everybody, now=now):
            pass
    return Campaign(db, mailing, addresses)


@dataclass
class Hand:
    """A worker: its process, and the name under which it claims."""

    gna: Gna
    name: str


class Crew:
    """The workers that send a campaign; each that goes is replaced."""

    def __init__(self, db: Database, start: Callable[[], Gna], *, size: int, chance: Random) -> None:
        self._db = db
        self._chance = chance
        self._hands = [self._hired(start) for _ in range(size)]

    def anyone(self, *, within: float) -> Hand:
        """One of them, in the middle of its work: somebody has sent for a while, and this one has claimed messages."""
        until(self._busy, RECOVERY, lambda: "no worker is busy")
        time.sleep(self._chance.uniform(0, within))
        until(self._busy, RECOVERY, lambda: "no worker is busy again")
        return self._chance.choice(self._busy() or self._hands)

    def kill(self, hand: Hand) -> frozenset[str]:
        """No time for anything; says what it had claimed."""
        hand.gna.kill()
        return sending(self._db, hand.name)

    def replace(self, hand: Hand) -> None:
        """Start a process again that has gone."""
        self._hands.remove(hand)
        self._hands.append(self._hired(hand.gna.again))

    def stop(self) -> list[int]:
        """Send everybody home; their exit codes."""
        return [hand.gna.stop() for hand in self._hands]

    def _busy(self) -> list[Hand]:
        return [hand for hand in self._hands if sending(self._db, hand.name)]

    def _hired(self, start: Callable[[], Gna]) -> Hand:
        before = self._names()
        gna = start()
        until(lambda: self._names() - before, 60, lambda: f"did not start:\n{gna.log.read_text()[-2000:]}")
        [name] = self._names() - before
        return Hand(gna, name)

    def _names(self) -> set[str]:
        with self._db.read() as tx:
            return set(tx.scalars(sa.select(workers.c.id)))


@dataclass(frozen=True)
class Kill:
    """What a killed worker had claimed, and how often each of these had been accepted when nothing more came of it."""

    worker: str
    sending: frozenset[str]
    accepted: Counter[str]


@dataclass(frozen=True)
class Ledger:
    """What became of a campaign whose workers were killed."""

    people: frozenset[str]
    accepted: Sequence[Mail]
    kills: Sequence[Kill]

    @property
    def lost(self) -> frozenset[str]:
        """Who got nothing."""
        return self.people - {mail.to for mail in self.accepted}

    @property
    def repeats(self) -> int:
        """How many mails came again to somebody who had theirs."""
        return len(self.accepted) - len({mail.to for mail in self.accepted})

    @property
    def in_sending(self) -> int:
        """How many messages the killed were sending: nobody could know whether these had left."""
        return sum(len(kill.sending) for kill in self.kills)

    @property
    def unexplained(self) -> list[str]:
        """Messages that came more often than once, and once more for each kill in which they were being sent."""
        excuses = Counter(message for kill in self.kills for message in kill.sending)
        times = Counter(mail.id for mail in self.accepted)
        return [message for message, often in times.items() if often > 1 + excuses[message]]

    @property
    def renamed(self) -> list[str]:
        """Who got mails with different Message-IDs, which no program would recognise as the same."""
        names = Counter(mail.to for mail in set(self.accepted))
        return [to for to, different in names.items() if different > 1]

    def had_left(self) -> list[int]:
        """For each kill how many of the messages had left already, though only the killed worker knew."""
        known, result = Counter[str](), []
        for kill in self.kills:
            news = {message for message in kill.sending if kill.accepted[message] > known[message]}
            known.update(news)
            result.append(len(news))
        return result


def kill_workers(crew: Crew, office: Office, *, kills: int, within: float) -> list[Kill]:
    """Kill one after the other at random moments, each within so many seconds after mails began to flow."""
    done = []
    for _ in range(kills):
        _wait_for_mail(office)
        hand = crew.anyone(within=within)
        claimed = crew.kill(hand)
        time.sleep(AFTERMATH)
        done.append(Kill(hand.name, claimed, Counter(message for message in office.ids() if message in claimed)))
        crew.replace(hand)
    return done


def _wait_for_mail(office: Office) -> None:
    before = len(office.ids())
    until(lambda: len(office.ids()) > before, RECOVERY, lambda: "no mails flow")


def the_end(campaign: Campaign, crew: Crew, office: Office, kills: Sequence[Kill] = ()) -> Ledger:
    """Wait until everything has left, and send the workers home."""
    until(campaign.is_done, 120, lambda: f"not done: {campaign.totals()}")
    assert not any(crew.stop()), "a worker did not end well"
    return Ledger(campaign.people, office.accepted(), kills)
