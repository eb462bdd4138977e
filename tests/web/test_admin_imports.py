"""The pages of imports, as a browser without a script sees them."""

import io
import re
import zipfile
from html import unescape
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna.activity import Verb, activity
from gna.db import Database
from gna.subscribers import imports
from gna.subscribers.imports import chunks
from gna.subscribers.table import memberships, subscribers
from gna.web.desk import imports as desk
from tests.factories import count, the_subscriber

PAGE = "/admin/import"
HTML = {"Accept": "text/html"}
ODD = "Kontakt;Vor;Nach\nana@example.org;Ana;Pop\nbad@;x;\n"
CHOSEN = {"column-0": "email", "column-1": "nickname", "column-2": "nickname"}


def upload(client: TestClient, content: str | bytes, name: str = "people.csv") -> Any:
    return client.post(PAGE, files={"file": (name, content, "text/csv")}, headers=HTML)


def opened(client: TestClient, content: str | bytes, name: str = "people.csv") -> str:
    """Where the page is that asks for the columns of this file."""
    answer = upload(client, content, name)
    assert answer.status_code == 303
    return str(answer.headers["location"])


def text(client: TestClient, path: str, **headers: str) -> str:
    answer = client.get(path, headers=HTML | headers)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", answer.text)))


def said(client: TestClient, answer: Any) -> str:
    """What the page says to which a refused form leads."""
    assert answer.status_code == 303
    return text(client, answer.headers["location"])


def people(db: Database) -> int:
    with db.read() as tx:
        return count(tx, subscribers)


def test_a_file_is_uploaded_tried_and_imported(client: TestClient, db: Database) -> None:
    path = opened(client, ODD)
    page = text(client, path)
    assert "this is a guess" in page
    assert "ana@example.org" in page
    assert client.post(path, data=CHOSEN | {"do": "try"}, headers=HTML).status_code == 303
    tried = text(client, path)
    assert "What would happen" in tried
    assert "New 1 " in tried
    assert "Not readable 1 " in tried
    assert people(db) == 0
    assert client.post(path, data=CHOSEN | {"do": "import"}, headers=HTML).status_code == 303
    assert "Rows read: 2" in text(client, path)
    with db.read() as tx:
        assert the_subscriber(tx, "ana@example.org").nickname == "Ana Pop"
        uploaded, row = tx.execute(sa.select(activity).order_by(activity.c.id)).all()
        assert (uploaded.verb, uploaded.about) == (Verb.IMPORT_UPLOADED, "CSV")
        assert (row.verb, row.about, row.target) == (Verb.IMPORT_STARTED, "CSV", path.rpartition("/")[2])
        assert count(tx, chunks) == 0
    assert "people.csv" in text(client, PAGE)


def test_a_known_format_that_is_left_as_it_is_is_read_by_its_own_rules(client: TestClient, db: Database) -> None:
    content = "Email Address,First Name,UNSUB_TIME,LEID,EUID\ndan@example.org,Dan,2024-01-01 10:00:00,1,2\n"
    path = opened(client, content)
    assert "an export of Mailchimp" in text(client, path)
    client.post(path, data={"column-0": "email", "column-1": "nickname", "do": "import"}, headers=HTML)
    with db.read() as tx:
        [row] = tx.execute(sa.select(imports.imports)).all()
    assert (row.mapping, row.counts) == (None, {"opted_out": 1})


def test_what_a_column_says_of_who_left_counts_beside_the_mapping(client: TestClient, db: Database) -> None:
    content = "Email Address,First Name,UNSUB_TIME,LEID,EUID\ndan@example.org,Dan,2024-01-01 10:00:00,1,2\n"
    path = opened(client, content)
    client.post(path, data={"column-1": "ignore", "do": "import"}, headers=HTML)
    with db.read() as tx:
        [row] = tx.execute(sa.select(imports.imports)).all()
    assert row.mapping["columns"] == ["email", "ignore", "ignore", "ignore", "ignore"]
    assert row.counts == {"opted_out": 1}


CRM = "Mail;Consent\nana@example.org;on paper\ndan@example.org;withdrawn\neva@example.org;yes\n"


