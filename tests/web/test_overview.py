"""The first page of the admin."""

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from httpx2 import Client
from starlette.testclient import TestClient

from gna import activity, clock
from gna.activity import Verb
from gna.campaigns.table import deliveries
from gna.campaigns.traffic import Sums
from gna.db import Database, timed
from gna.delivery.mailings import mailings
from gna.subscribers import tally
from gna.subscribers.leave import unsubscribe
from gna.web import attention
from gna.web.attention import Need
from gna.web.identity import Identity
from gna.web.pages.admin.overview import PERIODS, by_week, first_name, greeting
from gna.web.pages.render import templates
from tests.desk import Desk
from tests.factories import a_subscriber, readers, the_subscriber

HTML = {"Accept": "text/html"}


@pytest.fixture
def desk(client: TestClient, db: Database) -> Desk:
    """A publisher."""
    return Desk(client, db)


def shown(client: Client, query: str = "", **headers: str) -> str:
    answer = client.get(f"/admin{query}", headers=HTML | headers)
    assert answer.status_code == 200, answer.text
    return answer.text


def words(html: str) -> str:
    """What a person reads, in one line."""
    return " ".join(re.sub(r"<svg.*?</svg>|<[^>]+>", " ", html, flags=re.DOTALL).split())


def counts(db: Database) -> None:
    """What the step does every few minutes."""
    with db.write() as tx:
        tally.keep(tx, timed(tally.count)(tx))


def test_a_new_publication_is_told_how_to_begin(client: TestClient) -> None:
    said = words(shown(client))
    assert "Three steps to your first campaign" in said
    assert "Confirmed subscribers" not in said
    assert "(done)" not in said


def test_each_first_step_that_is_done_is_ticked(desk: Desk) -> None:
    with desk.db.write() as tx:
        a_subscriber(tx)
    assert shown(desk.client).count('class="done"') == 1
    with desk.db.write() as tx:
        activity.note(tx, by="ana@example.org", verb=Verb.IMPORT_STARTED, now=clock.now())
    assert shown(desk.client).count('class="done"') == 2
    campaign = desk.writes()
    assert shown(desk.client).count('class="done"') == 3
    desk.asks(campaign, "send")
    assert "Three steps" not in shown(desk.client)


def test_people_who_were_imported_have_not_used_the_form(desk: Desk) -> None:
    readers(desk.db, 3)
    assert 'class="done"' not in shown(desk.client)


def test_the_numbers_are_of_this_moment(desk: Desk) -> None:
    readers(desk.db, 1234)
    counts(desk.db)
    assert "Confirmed subscribers 1,234" in words(shown(desk.client))
    with desk.db.write() as tx:
        unsubscribe(tx, the_subscriber(tx, "p0@example.org").unsubscribe_token, secret=None, now=clock.now())
    said = words(shown(desk.client))
    assert "Confirmed subscribers 1,233" in said
    assert "Unsubscribed 1 0.1% of the subscribers" in said


def test_growth_is_told_against_the_day_when_the_period_began(desk: Desk) -> None:
    now = clock.now()
    readers(desk.db, 100, name="old", activated_at=now - timedelta(days=20), created_at=now - timedelta(days=20))
    readers(desk.db, 50, name="new", activated_at=now - timedelta(days=2), created_at=now - timedelta(days=2))
    counts(desk.db)
    assert "Confirmed subscribers 150 ▲ 50% in 7 days" in words(shown(desk.client, "?days=7"))
    assert "Confirmed subscribers 150 +150 in 30 days" in words(shown(desk.client))


def test_mails_are_told_against_the_period_before(desk: Desk) -> None:
    readers(desk.db, 3)
    for days in (1, 2, 9):
        campaign = desk.sends(subject=f"{days} days ago")
        with desk.db.write() as tx:
            its = deliveries.c.campaign_id == campaign["id"]
            tx.execute(sa.update(deliveries).where(its).values(started_at=clock.now() - timedelta(days=days)))
    said = words(shown(desk.client, "?days=7"))
    assert "Mails sent 6 ▲ 100% against the 7 days before" in said
    assert "Bounced 0 in 7 days" in said
    assert "Mails sent 9 in 30 days" in words(shown(desk.client))


@pytest.mark.parametrize("period", PERIODS)
def test_every_period_can_be_chosen_and_none_is_large(desk: Desk, period: int) -> None:
    readers(desk.db, 3)
    desk.sends()
    counts(desk.db)
    html = shown(desk.client, f"?days={period}")
    assert f'href="?days={period}" aria-current="true"' in html
    assert len(html.encode()) < 60_000


