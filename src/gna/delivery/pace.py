"""The pace: how many mails may leave now, over all workers on one database.

One row for each provider account, read and written in the transaction that claims: whoever can claim can reach it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db
from gna.db import Instant, metadata

paces = sa.Table(
    "paces",
    metadata,
    sa.Column("account", sa.Text, primary_key=True),
    sa.Column("tokens", sa.Float, nullable=False),
    sa.Column("counted_at", Instant, nullable=False),
    sa.Column("paused_until", Instant),
)

# A twentieth of a second's mails may leave at once; for a slow pace that is one mail.
BURSTS = 20
# Calls do not arrive as evenly as they leave: a little slower than allowed is never too fast.
MARGIN = 0.98
# Seconds: no use in asking the database more often.
MOMENT = 0.02
# A transaction that waited for the row has an older `now` than the one that wrote it.
SKEW = timedelta(seconds=5)


@dataclass(frozen=True)
class Pace:
    """A provider account and how many mails a second it takes; None if it never says."""

    account: str
    rate: float | None = None

    @property
    def burst(self) -> float:
        """How many may leave at once."""
        return max(1.0, (self.rate or 0) / BURSTS)

    @property
    def refill(self) -> float:
        """How many more may leave in each second; with the burst, never more than the rate in any second."""
        rate = self.rate or 0
        return rate - self.burst if self.burst > 1 else rate * MARGIN


class Allowance:
    """What may be claimed now; `spend` what was."""

    def __init__(self, tx: Connection, pace: Pace, *, now: datetime) -> None:
        self._tx, self._pace, self._now = tx, pace, now
        row = tx.execute(sa.select(paces).where(paces.c.account == pace.account).with_for_update()).one_or_none()
        self._paused = bool(row and _is_paused(row.paused_until, asked_at=row.counted_at, now=now))
        self._tokens = pace.burst
        # A count from the future was made before the clock was set back: it is forgotten.
        if row and row.counted_at <= now + SKEW:
            # This transaction may have waited for the row, and then the row's time is newer than ours.
            # Counting from ours would grant the time between the two twice.
            self._now = max(now, row.counted_at)
            passed = (self._now - row.counted_at).total_seconds()
            self._tokens = min(pace.burst, row.tokens + passed * pace.refill)

    @property
    def wait(self) -> float | None:
        """In so many seconds there is more, if only the rate is in the way."""
        if self._pace.rate is None or self._paused or self._tokens >= 1:
            return None
        return max(MOMENT, (1 - self._tokens) / self._pace.refill)

    def upto(self, wanted: int) -> int:
        """So many of the wanted may leave now."""
        if self._paused:
            return 0
        return wanted if self._pace.rate is None else min(wanted, int(self._tokens))

    def spend(self, mails: int) -> None:
        """So many leave."""
        if self._pace.rate is not None and mails:
            self._tokens -= mails
            _write(self._tx, self._pace, tokens=self._tokens, counted_at=self._now)


def hold(tx: Connection, pace: Pace, wait: timedelta, *, now: datetime) -> None:
    """The provider asked everybody to wait."""
    until, p = now + wait, paces.c
    _write(tx, pace, counted_at=now, tokens=0.0)
    later = sa.or_(p.paused_until.is_(None), p.paused_until < until)
    tx.execute(sa.update(paces).where(p.account == pace.account, later).values(paused_until=until))


def _is_paused(until: datetime | None, *, asked_at: datetime, now: datetime) -> bool:
    """Whether the provider still wants us to wait; a request from the future was made before the clock was set back."""
    return until is not None and asked_at <= now + SKEW and now < until


def _write(tx: Connection, pace: Pace, **values: object) -> None:
    row = db.insert(tx, paces).values(account=pace.account, **values)
    tx.execute(row.on_conflict_do_update(index_elements=["account"], set_=values))
