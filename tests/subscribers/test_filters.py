"""Filters find exactly those whom a reader of the whole list would, however people came and were changed."""

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gna import clock
from gna.db import Database
from gna.errors import Refused
from gna.subscribers import directory, leave, lists, search
from gna.subscribers.directory import Change, Subscriber
from gna.subscribers.export import export
from gna.subscribers.filing import Status, Totals, listed_on
from gna.subscribers.lists import Leaving
from gna.subscribers.table import memberships, subscribers
from gna.subscribers.wanted import Wanted
from tests.factories import NOW, a_subscriber
from tests.running import until

PEOPLE = 400
KEYS = ("general", "weekly", "Weekly", "week", "a.b:c-d_e")
TEXTS = ("", "a", "ana", "person1", "example.org", "nobody", "Ș")
WANTED = st.builds(
    Wanted, st.sampled_from(TEXTS), st.sampled_from([None, *Status]), st.sampled_from([None, *KEYS, "unknown"])
)


@dataclass(frozen=True)
class Crowd:
    """People in a database, and who they are to somebody who reads all of them."""

    db: Database
    people: list[Subscriber]

    def expected(self, wanted: Wanted) -> list[str]:
        """The addresses of those who are wanted, newest first."""
        chosen = [person for person in self.matching(wanted) if wanted.status in (None, person.status)]
        chosen.sort(key=lambda person: (person.created_at, person.email), reverse=True)
        return [person.email for person in chosen]

    def totals(self, wanted: Wanted) -> Totals:
        """How many match in all, and how many of them are pending."""
        matching = self.matching(wanted)
        return Totals(len(matching), sum(person.activated_at is None for person in matching))

    def matching(self, wanted: Wanted) -> list[Subscriber]:
        return [
            person
            for person in self.people
            if _plain(wanted.q) in _plain(f"{person.email}\n{person.nickname or ''}")
            and (wanted.list_key is None or lists.is_on(person.lists, wanted.list_key))
        ]

    def found(self, wanted: Wanted, page: int, per_page: int) -> tuple[list[str], Totals]:
        people, totals = asyncio.run(directory.find(self.db, wanted, page=page, per_page=per_page))
        return [person.email for person in people], totals


