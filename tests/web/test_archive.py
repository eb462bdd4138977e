"""The public archive: what went out, for everybody to read, and nothing about anybody."""

import re
import xml.etree.ElementTree as ET
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from httpx2 import Response
from starlette.testclient import TestClient

from gna import clock
from gna.campaigns import archive, issues
from gna.campaigns.fragment import beginning, page_ready
from gna.campaigns.table import campaigns, deliveries
from gna.db import Database
from gna.delivery.mailings import mailings
from gna.mail import render
from gna.mail.render import Draft, Frame
from gna.web.edge import POLICY
from gna.web.ground import Ground
from tests.conftest import settings_for, visitor
from tests.desk import FRAME, Desk
from tests.factories import the_subscriber
from tests.web.test_language import Outline

BROWSER = {"Accept": "text/html,*/*"}
ATOM = "{http://www.w3.org/2005/Atom}"
ENCODED = "{http://purl.org/rss/1.0/modules/content/}encoded"
WORD = "Donaudampfschifffahrtsgesellschaft" * 9
HOSTILE = (
    "<script>alert(1)</script><p onclick='x()' style='position:fixed' class='card' id='main'>Text ]]> &amp; more</p>"
    "<img src='https://pictures.example.org/5000.png' width='5000' height='3000'>"
    f"<p>\u05e9\u05dc\u05d5\u05dd \u202egnihtyna\u202c {WORD}</p><iframe src='https://example.org'></iframe>"
    "<h3>Deep</h3><h6>Deeper</h6><form><input name='email'></form></div></main></article><p>After \x0b\x1f\ufffe.</p>"
)


@pytest.fixture
def desk(client: TestClient, db: Database) -> Desk:
    """A publisher with one reader: what goes to no one is not in the archive."""
    desk = Desk(client, db)
    desk.has_readers("reader@example.org")
    return desk


def visit(desk: Desk, path: str, **headers: str) -> Response:
    return desk.client.get(path, headers=BROWSER | headers)


def read(desk: Desk, campaign: dict[str, Any]) -> Response:
    return visit(desk, f"/archive/{campaign['id']}")


def feed(desk: Desk, **headers: str) -> ET.Element:
    answer = desk.client.get("/archive.xml", headers=headers)
    assert answer.status_code == 200
    channel = ET.fromstring(answer.content).find("channel")
    assert channel is not None
    return channel


def titles(desk: Desk) -> list[str | None]:
    return [item.findtext("title") for item in feed(desk).iter("item")]


