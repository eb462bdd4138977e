"""A publisher in a real browser: writes, looks, tests, schedules, sends, watches, pauses, tries again."""

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Dialog, Page, Route, expect

from gna import clock
from gna.campaigns import writing
from gna.campaigns.writing import Wish
from gna.db import Database
from tests import asking
from tests.desk import Desk
from tests.factories import readers
from tests.journeys.looks import accessible
from tests.running import Gna, until
from tests.servers.smtp import ScriptedSmtp

HOME = "/admin/campaigns"
SOON = 15_000


@pytest.fixture
def gna(start: Callable[..., Gna], database_url: str) -> Gna:
    return start(DATABASE_URL=database_url)


@pytest.fixture
def desk(gna: Gna, db: Database) -> Iterator[Desk]:
    with httpx2.Client(base_url=gna.url, timeout=30, verify=False) as client:
        yield Desk(client, db)


@pytest.fixture
def romania(browser: Browser) -> Iterator[Page]:
    """A browser whose clock is in Bucharest."""
    context = browser.new_context(timezone_id="Europe/Bucharest", locale="en-GB")
    yield context.new_page()
    context.close()


@pytest.fixture
def plain(browser: Browser) -> Iterator[Page]:
    """A browser without JavaScript."""
    context = browser.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


def wait(page: Page, holds: Callable[[], bool], within: float = 20) -> None:
    """Wait until something holds, while the browser goes on."""
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, "it never held"
        page.wait_for_timeout(100)


def saved(page: Page) -> None:
    """Everything that was typed is stored."""
    expect(page.locator("[data-state]")).to_have_text("Saved")


def writes(page: Page, gna: Gna, subject: str = "The quiet web", body: str = "Hello *you*") -> str:
    """Write a new campaign until it has saved itself; says its id."""
    page.goto(f"{gna.url}{HOME}/new")
    page.get_by_label("Subject", exact=True).fill(subject)
    page.locator("#body").fill(body)
    page.wait_for_url(re.compile(r"/admin/campaigns/[0-9a-f-]{36}$"), timeout=SOON)
    saved(page)
    return page.url.rpartition("/")[2]


def the_mail(page: Page) -> Any:
    """What is in the frame beside the text."""
    return page.frame_locator(".preview iframe").locator("body")


def test_a_draft_saves_itself_and_is_shown_as_readers_will_see_it(
    gna: Gna, page: Page, desk: Desk, look: Callable[[Page], None]
) -> None:
    page.goto(f"{gna.url}{HOME}")
    expect(page.get_by_role("heading", name="Write your first campaign")).to_be_visible()
    look(page)
    page.keyboard.press("n")
    page.wait_for_url(f"**{HOME}/new")
    look(page)
    expect(page.locator("[data-state]")).to_contain_text("saves itself as you write")
    assert desk.client.get("/admin/api/campaigns").json()["total"] == 0
    page.locator("#body").fill("On slow software")
    page.wait_for_url(re.compile(r"/[0-9a-f-]{36}$"), timeout=SOON)
    saved(page)
    expect(page.locator("[data-checks]").first).to_contain_text("There is no subject")
    expect(the_mail(page)).to_contain_text("On slow software")
    page.get_by_label("Subject", exact=True).fill("The quiet web")
    expect(the_mail(page)).to_contain_text("On slow software")
    expect(page.locator("[data-checks]").first).to_contain_text("are fine")

    # The toolbar writes Markdown, and the browser's own undo takes it back.
    page.locator("#body").press("Control+End")
    page.keyboard.type(", and ")
    page.get_by_role("button", name="Bold").click()
    page.keyboard.type("rest")
    expect(page.locator("#body")).to_have_value("On slow software, and **rest**")
    expect(the_mail(page).locator("strong")).to_have_text("rest")
    wait(page, lambda: undone(page))
    expect(page.locator("#body")).to_have_value(re.compile("On slow software"))
    page.locator("#body").press("Control+End")
    page.get_by_role("button", name="Merge field").click()
    page.get_by_role("button", name="Name, or “friend”").click()
    expect(the_mail(page)).to_contain_text("friend")

    # A link to nowhere is told beside it.
    page.locator("#body").fill("See [this](/here)")
    expect(page.locator("[data-checks]").first).to_contain_text("write the whole address")
    page.get_by_role("button", name="Plain text").click()
    expect(the_mail(page)).to_contain_text("See this (")
    look(page)
    [draft] = desk.client.get("/admin/api/campaigns").json()["items"]
    assert desk.sees(draft)["body"] == "See [this](/here)"
    page.reload()
    expect(page.locator("#body")).to_have_value("See [this](/here)")


