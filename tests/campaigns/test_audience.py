"""Who gets a campaign, by list and attributes; both databases say the same."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from gna import clock
from gna.campaigns.audience import CONDITIONS_MAX, TEXT_MAX, Audience, count
from gna.db import Database
from gna.errors import Refused
from gna.subscribers import lists
from gna.subscribers.table import STORABLE
from tests.desk import Desk
from tests.factories import NOW, a_subscriber

ODD_KEYS = (
    'with "quotes"',
    "it's",
    "a.b.c",
    "$.city",
    "$",
    "100%",
    "%s",
    "%(city)s",
    "a:b",
    ":value_0",
    "{city}",
    "back\\slash",
    "[0]",
    "-1",
    "两",
    "naïve café",
    "emoji 🎉",
    " ",
    "a\nb",
    "list",
    "attributes",
    "'); DROP TABLE subscribers; --",
)
# What somebody has, and the conditions on it that hold.
VALUES: list[tuple[Any, list[Any]]] = [
    ("Cluj", ["Cluj"]),
    ("cluj", ["cluj"]),
    ("Cluj-Napoca 100% 'o\"k'", ["Cluj-Napoca 100% 'o\"k'"]),
    ("北京 🎉", ["北京 🎉"]),
    (7, [7, "7"]),
    (-7, [-7, "-7"]),
    (0, [0, "0"]),
    (2**53, [2**53]),
    (4.5, [4.5, "4.5"]),
    (0.1, [0.1, "0.1"]),
    ("7", [7, "7"]),
    (True, [True, "true"]),
    (False, [False, "false"]),
    ("true", [True, "true"]),
    ("null", ["null"]),
    # A list has each of its values.
    (["Tag one", "Tag, two"], ["Tag one", "Tag, two"]),
    ([1, True, False, "x"], [1, "1", True, "false", "x"]),
]
# What somebody has, and conditions that do not hold.
OTHERS: list[tuple[Any, list[Any]]] = [
    ("Cluj", ["cluj", "Clu", "Cluj ", "Cluj%", "%", "_luj", '"Cluj"', "*", True, 0]),
    (7, [70, "07", True, "7 "]),
    (1, [True, "true"]),
    (0, [False, "false", "null"]),
    (True, [1, "1", "True"]),
    (False, [0, "0", "null"]),
    (None, ["null", "None", 0, False]),
    ([1, 2], ["[1, 2]", "[1,2]", 3, 12]),
    (["Cluj"], ["cluj", '["Cluj"]', "Clu"]),
    ([], ["[]", "null"]),
    ([["Cluj"], {"city": "Cluj"}, None], ["Cluj", "city", "null", '["Cluj"]']),
    ({"city": "Cluj"}, ["Cluj", '{"city": "Cluj"}', '{"city":"Cluj"}']),
    ("", ["null", " "]),
]


@pytest.fixture
def desk(client: TestClient, db: Database) -> Desk:
    return Desk(client, db)


def somebody(db: Database, email: str = "ana@example.org", **columns: Any) -> None:
    with db.write() as tx:
        a_subscriber(tx, email=email, activated=True, **columns)


def reached(db: Database, audience: object) -> int:
    with db.read() as tx:
        return count(tx, Audience.parse(audience))


@pytest.mark.parametrize(("has", "asked"), VALUES, ids=lambda value: json.dumps(value))
def test_the_value_of_an_attribute(db: Database, has: Any, asked: list[Any]) -> None:
    somebody(db, attributes={"x": has, "other": "Cluj"})
    somebody(db, "without@example.org")
    assert [reached(db, {"attributes": {"x": value}}) for value in asked] == [1] * len(asked)


@pytest.mark.parametrize(("has", "asked"), OTHERS, ids=lambda value: json.dumps(value))
def test_another_value_does_not_match(db: Database, has: Any, asked: list[Any]) -> None:
    somebody(db, attributes={"x": has, "other": "Cluj"})
    assert {str(value): reached(db, {"attributes": {"x": value}}) for value in asked} == {str(v): 0 for v in asked}


def test_any_text_may_be_the_name_of_an_attribute(db: Database) -> None:
    for number, key in enumerate(ODD_KEYS):
        somebody(db, f"p{number}@example.org", attributes={key: "yes"})
    somebody(db, "all@example.org", attributes=dict.fromkeys(ODD_KEYS, "yes"))
    assert {key: reached(db, {"attributes": {key: "yes"}}) for key in ODD_KEYS} == dict.fromkeys(ODD_KEYS, 2)
    some = dict.fromkeys(ODD_KEYS[:CONDITIONS_MAX], "yes")
    assert reached(db, {"attributes": some}) == 1


def test_any_text_may_be_the_value_of_an_attribute(db: Database) -> None:
    for number, value in enumerate(ODD_KEYS):
        somebody(db, f"p{number}@example.org", attributes={"x": value})
    assert {value: reached(db, {"attributes": {"x": value}}) for value in ODD_KEYS} == dict.fromkeys(ODD_KEYS, 1)


def test_people_with_a_tag_of_mailchimp_can_be_chosen(desk: Desk, client: TestClient, db: Database) -> None:
    export = (
        'Email Address,First Name,LEID,EUID,TAGS\nana@example.org,Ana,1,a,"""Tag one"",""Tag, two"""\n'
        'dan@example.org,Dan,2,b,"""Tag three"""\n'
    )
    client.post("/admin/api/subscribers/import", files={"file": ("subscribed.csv", export)})
    assert reached(db, {"attributes": {"tags": "Tag one"}}) == 1
    assert reached(db, {"attributes": {"tags": "Tag, two"}}) == 1
    assert reached(db, {"attributes": {"tags": "Tag"}}) == 0


def test_a_missing_attribute_matches_nothing(db: Database) -> None:
    somebody(db)
    somebody(db, "other@example.org", attributes={"city": "Cluj", "nested": {"x": "yes"}})
    for value in ("", "yes", "null", "None", "undefined", "0", "false"):
        if value:
            assert reached(db, {"attributes": {"x": value}}) == 0
    assert reached(db, {"attributes": {"nested.x": "yes"}}) == 0
    assert reached(db, {"attributes": {"city": "Cluj", "x": "yes"}}) == 0


def test_all_conditions_must_hold_and_the_list_too(db: Database) -> None:
    with db.write() as tx:
        for name, city, key in (("ana", "Cluj", "weekly"), ("bob", "Cluj", "monthly"), ("cut", "Iași", "weekly")):
            person = a_subscriber(tx, email=f"{name}@example.org", activated=True, attributes={"city": city, "n": 1})
            lists.put(tx, {person: [key]}, now=NOW)
        a_subscriber(tx, email="pending@example.org", attributes={"city": "Cluj"})
    somebody(db, "everywhere@example.org", attributes={"city": "Cluj"})
    assert reached(db, None) == reached(db, "all") == reached(db, {}) == 4
    assert reached(db, {"attributes": {"city": "Cluj"}}) == reached(db, {"city": "Cluj"}) == 3
    assert reached(db, {"list": "weekly"}) == 2
    assert reached(db, {"list": "weekly", "attributes": {"city": "Cluj"}}) == 1
    assert reached(db, {"list": "weekly", "attributes": {"city": "Cluj", "n": 2}}) == 0
    assert reached(db, {"list": "nobody"}) == 0
    assert reached(db, {"list": "general", "attributes": {"city": "Cluj"}}) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        "weekly",
        5,
        True,
        {"list": ""},
        {"list": 5},
        {"list": ["weekly"]},
        {"list": "' OR 1=1 --"},
        {"attributes": "Cluj"},
        {"attributes": ["Cluj"]},
        {"attributes": {"city": ""}},
        {"attributes": {"": "Cluj"}},
        {"attributes": {"city": None}},
        {"attributes": {"city": ["Cluj"]}},
        {"attributes": {"city": {"$ne": "Cluj"}}},
        {"attributes": {"city": "a\0b"}},
        {"attributes": {"a\0b": "Cluj"}},
        {"attributes": {"city": "\ud800"}},
        {"attributes": {"city": "x" * (TEXT_MAX + 1)}},
        {"attributes": {str(number): "x" for number in range(CONDITIONS_MAX + 1)}},
        {"city": ["Cluj"]},
    ],
    ids=lambda wrong: json.dumps(wrong)[:40],
)
def test_what_is_no_audience_is_refused(wrong: object) -> None:
    with pytest.raises(Refused):
        Audience.parse(wrong)


texts = st.text(min_size=1, max_size=12).filter(STORABLE.fullmatch)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=texts, value=texts)
def test_no_text_breaks_the_query_or_finds_somebody_else(db: Database, key: str, value: str) -> None:
    with db.write() as tx:
        savepoint = tx.begin_nested()
        a_subscriber(tx, email="is@example.org", activated=True, attributes={key: value})
        a_subscriber(tx, email="is-not@example.org", activated=True, attributes={key: value + "!", key + "!": value})
        assert count(tx, Audience.parse({"attributes": {key: value}})) == 1
        savepoint.rollback()


def test_a_campaign_goes_to_its_audience_and_what_was_asked_is_shown(desk: Desk, db: Database) -> None:
    audience = {"list": "general", "attributes": {'a "b" $.c %s :d': "100% 'ok'", "vip": "true"}}
    somebody(db, attributes={'a "b" $.c %s :d': "100% 'ok'", "vip": True})
    somebody(db, "other@example.org", attributes={'a "b" $.c %s :d': "100% 'ok'"})
    campaign = desk.sends(audience=audience)
    assert (campaign["audience"], campaign["audience_count"]) == (audience, 1)
    assert desk.got() == ["ana@example.org"]


def ids_of(db: Database, *, confirmed_by: datetime) -> list[str]:
    with db.read() as tx:
        return list(tx.scalars(Audience().people(tx, confirmed_by=confirmed_by)))


def test_who_confirmed_after_the_start_is_left_out(db: Database) -> None:
    now = clock.now()
    with db.write() as tx:
        before = a_subscriber(tx, email="before@example.org", activated_at=now - timedelta(minutes=2))
        a_subscriber(tx, email="after@example.org", activated_at=now - timedelta(seconds=30))
        a_subscriber(tx, email="never@example.org")
    assert ids_of(db, confirmed_by=now - timedelta(minutes=1)) == [before]


def test_who_confirmed_before_the_clock_was_set_back_is_not_left_out(db: Database) -> None:
    with db.write() as tx:
        person = a_subscriber(tx, activated_at=clock.now() + timedelta(hours=6))
    assert ids_of(db, confirmed_by=clock.now()) == [person]
