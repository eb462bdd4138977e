"""Admitting people from a file: decided row by row in pure code, written batch by batch."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gna import db, ids, outbox, tokens
from gna.config import Settings
from gna.errors import Refused
from gna.mail import address
from gna.subscribers import lists
from gna.subscribers.filing import listed_on
from gna.subscribers.formats import Person, Standing
from gna.subscribers.formats.person import ENDED
from gna.subscribers.signup import SignUp, Site, check_nickname, subscribe
from gna.subscribers.suppressions import Reason, suppress, suppressed
from gna.subscribers.table import subscribers

s = subscribers.c


class Fate(StrEnum):
    """What becomes of a row."""

    NEW = "new"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    OPTED_OUT = "opted_out"
    REMOVED = "removed"
    SUPPRESSED = "suppressed"
    SKIPPED = "skipped"
    INVALID = "invalid"


# Why a row brought nobody in; the address itself is not repeated, since the person may have left.
WHY = {
    Fate.SUPPRESSED: "This person unsubscribed, or their address bounced; they can sign up again themselves",
    Fate.SKIPPED: "This person never confirmed their subscription",
}


@dataclass(frozen=True)
class Line:
    """One row of a file: where it stands, and who it is about or why it cannot be read."""

    sheet: str
    row: int
    person: Person | Refused


@dataclass(frozen=True)
class Problem:
    """A row that brought nobody in."""

    sheet: str
    row: int
    reason: str


@dataclass
class Tally:
    """What became of the rows so far."""

    fates: Counter[Fate] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)

    def note(self, line: Line, fate: Fate, reason: str | None = None) -> None:
        """Count a row, and keep the reason if it brought nobody in."""
        self.fates[fate] += 1
        if why := reason or WHY.get(fate):
            self.problems.append(Problem(line.sheet, line.row, why))


@dataclass(frozen=True)
class Publication:
    """What admitting must know: whom mails speak for, and the key of the hashes."""

    site: Site
    secret: str | None

    @classmethod
    def of(cls, settings: Settings) -> "Publication":
        """The publication that the settings describe."""
        return cls(Site.of(settings), settings.hash_key)


def fate_of(person: Person, known: Any | None, *, barred: bool, joins: bool = False) -> Fate:
    """What becomes of a person whose address is valid; `known` is their row, if they have one.

    Somebody who left is barred until they confirm anew themselves: a form that anybody can fill in does not count.
    """
    if person.standing is Standing.UNCONFIRMED:
        return Fate.SKIPPED
    if person.standing in (Standing.UNSUBSCRIBED, Standing.CLEANED):
        return Fate.REMOVED if known and _ends(person, known) else Fate.UNCHANGED if known else Fate.OPTED_OUT
    if barred and (known is None or known.activated_at is None):
        return Fate.SUPPRESSED
    if known is None:
        return Fate.NEW
    return Fate.UPDATED if joins or changes(person, known) else Fate.UNCHANGED


def changes(person: Person, known: Any) -> dict[str, Any]:
    """What a file says of somebody we know that we do not; what it leaves out stays."""
    found: dict[str, Any] = {}
    if person.nickname and person.nickname != known.nickname:
        found["nickname"] = person.nickname
    if person.ocd_ids and list(person.ocd_ids) != known.ocd_ids:
        found["ocd_ids"] = list(person.ocd_ids)
    if person.attributes and (merged := {**known.attributes, **person.attributes}) != known.attributes:
        found["attributes"] = merged
    if person.standing is Standing.ACTIVATED and known.activated_at is None:
        found["activated_at"] = person.activated_at
    return found


def admit(tx: Connection, batch: Sequence[Line], tally: Tally, *, publication: Publication, now: datetime) -> None:
    """Write a batch: new people, changes, opt-outs. A later row of the same person comes on top of the earlier."""
    for part in _without_repeats(_valid(batch, tally)):
        _admit(tx, part, tally, publication=publication, now=now)


def foresee(tx: Connection, batch: Sequence[Line], tally: Tally, *, seen: "Seen", secret: str | None) -> None:
    """Count what `admit` would do, and write nothing."""
    people = list(_valid(batch, tally))
    known, barred = _known(tx, people), suppressed(tx, (email for _, email, _ in people), secret=secret)
    joining = _joining(tx, people, known)
    for line, email, person in people:
        again = seen.before(email)
        has_left = seen.has_left(email)
        row = None if has_left else known.get(email.lower())
        fate = fate_of(person, row, barred=has_left or email in barred, joins=email in joining)
        if fate in (Fate.OPTED_OUT, Fate.REMOVED):
            seen.leave(email)
        tally.note(line, Fate.UPDATED if again and fate is Fate.NEW else fate)


Valid = tuple[Line, str, Person]


def _valid(batch: Iterable[Line], tally: Tally) -> Iterator[Valid]:
    for line in batch:
        try:
            if isinstance(line.person, Refused):
                raise line.person
            email = address.parse(line.person.email)
            if line.person.nickname is not None:
                check_nickname(line.person.nickname)
            for key in line.person.lists:
                lists.parse_list_key(key)
        except Refused as refusal:
            tally.note(line, Fate.INVALID, str(refusal))
        else:
            yield line, email, line.person


def _without_repeats(people: Iterable[Valid]) -> Iterator[list[Valid]]:
    """Parts in which nobody stands twice."""
    part: dict[str, Valid] = {}
    for valid in people:
        key = valid[1].lower()
        if key in part:
            yield list(part.values())
            part = {}
        part[key] = valid
    if part:
        yield list(part.values())


def _admit(tx: Connection, people: Sequence[Valid], tally: Tally, *, publication: Publication, now: datetime) -> None:
    # Whoever is about to leave waits until the batch is written; whoever has left is not in it.
    known = _known(tx, people, lock=True)
    barred = suppressed(tx, (email for _, email, _ in people), secret=publication.secret)
    joining = _joining(tx, people, known)
    sorted_out: dict[Fate, list[Valid]] = {fate: [] for fate in Fate}
    for valid in people:
        line, email, person = valid
        fate = fate_of(person, known.get(email.lower()), barred=email in barred, joins=email in joining)
        tally.note(line, fate)
        sorted_out[fate].append(valid)
    _add(tx, [v for v in sorted_out[Fate.NEW] if v[2].standing is Standing.ACTIVATED], now=now)
    to_ask = [valid for valid in sorted_out[Fate.NEW] if valid[2].standing is Standing.PENDING]
    _ask(tx, to_ask, publication=publication, now=now)
    _change(tx, sorted_out[Fate.UPDATED], known, now=now)
    gone = sorted_out[Fate.REMOVED]
    tx.execute(sa.delete(subscribers).where(s.id.in_([known[email.lower()].id for _, email, _ in gone])))
    strangers = sorted_out[Fate.OPTED_OUT]
    for those, standing, reason in (
        (gone, Standing.UNSUBSCRIBED, Reason.UNSUBSCRIBED),
        (strangers, Standing.UNSUBSCRIBED, Reason.ELSEWHERE),
        (strangers, Standing.CLEANED, Reason.CLEANED),
    ):
        out = [email for _, email, person in those if person.standing is standing]
        suppress(tx, out, secret=publication.secret, reason=reason, now=now)


def _known(tx: Connection, people: Iterable[Valid], *, lock: bool = False) -> Mapping[str, Any]:
    columns = (s.id, s.email, s.nickname, s.created_at, s.activated_at, s.ocd_ids, s.attributes)
    keys = [email.lower() for _, email, _ in people]
    rows = sa.select(*columns).where(sa.func.lower(s.email).in_(keys)).order_by(s.id)
    return {row.email.lower(): row for row in tx.execute(rows.with_for_update() if lock else rows)}


def _joining(tx: Connection, people: Iterable[Valid], known: Mapping[str, Any]) -> set[str]:
    """The addresses of those we know whom the file puts on a list that they were never on."""
    listed = {email: person.lists for _, email, person in people if person.lists and email.lower() in known}
    present = lists.of(tx, [known[email.lower()].id for email in listed]) if listed else {}
    return {
        email
        for email, wanted in listed.items()
        if set(wanted) - {one.list_key for one in present[known[email.lower()].id]}
    }


def _ends(person: Person, known: Any) -> bool:
    """Whether an opt-out elsewhere ends what we have: not if the person came back to us later, nor for a bounce.

    Only a confirmation here proves that. An import may have written its own time where the file had none, and the order
    of two files must not decide: an opt-out that is imported first bars the person, whatever the dates are.
    """
    if person.standing is Standing.CLEANED:
        return False
    was_imported = known.activated_at == known.created_at
    if person.ended_at is None or known.activated_at is None or was_imported:
        return True
    return bool(person.ended_at > known.activated_at)


def _add(tx: Connection, people: Sequence[Valid], *, now: datetime) -> None:
    """Insert people who confirmed elsewhere; somebody who signs up at this very moment wins."""
    rows = [
        {
            "id": ids.new(),
            "email": email,
            "nickname": person.nickname,
            "unsubscribe_token": tokens.new(),
            "created_at": person.activated_at or now,
            "activated_at": person.activated_at or now,
            "ocd_ids": list(person.ocd_ids),
            "attributes": dict(person.attributes),
            "listed": listed_on(person.lists),
        }
        for _, email, person in people
    ]
    if rows:
        _insert(tx, rows)
    on_lists = {str(row["id"]): person.lists for row, (_, _, person) in zip(rows, people, strict=True) if person.lists}
    if on_lists:
        present = set(tx.scalars(sa.select(s.id).where(s.id.in_(on_lists))))
        lists.put(tx, {person: keys for person, keys in on_lists.items() if person in present}, now=now)


@db.prepared
def _newcomer(insert: Any) -> Any:
    return insert(subscribers).on_conflict_do_nothing()


_FROM_JSON = sa.text("""
    INSERT INTO subscribers (id, email, nickname, unsubscribe_token, created_at, activated_at, ocd_ids, attributes,
        listed)
    SELECT id, email, nickname, unsubscribe_token, created_at, activated_at, ocd_ids, attributes, listed
    FROM json_populate_recordset(NULL::subscribers, :rows) ON CONFLICT DO NOTHING
