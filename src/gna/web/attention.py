"""What needs a person: each thing that is wrong, and where it is mended.

One more is one more function in `LOOKS`, and its sentence in `templates/admin/attention.html`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna.campaigns import traffic
from gna.campaigns.states import State
from gna.campaigns.table import campaigns
from gna.campaigns.traffic import FEW
from gna.config import Settings
from gna.delivery import bounces, dead_letters, mailings
from gna.feeds.poll import FAILURES
from gna.feeds.table import f, feed_entries, feeds
from gna.inbox.table import s, subscriptions
from gna.jobs import workers

# What a sender did longer ago is told on the pages of the inbox alone.
LATELY = timedelta(days=7)


@dataclass(frozen=True)
class Need:
    """One thing to look at: what kind, which or how many, why, and where it is mended."""

    kind: str
    href: str
    about: str = ""
    number: int = 1
    why: str = ""
    bad: bool = False


@dataclass(frozen=True)
class Scene:
    """What there is to look at."""

    tx: Connection
    settings: Settings
    now: datetime


def needs(tx: Connection, settings: Settings, *, now: datetime) -> list[Need]:
    """Everything that needs a person, the worst first."""
    scene = Scene(tx, settings, now)
    found = [need for look in LOOKS for need in look(scene)]
    return sorted(found, key=lambda need: not need.bad)


def _no_worker(scene: Scene) -> Iterator[Need]:
    if not workers.count(scene.tx, now=scene.now):
        yield Need("no_worker", "/admin/settings", bad=True)


def _settings(scene: Scene) -> Iterator[Need]:
    settings = scene.settings
    # Who opened the admin to everybody at this machine is trying things, and knows.
    if settings.email_provider == "mailbox" and settings.gna_env == "production" and not settings.disable_auth:
        yield Need("mailbox", "/admin/settings", bad=True)
    if settings.disable_auth and not settings.on_loopback:
        yield Need("no_sign_in", "/admin/settings", bad=True)


def _waiting(scene: Scene) -> Iterator[Need]:
    for campaign in traffic.under_way(scene.tx):
        where, about = f"/admin/campaigns/{campaign['id']}", campaign["subject"]
        for why in filter(None, (delivery["waiting_for"] for delivery in campaign["deliveries"])):
            yield Need("waiting", where, about=about, why=why, bad=True)
    if why := mailings.why_waiting(scene.tx, None):
        yield Need("letters_wait", "/admin/settings", why=why, bad=True)


def _held(scene: Scene) -> Iterator[Need]:
    for row in traffic.held(scene.tx):
        yield Need("held", f"/admin/campaigns/{row.id}", about=row.subject, why=row.held)


def _left_over(scene: Scene) -> Iterator[Need]:
    for row in traffic.left_over(scene.tx, now=scene.now):
        yield Need("left_over", f"/admin/campaigns/{row.id}", about=row.subject, number=row.number, bad=True)


def _feeds(scene: Scene) -> Iterator[Need]:
    ill = sa.or_(f.consecutive_failures >= FAILURES, f.held.is_not(None))
    for feed in scene.tx.execute(sa.select(feeds).where(f.active, ill).order_by(f.id)):
        name, where = feed.title or feed.url, f"/admin/feeds/{feed.id}"
        if feed.consecutive_failures >= FAILURES:
            number, why = feed.consecutive_failures, feed.last_error or ""
            yield Need("feed_fails", where, about=name, number=number, why=why, bad=True)
        if feed.held:
            yield Need("feed_held", where, about=name, why=feed.held)


def _drafts_of_feeds(scene: Scene) -> Iterator[Need]:
    e, c = feed_entries.c, campaigns.c
    made = sa.select(c.id, c.subject).join(feed_entries, e.campaign_id == c.id).distinct()
    for row in scene.tx.execute(made.where(c.state == State.DRAFT, c.held.is_(None)).order_by(c.id.desc()).limit(FEW)):
        yield Need("feed_draft", f"/admin/campaigns/{row.id}", about=row.subject)


def _dead_letters(scene: Scene) -> Iterator[Need]:
    if number := dead_letters.count(scene.tx):
        yield Need("dead_letters", "/admin/dead-letters", number=number)


def _bounces(scene: Scene) -> Iterator[Need]:
    if number := bounces.count(scene.tx, now=scene.now):
        yield Need("bounces", "/admin/bounces", number=number)


def _kept_sending(scene: Scene) -> Iterator[Need]:
    lately = sa.select(sa.func.count()).select_from(subscriptions).where(s.last_violation_at > scene.now - LATELY)
    if number := scene.tx.scalar(lately):
        yield Need("kept_sending", "/admin/inbox/violations", number=number)


LOOKS: tuple[Callable[[Scene], Iterator[Need]], ...] = (
    _no_worker,
    _settings,
    _waiting,
    _left_over,
    _held,
    _feeds,
    _drafts_of_feeds,
    _dead_letters,
    _bounces,
    _kept_sending,
)
