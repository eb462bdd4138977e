"""Search finds, counts and pages the same people whichever way it goes about it."""

import asyncio
import random
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from gna import ids, tokens
from gna.db import Database, answers
from gna.subscribers import search
from gna.subscribers.filing import Totals
from gna.subscribers.search import SHELVES, page_of
from gna.subscribers.table import subscribers
from gna.subscribers.wanted import Wanted
from tests.conftest import Databases
from tests.factories import NOW, a_subscriber

PEOPLE = 3000
PER_PAGE = 20
NAMES = ("Ana", "Zoë", "ZOË", "100%", "a_b", "Ștefan", "*[?", "back\\slash", "sl/ash", "]", None)
PLAIN = {"ë": "e", "ș": "s"}
QUESTIONS = (
    "stefan",
    "ZOE",
    "",
    "ana",
    "AN",
    "a",
    "@",
    "x.e",
    "person2999@",
    "zoë",
    "ZOË",
    "%",
    "_",
    "a_b",
    "*[",
    "]",
    "ȘTE",
    "nobody",
    "\\",
    "/",
)


def found(db: Database, q: str, *, offset: int = 0, limit: int = 9) -> tuple[list[str], int]:
    """The addresses on a page of a search, and how many match."""
    addresses, totals = asyncio.run(page_of(db, Wanted(q), offset=offset, limit=limit))
    return addresses, totals.everybody


@dataclass(frozen=True)
class Crowd:
    """People in a database, cut into pieces although they are few, and what a reader of the whole list would find."""

    db: Database
    people: list[tuple[int, str, str]]

    def expected(self, q: str) -> list[str]:
        """The addresses of all who match, newest first."""
        return [email for _, email, name in sorted(self.people, reverse=True) if _plain(q) in f"{email}\n{name}"]

    def found(self, q: str, page: int = 1) -> tuple[list[str], int]:
        """What search finds."""
        return found(self.db, q, offset=(page - 1) * PER_PAGE, limit=PER_PAGE)


