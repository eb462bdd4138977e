"""Feature 3 of the specification, row by row, and what happens when a feed fails; against a real website."""

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from email.message import EmailMessage
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gna import clock
from gna.campaigns.frame import frame_of
from gna.campaigns.publisher import Publisher
from gna.config import Settings
from gna.db import Database
from gna.web.ground import Ground
from tests import asking
from tests.blog import API, Blog, Newsroom
from tests.conftest import settings_for, visitor
from tests.desk import Desk
from tests.running import Gna, until
from tests.servers.web import Web

# What a `gna` of its own reads is read apart all the same: in TestFeedMonitoring.
pytestmark = pytest.mark.usefixtures("readings")

ADMIN = "admin@example.org"
READER = "ana@example.org"


@pytest.fixture
def settings(database_url: str, tmp_path: Path, blog: Blog) -> Settings:
    sender = "The Quiet Web <news@example.org>"
    return settings_for(database_url, tmp_path, FEED_URL=blog.url, ADMIN_EMAIL=ADMIN, EMAIL_FROM_ADDRESS=sender)


@pytest.fixture
def newsroom(settings: Settings, db: Database, rung: list[str]) -> Iterator[Newsroom]:
    """It has looked at the blog before, and has a reader."""
    with visitor(Ground(settings, db, rung.append)) as client:
        newsroom = Newsroom(Desk(client, db), db, settings)
        newsroom.looks()
        newsroom.desk.has_readers(READER)
        yield newsroom


def html(mail: EmailMessage) -> str:
    part = mail.get_body(("html",))
    assert part is not None
    return str(part.get_content())


def tags(document: str) -> set[str]:
    """The elements that a browser would make of it."""
    found = set[str]()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            found.add(tag)

    Reader().feed(document)
    return found