def undone(page: Page) -> bool:
    """Take back what was done last; whether the marks are gone."""
    page.keyboard.press("Control+z")
    return "**" not in page.locator("#body").input_value()


def test_what_is_typed_before_the_script_arrives_is_saved(gna: Gna, page: Page, desk: Desk) -> None:
    held: list[Route] = []
    page.route("**/compose.js", lambda route: held.append(route))
    page.goto(f"{gna.url}{HOME}/new", wait_until="commit")
    page.locator("#body").fill("On slow connections")
    wait(page, lambda: len(held) == 1)
    held[0].continue_()
    page.wait_for_url(re.compile(r"/[0-9a-f-]{36}$"), timeout=SOON)
    saved(page)
    campaign_id = page.url.rpartition("/")[2]
    assert desk.sees({"id": campaign_id})["body"] == "On slow connections"


def test_never_two_saves_at_once_and_the_last_word_wins(gna: Gna, page: Page, desk: Desk) -> None:
    campaign_id = writes(page, gna)
    at_once, most, sent = 0, 0, 0

    def slowly(route: Any) -> None:
        nonlocal at_once, most, sent
        at_once, sent = at_once + 1, sent + 1
        most = max(most, at_once)
        page.wait_for_timeout(900)
        at_once -= 1
        route.continue_()

    page.route(f"**{HOME}/{campaign_id}", slowly)
    body = page.locator("#body")
    body.fill("one")
    page.wait_for_timeout(800)
    for word in ("two", "three", "four"):
        body.fill(word)
        page.wait_for_timeout(200)
    page.keyboard.press("Control+s")
    wait(page, lambda: bool(desk.sees({"id": campaign_id})["body"] == "four"))
    saved(page)
    assert most == 1
    assert sent <= 3


def test_two_tabs_do_not_overwrite_each_other(gna: Gna, browser: Browser, desk: Desk) -> None:
    context = browser.new_context()
    one, other = context.new_page(), context.new_page()
    campaign_id = writes(one, gna)
    other.goto(one.url)
    one.locator("#body").fill("From one tab")
    saved(one)
    until(lambda: desk.sees({"id": campaign_id})["body"] == "From one tab", within=15)
    other.locator("#body").fill("From the other tab")
    expect(other.get_by_role("alert")).to_contain_text("Somebody else saved this campaign")
    expect(other.locator("[data-state]")).to_contain_text("Not saved")
    other.locator("#body").press("End")
    other.keyboard.type(", and more")
    other.wait_for_timeout(1000)
    assert desk.sees({"id": campaign_id})["body"] == "From one tab"
    with context.expect_page() as theirs:
        other.get_by_role("link", name="Look at theirs").click()
    expect(theirs.value.locator("#body")).to_have_value("From one tab")
    other.get_by_role("button", name="Keep mine").click()
    saved(other)
    assert desk.sees({"id": campaign_id})["body"] == "From the other tab, and more"
    context.close()