class TestTheList:
    def test_it_has_what_was_published_newest_first(self, desk: Desk) -> None:
        first = desk.sends(subject="First", body="<p>The one before</p>")
        second = desk.sends(subject="Second", preheader="In short", body="<p>The one after</p>")
        answer = visit(desk, "/archive")
        assert answer.status_code == 200
        assert re.findall(r'href="/archive/([0-9a-f-]+)"', answer.text) == [second["id"], first["id"]]
        assert "In short" in answer.text
        assert "The one before" in answer.text
        assert "The one after" not in answer.text

    def test_one_on_its_way_is_there_and_one_to_come_is_not(self, desk: Desk) -> None:
        states = ("draft", "scheduled", "published", "publishing")
        made = {state: desk.in_state(state)["id"] for state in states}
        desk.publishes()
        html = visit(desk, "/archive").text
        assert {state for state, its in made.items() if its in html} == {"publishing", "published"}
        assert len(titles(desk)) == 2

    def test_what_went_to_an_empty_audience_is_not_there(self, desk: Desk) -> None:
        desk.sends(subject="To a reader")
        empty = desk.sends(subject="To no one", audience={"list": "no-such-list"})
        assert (empty["state"], empty["audience_count"]) == ("published", 0)
        assert "To no one" not in visit(desk, "/archive").text
        assert titles(desk) == ["To a reader"]
        assert read(desk, empty).status_code == 404

    def test_an_empty_archive_is_kind(self, desk: Desk) -> None:
        answer = visit(desk, "/archive")
        assert answer.status_code == 200
        assert "The first one is still being written" in answer.text
        assert 'class="btn primary" href="/subscribe"' in answer.text

    def test_twenty_on_a_page_with_ways_to_the_others(self, desk: Desk, db: Database) -> None:
        has_published(db, 45)
        pages = {number: visit(desk, f"/archive?page={number}").text for number in (1, 2, 3)}
        shown = [re.findall(r"Issue (\d+)</a>", html) for html in pages.values()]
        assert [len(each) for each in shown] == [20, 20, 5]
        assert [int(number) for each in shown for number in each] == [*range(44, -1, -1)]
        links = [re.findall(r'rel="(prev|next)" href="([^"]+)"', html) for html in pages.values()]
        assert links == [
            [("next", "/archive?page=2")],
            [("prev", "/archive"), ("next", "/archive?page=3")],
            [("prev", "/archive?page=2")],
        ]

    def test_a_full_last_page_offers_no_other(self, desk: Desk, db: Database) -> None:
        has_published(db, 20)
        assert 'rel="next"' not in visit(desk, "/archive").text

    @pytest.mark.parametrize("wrong", ["0", "-1", "x", "", "1.5", "99999999999", "\0"])
    def test_a_page_that_is_none(self, desk: Desk, wrong: str) -> None:
        answer = desk.client.get("/archive", params={"page": wrong}, headers=BROWSER)
        assert (answer.status_code, "There is nothing here" in answer.text) == (400, True)
        assert desk.client.get("/archive", params={"page": wrong}).json()["error"].startswith("page must be")

    def test_a_page_after_the_last(self, desk: Desk) -> None:
        assert visit(desk, "/archive?page=2").status_code == 404
        assert visit(desk, "/archive?page=1000000000").status_code == 404

    def test_a_long_archive_is_read_a_page_at_a_time(
        self, desk: Desk, db: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        has_published(db, 200)
        made: list[str] = []

        def reading(draft: Draft, frame: Frame) -> str:
            made.append(draft.subject)
            return render.reading(draft, frame)

        monkeypatch.setattr(issues, "reading", reading)
        for _ in range(3):
            assert visit(desk, "/archive").status_code == desk.client.get("/archive.xml").status_code == 200
        assert (len(made), len(set(made))) == (20, 20)

    def test_no_long_row_is_read_to_be_passed_over(self, desk: Desk, db: Database) -> None:
        if db.kind != "sqlite":
            pytest.skip("PostgreSQL chooses by what is in the table")
        campaign = desk.sends()
        said: list[tuple[str, Any]] = []
        with db.read() as tx:
            sa.event.listen(tx, "before_cursor_execute", lambda *heard: said.append((heard[2], heard[3])))
            archive.newest(tx, page=1, per_page=20, frame=FRAME)
            archive.get(tx, campaign["id"], frame=FRAME)
            looked = [heard for heard in said if "ORDER BY" in heard[0]]
            plans = [str(tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values).all()) for sql, values in looked]
        assert len(plans) == 3
        assert all("idx_campaigns_archive" in plan and "TEMP B-TREE" not in plan for plan in plans)