@pytest.mark.parametrize("days", ["", "0", "8", "abc", "-7", "٣٠", "7\0"])
def test_another_period_is_refused(client: TestClient, days: str) -> None:
    answer = client.get("/admin", params={"days": days}, headers=HTML)
    assert answer.status_code == 400
    assert "days must be 7, 30 or 90" in answer.text


def test_what_goes_out_is_watched(desk: Desk) -> None:
    readers(desk.db, 3)
    campaign = desk.writes(subject="<Issue> 1")
    desk.asks(campaign, "send")
    with desk.db.write() as tx:
        tx.execute(sa.update(mailings).values(audience=3, sent_count=1, state="paused"))
    html = shown(desk.client)
    assert html.count("data-redraw") == 1, "one connection, however many go out"
    said = words(html)
    assert "One campaign is going out" in said
    assert "&lt;Issue&gt; 1 Paused Sent to 1 of 3, not delivered to 0" in said


def test_who_bounced_is_counted_and_can_be_looked_at(desk: Desk) -> None:
    readers(desk.db, 40)
    desk.provider.refuses("p0@example.org", permanently=True)
    desk.sends()
    html = shown(desk.client)
    assert "Bounced 1 in 7 days · Look at them" in words(html)
    assert "Mails sent 39 in 30 days · 2.5% not sent" in words(html)
    assert "One address was refused for good in the last seven days." in words(html)


def test_a_campaign_that_failed_says_so_and_can_be_tried_again(desk: Desk) -> None:
    readers(desk.db, 1)
    desk.provider.refuses("p0@example.org", permanently=True)
    campaign = desk.sends()
    html = shown(desk.client)
    assert "One mail of “Issue 1” could not be sent and can be tried again." in words(html)
    assert f'<a href="/admin/campaigns/{campaign["id"]}">Try again</a>' in html
    assert "Issue 1 Failed" in words(html)


def test_the_page_is_in_the_readers_language(desk: Desk) -> None:
    readers(desk.db, 1234)
    said = words(shown(desk.client, "?days=90", **{"Accept-Language": "ro"}))
    assert "Abonați confirmați 1.234" in said
    assert "90 de zile" in said


def test_a_page_names_nobody(desk: Desk) -> None:
    readers(desk.db, 5)
    desk.sends()
    assert "example.org" not in shown(desk.client)


@pytest.mark.parametrize("lang", ["en", "ro"])
def test_every_need_has_its_sentence(lang: str) -> None:
    kinds = re.findall(r'Need\("(\w+)"', Path(attention.__file__).read_text())
    module: Any = templates.get_template("admin/attention.html").make_module({"lang": lang})
    assert len(kinds) >= 7
    for kind in kinds:
        for number in (1, 2, 20):
            assert str(module.sentence(Need(kind, "/", about="<it>", number=number))).strip(), kind
            assert str(module.remedy(Need(kind, "/"))).strip()


@pytest.mark.parametrize(("days", "weeks"), [(0, []), (3, [3]), (7, [7]), (8, [1, 7]), (90, [6] + [7] * 12)])
def test_weeks_end_today_and_lose_nothing(days: int, weeks: list[int]) -> None:
    today = date(2026, 11, 15)
    mails = [(today - timedelta(days=ago), Sums(1, ago)) for ago in reversed(range(days))]
    found = by_week(mails)
    assert [sums.sent for _, sums in found] == weeks
    assert sum(sums.failed for _, sums in found) == sum(range(days))
    if found:
        assert found[0][0] == mails[0][0]
        assert (today - found[-1][0]).days == weeks[-1] - 1


@pytest.mark.parametrize(
    ("hour", "said"), [(0, "evening"), (4, "morning"), (11, "morning"), (12, "afternoon"), (18, "evening")]
)
def test_the_greeting_fits_the_hour(hour: int, said: str) -> None:
    assert greeting(hour) == f"Good {said}"


@pytest.mark.parametrize(
    ("email", "name"),
    [
        ("ana@example.org", "Ana"),
        ("ana.pop@example.org", "Ana"),
        ("ștefan-v@example.org", "Ștefan"),
        ("a@example.org", ""),
        ("x123@example.org", ""),
        ("", ""),
    ],
)
def test_somebody_is_called_by_what_looks_like_a_name(email: str, name: str) -> None:
    assert first_name(Identity(email, "sub")) == name