def test_what_is_typed_survives_that_somebody_sends_it_meanwhile(gna: Gna, browser: Browser, desk: Desk) -> None:
    context = browser.new_context()
    page = context.new_page()
    campaign_id = writes(page, gna)
    assert desk.asks({"id": campaign_id}, "send").status_code == 200
    page.locator("#body").fill("An afterthought")
    expect(page.get_by_role("alert")).to_contain_text("save it as a new campaign")
    page.get_by_role("button", name="Save").click()
    saved(page)
    another = page.url.rpartition("/")[2]
    assert another != campaign_id
    assert desk.sees({"id": another})["body"] == "An afterthought"
    assert desk.sees({"id": campaign_id})["body"] == "Hello *you*"
    context.close()


def test_leaving_with_what_is_not_saved_is_asked_about(gna: Gna, browser: Browser, desk: Desk) -> None:
    context = browser.new_context()
    page = context.new_page()
    writes(page, gna)
    page.route(f"**{HOME}/*", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    page.locator("#body").fill("Hello again")
    expect(page.locator("[data-state]")).to_contain_text("Not saved:")
    asked: list[str] = []

    def answers(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", answers)
    page.goto(f"{gna.url}{HOME}")
    assert asked == ["beforeunload"]
    context.close()


def test_a_campaign_is_scheduled_on_somebodys_wall_clock(gna: Gna, romania: Page, desk: Desk) -> None:
    page = romania
    campaign_id = writes(page, gna)
    page.get_by_role("button", name="Schedule").first.click()
    dialog = page.get_by_role("dialog", name="When shall it be sent?")
    expect(dialog.get_by_label("Time zone")).to_have_value("Europe/Bucharest")
    at = dialog.get_by_label("Day and time")
    at.fill("2090-03-26T03:30")
    expect(dialog.locator("[data-moment]")).to_contain_text("The clock leaps over this time")
    dialog.get_by_role("button", name="Schedule").click()
    expect(page.get_by_role("alert")).to_contain_text("The clock leaps over this time")
    assert desk.sees({"id": campaign_id})["state"] == "draft"
    page.get_by_label("Day and time").fill("2090-07-01T09:00")
    page.get_by_role("button", name="Schedule").click()
    expect(page.get_by_text("It will be sent Saturday, 1 July 2090, 09:00 (Europe/Bucharest)")).to_be_visible()
    assert desk.sees({"id": campaign_id})["scheduled_at"] == "2090-07-01T06:00:00.000000Z"

    # It does not save itself any more: half a sentence would be sent.
    page.wait_for_load_state()
    page.locator("#body").fill("Half a sen")
    expect(page.locator("[data-state]")).to_have_text("Not saved yet")
    page.wait_for_timeout(1500)
    assert desk.sees({"id": campaign_id})["body"] == "Hello *you*"
    page.get_by_role("button", name="Send now").first.click()
    expect(page.locator(".toast")).to_contain_text("Save your changes first")
    page.locator("#body").fill("A whole sentence.")
    page.get_by_role("button", name="Plain text").click()
    expect(the_mail(page)).to_contain_text("A whole sentence.")
    page.keyboard.press("Control+s")
    saved(page)
    assert desk.sees({"id": campaign_id})["body"] == "A whole sentence."

    page.get_by_role("button", name="Another time").click()
    dialog.get_by_label("Day and time").fill("2090-07-02T09:00")
    dialog.get_by_label("Time zone").fill("Asia/Tokyo")
    expect(dialog.locator("[data-moment]")).to_contain_text("Sunday, 2 July 2090, 09:00 in Asia/Tokyo")
    dialog.get_by_role("button", name="Schedule").click()
    expect(page.get_by_text("It will be sent Sunday, 2 July 2090, 03:00 (Europe/Bucharest)")).to_be_visible()
    page.get_by_role("button", name="Cancel the schedule").click()
    expect(page.locator(".said")).to_contain_text("a draft again")
    assert desk.sees({"id": campaign_id})["state"] == "draft"


def test_a_test_is_sent_without_leaving_the_page(gna: Gna, page: Page) -> None:
    writes(page, gna, subject="Try me")
    page.get_by_role("button", name="Send a test").first.click()
    dialog = page.get_by_role("dialog", name="Send a test")
    dialog.get_by_label("Address").fill("me@example.org")
    dialog.get_by_role("button", name="Send a test").click()
    expect(page.locator(".toast")).to_have_text("A test is on its way to me@example.org.")
    expect(dialog).to_be_hidden()
    until(lambda: "[Test] Try me" in asking.get(f"{gna.url}/admin/mailbox").text, within=15)


@pytest.fixture
def server() -> Iterator[ScriptedSmtp]:
    """A mail server that thinks before each answer, so that there is a middle."""
    with ScriptedSmtp() as listening:
        listening.delays(0.02)
        yield listening


@pytest.fixture
def by_smtp(server: ScriptedSmtp, start: Callable[..., Gna], database_url: str) -> Gna:
    return start(DATABASE_URL=database_url, EMAIL_PROVIDER="smtp", SMTP_URL=server.url, SMTP_CONNECTIONS="2")


def shown(page: Page) -> dict[str, int]:
    """The sums on the page, read at one moment."""
    return bar(page)[1]


def bar(page: Page) -> tuple[int | None, dict[str, int]]:
    """How far the progress bar is, if there is one, and the sums at the same moment."""
    script = """() => [document.querySelector('[data-progress] progress')?.value ?? null,
        [...document.querySelectorAll('[data-sum]')].map(e => [e.dataset.sum, e.textContent])]"""
    value, sums = page.evaluate(script)
    return value, {name.removesuffix("_count"): int(text.replace(",", "")) for name, text in sums}


def adds_up(sums: dict[str, int]) -> bool:
    return sums["audience"] == sums["sent"] + sums["failure"] + sums["skipped"] + sums["remaining"]


def test_it_is_sent_watched_paused_and_arrives(
    by_smtp: Gna, page: Page, server: ScriptedSmtp, db: Database, look: Callable[[Page], None]
) -> None:
    gna, people = by_smtp, readers(db, 1200)
    writes(page, gna)
    page.locator("#body").press("Control+Enter")
    dialog = page.get_by_role("dialog", name="Send it now?")
    expect(dialog.locator("[data-reach]")).to_have_text("It goes to 1,200 people.")
    dialog.get_by_role("button", name="Send now").click()
    expect(page.locator(".said")).to_have_text("It is being sent.")
    expect(page.locator(".report")).to_contain_text("Publishing")
    moving: list[dict[str, int]] = []

    def moves() -> bool:
        moving.append(shown(page))
        return 0 < moving[-1]["sent"] < 1200

    wait(page, moves, within=60)
    done, sums = bar(page)
    assert done == sums["audience"] - sums["remaining"]
    expect(page.locator("[data-pace]")).to_contain_text("per second")
    expect(page.get_by_role("link", name="Public page")).to_be_visible()
    expect(page.get_by_role("button", name="Take it out of the archive")).to_be_visible()

    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".report .badge")).to_have_text("Paused")
    wait(page, lambda: len(server.received) == shown(page)["sent"])
    assert adds_up(shown(page))
    assert 0 < len(server.received) < 1200
    look(page)
    server.delays(0)
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".report .badge")).to_have_text("Published", timeout=60_000)
    assert all(adds_up(sums) for sums in moving)
    assert shown(page) == {"sent": 1200, "failure": 0, "skipped": 0, "remaining": 0, "audience": 1200}
    assert sorted(server.recipients) == sorted(people)
    expect(page.get_by_text("No opens or clicks are recorded")).to_be_visible()
    look(page)
    page.goto(f"{gna.url}{HOME}")
    expect(page.get_by_role("row").nth(1)).to_contain_text("1,200")
    look(page)