class TestOneIssue:
    def test_it_is_read_with_its_title_and_day(self, desk: Desk) -> None:
        campaign = desk.sends(subject="Spring & peas", body="# Peas\n\nThey *are* up.", body_format="markdown")
        answer = read(desk, campaign)
        assert answer.status_code == 200
        assert '<h1 dir="auto">Spring &amp; peas</h1>' in answer.text
        assert "<h2>Peas</h2>" in answer.text
        assert "<em>are</em>" in answer.text
        assert f'<time datetime="{clock.now().date()}">' in answer.text
        assert 'action="/api/subscribe"' in answer.text

    def test_others_learn_what_it_is_about(self, desk: Desk) -> None:
        campaign = desk.sends(subject='A "title"', body="<p>It begins.</p>")
        url = f"{FRAME.base_url}/archive/{campaign['id']}"
        page = Outline(read(desk, campaign).text)
        told = {meta["property"]: meta["content"] for meta in page.all("meta") if "property" in meta}
        assert told["og:title"] == 'A "title"'
        assert (told["og:type"], told["og:url"], told["og:description"]) == ("article", url, "It begins.")
        assert "og:image" not in told
        links = {link["rel"]: link["href"] for link in page.all("link")}
        assert (links["canonical"], links["alternate"]) == (url, "/archive.xml")

    def test_it_leads_to_the_older_and_the_newer_one(self, desk: Desk) -> None:
        made = [desk.sends(subject=f"For {{{{ nickname | all {n} }}}}") for n in range(3)]
        hidden = desk.sends(archived=False)
        ways = [re.findall(r'rel="(next|prev)" href="/archive/([^"]+)"', read(desk, one).text) for one in made]
        first, second, third = (one["id"] for one in made)
        assert ways == [[("next", second)], [("next", third), ("prev", first)], [("prev", second)]]
        html = read(desk, made[1]).text
        assert "For all 0" in html
        assert "For all 2" in html
        assert hidden["id"] not in html

    def test_two_of_the_same_moment_lead_to_each_other(self, desk: Desk, db: Database) -> None:
        made = [desk.sends(subject=str(n)) for n in range(3)]
        with db.write() as tx:
            tx.execute(sa.update(campaigns).values(published_at=clock.now()))
        ways = [re.findall(r'rel="(next|prev)" href="/archive/([^"]+)"', read(desk, one).text) for one in made]
        assert [len(way) for way in ways] == [1, 2, 1]

    def test_what_nobody_may_read_looks_like_what_is_not_there(self, desk: Desk) -> None:
        draft, hidden = desk.writes(), desk.sends(archived=False)
        answers = [read(desk, one) for one in ({"id": "nobody"}, draft, hidden, desk.in_state("scheduled"))]
        assert {answer.status_code for answer in answers} == {404}
        assert len({answer.text for answer in answers}) == 1
        assert "There is nothing here" in answers[0].text
        for answer in answers:
            del answer.headers["X-Request-ID"]
        assert all(answer.headers == answers[0].headers for answer in answers)
        assert answers[0].headers["X-Robots-Tag"] == "noindex"
        said = {desk.client.get(f"/archive/{one['id']}").text for one in ({"id": "nobody"}, draft, hidden)}
        assert len(said) == 1

    def test_it_vanishes_at_once_and_comes_back(self, desk: Desk) -> None:
        campaign = desk.sends(subject="Regretted")
        before = desk.client.get("/archive.xml").headers["ETag"]
        assert desk.changes(campaign, archived=False).status_code == 200
        assert read(desk, campaign).status_code == 404
        assert "Regretted" not in visit(desk, "/archive").text
        assert desk.client.get("/archive.xml", headers={"If-None-Match": before}).status_code == 200
        assert titles(desk) == []
        desk.changes(campaign, archived=True)
        assert read(desk, campaign).status_code == 200

    @pytest.mark.parametrize("odd", ["%00", "x" * 3000, "%F0%9F%92%8C", "%ff"])
    def test_odd_addresses(self, desk: Desk, odd: str) -> None:
        assert visit(desk, f"/archive/{odd}").status_code == 404


class TestPrivacy:
    def test_nothing_about_anybody_is_in_the_archive(self, desk: Desk, db: Database) -> None:
        desk.has_readers("zoe.private@example.org", nickname="Zoelina")
        already = "reader@example.org"
        body = (
            "<p>Hello {{ nickname | friend }}, we write to {{ email }}.</p>"
            "<p><a href='{{ unsubscribe_url }}'>Leave</a> <a href='{{ profile_url }}'>You</a></p>"
            "<p><a href='https://example.org/?who={{ email }}'>Somewhere</a></p>"
        )
        campaign = desk.sends(subject="{{ nickname | Everybody }}, news for {{ email }}", body=body)
        assert sorted(desk.got()) == [already, "zoe.private@example.org"]
        assert any(b"Zoelina" in mail.raw() for mail in desk.provider.sent)
        with db.read() as tx:
            token = the_subscriber(tx, "zoe.private@example.org").unsubscribe_token
        for answer in (visit(desk, "/archive"), read(desk, campaign), desk.client.get("/archive.xml")):
            assert answer.status_code == 200
            assert "Everybody, news for" in answer.text
            for personal in ("zoe", "private", "Zoelina", token, "token=", "{{", "%7B"):
                assert personal.lower() not in answer.text.lower()
        assert "Hello friend, we write to ." in read(desk, campaign).text

    def test_a_subject_for_somebody_alone_is_the_sites_name(self, desk: Desk) -> None:
        campaign = desk.sends(subject="{{ nickname }}")
        html = read(desk, campaign).text
        site = re.search(r'<p class="site"><a href="/archive">(.+)</a>', html)
        assert site
        assert f'<h1 dir="auto">{site[1]}</h1>' in html

    def test_the_hosts_of_pictures_learn_nothing(self, desk: Desk) -> None:
        answer = read(desk, desk.sends(body='<p><img src="https://pictures.example.org/a.png"></p>'))
        assert answer.headers["Referrer-Policy"] in ("same-origin", "no-referrer")
        assert 'alt="" loading="lazy" referrerpolicy="no-referrer"' in answer.text

    def test_pictures_may_come_from_anywhere_and_nothing_else_may(self, desk: Desk) -> None:
        policy = read(desk, desk.sends()).headers["Content-Security-Policy"]
        assert policy.replace(" https: http:", "", 1) == POLICY
        assert "img-src 'self' data: https: http:;" in policy
        for path in ("/archive", "/archive.xml", "/archive/nobody"):
            assert visit(desk, path).headers["Content-Security-Policy"] == POLICY

    def test_search_engines_may_come(self, desk: Desk) -> None:
        campaign = desk.sends()
        for path in ("/archive", "/archive.xml", f"/archive/{campaign['id']}"):
            assert "noindex" not in visit(desk, path).headers.get("X-Robots-Tag", "")
        assert "/archive" not in visit(desk, "/robots.txt").text


