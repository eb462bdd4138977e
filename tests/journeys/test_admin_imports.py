"""An admin brings people in from a file whose columns have names of their own."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests.journeys.looks import accessible
from tests.running import Gna

ODD = (
    "Kontakt;Vorname;Nachname;Wohnort;Stand\n"
    "ana@example.org;Ana;Müller;Köln;angemeldet\n"
    "dan@example.org;Dan;Schmidt;Bonn;abgemeldet\n"
    "eva@example.org;Eva;;;angemeldet\n"
    "kaputt@;Kai;;;angemeldet\n"
)
PATIENCE = 60_000


def upload(page: Page, gna: Gna, folder: Path, name: str, content: str) -> None:
    """Choose a file and send it."""
    (folder / name).write_text(content)
    page.goto(f"{gna.url}/admin/import")
    page.get_by_label("A CSV file").set_input_files(folder / name)
    page.get_by_role("button", name="Upload and look").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What is in the columns?")


def many(people: int) -> str:
    """A file that is read for a while."""
    return "Kontakt\n" + "".join(f"person{n:06}@example.org\n" for n in range(people))


def sum_of(page: Page, word: str) -> Locator:
    """The number beside a fate."""
    return page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=word, exact=True)).locator(".num")


def map_odd(page: Page) -> None:
    """Say what is in the columns; four of five were guessed."""
    expect(page.get_by_label("Kontakt")).to_have_value("email")
    expect(page.get_by_label("Vorname")).to_have_value("nickname")
    expect(page.get_by_label("Stand")).to_have_value("status")
    page.get_by_label("Nachname").select_option("nickname")
    page.get_by_label("Name of the attribute").and_(page.locator("[name=name-3]")).fill("city")


def test_from_odd_headers_to_sums(start: Callable[..., Gna], database_url: str, page: Page, tmp_path: Path) -> None:
    gna = start(DATABASE_URL=database_url)
    page.goto(f"{gna.url}/admin/import")
    accessible(page)
    upload(page, gna, tmp_path, "odd.csv", ODD)
    map_odd(page)
    accessible(page)
    page.get_by_role("button", name="Try it first").click()
    expect(page.get_by_role("heading", name="What would happen")).to_be_visible()
    accessible(page)
    expect(page.get_by_label("Nachname")).to_have_value("nickname")
    expect(sum_of(page, "New")).to_have_text("2")
    assert page.request.get(f"{gna.url}/admin/api/subscribers").json()["total"] == 0
    page.get_by_role("button", name="Import now").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("odd.csv")
    accessible(page)
    for word, number in {"New": "2", "Noted as gone": "1", "Not readable": "1", "Changed": "0"}.items():
        expect(sum_of(page, word)).to_have_text(number)
    problems = page.request.get(gna.url + str(page.get_by_role("link", name="list of problems").get_attribute("href")))
    assert "odd.csv,5,Email is not a valid address" in problems.text()
    found = page.request.get(f"{gna.url}/admin/api/subscribers?q=ana").json()["items"][0]
    assert (found["nickname"], found["attributes"], found["status"]) == ("Ana Müller", {"city": "Köln"}, "Activated")
    page.goto(f"{gna.url}/admin/import")
    expect(page.get_by_role("link", name="odd.csv")).to_be_visible()
    accessible(page)


def test_values_that_may_say_who_left_are_asked_about(
    start: Callable[..., Gna], database_url: str, page: Page, tmp_path: Path
) -> None:
    gna = start(DATABASE_URL=database_url)
    rows = ("ana@example.org,on paper,Cluj", "dan@example.org,withdrawn,Bonn", "eva@example.org,yes,Köln")
    upload(page, gna, tmp_path, "crm.csv", "\n".join(["Mail,Marketing consent,City", *rows]))
    expect(page.get_by_text("This column may say who left.")).to_be_visible()
    accessible(page)
    page.get_by_label("on paper").select_option("They confirmed")
    page.get_by_label("withdrawn").select_option("They left")
    page.get_by_label("Marketing consent").select_option("Leave out")
    expect(page.get_by_label("on paper")).not_to_be_visible()
    page.get_by_label("Marketing consent").select_option("Whether they confirmed or left")
    page.get_by_role("button", name="Import now").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("crm.csv")
    expect(sum_of(page, "New")).to_have_text("2")
    expect(sum_of(page, "Noted as gone")).to_have_text("1")


def test_a_large_file_shows_how_far_it_is_and_becomes_the_result(
    start: Callable[..., Gna], database_url: str, page: Page, tmp_path: Path
) -> None:
    gna = start(DATABASE_URL=database_url)
    upload(page, gna, tmp_path, "large.csv", many(30_000))
    page.get_by_role("button", name="Import now").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Importing")
    # It moves, and then becomes the result, without anybody touching the page.
    expect(sum_of(page, "New")).not_to_have_text("0", timeout=PATIENCE)
    expect(page.get_by_role("heading", level=1)).to_have_text("large.csv", timeout=PATIENCE)
    expect(sum_of(page, "New")).to_have_text("30,000")


def test_an_import_that_runs_can_be_stopped(
    start: Callable[..., Gna], database_url: str, page: Page, tmp_path: Path
) -> None:
    gna = start(DATABASE_URL=database_url)
    upload(page, gna, tmp_path, "large.csv", many(300_000))
    page.get_by_role("button", name="Import now").click()
    expect(sum_of(page, "New")).not_to_have_text("0", timeout=PATIENCE)
    page.get_by_role("button", name="Stop it").click()
    page.get_by_role("dialog", name="Stop it here?").get_by_role("button", name="Stop it").click()
    expect(page.get_by_text("It was stopped.")).to_be_visible()
    accessible(page)
    came = int(sum_of(page, "New").inner_text().replace(",", ""))
    assert 0 < came < 300_000
    assert page.request.get(f"{gna.url}/admin/api/subscribers").json()["total"] == came


def test_one_that_waits_can_be_looked_at_for_as_long_as_one_likes(
    start: Callable[..., Gna], database_url: str, page: Page, tmp_path: Path
) -> None:
    gna = start(DATABASE_URL=database_url, JOBS_ENABLED="false")
    upload(page, gna, tmp_path, "large.csv", many(20_000))
    page.get_by_role("button", name="Try it first").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Trying")
    accessible(page)
    page.get_by_role("button", name="Stop it").click()
    accessible(page)
    page.get_by_role("dialog", name="Stop it here?").get_by_role("button", name="Stop it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What is in the columns?")


def test_without_a_script(start: Callable[..., Gna], database_url: str, browser: Browser, tmp_path: Path) -> None:
    gna = start(DATABASE_URL=database_url)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    upload(page, gna, tmp_path, "odd.csv", ODD)
    map_odd(page)
    expect(page.locator("[name=name-2]")).not_to_be_visible()
    expect(page.locator("[name=name-3]")).to_be_visible()
    page.get_by_role("button", name="Try it first").click()
    expect(sum_of(page, "New")).to_have_text("2")
    page.get_by_role("button", name="Import now").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("odd.csv")
    upload(page, gna, tmp_path, "more.csv", ODD)
    page.get_by_role("button", name="Discard the file").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard the file").click()
    expect(page.get_by_text("Nothing was imported.")).to_be_visible()
    upload(page, gna, tmp_path, "large.csv", many(20_000))
    page.get_by_role("button", name="Import now").click()
    # The page asks for itself again every few seconds.
    expect(page.get_by_role("heading", level=1)).to_have_text("large.csv", timeout=PATIENCE)
    expect(sum_of(page, "New")).to_have_text("20,000")
    context.close()
