from datetime import timedelta

import pytest

from gna import activity, clock
from gna.activity import Verb
from gna.db import Database
from gna.errors import Refused


def noted(db: Database, **values: object) -> None:
    with db.write() as tx:
        defaults = {"by": "ana@example.org", "verb": Verb.CAMPAIGN_SENT, "now": clock.now()}
        activity.note(tx, **(defaults | values))  # type: ignore[arg-type]


def test_the_newest_comes_first(db: Database) -> None:
    for subject in ("One", "Two", "Three"):
        noted(db, about=subject)
    with db.read() as tx:
        rows, total = activity.newest(tx, page=1, per_page=2)
        assert ([row["about"] for row in rows], total) == (["Three", "Two"], 3)
        rows, total = activity.newest(tx, page=2, per_page=2)
        assert ([row["about"] for row in rows], total) == (["One"], 3)


def test_what_it_was_about_stays_short(db: Database) -> None:
    noted(db, about="x" * 5000)
    with db.read() as tx:
        assert len(activity.newest(tx, page=1, per_page=1)[0][0]["about"]) == activity.ABOUT_MAX


def test_what_was_done_long_ago_is_forgotten(db: Database) -> None:
    now = clock.now()
    noted(db, about="old", now=now - activity.KEPT - timedelta(seconds=1))
    noted(db, about="young", now=now - activity.KEPT + timedelta(seconds=60))
    with db.write() as tx:
        activity.forget(tx, now=now)
    with db.read() as tx:
        assert [row["about"] for row in activity.newest(tx, page=1, per_page=9)[0]] == ["young"]


def test_one_person_and_one_part_of_the_admin_can_be_looked_at(db: Database) -> None:
    noted(db, about="by Ana")
    noted(db, about="by Ion", by="ion@example.org")
    noted(db, about="a feed", by="ion@example.org", verb=Verb.FEED_ADDED)
    with db.read() as tx:

        def found(**filters: str) -> list[str]:
            rows, total = activity.newest(tx, page=1, per_page=9, **filters)
            assert total == len(rows)
            return [row["about"] for row in rows]

        assert found(who="ion@example.org") == ["a feed", "by Ion"]
        assert found(area="campaigns") == ["by Ion", "by Ana"]
        assert found(who="ion@example.org", area="feeds") == ["a feed"]
        assert found(who="nobody") == []
        with pytest.raises(Refused, match="area must be one of campaigns, subscribers, feeds, letters"):
            found(area="weather")


def test_everything_that_can_be_done_belongs_to_one_part_of_the_admin() -> None:
    verbs = [verb for area in activity.AREAS for verb in activity.verbs_of(area)]
    assert sorted(verbs) == sorted(Verb)