def test_what_failed_is_tried_again(by_smtp: Gna, page: Page, server: ScriptedSmtp, db: Database) -> None:
    [address] = readers(db, 1)
    server.delays(0)
    server.refuses(address, b"550 5.1.1 no such mailbox")
    writes(page, by_smtp)
    page.keyboard.press("Control+Enter")
    page.get_by_role("dialog", name="Send it now?").get_by_role("button", name="Send now").click()
    expect(page.locator(".report .badge")).to_have_text("Failed", timeout=30_000)
    expect(page.get_by_text("no such mailbox").first).to_be_visible()
    server.takes(address)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".report .badge")).to_have_text("Published", timeout=30_000)
    assert server.recipients == [address]
    page.get_by_role("button", name="Take it out of the archive").click()
    expect(page.get_by_role("button", name="Put it into the archive")).to_be_visible()


def test_the_same_life_without_javascript(gna: Gna, plain: Page, desk: Desk, db: Database) -> None:
    page = plain
    readers(db, 3)
    page.goto(f"{gna.url}{HOME}/new")
    page.get_by_label("Subject", exact=True).fill("By hand")
    page.locator("#body").fill("Hello **you**")
    page.get_by_role("button", name="HTML", exact=True).click()
    expect(the_mail(page).locator("strong")).to_have_text("you")
    assert desk.client.get("/admin/api/campaigns").json()["total"] == 0
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".said")).to_have_text("Saved.")
    address, campaign = page.url, {"id": page.url.rpartition("/")[2]}

    page.locator("#body").fill("Hello {{ nobody }}")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("[data-checks]").first).to_contain_text("Unknown merge field")
    expect(page.locator("#body")).to_have_value("Hello {{ nobody }}")
    expect(the_mail(page)).to_contain_text("Hello {{ nobody }}")
    page.locator("#body").fill("Hello **again**")
    page.get_by_text("HTML", exact=True).first.click()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#body")).to_have_value("<p>Hello <strong>again</strong></p>")
    page.get_by_text("Markdown", exact=True).click()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#body")).to_have_value("Hello **again**")
    page.get_by_role("button", name="Send a test").click()
    page.get_by_label("Address").fill("me@example.org")
    page.get_by_role("button", name="Send a test").click()
    expect(page.locator(".said")).to_contain_text("A test is on its way")
    assert desk.sees(campaign)["body"] == "Hello **again**"

    page.get_by_role("button", name="Schedule").click()
    page.get_by_label("Day and time").fill("2090-07-01T09:00")
    page.get_by_label("Time zone").fill("Europe/Bucharest")
    page.get_by_role("button", name="Schedule").click()
    expect(page.get_by_text("It will be sent Saturday, 1 July 2090, 06:00 (UTC)")).to_be_visible()
    page.get_by_role("button", name="Cancel the schedule").click()
    page.get_by_role("button", name="Duplicate").click()
    expect(page.locator(".said")).to_contain_text("a copy")
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".said")).to_have_text("The draft is deleted.")

    page.goto(address)
    page.get_by_role("button", name="Send now").click()
    expect(page.get_by_text("It goes to 3 people.")).to_be_visible()
    page.get_by_role("button", name="Send now").click()
    until(lambda: desk.is_published(campaign), within=30)
    page.goto(address)
    expect(page.locator(".report .badge")).to_have_text("Published")
    assert shown_plainly(page) == "3"