@pytest.fixture
def crowd(db: Database, monkeypatch: pytest.MonkeyPatch) -> Crowd:
    """Thousands of people, many of whom came at the same moment; one is gone, and one has another name by now."""
    chance = random.Random(1)
    people: list[dict[str, Any]] = [
        {
            "id": ids.new(),
            "email": f"Person{number}@{chance.choice(('x.example', 'Y.example'))}",
            "nickname": chance.choice(NAMES),
            "unsubscribe_token": tokens.new(),
            "created_at": NOW + timedelta(seconds=chance.randrange(PEOPLE // 10)),
        }
        for number in range(PEOPLE)
    ]
    gone, renamed = people[7], people[8]
    with db.write() as tx:
        tx.execute(sa.insert(subscribers), people)
        tx.execute(sa.delete(subscribers).where(subscribers.c.id == gone["id"]))
        tx.execute(sa.update(subscribers).where(subscribers.c.id == renamed["id"]).values(nickname="Nobody"))
    db.vacuum("subscribers")
    monkeypatch.setattr(search, "SMALL", 100)
    with db.read() as tx:
        assert len(search._cuts(tx)) == search.PIECES - 1
    renamed["nickname"] = "Nobody"
    people.remove(gone)
    return Crowd(db, [(one["created_at"], one["email"].lower(), _plain(one["nickname"] or "")) for one in people])


def _plain(name: str) -> str:
    return "".join(PLAIN.get(letter, letter) for letter in name.lower())


@pytest.mark.parametrize("taken", [PEOPLE, 10], ids=["all matches are taken", "most matches are counted"])
def test_every_page_of_every_search(crowd: Crowd, taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHELVES, crowd.db.kind, replace(SHELVES[crowd.db.kind], taken=taken))
    for way in ("by trigrams where there are any", "in pieces"):
        for q in QUESTIONS:
            expected = crowd.expected(q)
            last = max(1, -(-len(expected) // PER_PAGE))
            for page in {1, 2, last // 2, last, last + 1} - {0}:
                there = expected[(page - 1) * PER_PAGE : page * PER_PAGE]
                assert crowd.found(q, page) == (there, len(expected)), (way, q, page)
        monkeypatch.setattr(search, "FEW", -1)


def test_search_needs_no_trigrams(crowd: Crowd) -> None:
    if crowd.db.kind == "postgresql":
        with crowd.db.write() as tx:
            tx.execute(sa.text("DROP EXTENSION pg_trgm CASCADE"))
    assert crowd.found("person2999@") == (crowd.expected("person2999@"), 1)
    assert crowd.found("ana")[1] == len(crowd.expected("ana"))


def test_moments_are_sorted_in_one_zone(databases: Databases) -> None:
    """In Berlin half past two came twice on 25 October 2026, and the second was later."""
    url = databases.migrated()
    if databases.kind == "postgresql":
        url += "?options=-c%20timezone%3DEurope/Berlin"
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    moments = {"late@example.org": first + timedelta(minutes=45), "early@example.org": first}
    db = Database(url)
    with db.write() as tx:
        for email, moment in moments.items():
            a_subscriber(tx, email=email, created_at=moment)
    assert found(db, "@e") == (list(moments), 2)
    db.close()


@pytest.mark.parametrize(
    "name",
    [
        "Ștefan",
        "İbrahim",
        "GROẞ",
        "groß",
        "ǅungla",
        "\u212aelvin",
        "ΣΊΣΥΦΟΣ",
        "σίσυφος",
        "Ἄδης",
        "ıran",
        "Щука",
        "中村",
        "é",
    ],
)
def test_everybody_is_found_by_their_own_name(db: Database, name: str) -> None:
    with db.write() as tx:
        a_subscriber(tx, nickname=f"Dr {name} Jr")
    assert found(db, name) == (["ana@example.org"], 1)


@pytest.mark.parametrize(("name", "q"), [("Ștefan", "ȘTEF"), ("ȘTEFAN", "ștef"), ("щука", "ЩУК"), ("Σωκράτη", "ΣΩΚΡ")])
def test_case_does_not_matter_in_any_script(db: Database, name: str, q: str) -> None:
    with db.write() as tx:
        a_subscriber(tx, nickname=name)
    assert found(db, q)[1] == 1


@pytest.mark.parametrize(
    ("name", "q"),
    [
        ("Ștefan", "stefan"),
        ("Ştefan", "ștefan"),
        ("stefan", "Ștefan"),
        ("ȘTEFAN", "ste"),
        ("Țuțuianu", "tutu"),
        ("Müller-Lüdenscheidt", "muller lu".replace(" ", "-")),
        ("Straße", "STRASSE"),
        ("Strasse", "straße"),
        ("GROẞ", "gross"),
        ("Nguyễn", "nguyen"),
        ("İstanbul", "istanbul"),
        ("Isparta", "ısparta"),
        ("ılgaz", "ILGAZ"),
        ("Łódź", "lodz"),
        ("Søren", "soren"),
        ("Ægir", "aegir"),
        ("aegir", "ægir"),
        ("Œuvre", "oeuv"),
        ("\ufb01n", "fin"),
        ("José", "jose\u0301"),
        ("Ёлка", "елка"),
        ("Άρης", "αρης"),
        ("100% Șt*r[?]", "% st*r[?]"),
        ("a.b Ș", "a.b s"),
    ],
)
def test_diacritics_do_not_matter(db: Database, name: str, q: str) -> None:
    with db.write() as tx:
        a_subscriber(tx, nickname=name)
        a_subscriber(tx, email="other@example.org", nickname="Ion Țepeș")
    assert found(db, q) == (["ana@example.org"], 1)


@pytest.mark.parametrize(
    ("name", "q"), [("Stefan", "ștefana"), ("axb Ș", "a.b s"), ("か", "が"), ("Ana", "ß"), ("Ș", "t")]
)
def test_other_letters_do_not_match(db: Database, name: str, q: str) -> None:
    with db.write() as tx:
        a_subscriber(tx, email="x@x.xx", nickname=name)
    assert found(db, q) == ([], 0)


def test_a_text_does_not_reach_from_the_address_into_the_name(db: Database) -> None:
    with db.write() as tx:
        a_subscriber(tx, nickname="Ana")
    assert found(db, "org\nana") == ([], 0)


def test_searches_leave_room_for_others(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow_piece(*_: Any) -> search.Piece:
        time.sleep(0.1)
        return search.Piece([], Totals())

    async def together() -> int:
        searches = [asyncio.create_task(page_of(db, Wanted("a"), offset=0, limit=9)) for _ in range(30)]
        await asyncio.sleep(0.05)
        await db.look(answers)
        done = sum(task.done() for task in searches)
        await asyncio.gather(*searches)
        return done

    monkeypatch.setattr(search, "_piece", slow_piece)
    assert asyncio.run(together()) <= 2