@pytest.fixture
def crowd(db: Database, monkeypatch: pytest.MonkeyPatch) -> Crowd:
    """Some hundred people, many of whom came at the same moment, on several lists, some of which they have left."""
    chance = random.Random(3)
    monkeypatch.setattr(search, "SMALL", 50)
    with db.write() as tx:
        for number in range(PEOPLE):
            person = a_subscriber(
                tx,
                email=f"person{number}@example.{chance.choice(('org', 'net'))}",
                nickname=chance.choice(("Ana", "Ștefan", None)),
                activated=chance.random() < 0.8,
                created_at=NOW + timedelta(seconds=chance.randrange(PEOPLE // 10)),
            )
            _move(tx, chance, person)
        ids = [row.id for row in tx.execute(sa.select(subscribers.c.id))]
        leave.remove(tx, ids[:5])
    db.vacuum("subscribers")
    return Crowd(db, _everybody(db))


def _plain(text: str) -> str:
    """The text as search reads it: without case, and without the one diacritic that people here have."""
    return text.lower().replace("ș", "s")


def _move(tx: Any, chance: random.Random, person: str) -> None:
    """Whatever may happen to somebody's lists."""
    for _ in range(chance.choice((0, 0, 1, 2, 4))):
        some = chance.sample(KEYS, chance.randrange(len(KEYS)))
        match chance.randrange(5):
            case 0:
                lists.join(tx, {person: some}, now=NOW)
            case 1:
                lists.replace(tx, person, some, now=NOW)
            case 2:
                email = tx.scalar(sa.select(subscribers.c.email).where(subscribers.c.id == person))
                lists.leave(tx, Leaving(email, chance.choice(KEYS)), now=NOW)
            case 3:
                lists.put_on(tx, [person], chance.choice(KEYS), now=NOW)
            case 4:
                lists.take_off(tx, [person], chance.choice(KEYS), now=NOW)


def _everybody(db: Database) -> list[Subscriber]:
    """Everybody as the tables themselves say."""
    with db.read() as tx:
        ids = list(tx.scalars(sa.select(subscribers.c.id)))
        return [directory.get(tx, person) for person in ids]


def test_every_filter_finds_what_a_reader_of_the_whole_list_would(crowd: Crowd) -> None:
    @settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
    @given(WANTED, st.integers(1, 25), st.integers(1, 60))
    def same(wanted: Wanted, page: int, per_page: int) -> None:
        expected = crowd.expected(wanted)[(page - 1) * per_page : page * per_page]
        assert crowd.found(wanted, page, per_page) == (expected, crowd.totals(wanted))

    same()


@pytest.mark.parametrize("small", [50, 10_000], ids=["lists are walked", "lists are sorted"])
def test_every_page_of_every_list(crowd: Crowd, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SMALL", small)
    for wanted in (Wanted("", status, key) for key in KEYS for status in (None, *Status)):
        expected, totals = crowd.expected(wanted), crowd.totals(wanted)
        pages = [crowd.found(wanted, page, 15) for page in range(1, len(expected) // 15 + 3)]
        assert [email for people, _ in pages for email in people] == expected
        assert {total for _, total in pages} == {totals}


def test_an_export_holds_those_who_are_wanted(crowd: Crowd) -> None:
    for wanted in (
        Wanted(status=Status.PENDING),
        Wanted("ana", Status.ACTIVATED, "weekly"),
        Wanted(list_key="general"),
    ):
        lines = "".join(export(crowd.db, wanted)).splitlines()[1:]
        assert [line.partition(",")[0] for line in lines] == crowd.expected(wanted)


def test_whoever_confirms_is_pending_no_more(db: Database) -> None:
    with db.write() as tx:
        person = a_subscriber(tx)
    for status, confirmed in ((Status.PENDING, None), (Status.ACTIVATED, NOW)):
        with db.write() as tx:
            tx.execute(sa.update(subscribers).where(subscribers.c.id == person).values(activated_at=confirmed))
        for q in ("", "ana"):
            _, totals = asyncio.run(directory.find(db, Wanted(q, status), page=1, per_page=9))
            assert totals.of(status) == totals.everybody == 1


def test_memberships_that_other_tools_write_count(db: Database) -> None:
    with db.write() as tx:
        person = a_subscriber(tx)
        for key in ("general", "news"):
            tx.execute(sa.insert(memberships).values(subscriber_id=person, list_key=key, created_at=NOW))
    assert _on(db) == {"general", "news"}
    ours = memberships.c.subscriber_id == person
    with db.write() as tx:
        tx.execute(sa.update(memberships).where(ours, memberships.c.list_key == "news").values(unsubscribed_at=NOW))
    assert _on(db) == {"general"}
    with db.write() as tx:
        tx.execute(sa.delete(memberships).where(ours, memberships.c.list_key == "general"))
    assert _on(db) == set()
    with db.write() as tx:
        tx.execute(sa.delete(memberships).where(ours))
    assert _on(db) == {"general"}


def _on(db: Database) -> set[str]:
    """On which of the lists the one person is found."""
    found = {}
    for key in ("general", "news"):
        _, found[key] = asyncio.run(directory.find(db, Wanted(list_key=key), page=1, per_page=9))
    return {key for key, totals in found.items() if totals.everybody}


def test_a_person_keeps_their_lists_when_somebody_changes_something_else(db: Database) -> None:
    with db.write() as tx:
        person = a_subscriber(tx, activated=True)
        lists.replace(tx, person, ["news"], now=NOW)
        directory.change(tx, person, Change.parse({"nickname": "Ana"}), now=clock.now())
    assert _on(db) == {"news"}


class TestSeveralPeopleAtOnce:
    """Putting people on lists and taking them off."""

    @pytest.fixture
    def people(self, db: Database) -> list[str]:
        """Three people on no list but `general`."""
        with db.write() as tx:
            return [a_subscriber(tx, email=f"p{number}@example.org") for number in range(3)]

    def test_whoever_has_left_a_list_is_not_put_on_it(self, db: Database, people: list[str]) -> None:
        with db.write() as tx:
            lists.leave(tx, Leaving("p0@example.org", "news"), now=NOW)
            assert lists.put_on(tx, [*people, "nobody"], "news", now=NOW) == 2
            theirs = lists.of(tx, people)
        assert [lists.is_on(theirs[person], "news") for person in people] == [False, True, True]
        assert all(lists.is_on(theirs[person], "general") for person in people)

    def test_only_who_is_on_a_list_is_taken_off(self, db: Database, people: list[str]) -> None:
        with db.write() as tx:
            lists.put_on(tx, people[:2], "news", now=NOW)
            assert lists.take_off(tx, people, "news", now=NOW) == 2
            theirs = lists.of(tx, people)
            assert [one.list_key for one in theirs[people[2]]] == ["general"]
            assert lists.take_off(tx, people, "general", now=NOW) == 3
            assert lists.take_off(tx, people, "general", now=NOW) == 0
            assert lists.known(tx) == ["general", "news"]


def test_without_any_membership_there_is_one_list(db: Database) -> None:
    with db.read() as tx:
        assert lists.known(tx) == ["general"]


@pytest.mark.parametrize("status", ["pending", "PENDING", "Pending"])
def test_a_status_in_any_case(status: str) -> None:
    assert Wanted.parse(status=status).status is Status.PENDING


@pytest.mark.parametrize("asked", [{"status": "confirmed"}, {"status": " "}, {"list_key": "no key"}, {"q": "x" * 201}])
def test_what_cannot_be_looked_for_is_refused(asked: dict[str, str]) -> None:
    with pytest.raises(Refused):
        Wanted.parse(**asked)


def _filed(db: Database) -> dict[str, str]:
    """How each person is filed."""
    with db.read() as tx:
        return {row.id: row.listed for row in tx.execute(sa.select(subscribers.c.id, subscribers.c.listed))}


def test_the_same_lists_are_filed_in_one_way_however_they_came(db: Database) -> None:
    keys = ["a", "Z", "b-c", "b.c", "B", "b", "general"]
    with db.write() as tx:
        for number, order in enumerate((keys, keys[::-1], sorted(keys))):
            person = a_subscriber(tx, email=f"p{number}@example.org")
            for key in order:
                tx.execute(sa.insert(memberships).values(subscriber_id=person, list_key=key, created_at=NOW))
    assert set(_filed(db).values()) == {listed_on(keys)}


def test_two_who_change_the_lists_of_one_person_at_once_are_both_filed(db: Database) -> None:
    if db.kind == "sqlite":
        pytest.skip("SQLite has one writer")
    with db.write() as tx:
        person = a_subscriber(tx)

    def put_on(tx: Any, key: str) -> None:
        tx.execute(sa.insert(memberships).values(subscriber_id=person, list_key=key, created_at=NOW))

    def later() -> None:
        with db.write() as tx:
            put_on(tx, "b")

    with ThreadPoolExecutor(1) as pool:
        with db.write() as tx:
            put_on(tx, "a")
            other = pool.submit(later)
            until(lambda: _waits(db), within=20)
        other.result()
    assert _filed(db) == {person: ";a;b;"}


def test_of_two_admins_who_save_at_once_the_later_wins_whole(db: Database) -> None:
    if db.kind == "sqlite":
        pytest.skip("SQLite has one writer")
    with db.write() as tx:
        person = a_subscriber(tx)

    def save(tx: Any, *keys: str) -> None:
        directory.change(tx, person, Change.parse({"lists": [*keys]}), now=NOW)

    def later() -> None:
        with db.write() as tx:
            save(tx, "a", "b", "d")

    with ThreadPoolExecutor(1) as pool:
        with db.write() as tx:
            save(tx, "a", "b", "c")
            other = pool.submit(later)
            until(lambda: _waits(db), within=20)
        other.result()
    with db.read() as tx:
        theirs = lists.of(tx, [person])[person]
    assert [one.list_key for one in theirs if one.unsubscribed_at is None] == ["a", "b", "d"]


def test_people_are_removed_in_the_order_in_which_others_lock_them(db: Database) -> None:
    if db.kind == "sqlite":
        pytest.skip("SQLite has one writer")
    # The first in the order of ids stands last in the table.
    with db.write() as tx:
        for person in ("2", "1"):
            a_subscriber(tx, id=person, email=f"p{person}@example.org")

    def remove() -> int:
        with db.write() as tx:
            return leave.remove(tx, ["2", "1"])

    def lock(tx: Any, person: str) -> None:
        tx.execute(sa.select(subscribers.c.id).where(subscribers.c.id == person).with_for_update(nowait=True))

    with ThreadPoolExecutor(1) as pool:
        with db.write() as tx:
            lock(tx, "1")
            other = pool.submit(remove)
            until(lambda: _waits(db), within=20)
            lock(tx, "2")
        assert other.result() == 2


def _waits(db: Database) -> bool:
    """Whether somebody waits for a lock in this database."""
    with db.read() as tx:
        ours = "SELECT wait_event_type FROM pg_stat_activity WHERE datname = current_database()"
        return "Lock" in tx.exec_driver_sql(ours).scalars().all()