def shown_plainly(page: Page) -> str:
    return page.locator("[data-sum=sent_count]").inner_text()


def test_half_a_field_is_saved_and_a_finding(gna: Gna, page: Page, desk: Desk) -> None:
    campaign_id = writes(page, gna)
    for typed, told in (("Dear {{ nick", "A merge field is not closed"), ("Dear {{ city }}", "Unknown merge field")):
        page.locator("#body").fill(typed)
        expect(page.locator("[data-checks]").first).to_contain_text(told)
        saved(page)
        expect(the_mail(page)).to_contain_text(typed)
        assert desk.sees({"id": campaign_id})["body"] == typed
    page.locator("#body").press("Control+Enter")
    dialog = page.get_by_role("dialog", name="Send it now?")
    expect(dialog.get_by_role("button", name="Send now")).to_be_disabled()
    page.keyboard.press("Escape")
    page.locator("#body").fill("Dear {{ nickname }}")
    expect(page.locator("[data-checks]").first).to_contain_text("is empty for readers without a nickname")
    page.locator("#body").press("Control+Enter")
    expect(dialog.get_by_role("button", name="Send now")).to_be_enabled()


def test_the_text_follows_when_the_format_is_switched(gna: Gna, page: Page, desk: Desk) -> None:
    markdown = "# Peas\n\nThey *are* up."
    campaign_id = writes(page, gna, body=markdown)
    page.get_by_text("HTML", exact=True).first.click()
    expect(page.locator("#body")).to_have_value("<h1>Peas</h1>\n<p>They <em>are</em> up.</p>")
    saved(page)
    assert desk.sees({"id": campaign_id})["body_format"] == "html"
    page.reload()
    page.get_by_text("Markdown", exact=True).click()
    expect(page.locator("#body")).to_have_value(markdown)
    saved(page)
    assert desk.sees({"id": campaign_id})["body"] == markdown

    # Edited HTML is kept on the way back, and typing goes on at once.
    page.get_by_text("HTML", exact=True).first.click()
    expect(page.locator("#body")).to_have_value(re.compile("^<h1>"))
    page.locator("#body").fill("<h1>Peas</h1><p>They are up, and blue.</p>")
    page.get_by_text("Markdown", exact=True).click()
    saved(page)
    expect(page.locator("#body")).to_have_value("<h1>Peas</h1><p>They are up, and blue.</p>")
    page.locator("#body").press("Control+End")
    page.keyboard.type(" **Really.**")
    until(lambda: desk.sees({"id": campaign_id})["body"].endswith("**Really.**"), within=15)
    assert desk.sees({"id": campaign_id})["body_format"] == "markdown"


