"""The subscriptions in mails on this machine, found as a scan finds them: no password, no network, no database."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from gna import clock
from gna.inbox import doubts, offered, senders
from gna.inbox.detect import COUNTED, Evidence
from gna.inbox.heads import Head
from gna.inbox.moments import parsed
from gna.inbox.senders import SUBJECTS, Sender
from gna.inbox.table import Status
from gna.inbox.ways import Way

# After so many mails it is told how far it is.
OFTEN = 500
# What only a database knows of a subscription.
UNTOUCHED: dict[str, Any] = {
    "active": True,
    "keep_subscription": False,
    "kept_at": None,
    "unsubscribe_status": str(Status.ACTIVE),
    "unsubscribed_at": None,
    "violation_count": 0,
    "emails_after_unsubscribe": 0,
    "last_violation_at": None,
}


class Place(NamedTuple):
    """Which mail is newer: by its date, then by its place among all."""

    date_sent: str
    number: int


class Mail(NamedTuple):
    """What of a mail may hold a way out."""

    place: Place
    sender_email: str
    list_unsubscribe: str | None
    list_unsubscribe_post: str | None
    body_ways: list[dict[str, Any]] | None = None
    # How the header is signed; known only of mails whose body was read.
    seal: dict[str, Any] | None = None


class Offered(NamedTuple):
    """The ways out of one mail, best first, and how its header is signed."""

    ways: tuple[Way, ...]
    seal: dict[str, Any] | None


@dataclass(slots=True)
class Sums:
    """What the mails of one sender say together; it stays small, however many they are."""

    first: Mail
    newest: Mail
    count: int = 0
    keywords: int = 0
    headers: int = 0
    signs: dict[str, Any] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    name: tuple[Place, str] | None = None
    list_id: tuple[Place, str] | None = None
    # The newest few subjects, the newest mails without a field, and the newest with a field that says something.
    subjects: list[tuple[Place, str]] = field(default_factory=list)
    without: list[Mail] = field(default_factory=list)
    header: Mail | None = None
    # The mails whose bodies were read and that may offer something.
    bodies: list[Mail] = field(default_factory=list)

    def add(self, head: Head, mail: Mail) -> None:
        """One more mail."""
        self.count += 1
        self.keywords |= head.keywords
        for name, sign in COUNTED.items():
            self.signs[name] += bool(head.signs & sign)
        self.first, self.newest = min(self.first, mail), max(self.newest, mail)
        if head.sender_name:
            self.name = max(self.name or (mail.place, ""), (mail.place, head.sender_name))
        if head.list_id is not None:
            self.list_id = max(self.list_id or (mail.place, ""), (mail.place, head.list_id))
        _keep_newest(self.subjects, (mail.place, head.subject), SUBJECTS)
        self._add_way(mail)

    def _add_way(self, mail: Mail) -> None:
        from gna.inbox import bodies

        if mail.list_unsubscribe is None:
            _keep_newest(self.without, mail, bodies.MOST)
            return
        self.headers += 1
        is_newer = self.header is None or mail.place > self.header.place
        if is_newer and mail.list_unsubscribe.strip():
            self.header = mail

    def wanted(self) -> Iterator[Mail]:
        """The mails whose bodies a scan would read."""
        yield from self.without
        if self.newest.list_unsubscribe is not None:
            yield self.newest

    def sender(self) -> Sender:
        """All of it, as a database would tell it."""
        evidence = Evidence(
            sender_email=self.newest.sender_email,
            email_count=self.count,
            keywords=self.keywords,
            has_header=self.headers > 0,
            has_body_link=any(mail.body_ways for mail in self.bodies),
            list_id=self.list_id[1] if self.list_id else None,
            subjects=() if self.headers else tuple(subject for _, subject in sorted(self.subjects, reverse=True)),
            **self.signs,
        )
        name = self.name[1] if self.name else ""
        first, last = (parsed(mail.place.date_sent) for mail in (self.first, self.newest))
        return Sender(evidence, name, first, last)

    def offered(self) -> Offered:
        """The ways out of the newest mail that has any."""
        mails = [*self.bodies]
        if self.header:
            mails.append(self.header)
        mails.sort(key=_newest_first, reverse=True)
        for mail in mails:
            ways = offered.ways_of(mail)
            if ways:
                return Offered(ways, mail.seal)
        return Offered((), None)


def audit(path: Path, *, tell: Callable[[int], object] | None = None) -> dict[str, Any]:
    """How many mails there are, how many cannot be read, and the subscriptions, the surest first."""
    found, broken = _headers(path, tell)
    broken += _bodies(path, found)
    items = [_item(sums) for sums in found.values()]
    items.sort(key=lambda item: (-item["confidence"], item["sender_email"]))
    return {"messages": sum(sums.count for sums in found.values()), "errors": broken, "items": items}


def _headers(path: Path, tell: Callable[[int], object] | None) -> tuple[dict[str, Sums], int]:
    """What all headers say, by sender; and how many say nothing."""
    from gna.inbox.sources import files

    found: dict[str, Sums] = {}
    number = broken = 0
    for number, (head, _) in enumerate(files.mails(path), start=1):
        if isinstance(head, Head):
            mail = _mail(head, number)
            if mail.sender_email not in found:
                found[mail.sender_email] = Sums(first=mail, newest=mail)
            found[mail.sender_email].add(head, mail)
        else:
            broken += 1
        if tell and number % OFTEN == 0:
            tell(number)
    if tell:
        tell(number)
    return found, broken


def _bodies(path: Path, found: dict[str, Sums]) -> int:
    """Read the bodies that a scan would; says how many could not be. Files are walked through once more for it."""
    from gna.inbox import bodies
    from gna.inbox.sources import files

    wanted = {mail.place.number: mail for sums in found.values() for mail in sums.wanted()}
    broken = 0
    for number, (_, raw) in enumerate(files.mails(path), start=1):
        if mail := wanted.pop(number, None):
            read = bodies.read(raw(), mail.sender_email)
            broken += not read.well
            if read.ways or mail.list_unsubscribe is not None:
                found[mail.sender_email].bodies.append(mail._replace(body_ways=read.ways, seal=read.seal))
        if not wanted:
            break
    return broken


def _mail(head: Head, number: int) -> Mail:
    place = Place(head.date_sent, number)
    return Mail(place, head.sender_email, head.list_unsubscribe, head.list_unsubscribe_post)


def _keep_newest(heap: list[Any], one: Any, most: int) -> None:
    if len(heap) < most:
        heapq.heappush(heap, one)
    else:
        heapq.heappushpop(heap, one)


def _newest_first(mail: Mail) -> tuple[Place, bool]:
    """A mail of which the body was read too is told whole."""
    return mail.place, mail.body_ways is not None


def _item(sums: Sums) -> dict[str, Any]:
    """A subscription as JSON has it, without a number, and with its ways out as `gna inbox show` has them."""
    ways, seal = sums.offered()
    told = senders.columns(sums.sender(), ways) | senders.way_out(ways) | UNTOUCHED
    del told["ways"]
    item = {name: clock.iso(value) if isinstance(value, datetime) else value for name, value in told.items()}
    return item | {"methods": [doubts.with_seal(way, seal).shown() for way in ways]}
