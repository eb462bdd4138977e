"""Watching a campaign go out. The sending happens elsewhere; whoever watches only looks."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from gna.campaigns import overview
from gna.campaigns.states import EDITABLE, State
from gna.cli import screen
from gna.cli.campaign_views import sums
from gna.db import Database
from gna.errors import NotAllowedNow, Refused

LOOK_EVERY = 0.5
SILENCE = 10
NOBODY_SENDS = "Nothing is being sent: does `gna serve` or `gna worker` run?"
PAUSED = "It is paused; `gna campaigns resume` goes on with it."


@dataclass
class Patience:
    """Notices that nothing moves, and says why once."""

    since: float
    seen: Any = None
    said: set[str] = field(default_factory=set)

    def remark(self, now: Mapping[str, Any], at: float) -> str | None:
        """What a person should know of the campaign as it is at this second; None if all is well."""
        if now != self.seen:
            self.since, self.seen = at, now
        if any(delivery["paused"] for delivery in now["deliveries"]):
            return self._once(PAUSED)
        return self._once(NOBODY_SENDS) if at - self.since >= SILENCE else None

    def _once(self, text: str) -> str | None:
        if text in self.said:
            return None
        self.said.add(text)
        return text


class Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        """As `1,234/s`; nothing before the first mail."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


def watch(db: Database, campaign_id: str) -> None:
    """Show how a campaign goes out until all of it has, then the sums; Ctrl+C ends the watching alone."""
    try:
        ended = _follow(db, campaign_id)
    except KeyboardInterrupt:
        print("No longer watching; the campaign goes on.")
        return
    print(sums(ended))
    if failures := [delivery["error_detail"] for delivery in ended["deliveries"] if delivery["error_detail"]]:
        raise Refused("\n".join(map(screen.clean, failures)))


def _follow(db: Database, campaign_id: str) -> Mapping[str, Any]:
    now, console = _look(db, campaign_id), screen.console(stderr=True)
    if now["state"] in EDITABLE:
        raise NotAllowedNow(f"There is nothing to watch yet: the campaign is {now['state']}")
    patience = Patience(since=time.monotonic())
    with _bar(console) as bar:
        task = bar.add_task("", **_drawn(now))
        while now["state"] != State.PUBLISHED:
            bar.update(task, **_drawn(now))
            if remark := patience.remark(now, time.monotonic()):
                console.print(remark)
            time.sleep(LOOK_EVERY)
            now = _look(db, campaign_id)
    return now


def _look(db: Database, campaign_id: str) -> Mapping[str, Any]:
    with db.read() as tx:
        return overview.progress(tx, campaign_id)


def _bar(console: Console) -> Progress:
    words = ("Sending", "{task.fields[sent]:,} sent", "{task.fields[failed]:,} failed")
    what, sent, failed = (TextColumn(word) for word in words)
    columns = (what, BarColumn(), sent, failed, Rate(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _drawn(now: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of the bar; until the audience is counted it has no end."""
    sent, failed = now["sent_count"], now["failure_count"]
    return {"total": now["audience_count"] or None, "completed": sent + failed, "sent": sent, "failed": failed}