def test_an_empty_audience_is_asked_about_again(gna: Gna, page: Page, desk: Desk, look: Callable[[Page], None]) -> None:
    campaign = {"id": writes(page, gna)}
    page.locator("#body").press("Control+Enter")
    dialog = page.get_by_role("dialog", name="Send it now?")
    expect(dialog.locator("[data-reach]")).to_have_text("Nobody would get it: its audience is empty.")
    expect(dialog.get_by_text("cannot be called back")).to_be_hidden()
    dialog.get_by_role("button", name="Send now").click()
    expect(page.get_by_role("alert")).to_contain_text("Its audience is empty")
    assert desk.sees(campaign)["state"] == "draft"
    look(page)
    page.get_by_role("button", name="Send it anyway").click()
    until(lambda: desk.is_published(campaign), within=30)
    page.goto(f"{gna.url}{HOME}/{campaign['id']}")
    expect(page.get_by_text("It is not in the archive")).to_be_visible()
    assert asking.get(f"{gna.url}/archive/{campaign['id']}").status_code == 404


def test_half_a_condition_of_the_audience_stops_no_autosave(
    gna: Gna, page: Page, desk: Desk, look: Callable[[Page], None]
) -> None:
    campaign = {"id": writes(page, gna)}
    state = page.locator("[data-state]")
    checks = page.locator("[data-checks]").first
    page.get_by_text("Only those with certain attributes").click()
    page.get_by_label("Attribute 1").fill("city")
    expect(state).to_have_text("Saved, except the audience")
    expect(checks).to_contain_text("An attribute needs a name and a value")
    page.locator("#body").fill("Typed after it")
    until(lambda: desk.sees(campaign)["body"] == "Typed after it", within=15)
    expect(state).to_have_text("Saved, except the audience")
    # The sentence below the findings does not touch the last of them.
    last = checks.locator("li").last.bounding_box()
    below = checks.locator(".problem").bounding_box()
    assert last
    assert below
    assert below["y"] - (last["y"] + last["height"]) >= 8
    look(page)
    page.locator("#body").press("Control+Enter")
    dialog = page.get_by_role("dialog", name="Send it now?")
    expect(dialog.get_by_role("button", name="Send now")).to_be_disabled()
    page.keyboard.press("Escape")
    page.get_by_label("Value 1").fill("Cluj")
    saved(page)
    assert desk.sees(campaign)["audience"] == {"attributes": {"city": "Cluj"}}