class TestHostileContent:
    def test_a_page_stays_whole(self, desk: Desk) -> None:
        campaign = desk.sends(subject=f"</title><script>x</script> \u202e {WORD[:200]}", body=HOSTILE)
        for answer in (visit(desk, "/archive"), read(desk, campaign)):
            page = Outline(answer.text)
            assert not page.wrong
            assert len(page.all("h1")) == len(page.all("main")) == 1
            assert not page.all("script")
            assert not page.all("iframe")
            assert not any("style" in attributes or "onclick" in attributes for _, attributes in page.elements)
        assert len(page.all("form")) == 1
        assert [name for name, _ in page.elements if re.fullmatch("h[1-6]", name)] == ["h1", "h2", "h3", "h2"]

    def test_a_feed_stays_whole(self, desk: Desk) -> None:
        desk.sends(subject="</title> ]]> & <b>", body=HOSTILE, preheader="]]> <i>")
        [item] = feed(desk).iter("item")
        assert (item.findtext("title"), item.findtext("description")) == ("</title> ]]> & <b>", "]]> <i>")
        assert "<p>Text ]]&gt; &amp; more</p>" in (item.findtext(ENCODED) or "")
        assert WORD in (item.findtext(ENCODED) or "")

    def test_no_character_breaks_the_feed(self, desk: Desk, db: Database) -> None:
        campaign = desk.sends()
        odd = "".join(map(chr, [*range(1, 0x20), 0x7F, 0x85, 0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF, 0x2028, 0x1F48C]))
        values = {"subject": f"a{odd}b", "body": f"<p>a{odd}b</p>", "preheader": odd, "updated_at": clock.now()}
        with db.write() as tx:
            tx.execute(sa.update(campaigns).where(campaigns.c.id == campaign["id"]).values(values))
        [item] = feed(desk).iter("item")
        assert "\U0001f48c" in (item.findtext("title") or "")
        assert read(desk, campaign).status_code == 200


class TestTheFeed:
    def test_it_is_rss(self, desk: Desk) -> None:
        campaign = desk.sends(subject="Peas", body="<p>They are <b>up</b>.</p>")
        answer = desk.client.get("/archive.xml")
        assert answer.headers["Content-Type"] == "application/rss+xml; charset=utf-8"
        assert answer.headers["Cache-Control"] == "public, max-age=300"
        root = ET.fromstring(answer.content)
        assert (root.tag, root.get("version")) == ("rss", "2.0")
        channel = feed(desk)
        assert channel.findtext("link") == f"{FRAME.base_url}/archive"
        assert channel.findtext("language") == "en"
        assert channel.findtext("description") == "Everything we have sent by email, newest first."
        itself = channel.find(f"{ATOM}link")
        assert itself is not None
        assert (itself.get("rel"), itself.get("href")) == ("self", f"{FRAME.base_url}/archive.xml")
        [item] = channel.iter("item")
        url = f"{FRAME.base_url}/archive/{campaign['id']}"
        guid = item.find("guid")
        assert guid is not None
        assert (guid.text, guid.get("isPermaLink"), item.findtext("link")) == (url, "true", url)
        assert (item.findtext("title"), item.findtext("description")) == ("Peas", "They are up.")
        assert item.findtext(ENCODED) == "<p>They are <b>up</b>.</p>"
        for dated in (item.findtext("pubDate"), channel.findtext("lastBuildDate")):
            assert abs(parsedate_to_datetime(dated or "") - clock.now()) < timedelta(minutes=1)

    def test_an_empty_one(self, desk: Desk) -> None:
        assert (titles(desk), feed(desk).find("lastBuildDate")) == ([], None)

    def test_the_newest_twenty(self, desk: Desk, db: Database) -> None:
        has_published(db, 25)
        assert titles(desk) == [f"Issue {number}" for number in range(24, 4, -1)]

    def test_who_has_it_is_told_so(self, desk: Desk) -> None:
        desk.sends()
        tag = desk.client.get("/archive.xml").headers["ETag"]
        for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = desk.client.get("/archive.xml", headers={"If-None-Match": known})
            assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
        for other in ('"other"', "", "x", tag[:-2]):
            assert desk.client.get("/archive.xml", headers={"If-None-Match": other}).status_code == 200
        desk.sends()
        assert desk.client.get("/archive.xml", headers={"If-None-Match": tag}).status_code == 200

    def test_head_says_the_same_without_a_body(self, desk: Desk) -> None:
        desk.sends()
        head = desk.client.head("/archive.xml")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["ETag"] == desk.client.get("/archive.xml").headers["ETag"]

    def test_it_speaks_the_publications_language(self, db: Database, database_url: str, tmp_path: Path) -> None:
        with visitor(Ground(settings_for(database_url, tmp_path, GNA_LANGUAGE="ro"), db)) as client:
            channel = feed(Desk(client, db))
            assert channel.findtext("language") == "ro"
            assert (channel.findtext("description") or "").startswith("Tot ce am trimis")


