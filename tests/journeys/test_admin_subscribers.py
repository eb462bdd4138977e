"""A publisher looks after their readers, in a real browser."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from gna import clock
from gna.db import Database
from gna.subscribers import directory, lists
from tests.factories import a_subscriber, readers, the_subscriber
from tests.journeys.looks import accessible
from tests.running import Gna, until

WIDE: ViewportSize = {"width": 1200, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 800}


@pytest.fixture
def gna(start: Callable[..., Gna], database_url: str) -> Gna:
    """Gna, whose mails land in a folder."""
    return start(DATABASE_URL=database_url)


@pytest.fixture
def people(db: Database, gna: Gna) -> list[str]:
    """Thirty readers, some on a list, and one who has not confirmed; the addresses, newest first."""
    readers(db, 30, created_at=clock.now() - timedelta(days=1))
    with db.write() as tx:
        ids = [the_subscriber(tx, f"p{number}@example.org").id for number in range(3)]
        lists.put_on(tx, ids, "weekly", now=clock.now())
        a_subscriber(tx, email="ion@example.org", nickname="Ion", created_at=clock.now(), confirmation_expires_at=None)
    return ["ion@example.org", *sorted((f"p{number}@example.org" for number in range(30)), reverse=True)]


def said(page: Page, text: str) -> None:
    """The page says what was done."""
    expect(page.get_by_role("status").first).to_have_text(text)


def rows(page: Page, number: int) -> None:
    """So many people are listed."""
    expect(page.locator("tbody input[name=id]")).to_have_count(number)


def test_nobody_yet_and_the_first_one_is_added(gna: Gna, db: Database, page: Page, tmp_path: Path) -> None:
    page.goto(f"{gna.url}/admin/subscribers")
    expect(page.get_by_role("heading", name="Nobody has subscribed yet")).to_be_visible()
    accessible(page)
    page.set_viewport_size(WIDE)
    page.get_by_role("button", name="Add subscriber").first.click()
    dialog = page.get_by_role("dialog", name="Add subscriber")
    accessible(page)
    page.set_viewport_size(WIDE)
    dialog.get_by_label("Email address").fill("ana@example.org")
    dialog.get_by_label("Nickname").fill("Ana")
    dialog.get_by_role("button", name="Send the mail").click()
    said(page, "A mail with a link is on its way. They are a subscriber once they click it.")
    expect(page.get_by_role("row").nth(1)).to_contain_text("Pending")
    until(lambda: list((tmp_path / "mailbox").glob("*")), within=20)
    with db.read() as tx:
        assert the_subscriber(tx, "ana@example.org").activated_at is None
    page.get_by_role("button", name="Add subscriber").click()
    page.get_by_role("dialog").get_by_label("Email address").fill("ANA@example.org")
    page.get_by_role("dialog").get_by_role("button", name="Send the mail").click()
    said(page, "They had not confirmed yet; a new mail with a link is on its way.")
    expect(page.get_by_role("heading", level=1)).to_have_text("ana@example.org")


@pytest.mark.usefixtures("people")
def test_people_are_searched_and_filtered(gna: Gna, page: Page) -> None:
    page.goto(f"{gna.url}/admin/subscribers")
    rows(page, 20)
    accessible(page)
    page.set_viewport_size(WIDE)
    page.get_by_role("link", name="Next").click()
    rows(page, 11)
    # The script is there.
    expect(page.get_by_role("checkbox", name="Choose all")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("P29")
    page.keyboard.press("Enter")
    rows(page, 1)
    page.get_by_role("link", name="Pending 0").click()
    expect(page.get_by_role("heading", name="Nobody matches")).to_be_visible()
    accessible(page)
    page.set_viewport_size(WIDE)
    page.get_by_role("link", name="Show everybody").click()
    page.get_by_role("link", name="Pending 1").click()
    rows(page, 1)
    page.get_by_role("link", name="All 31").click()
    rows(page, 20)
    # A script sends the choice.
    page.wait_for_load_state()
    page.get_by_role("combobox", name="List").select_option("weekly")
    rows(page, 3)
    expect(page.get_by_text("3 people")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export CSV").click()
    file = Path(download.value.path()).read_text("utf-8-sig")
    assert [line.partition(",")[0] for line in file.splitlines()] == [
        "email",
        "p2@example.org",
        "p1@example.org",
        "p0@example.org",
    ]


@pytest.mark.usefixtures("people")
def test_a_person_is_opened_edited_and_removed(gna: Gna, db: Database, page: Page) -> None:
    page.goto(f"{gna.url}/admin/subscribers?q=p1@")
    # Anywhere in the row: the link reaches over all of it.
    page.locator(".rows tbody td:last-child").click(force=True)
    expect(page.get_by_role("heading", level=1)).to_have_text("p1@example.org")
    accessible(page)
    page.set_viewport_size(WIDE)
    page.get_by_label("Nickname").fill("Maria")
    page.get_by_role("checkbox", name="weekly").uncheck()
    page.get_by_label("Another list").fill("events")
    page.get_by_label("Places").fill("ocd-division/country:ro")
    page.get_by_label("Attributes").fill("city = Cluj\npostcode = 400001")
    page.get_by_role("button", name="Save").click()
    said(page, "Saved.")
    expect(page.get_by_text("Left weekly")).to_be_visible()
    accessible(page)
    page.set_viewport_size(WIDE)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download what we know of them").click()
    told = json.loads(Path(download.value.path()).read_text())
    assert (told["nickname"], told["ocd_ids"]) == ("Maria", ["ocd-division/country:ro"])
    assert told["attributes"] == {"city": "Cluj", "postcode": "400001"}
    assert {one["list_key"]: one["unsubscribed_at"] is None for one in told["lists"]} == {
        "events": True,
        "general": True,
        "weekly": False,
    }
    page.get_by_role("button", name="Remove…").click()
    dialog = page.get_by_role("dialog", name="Remove this person?")
    expect(dialog).to_contain_text("Everything about them is deleted at once")
    accessible(page)
    dialog.get_by_role("button", name="Remove").click()
    said(page, "1 person was removed.")
    with db.read() as tx:
        assert the_subscriber(tx, "p1@example.org") is None


@pytest.mark.usefixtures("people")
def test_what_was_typed_stays_when_it_is_wrong(gna: Gna, browser: Browser) -> None:
    # Without the fixture: a browser writes every answer with an error into its console.
    page = browser.new_page()
    page.goto(f"{gna.url}/admin/subscribers")
    page.get_by_role("button", name="Add subscriber").click()
    page.get_by_role("dialog").get_by_label("Email address").fill("ana@example")
    page.get_by_role("dialog").get_by_label("Nickname").fill("Ana")
    # The browser lets it pass, the server does not.
    page.get_by_role("dialog").get_by_role("button", name="Send the mail").click()
    expect(page.get_by_role("alert")).to_have_text("Email is not a valid address.")
    expect(page.get_by_label("Nickname")).to_have_value("Ana")
    accessible(page)
    page.goto(f"{gna.url}/admin/subscribers?q=p1@")
    page.get_by_role("link", name="p1@example.org").click()
    page.get_by_label("Another list").fill("events")
    page.get_by_label("Attributes").fill("no value")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_have_text("Write each attribute on a line of its own, as name = value.")
    expect(page.get_by_label("Another list")).to_have_value("events")
    expect(page.get_by_label("Attributes")).to_have_value("no value")
    accessible(page)
    page.close()


@pytest.mark.usefixtures("people")
def test_somebody_who_waits_gets_another_mail(gna: Gna, page: Page, tmp_path: Path) -> None:
    page.goto(f"{gna.url}/admin/subscribers")
    page.get_by_role("link", name="ion@example.org").click()
    accessible(page)
    page.get_by_role("button", name="Send the confirmation mail again").click()
    said(page, "A new mail with a link is on its way.")
    until(lambda: list((tmp_path / "mailbox").glob("*")), within=20)


def test_several_are_chosen_put_on_a_list_and_removed(gna: Gna, db: Database, people: list[str], page: Page) -> None:
    page.set_viewport_size(WIDE)
    page.goto(f"{gna.url}/admin/subscribers")
    expect(page.locator("[data-bulk]")).to_be_hidden()
    boxes = page.locator("tbody input[name=id]")
    boxes.nth(1).click()
    boxes.nth(4).click(modifiers=["Shift"])
    expect(page.locator("[data-bulk]")).to_contain_text("4 chosen")
    accessible(page)
    page.set_viewport_size(WIDE)
    page.get_by_role("button", name="Put on a list…").click()
    dialog = page.get_by_role("dialog", name="Put on a list")
    accessible(page)
    page.set_viewport_size(WIDE)
    # What cannot be a key does not leave the page, so those who were chosen stay so.
    dialog.get_by_label("List").fill("no key")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("Chosen: 4")
    dialog.get_by_label("List").fill("events")
    page.keyboard.press("Enter")
    said(page, "4 people are on the list events now.")
    for email in people[1:3]:
        page.get_by_role("checkbox", name=f"Choose {email}").check()
    page.keyboard.press("Enter")  # in no field: nothing happens
    page.get_by_role("button", name="Take off a list…").click()
    page.get_by_role("dialog").get_by_label("List").select_option("events")
    page.get_by_role("dialog").get_by_role("button", name="Take off the list").click()
    said(page, "2 people were taken off the list events.")
    page.get_by_role("checkbox", name="Choose all").check()
    page.get_by_role("button", name="Remove…").click()
    dialog = page.get_by_role("dialog", name="Remove the chosen people?")
    expect(dialog).to_contain_text("Chosen: 20")
    accessible(page)
    page.keyboard.press("Escape")
    rows(page, 20)
    page.get_by_role("button", name="Remove…").click()
    dialog.get_by_role("button", name="Remove").click()
    said(page, "20 people were removed.")
    rows(page, 11)
    with db.read() as tx:
        assert directory.by_email(tx, people[0]) is None


def test_all_of_it_works_without_a_script(gna: Gna, db: Database, people: list[str], browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False, locale="ro", viewport=PHONE)
    page = context.new_page()
    page.goto(f"{gna.url}/admin/subscribers")
    expect(page.get_by_role("heading", level=1)).to_have_text("Abonați")
    page.get_by_label("Căutați după adresă sau nume").fill("p2")
    page.keyboard.press("Enter")
    rows(page, 11)
    for email in ("p28@example.org", "p29@example.org"):
        page.get_by_role("checkbox", name=f"Alegeți {email}").check()
    expect(page.get_by_text("Alese:").first).to_be_hidden()
    page.get_by_role("button", name="Ștergere…").click()
    page.get_by_role("dialog", name="Ștergeți persoanele alese?").get_by_role("button", name="Șterge").click()
    said(page, "2 persoane au fost șterse.")
    rows(page, 9)
    page.get_by_role("link", name="p27@example.org").click()
    page.get_by_label("Nume", exact=True).fill("Maria")
    page.get_by_role("button", name="Salvare").click()
    said(page, "Salvată.")
    with db.read() as tx:
        assert the_subscriber(tx, "p27@example.org").nickname == "Maria"
    page.goto(f"{gna.url}/admin/subscribers")
    choice, button = page.get_by_role("combobox", name="Listă"), page.get_by_role("button", name="Afișează")
    left, right = choice.bounding_box(), button.bounding_box()
    assert left
    assert right
    assert left["x"] + left["width"] <= right["x"]
    assert left["y"] < right["y"] + right["height"] / 2 < left["y"] + left["height"]
    choice.select_option("weekly")
    button.click()
    rows(page, 3)
    page.get_by_role("checkbox", name="Alegeți p0@example.org").check()
    page.get_by_role("button", name="Puneți pe o listă…").click()
    page.get_by_role("dialog").get_by_label("Listă").fill("a-b")
    page.keyboard.press("Enter")
    said(page, "1 persoană este acum pe lista a-b.")
    page.goto(f"{gna.url}/admin/subscribers")
    page.get_by_role("button", name="Adăugați un abonat").click()
    page.get_by_role("dialog").get_by_label("Adresa de email").fill(people[-1])
    page.get_by_role("dialog").get_by_role("button", name="Trimiteți mesajul").click()
    said(page, "Persoana este deja abonată; nu s-a trimis nimic.")
    context.close()


def test_a_dialog_keeps_the_focus_until_it_is_closed(gna: Gna, page: Page) -> None:
    page.goto(f"{gna.url}/admin/subscribers")
    opener = page.get_by_role("button", name="Add subscriber").first
    opener.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Add subscriber")
    first, last = dialog.get_by_label("Email address"), dialog.get_by_role("button", name="Send the mail")
    expect(first).to_be_focused()
    last.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.dialog') !== null")
    page.keyboard.press("Shift+Tab")
    expect(last).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()
