"""Workers are killed again and again while a campaign goes out: what is lost, and what comes twice?

Nothing may be lost, and no more may come twice than the killed were sending, of which nobody can know whether it left;
with the same Message-ID, so that a mail program can tell. Where the same id is the same mail, nothing comes twice.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

from tests.crashes import Campaign, Crew, Folder, Ledger, Mail, Office, a_campaign, kill_workers, the_end
from tests.running import Gna
from tests.servers import HOST
from tests.servers.postgres import Postgres

from bench.newsletter import CONTENT
from bench.sinks import CSink
from gna.db import Database
from gna.delivery.mailings import State, Totals
from gna.migrations import migrate

KILLS = 20
# While one of two workers is replaced, the other goes on: the campaign must outlast the last kill.
PEOPLE = {"sqlite": 20_000, "postgresql": 50_000}
# Seconds that a worker is left alone at most, once somebody sends.
LIFE = 0.6
WORKERS = {"sqlite": 1, "postgresql": 2}
NAMES = {"sqlite": "SQLite, 1 worker", "postgresql": "PostgreSQL, 2 workers"}
# Slow enough that all the kills come in the middle; an answer of the mail server takes some time, as if it were far.
DELAY_MS = 20
SMTP = {"EMAIL_PROVIDER": "smtp", "SMTP_CONNECTIONS": "20"}
MAILBOX = {"EMAIL_PROVIDER": "mailbox"}
# On PostgreSQL the other worker goes on while one is replaced.
RATES = {"sqlite": "2000", "postgresql": "500"}
# `in sending` is what the killed had claimed, `had left` how much of that was accepted, `most` the most of one kill.
COLUMNS = ("kills", "accepted", "lost", "repeats", "in sending", "had left", "most", "same Message-ID")


class Sink(CSink):
    """A mail server that logs a mail before it accepts it."""

    def __init__(self) -> None:
        super().__init__(delay_ms=DELAY_MS, log=True)

    def ids(self) -> Sequence[str]:
        """The ids in the Message-IDs of what it accepted."""
        return [mail.id for mail in self.accepted()]

    def accepted(self) -> Sequence[Mail]:
        """What it accepted."""
        return [Mail(message_id.strip("<>").partition("@")[0], to) for message_id, to in self.logged()]


def main() -> None:
    """Print one table of both databases, with a mail server and with a folder."""
    print(f"{KILLS} kills; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"  {'':<31}" + _row(COLUMNS), flush=True)
    for kind in NAMES:
        for provider in (SMTP, MAILBOX):
            with _database(kind) as url, tempfile.TemporaryDirectory() as folder:
                _tell(url, Path(folder), provider)


@contextmanager
def _database(kind: str) -> Iterator[str]:
    """A new database with the present schema."""
    with ExitStack() as stack:
        if kind == "sqlite":
            url = f"sqlite:///{stack.enter_context(tempfile.TemporaryDirectory())}/gna.db"
        else:
            url = stack.enter_context(Postgres()).create_database("crash")
        yield url


def _tell(url: str, folder: Path, provider: dict[str, str]) -> None:
    with ExitStack() as stack:
        db = Database(url)
        stack.callback(db.close)
        migrate(db)
        office: Office = Folder(folder / "mailbox")
        settings = {**provider, "DATABASE_URL": url, "LOG_LEVEL": "warning"}
        if provider is SMTP:
            office = sink = stack.enter_context(Sink())
            settings["SMTP_URL"] = f"smtp://{HOST}:{sink.port}"
        else:
            settings["SEND_RATE"] = RATES[db.kind]

        def a_worker() -> Gna:
            return stack.enter_context(Gna(folder, command="worker", **settings))

        crew = Crew(db, a_worker, size=WORKERS[db.kind], chance=Random())
        campaign = a_campaign(db, people=PEOPLE[db.kind], content=CONTENT)
        kills = kill_workers(crew, office, kills=KILLS, within=LIFE)
        _print(f"{NAMES[db.kind]}, {provider['EMAIL_PROVIDER']}", campaign, the_end(campaign, crew, office, kills))


def _print(name: str, campaign: Campaign, ledger: Ledger) -> None:
    left, repeated = ledger.had_left(), (len(ledger.lost), ledger.repeats)
    counts = (len(ledger.kills), len(ledger.accepted), *repeated, ledger.in_sending, sum(left), max(left))
    cells = [*(f"{count:,}" for count in counts), "no" if ledger.renamed else "yes"]
    print(f"  {name:<31}" + _row(cells), _verdict(campaign, ledger), sep="  ", flush=True)


def _row(cells: Sequence[str]) -> str:
    return "".join(f"{cell:>{len(column) + 3}}" for cell, column in zip(cells, COLUMNS, strict=True))


def _verdict(campaign: Campaign, ledger: Ledger) -> str:
    """Whether nothing was lost, nothing came twice without an excuse, and the sums are right."""
    people = len(campaign.people)
    right = campaign.totals() == Totals(State.DONE, audience=people, sent=people, failed=0)
    return "OVER" if ledger.lost or ledger.unexplained or ledger.renamed or not right else "within"