""")


def _insert(tx: Connection, rows: list[dict[str, Any]]) -> None:
    """Insert people; somebody who is there already stays as they are."""
    if tx.dialect.name == "postgresql":
        # One statement for the whole batch: parsing and planning one for each person takes longer than inserting them.
        tx.execute(_FROM_JSON, {"rows": json.dumps(rows, default=datetime.isoformat)})
    else:
        tx.execute(_newcomer(tx), rows)


def _ask(tx: Connection, people: Sequence[Valid], *, publication: Publication, now: datetime) -> None:
    """People who have not confirmed yet are asked to, as if they had filled in the form."""
    for _, email, person in people:
        wish = SignUp(email, person.nickname)
        subscribe(tx, wish, site=publication.site, secret=publication.secret, now=now)
    known = _known(tx, people)
    for _, email, person in people:
        row = known[email.lower()]
        _set(tx, row.id, {"ocd_ids": list(person.ocd_ids), "attributes": dict(person.attributes)})
    lists.put(tx, {known[email.lower()].id: person.lists for _, email, person in people}, now=now)


def _change(tx: Connection, people: Sequence[Valid], known: Mapping[str, Any], *, now: datetime) -> None:
    for _, email, person in people:
        row = known[email.lower()]
        found = changes(person, row)
        if "activated_at" in found:
            found |= {
                "activated_at": person.activated_at or now,
                "confirmation_token": None,
                "confirmation_expires_at": None,
            }
            outbox.withdraw(tx, kind=outbox.Kind.CONFIRMATION, subscriber_id=row.id)
        _set(tx, row.id, found)
    joining = {known[email.lower()].id: person.lists for _, email, person in people if person.lists}
    lists.join(tx, joining, now=now)


def _set(tx: Connection, subscriber_id: str, values: Mapping[str, Any]) -> None:
    if values:
        tx.execute(sa.update(subscribers).where(s.id == subscriber_id).values(**values))


class Seen:
    """Which addresses a dry run met already: a million of them take no memory, since they wait on disk as hashes."""

    def __init__(self) -> None:
        import sqlite3

        # A worker may do each slice in another thread, one after the other.
        self._rows = sqlite3.connect("", check_same_thread=False)
        self._rows.execute("CREATE TABLE seen (hash INTEGER PRIMARY KEY)")
        self._rows.execute("CREATE TABLE gone (hash INTEGER PRIMARY KEY)")

    def before(self, email: str) -> bool:
        """Whether this address was met before; it is from now on."""
        return self._rows.execute("INSERT OR IGNORE INTO seen VALUES (?)", (hash(email.lower()),)).rowcount == 0

    def leave(self, email: str) -> None:
        """The file says that this person left."""
        self._rows.execute("INSERT OR IGNORE INTO gone VALUES (?)", (hash(email.lower()),))

    def has_left(self, email: str) -> bool:
        """Whether an earlier row says that this person left."""
        found = self._rows.execute("SELECT 1 FROM gone WHERE hash = ?", (hash(email.lower()),))
        return found.fetchone() is not None

    def again(self, person: Person) -> None:
        """Remember a row that another worker counted before."""
        self.before(person.email)
        if person.standing in ENDED:
            self.leave(person.email)

    def close(self) -> None:
        """Forget everything."""
        self._rows.close()