def test_the_page_asks_what_unknown_values_mean_and_imports_by_the_answers(client: TestClient, db: Database) -> None:
    path = opened(client, CRM)
    page = text(client, path)
    assert "This column may say who left." in page
    assert "on paper" in page
    form = {"column-0": "email", "column-1": "status", "value-1-0": "confirmed", "value-1-1": "", "do": "try"}
    refused = client.post(path, data=form, headers=HTML)
    assert refused.status_code == 400
    assert "Say for each value that is not known here what it means." in unescape(refused.text)
    assert refused.text.count('value="confirmed" selected') == 1
    assert client.post(path, data=form | {"value-1-1": "left"}, headers=HTML).status_code == 303
    again = client.get(path, headers=HTML).text
    assert [again.count(f'value="{word}" selected') for word in ("confirmed", "left")] == [1, 1]
    client.post(path, data=form | {"value-1-1": "left", "do": "import"}, headers=HTML)
    with db.read() as tx:
        [row] = tx.execute(sa.select(imports.imports)).all()
        assert {one.email for one in tx.execute(sa.select(subscribers))} == {"ana@example.org", "eva@example.org"}
    assert row.counts == {"new": 2, "opted_out": 1}


def test_the_page_asks_in_romanian(client: TestClient) -> None:
    page = text(client, opened(client, CRM), **{"Accept-Language": "ro"})
    assert "Această coloană poate spune cine a plecat." in page
    assert "Au plecat" in page
    assert "Alegeți …" in page
    assert "alegeți mai sus" in page
    assert "nu îi importați" in page


def test_the_page_asks_about_a_column_that_is_known_by_a_word_of_leaving(client: TestClient, db: Database) -> None:
    path = opened(client, "email,Foo\nana@example.org,disabled\ndan@example.org,dezabonat\neva@example.org,activ\n")
    page = client.get(path, headers=HTML).text
    assert "This column may say who left." in page
    form = {"column-0": "email", "column-1": "status", "value-1-0": "ignore", "do": "import"}
    assert client.post(path, data=form, headers=HTML).status_code == 303
    with db.read() as tx:
        assert {one.email for one in tx.execute(sa.select(subscribers))} == {"ana@example.org", "eva@example.org"}


def test_a_column_about_something_else_needs_no_answers(client: TestClient, db: Database) -> None:
    path = opened(client, "Mail;Marital status\nana@example.org;single\n")
    form = {"column-0": "email", "column-1": "attribute", "name-1": "marital", "do": "import"}
    assert client.post(path, data=form, headers=HTML).status_code == 303
    with db.read() as tx:
        assert the_subscriber(tx, "ana@example.org").attributes == {"marital": "single"}


def test_a_zip_with_unknown_values_is_not_taken(client: TestClient, db: Database) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("crm.csv", CRM)
    answer = client.post(
        PAGE,
        files={"file": ("all.zip", packed.getvalue())},
        headers=HTML | {"Referer": f"http://127.0.0.1:8000{PAGE}"},
    )
    assert "may say who left" in said(client, answer)
    with db.read() as tx:
        assert count(tx, imports.imports) == 0