@pytest.mark.parametrize(
    ("fragment", "ready"),
    [
        ("<h3>A</h3><h5>B</h5><h3>C</h3>", "<h2>A</h2><h3>B</h3><h2>C</h2>"),
        ("<h1>Peas</h1>\n<p>x</p>", "\n<p>x</p>"),
        ("<p>x</p><h1>Peas</h1>", "<p>x</p><h2>Peas</h2>"),
        (
            "<table><tr><td><table></table></td></tr></table>",
            '<div class="wide" tabindex="0"><table><tr><td><table></table></td></tr></table></div>',
        ),
        ("<pre><code>x</code></pre>", '<div class="wide" tabindex="0"><pre><code>x</code></pre></div>'),
        (
            '<img src="a" alt="x > y">',
            '<img src="a" alt="x > y" loading="lazy" referrerpolicy="no-referrer">',
        ),
        ("&lt;h1&gt;", "&lt;h1&gt;"),
    ],
)
def test_a_fragment_fits_below_its_title(fragment: str, ready: str) -> None:
    assert page_ready(fragment, "Peas") == ready


@pytest.mark.parametrize(
    ("fragment", "words"),
    [
        ("<h1>Peas</h1><p>They <b>a</b>re up.</p><p>Now</p>", "They are up. Now"),
        ("<h1>Peas</h1>", "Peas"),
        ("<td>a</td><td>b</td>c<br>d &amp; e", "a b c d & e"),
        ('<p>Read <a href="https://example.org">this</a></p>', "Read this"),
        ('<img alt="a > b"><p></p>', ""),
        ("word " * 100, ("word " * 39).strip() + "…"),
    ],
)
def test_how_a_fragment_begins(fragment: str, words: str) -> None:
    assert beginning(fragment) == words


def test_a_changed_campaign_is_made_anew_and_the_oldest_are_forgotten(desk: Desk, db: Database) -> None:
    campaign = desk.sends(subject="Before")
    assert "Before" in read(desk, campaign).text
    with db.write() as tx:
        tx.execute(sa.update(campaigns).values(subject="After", updated_at=clock.now()))
    assert "After" in read(desk, campaign).text
    assert issues.place.cache_info().maxsize == 64


def has_published(db: Database, number: int) -> None:
    """So many campaigns, an hour apart; the last is the newest."""
    now = clock.now()
    rows = [
        {
            "id": f"issue-{now.timestamp()}-{n:05}",
            "subject": f"Issue {n}",
            "body": f"<p>Text {n}</p>",
            "state": "published",
            "created_at": now,
            "updated_at": now,
            "published_at": now - timedelta(hours=number - n),
        }
        for n in range(number)
    ]
    with db.write() as tx:
        tx.execute(sa.insert(campaigns), rows)
        mailing = {"kind": "campaign", "state": "done", "audience": 3, "created_at": now}
        sent_as = tx.execute(sa.insert(mailings).values(mailing).returning(mailings.c.id)).scalar_one()
        sent = [
            {"id": f"delivery-{row['id']}", "campaign_id": row["id"], "state": "sent", "mailing_id": sent_as}
            for row in rows
        ]
        tx.execute(sa.insert(deliveries), sent)