def test_the_text_part_of_a_feeds_draft_follows_its_html(gna: Gna, page: Page, desk: Desk, db: Database) -> None:
    made = Wish(
        {
            "subject": "A post",
            "body": "<p>From the feed</p>",
            "body_text": "Text\nof the feed",
            "body_text_made": True,
        }
    )
    with db.write() as tx:
        campaign_id = writing.create(tx, made, now=clock.now())
    page.goto(f"{gna.url}{HOME}/{campaign_id}")
    expect(page.locator("#body_text")).to_have_value("Text\nof the feed")
    page.locator("#body").fill("<p>By hand</p>")
    expect(page.locator("#body_text")).to_have_value("")
    page.locator("#body").press("Control+End")
    page.keyboard.type("<p>and more</p>")
    page.get_by_role("button", name="Plain text").click()
    expect(the_mail(page)).to_contain_text("and more")
    assert desk.sees({"id": campaign_id})["body_text"] is None


def test_an_error_blocks_sending_and_says_why(gna: Gna, page: Page, desk: Desk) -> None:
    writes(page, gna)
    page.get_by_text("HTML", exact=True).first.click()
    page.locator("#body").fill("<p> </p>")
    expect(page.locator("[data-checks]").first).to_contain_text("There is nothing to read in the body")
    page.keyboard.press("Control+Enter")
    dialog = page.get_by_role("dialog", name="Send it now?")
    expect(dialog).to_contain_text("With an error it cannot be sent")
    expect(dialog.get_by_role("button", name="Send now")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


@pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
def test_the_dialogs_and_the_steps_in_all_their_looks(gna: Gna, page: Page, desk: Desk) -> None:
    campaign_id = writes(page, gna, body="See [this](/here)")
    for name, button in (("test", "Send a test"), ("schedule", "Schedule"), ("send", "Send now")):
        page.get_by_role("button", name=button).first.click()
        expect(page.locator(f"#{name}")).to_be_visible()
        accessible(page)
        page.keyboard.press("Escape")
    for step in ("test", "schedule", "send"):
        page.goto(f"{gna.url}{HOME}/{campaign_id}/{step}")
        accessible(page)
    page.goto(f"{gna.url}{HOME}?q=nobody")
    accessible(page)
    desk.in_state("scheduled")
    page.goto(f"{gna.url}{HOME}")
    page.get_by_role("button", name="More for The quiet web").click()
    accessible(page)


@pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
def test_no_page_is_heavy(gna: Gna, browser: Browser, desk: Desk) -> None:
    for number in range(20):
        desk.writes(subject=f"Number {number}, with a subject as long as they are in the life of a publication")
    draft, sent = desk.writes()["id"], desk.in_state("publishing")["id"]
    for path in ("", "/new", f"/{draft}", f"/{draft}/schedule", f"/{sent}"):
        page = browser.new_page()
        weight = weighed(page, f"{gna.url}{HOME}{path}")
        assert 10_000 < weight < 100_000, f"{path}: {weight}"
        page.close()


def weighed(page: Page, url: str) -> int:
    """How many bytes a page is with all that it loads."""
    came: list[Any] = []
    page.on("response", lambda one: came.append(one))
    page.goto(url)
    page.wait_for_timeout(500)
    return sum(len(one.body()) for one in came if "/progress" not in one.url)