def test_people_may_be_asked_and_put_on_a_list(client: TestClient, db: Database) -> None:
    path = opened(client, "email\nana@example.org\n")
    client.post(path, data={"column-0": "email", "status": "Pending", "list": " news ", "do": "import"}, headers=HTML)
    with db.read() as tx:
        assert the_subscriber(tx, "ana@example.org").activated_at is None
        assert tx.scalars(sa.select(memberships.c.list_key)).all() == ["news"]


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ({"column-0": "ignore"}, "Say which column holds the e-mail addresses."),
        ({"column-1": "email"}, "Only one column can be email."),
        ({"column-1": "attribute", "name-1": "x", "column-2": "attribute", "name-2": "x"}, "the same attribute."),
        ({"column-1": "shoe"}, "A column can be one of"),
        ({"list": "not a key"}, "A list key is 1–64 letters"),
        ({"status": "Gone"}, "Status must be Activated or Pending."),
    ],
)
def test_a_choice_that_makes_no_sense_comes_back_with_the_reason_and_what_was_chosen(
    client: TestClient, db: Database, choice: dict[str, str], reason: str
) -> None:
    path = opened(client, ODD)
    answer = client.post(path, data=CHOSEN | {"name-2": "kept", "do": "import"} | choice, headers=HTML)
    assert answer.status_code == 400
    assert reason in unescape(answer.text)
    assert 'value="kept"' in answer.text or "name-2" in choice
    assert people(db) == 0
    with db.read() as tx:
        assert tx.scalar(sa.select(imports.imports.c.state)) == "open"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "Choose a file first."),
        ("\n\n", "The file is empty."),
        ("Name,Ort\nAna,Cluj\n", "No column holds e-mail addresses."),
        ("ana@example.org,Ana\n", "The first row must name the columns"),
        (b"PK\x03\x04broken", "The ZIP is damaged."),
        (b"\xd0\xcf\x11\xe0", "This is a spreadsheet."),
        ("Kontakt," + ",".join(f"c{n}" for n in range(100)) + "\nana@example.org\n", "more than 100 columns"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_at_once_and_not_kept(
    client: TestClient, db: Database, content: str | bytes, reason: str
) -> None:
    answer = client.post(
        PAGE, files={"file": ("x.csv", content)}, headers=HTML | {"Referer": f"http://127.0.0.1:8000{PAGE}"}
    )
    assert answer.headers["location"] == PAGE
    assert reason in said(client, answer)
    with db.read() as tx:
        assert count(tx, imports.imports) == count(tx, chunks) == 0


@pytest.mark.parametrize("sent", [{}, {"data": {"file": "x"}}, {"content": b"x"}, {"files": {"other": ("x", "y")}}])
def test_a_form_without_a_file_is_said(client: TestClient, sent: dict[str, Any]) -> None:
    answer = client.post(PAGE, headers=HTML | {"Referer": f"http://127.0.0.1:8000{PAGE}"}, **sent)
    assert "Choose a file first." in said(client, answer)


def test_a_zip_goes_by_what_is_recognised_and_a_wide_file_too(client: TestClient, db: Database) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.csv", "email\nana@example.org\n")
        archive.writestr("unsubscribed.csv", "email\ndan@example.org\n")
    wide = "email," + ",".join(f"c{n}" for n in range(200)) + "\neva@example.org\n"
    for content, name in ((packed.getvalue(), "all.zip"), (wide, "wide.csv")):
        path = opened(client, content, name)
        page = client.get(path, headers=HTML).text
        assert "goes by what is recognised" in page
        assert "<select" not in page
        client.post(path, data={"do": "import"}, headers=HTML)
    assert people(db) == 2


def test_a_hundred_columns_fit_on_a_page_below_a_hundred_kilobytes(client: TestClient) -> None:
    header = ",".join(["email", *(f"column number {n}" for n in range(99))])
    rows = [",".join([f"p{n}@example.org", *(["x" * 20 + str(n)] * 99)]) for n in range(9)]
    answer = client.get(opened(client, "\n".join([header, *rows])), headers=HTML)
    assert len(answer.content) < 100_000


def test_a_cell_is_text_and_nothing_else(client: TestClient) -> None:
    path = opened(client, 'Kontakt,"<script>a</script>"\nana@example.org,"<img src=x onerror=y>"\n', "<b>.csv")
    page = client.get(path, headers=HTML).text
    assert not re.search(r"<script>|<img src=x|<b>", page)


def test_an_import_that_runs_shows_how_far_it_is_and_can_be_stopped(
    client: TestClient, db: Database, monkeypatch: pytest.MonkeyPatch, rung: list[str]
) -> None:
    monkeypatch.setattr(desk, "SMALL", 0)
    path = opened(client, ODD)
    client.post(path, data=CHOSEN | {"do": "import"}, headers=HTML)
    assert "import" in rung
    page = client.get(path, headers=HTML).text
    assert "In the queue" in page
    assert '<noscript><meta http-equiv="refresh"' in page
    assert "The import is stopped." in said(client, client.post(f"{path}/stop", headers=HTML))
    assert "Stopped early" in text(client, path)
    assert people(db) == 0
    again = client.post(f"{path}/stop", headers=HTML | {"Referer": f"http://127.0.0.1:8000{path}"})
    assert "This import does not run." in said(client, again)
    with db.read() as tx:
        verbs = tx.scalars(sa.select(activity.c.verb).order_by(activity.c.id)).all()
    assert verbs == [Verb.IMPORT_UPLOADED, Verb.IMPORT_STARTED, Verb.IMPORT_STOPPED]


def test_a_trial_that_is_stopped_is_not_noted(
    client: TestClient, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "SMALL", 0)
    path = opened(client, ODD)
    client.post(path, data=CHOSEN | {"do": "try"}, headers=HTML)
    assert "Trying" in text(client, path)
    client.post(f"{path}/stop", headers=HTML)
    assert "What is in the columns?" in text(client, path)
    with db.read() as tx:
        assert count(tx, activity) == 1, "only the upload"


def test_an_open_upload_is_discarded(client: TestClient, db: Database) -> None:
    path = opened(client, ODD)
    assert "Nothing was imported." in said(client, client.post(f"{path}/discard", headers=HTML))
    assert client.get(path, headers=HTML).status_code == 404
    with db.read() as tx:
        assert count(tx, chunks) == 0
        verbs = tx.scalars(sa.select(activity.c.verb).order_by(activity.c.id)).all()
    assert verbs == [Verb.IMPORT_UPLOADED, Verb.IMPORT_DISCARDED]


def test_a_second_start_changes_nothing(client: TestClient, db: Database) -> None:
    path = opened(client, ODD)
    for _ in range(2):
        assert client.post(path, data=CHOSEN | {"do": "import"}, headers=HTML).headers["location"] == path
    with db.read() as tx:
        assert count(tx, activity) == 2, "the upload and one start"


def test_a_form_that_does_not_say_so_imports_nobody(client: TestClient, db: Database) -> None:
    path = opened(client, ODD)
    for form in ({}, CHOSEN, CHOSEN | {"do": "something"}):
        assert client.post(path, data=form, headers=HTML).status_code == 303
    assert people(db) == 0


@pytest.mark.parametrize("path", ["", "/stop", "/discard"])
def test_an_unknown_import_is_not_there(client: TestClient, path: str) -> None:
    assert client.get(f"{PAGE}/nothing", headers=HTML).status_code == 404
    answer = client.post(f"{PAGE}/nothing{path}", headers={"Accept": "application/json"})
    assert answer.status_code == 404


def test_another_site_uploads_nothing(client: TestClient, db: Database) -> None:
    file = {"file": ("x.csv", "email\nx@example.org\n")}
    assert client.post(PAGE, files=file, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    with db.read() as tx:
        assert count(tx, imports.imports) == 0


def test_more_than_a_megabyte_can_be_uploaded(client: TestClient) -> None:
    path = opened(client, "Kontakt\n" + "".join(f"person{n}@example.org\n" for n in range(60_000)))
    assert "person0@example.org" in text(client, path)
    answer = client.post(path, data={"list": "x" * (1024 * 1024 + 1)}, headers={"Accept": "application/json"})
    assert answer.status_code == 413


def test_everything_is_said_in_romanian_too(client: TestClient) -> None:
    path = opened(client, ODD)
    assert "Ce conțin coloanele?" in text(client, path, **{"Accept-Language": "ro"})
    assert "Importă abonați" in text(client, PAGE, **{"Accept-Language": "ro"})
    refused = client.post(path, data={"column-0": "ignore"}, headers=HTML | {"Accept-Language": "ro"})
    assert "Spuneți care coloană conține adresele de e-mail." in refused.text


def test_no_address_of_an_upload_is_in_the_log(client: TestClient, logged: Any) -> None:
    path = opened(client, ODD)
    client.post(path, data=CHOSEN | {"do": "import"}, headers=HTML)
    assert "example.org" not in logged()
    assert "people.csv" not in logged()