class TestFeedMonitoring:
    def test_trigger_a_schedule(self, start: Callable[..., Gna], database_url: str, web: Web) -> None:
        blog = Blog(web)
        blog.publishes("An old post")
        gna = start(DATABASE_URL=database_url, FEED_URL=blog.url, FEED_CHECK_INTERVAL="0.5")
        until(lambda: web.times(blog.path) >= 2, 20)
        blog.publishes("News", ago=timedelta())
        until(lambda: _campaigns(gna) == [("News", "published")], 20, lambda: gna.log.read_text()[-3000:])
        time.sleep(1.2)  # looks again, and finds nothing more
        assert _campaigns(gna) == [("News", "published")]

    def test_trigger_a_webhook(self, start: Callable[..., Gna], database_url: str, web: Web) -> None:
        blog = Blog(web)
        blog.publishes("An old post")
        gna = start(DATABASE_URL=database_url, FEED_URL=blog.url, FEED_WEBHOOK_SECRET="a secret")
        until(lambda: asking.get(gna.url + API).json()["items"][0]["known_since"], 20)
        blog.publishes("News", ago=timedelta())
        answer = asking.post(f"{gna.url}/api/feed/webhook", headers={"Authorization": "Bearer a secret"})
        assert (answer.status_code, answer.json()) == (202, {"status": "accepted"})
        until(lambda: _campaigns(gna) == [("News", "published")], 20, lambda: gna.log.read_text()[-3000:])

    def test_feed_url_is_configured_per_deployment(self, newsroom: Newsroom, blog: Blog) -> None:
        feed = newsroom.feed()
        assert (feed["url"], feed["configured"], feed["title"]) == (blog.url, True, "The Quiet Blog")

    def test_new_entry_detection_compares_published_times(self, newsroom: Newsroom, blog: Blog) -> None:
        marker = blog.posts[0].published
        assert marker is not None
        assert newsroom.feed()["last_processed_at"] == clock.iso(marker)
        blog.publishes("Before the marker", ago=timedelta(days=4))
        blog.publishes("After the marker", ago=timedelta(hours=1))
        newsroom.works()
        assert newsroom.subjects() == ["After the marker"]

    def test_new_entries_found_proceed_to_a_campaign(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.publishes("News")
        newsroom.works()
        assert [campaign["state"] for campaign in newsroom.campaigns()] == ["published"]

    def test_no_new_entries_is_logged_and_nothing_else(self, newsroom: Newsroom, logged: Callable[[], str]) -> None:
        before = newsroom.feed()
        after = newsroom.works()
        assert newsroom.campaigns() == []
        assert newsroom.desk.got() == []
        assert after["last_checked_at"] > before["last_checked_at"]
        assert after["last_processed_at"] == before["last_processed_at"]
        assert "feed checked" in logged()
        assert "new=0" in logged()


class TestCampaignGeneration:
    def test_content_per_entry_is_title_excerpt_and_link(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.publishes(
            "Snow in May", summary="<p>It <b>snowed</b> &amp; froze.</p>", picture="https://blog.example.org/s.png"
        )
        newsroom.works()
        [mail] = newsroom.mails()
        said = html(mail)
        for part in ("Snow in May", "It snowed &amp; froze.", 'href="https://blog.example.org/snow-in-may"', "s.png"):
            assert part in said
        text = mail.get_body(("plain",))
        assert text is not None
        for part in ("Snow in May", "It snowed & froze.", "https://blog.example.org/snow-in-may"):
            assert part in text.get_content()

    def test_batching_puts_all_new_entries_into_one_campaign(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.publishes("First", "Second", "Third")
        newsroom.works()
        [campaign] = newsroom.campaigns()
        assert campaign["subject"] == "Third and 2 more"
        places = [campaign["body"].index(name) for name in ("Third", "Second", "First")]
        assert places == sorted(places)
        assert newsroom.desk.got() == [READER]

    def test_delivery_creation_makes_one_email_delivery(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.publishes("News")
        newsroom.looks()
        newsroom.edits()
        [campaign] = newsroom.campaigns()
        assert [delivery["channel_type"] for delivery in campaign["deliveries"]] == ["email"]

    def test_an_empty_batch_generates_no_campaign(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.posts.clear()
        blog.serves()
        newsroom.works()
        assert newsroom.campaigns() == []


class TestEmailDelivery:
    def test_the_configured_template_is_around_the_entries(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.publishes("News")
        newsroom.works()
        assert "The Quiet Web" in html(newsroom.mails()[0])  # the heading of our own

    def test_the_template_may_be_the_operators(self, newsroom: Newsroom, blog: Blog, tmp_path: Path) -> None:
        own = tmp_path / "own.mjml"
        own.write_text(
            "<mjml><mj-body><mj-section><mj-column><mj-text>Salve, {{ greeting }}! {{ content }}{{ footer }}</mj-text>"
            "</mj-column></mj-section></mj-body></mjml>"
        )
        settings = newsroom.settings.model_copy(update={"campaign_template": own})
        blog.publishes("News")
        newsroom.looks()
        newsroom.edits()
        Publisher(newsroom.db, frame=frame_of(settings), stale_after=timedelta(hours=6)).work()
        newsroom.desk.works()
        [mail] = newsroom.mails()
        assert "Salve, Hi!" in html(mail)
        assert 'href="https://blog.example.org/news"' in html(mail)

    def test_personalization_greets_by_nickname_or_generically(self, newsroom: Newsroom, blog: Blog) -> None:
        newsroom.desk.has_readers("bob@example.org", nickname="Bob")
        blog.publishes("News")
        newsroom.works()
        greetings = {str(mail["To"]): "Hi, Bob" in html(mail) for mail in newsroom.mails()}
        assert greetings == {READER: False, "bob@example.org": True}
        assert all(">Hi" in html(mail) for mail in newsroom.mails())

    def test_recipients_are_all_who_confirmed(self, newsroom: Newsroom, blog: Blog) -> None:
        newsroom.client.post("/api/subscribe", json={"email": "pending@example.org"})
        newsroom.desk.works()
        newsroom.desk.provider.sent.clear()  # the mail that asked them to confirm
        newsroom.desk.has_readers("bob@example.org")
        blog.publishes("News")
        newsroom.works()
        assert sorted(newsroom.desk.got()) == [READER, "bob@example.org"]

    def test_headers_let_a_reader_leave_with_one_click(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.publishes("News")
        newsroom.works()
        [mail] = newsroom.mails()
        assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        url = str(mail["List-Unsubscribe"]).strip("<>")
        assert newsroom.client.post(url, content="List-Unsubscribe=One-Click").status_code == 200
        blog.publishes("More news", ago=timedelta(minutes=1))
        newsroom.works()
        assert newsroom.subjects() == ["News"]

    def test_the_footer_has_the_links_to_leave_and_to_the_profile(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.publishes("News")
        newsroom.works()
        [mail] = newsroom.mails()
        assert "/api/unsubscribe?token=" in html(mail)
        assert "/profile" in html(mail)

    def test_failures_are_logged_and_change_no_subscriber(
        self, newsroom: Newsroom, blog: Blog, logged: Callable[[], str]
    ) -> None:
        newsroom.desk.provider.refuses(READER, permanently=False)
        blog.publishes("News")
        newsroom.works()
        people = newsroom.client.get("/admin/api/subscribers").json()["items"]
        assert [(person["email"], person["status"]) for person in people] == [(READER, "Activated")]
        assert newsroom.campaigns()[0]["deliveries"][0]["waiting_for"] == "451 try later"
        newsroom.desk.provider.takes(READER)
        newsroom.desk.provider.refuses("bob@example.org", permanently=True)
        newsroom.desk.has_readers("bob@example.org")
        newsroom.client.delete(f"/admin/api/subscribers/{people[0]['id']}")
        newsroom.works()
        blog.publishes("More", ago=timedelta(minutes=1))
        newsroom.works()
        assert "state=failed" in logged()
        people = newsroom.client.get("/admin/api/subscribers").json()["items"]
        assert [(person["email"], person["status"]) for person in people] == [("bob@example.org", "Activated")]


class TestPostDelivery:
    def test_after_delivery_the_timestamp_is_that_of_the_latest_entry(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.publishes("First", "Second")
        latest = blog.posts[0].published
        assert latest is not None
        assert newsroom.works()["last_processed_at"] == clock.iso(latest)

    def test_before_delivery_it_stays_and_no_second_campaign_is_made(self, newsroom: Newsroom, blog: Blog) -> None:
        marker = newsroom.feed()["last_processed_at"]
        newsroom.desk.provider.refuses(READER, permanently=False)
        blog.publishes("First")
        newsroom.works()
        blog.publishes("Second", ago=timedelta(minutes=5))
        feed = newsroom.works()
        assert feed["last_processed_at"] == marker
        assert len(newsroom.campaigns()) == 1
        assert (feed["waiting"], feed["campaign_id"]) == (1, newsroom.campaigns()[0]["id"])

    def test_what_came_meanwhile_is_sent_afterwards(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.publishes("First")
        newsroom.looks()
        newsroom.edits()
        blog.publishes("Second", ago=timedelta(minutes=5))
        newsroom.works()
        newsroom.works()
        assert newsroom.subjects() == ["First", "Second"]

    def test_a_delivery_that_failed_for_everybody_is_not_one(self, newsroom: Newsroom, blog: Blog) -> None:
        marker = newsroom.feed()["last_processed_at"]
        newsroom.desk.provider.refuses(READER, permanently=True)
        blog.publishes("News")
        assert newsroom.works()["last_processed_at"] == marker
        newsroom.works()
        assert newsroom.campaigns()[0]["held"].startswith("It could be sent to nobody at all.")
        newsroom.desk.provider.takes(READER)
        newsroom.desk.retries(newsroom.campaigns()[0])
        assert newsroom.works()["last_processed_at"] > marker
        assert newsroom.campaigns()[0]["held"] is None
        assert newsroom.subjects(to=ADMIN) == ["A campaign of The Quiet Web waits for you"]
        assert newsroom.subjects(to=READER) == ["News"]

    def test_nobody_to_send_to_is_delivered_too(self, newsroom: Newsroom, blog: Blog) -> None:
        person = newsroom.client.get("/admin/api/subscribers").json()["items"][0]
        newsroom.client.delete(f"/admin/api/subscribers/{person['id']}")
        marker = newsroom.feed()["last_processed_at"]
        blog.publishes("News")
        assert newsroom.works()["last_processed_at"] > marker


class TestErrors:
    def test_an_unreachable_feed_is_logged_and_tried_again(
        self, newsroom: Newsroom, blog: Blog, logged: Callable[[], str]
    ) -> None:
        blog.publishes("News")
        blog.breaks(status=503)
        feed = newsroom.works()
        assert "503" in feed["last_error"]
        assert feed["consecutive_failures"] == 1
        assert "feed failed" in logged()
        assert newsroom.campaigns() == []
        blog.serves()
        feed = newsroom.works()
        assert (feed["last_error"], feed["consecutive_failures"]) == (None, 0)
        assert newsroom.subjects() == ["News"]

    def test_a_website_that_is_away(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.web.stop()
        feed = newsroom.works()
        assert feed["consecutive_failures"] == 1
        assert "127.0.0.1" in feed["last_error"]
        assert newsroom.campaigns() == []

    def test_invalid_xml_is_logged_and_skipped(self, newsroom: Newsroom, blog: Blog, logged: Callable[[], str]) -> None:
        blog.breaks("<rss><channel><title>oh")
        feed = newsroom.works()
        assert feed["consecutive_failures"] == 1
        assert feed["last_error"]
        assert "feed failed" in logged()
        assert newsroom.campaigns() == []

    def test_the_admin_is_told_once_after_three_failures_and_once_when_it_is_well(
        self, newsroom: Newsroom, blog: Blog
    ) -> None:
        blog.breaks("no feed")
        for failures in range(1, 6):
            newsroom.works()
            told = newsroom.subjects(to=ADMIN)
            assert len(told) == (failures >= 3), failures
        assert newsroom.feed()["consecutive_failures"] == 5
        blog.serves()
        newsroom.works()
        newsroom.works()
        assert newsroom.subjects(to=ADMIN) == [
            "The feed of The Quiet Web cannot be read",
            "The feed of The Quiet Web is well again",
        ]

    def test_unreachable_and_invalid_count_together(self, newsroom: Newsroom, blog: Blog) -> None:
        for status in (500, 200, 404):
            blog.breaks("no feed", status=status)
            newsroom.works()
        assert newsroom.feed()["consecutive_failures"] == 3
        assert len(newsroom.subjects(to=ADMIN)) == 1

    def test_two_failures_and_a_success_tell_nobody_anything(self, newsroom: Newsroom, blog: Blog) -> None:
        for _ in range(3):
            for broken in (True, True, False):
                blog.breaks() if broken else blog.serves()
                newsroom.works()
        assert newsroom.subjects(to=ADMIN) == []


class TestSafety:
    def test_the_first_look_sends_nothing(self, newsroom: Newsroom) -> None:
        newsroom.works()
        assert newsroom.campaigns() == []

    def test_a_feed_that_looks_all_new_is_held_and_the_admin_is_told(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.posts.clear()
        blog.publishes(*[f"Moved {number}" for number in range(5)], ago=timedelta(minutes=1))
        newsroom.works()
        [campaign] = newsroom.campaigns()
        assert campaign["state"] == "draft"
        assert campaign["held"].startswith("5 of the 5 posts")
        assert newsroom.desk.got() == [ADMIN]
        assert newsroom.subjects() == ["A campaign of The Quiet Web waits for you"]
        newsroom.works()
        assert len(newsroom.campaigns()) == 1
        assert newsroom.desk.asks(campaign, "send").status_code == 200
        newsroom.works()
        assert newsroom.desk.got() == [ADMIN, READER]

    def test_a_held_campaign_may_be_thrown_away(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.posts.clear()
        blog.publishes(*[f"Moved {number}" for number in range(5)], ago=timedelta(minutes=2))
        newsroom.works()
        assert newsroom.desk.deletes(newsroom.campaigns()[0]).status_code == 204
        blog.publishes("News", ago=timedelta(minutes=1))
        newsroom.works()
        assert newsroom.subjects(to=READER) == ["News"]

    def test_a_campaign_that_missed_its_time_becomes_a_draft_and_the_admin_is_told(
        self, newsroom: Newsroom, blog: Blog
    ) -> None:
        blog.publishes("News")
        newsroom.looks()
        newsroom.edits()
        newsroom.desk.time_comes(newsroom.campaigns()[0], ago=timedelta(hours=7))
        newsroom.desk.works()
        newsroom.edits()
        newsroom.desk.works()
        [campaign] = newsroom.campaigns()
        assert (campaign["state"], campaign["held"][:24]) == ("draft", "It was to be sent at 202")
        assert newsroom.desk.got() == [ADMIN]
        newsroom.desk.asks(campaign, "send")
        newsroom.works()
        assert newsroom.desk.got() == [ADMIN, READER]

    def test_a_campaign_for_nobody_waits_for_a_person(self, newsroom: Newsroom, blog: Blog) -> None:
        url = f"{API}/{newsroom.feed()['id']}"
        assert newsroom.client.patch(url, json={"audience": {"list": "mistyped"}}).status_code == 200
        blog.publishes("News")
        marker = newsroom.feed()["last_processed_at"]
        assert newsroom.works()["last_processed_at"] == marker
        [campaign] = newsroom.campaigns()
        assert (campaign["state"], campaign["held"][:16]) == ("draft", "Nobody is in its")
        assert newsroom.desk.got() == [ADMIN]

    def test_what_comes_with_an_old_date_is_counted(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.publishes("Older", ago=timedelta(days=5))
        assert newsroom.works()["passed_over"] == 1
        assert newsroom.works()["passed_over"] == 1
        assert newsroom.campaigns() == []

    def test_a_draft_waits_for_its_publisher(self, newsroom: Newsroom, blog: Blog) -> None:
        assert newsroom.client.patch(f"{API}/{newsroom.feed()['id']}", json={"mode": "draft"}).status_code == 200
        blog.publishes("News")
        marker = newsroom.works()["last_processed_at"]
        [campaign] = newsroom.campaigns()
        assert (campaign["state"], campaign["held"]) == ("draft", None)
        assert newsroom.subjects() == ["A campaign of The Quiet Web waits for you"]
        newsroom.desk.asks(campaign, "send")
        assert newsroom.works()["last_processed_at"] > marker

    def test_a_weekly_mail_has_what_left_the_feed_meanwhile(self, newsroom: Newsroom, blog: Blog) -> None:
        feed = newsroom.feed()
        tomorrow = (clock.now() + timedelta(days=1)).strftime("%A").lower()
        newsroom.client.patch(f"{API}/{feed['id']}", json={"cadence": "weekly", "weekday": tomorrow})
        blog.publishes("First")
        newsroom.works()
        del blog.posts[0]
        blog.publishes("Second", ago=timedelta(minutes=5))
        assert newsroom.works()["waiting"] == 2
        assert newsroom.campaigns() == []
        newsroom.client.patch(f"{API}/{feed['id']}", json={"cadence": "every"})
        newsroom.works()
        assert newsroom.subjects() == ["Second and 1 more"]

    def test_what_a_post_says_is_never_taken_for_a_merge_field_or_markup(self, newsroom: Newsroom, blog: Blog) -> None:
        blog.publishes("{{ email }} <script>", summary="&lt;img onerror=x&gt; {{ unsubscribe_url }} {{ nonsense }}")
        newsroom.works()
        [mail] = newsroom.mails()
        assert READER not in mail["Subject"]
        assert not {"script", "img"} & tags(html(mail))
        assert "nonsense" in html(mail)


def _campaigns(gna: Gna) -> list[tuple[str, str]]:
    items = asking.get(f"{gna.url}/admin/api/campaigns").json()["items"]
    return [(item["subject"], item["state"]) for item in items]
