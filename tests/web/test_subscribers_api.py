"""The subscribers for those who run the publication, over HTTP."""

import io
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna.activity import Verb, activity
from gna.db import Database
from gna.subscribers.table import subscribers
from tests import asking
from tests.factories import NOW, a_subscriber, count, the_subscriber
from tests.running import Gna, until

LIST = "/admin/api/subscribers"


@pytest.fixture
def ana(db: Database) -> str:
    """The id of an activated person."""
    with db.write() as tx:
        return a_subscriber(tx, nickname="Ana", activated=True)


def upload(client: TestClient, content: str | bytes, **fields: Any) -> Any:
    return client.post(f"{LIST}/import", files={"file": ("people.csv", content, "text/csv")}, data=fields)


def test_one_subscriber(client: TestClient, ana: str) -> None:
    assert client.get(f"{LIST}/{ana}").json() == {
        "id": ana,
        "email": "ana@example.org",
        "nickname": "Ana",
        "status": "Activated",
        "created_at": "2026-11-15T12:00:00.000000Z",
        "activated_at": "2026-11-15T12:00:00.000000Z",
        "ocd_ids": [],
        "attributes": {},
        "lists": [{"list_key": "general", "unsubscribed_at": None}],
    }


def test_an_unknown_subscriber(client: TestClient) -> None:
    for method in ("GET", "PATCH", "DELETE"):
        for unknown in ("x", "a%00b"):
            answer = client.request(method, f"{LIST}/{unknown}", json={} if method == "PATCH" else None)
            assert (answer.status_code, set(answer.json())) == (404, {"error"})


def test_patch_changes_what_it_names_and_nothing_else(client: TestClient, ana: str) -> None:
    answer = client.patch(f"{LIST}/{ana}", json={"ocd_ids": ["ocd/ro"], "attributes": {"city": "Cluj", "n": [1, None]}})
    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["nickname"], shown["ocd_ids"], shown["attributes"]) == (
        "Ana",
        ["ocd/ro"],
        {"city": "Cluj", "n": [1, None]},
    )
    assert client.patch(f"{LIST}/{ana}", json={"nickname": None}).json()["nickname"] is None
    assert client.patch(f"{LIST}/{ana}", json={"nickname": "Anca"}).json()["ocd_ids"] == ["ocd/ro"]


def test_patch_sets_the_lists(client: TestClient, ana: str) -> None:
    shown = client.patch(f"{LIST}/{ana}", json={"lists": ["news"]}).json()["lists"]
    assert [(one["list_key"], one["unsubscribed_at"] is None) for one in shown] == [("general", False), ("news", True)]
    shown = client.patch(f"{LIST}/{ana}", json={"lists": ["general"]}).json()["lists"]
    assert [(one["list_key"], one["unsubscribed_at"] is None) for one in shown] == [("general", True), ("news", False)]


@pytest.mark.parametrize(
    "body",
    [
        {"email": "new@example.org"},
        {"nickname": ""},
        {"nickname": 7},
        {"ocd_ids": "ocd/ro"},
        {"ocd_ids": [1]},
        {"ocd_ids": ["a\0b"]},
        {"attributes": []},
        {"attributes": {"a": "\0"}},
        {"attributes": {"a": "x" * 1001}},
        {"attributes": {"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}},
        {"attributes": {"a": 2**60}},
        {"lists": ["not a key"]},
        {"lists": [None]},
    ],
)
def test_patch_refuses_what_cannot_be(client: TestClient, ana: str, body: dict[str, Any]) -> None:
    before = client.get(f"{LIST}/{ana}").json()
    answer = client.patch(f"{LIST}/{ana}", json=body)
    assert (answer.status_code, set(answer.json())) == (400, {"error"})
    assert client.get(f"{LIST}/{ana}").json() == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
def test_another_site_changes_nothing(client: TestClient, db: Database, ana: str, headers: dict[str, str]) -> None:
    for answer in (
        client.delete(f"{LIST}/{ana}", headers=headers),
        client.patch(f"{LIST}/{ana}", json={"nickname": "Eve"}, headers=headers),
        client.post(f"{LIST}/import", files={"file": ("x.csv", "email\nx@example.org\n")}, headers=headers),
    ):
        assert (answer.status_code, set(answer.json())) == (403, {"error"})
    with db.read() as tx:
        assert the_subscriber(tx, "ana@example.org").nickname == "Ana"
        assert count(tx, subscribers) == 1
    own = {"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:8000"}
    assert client.delete(f"{LIST}/{ana}", headers=own).status_code == 204


class TestImport:
    """POST /admin/api/subscribers/import."""

    def test_a_small_file_is_done_when_it_answers(self, client: TestClient, db: Database) -> None:
        answer = upload(client, "email,nickname\nana@example.org,Ana\nbad@,\n")
        assert answer.status_code == 200
        told = answer.json()
        assert (told["state"], told["rows"], told["progress"], told["dry_run"]) == ("done", 2, 1.0, False)
        assert (told["counts"]["new"], told["counts"]["invalid"]) == (1, 1)
        with db.read() as tx:
            assert the_subscriber(tx, "ana@example.org").nickname == "Ana"
        assert client.get(f"/admin/api/imports/{told['id']}").json() == told
        assert client.get("/admin/api/imports").json()["items"] == [told]
        errors = client.get(told["errors_url"])
        assert errors.content.decode("utf-8-sig").splitlines() == [
            "file,row,error",
            "people.csv,3,Email is not a valid address",
        ]

    @pytest.mark.parametrize("query", ["?dry_run=true", ""])
    def test_a_dry_run_only_counts(self, client: TestClient, db: Database, query: str) -> None:
        answer = client.post(
            f"{LIST}/import{query}",
            files={"file": ("people.csv", "email\nana@example.org\n")},
            data={} if query else {"dry_run": "true"},
        )
        assert (answer.status_code, answer.json()["dry_run"], answer.json()["counts"]["new"]) == (200, True, 1)
        with db.read() as tx:
            assert count(tx, subscribers) == 0

    def test_a_file_that_cannot_be_imported_is_400(self, client: TestClient) -> None:
        answer = upload(client, "name\nAna\n")
        assert (answer.status_code, set(answer.json())) == (400, {"error"})

    @pytest.mark.parametrize(
        "sent",
        [
            {"json": {"file": "x"}},
            {"data": {"file": "x"}},
            {"files": {"other": ("x.csv", "email\n")}},
            {"content": b"x", "headers": {"Content-Type": "multipart/form-data"}},
            {},
        ],
    )
    def test_no_file_is_400(self, client: TestClient, sent: dict[str, Any]) -> None:
        answer = client.post(f"{LIST}/import", **sent)
        assert (answer.status_code, set(answer.json())) == (400, {"error"})

    @pytest.mark.parametrize("word", ["xyz", "2", "y"])
    def test_a_mistyped_safety_switch_is_400_and_imports_nobody(
        self, client: TestClient, db: Database, word: str
    ) -> None:
        file = {"file": ("people.csv", "email\nana@example.org\n")}
        assert client.post(f"{LIST}/import?dry_run={word}", files=file).status_code == 400
        with db.read() as tx:
            assert count(tx, subscribers) == 0

    def test_a_value_that_may_say_who_left_must_be_explained(self, client: TestClient, db: Database) -> None:
        content = "Mail;Consent\nana@example.org;on paper\ndan@example.org;withdrawn\n"
        answer = upload(client, content)
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert '"on paper", "withdrawn"' in error
        assert '{"values": {"Consent": {"on paper": "left"}}}' in error
        with db.read() as tx:
            assert count(tx, subscribers) == 0
        mapping = '{"values": {"Consent": {"on paper": "confirmed", "*": "left"}}}'
        answer = upload(client, content, mapping=mapping)
        assert (answer.status_code, answer.json()["counts"]["new"], answer.json()["counts"]["opted_out"]) == (200, 1, 1)
        answer = upload(client, content, mapping='{"values": {"Nope": {"on paper": "left"}}}')
        assert answer.status_code == 400
        assert "the file has no such column" in answer.json()["error"]

    @pytest.mark.parametrize(
        ("content", "opted_out"),
        [
            ("email,Stare abonare\nana@example.org,abonat\ndan@example.org,dezabonat\n", 1),
            ("email,État\nana@example.org,abonné\ndan@example.org,désabonné\n", 1),
            ("email,Foo\nana@example.org,abonné\ndan@example.org,désabonné\n", 1),
            # A no to a consent is left out, not barred.
            ("email,Acord newsletter\nana@example.org,da\ndan@example.org,nu\n", 0),
        ],
    )
    def test_who_left_in_another_language_stays_away(
        self, client: TestClient, db: Database, content: str, opted_out: int
    ) -> None:
        counts = upload(client, content).json()["counts"]
        assert (counts["new"], counts["opted_out"], counts["skipped"]) == (1, opted_out, 1 - opted_out)
        with db.read() as tx:
            assert count(tx, subscribers) == 1

    def test_columns_of_any_name_are_imported_as_the_mapping_says(self, client: TestClient, db: Database) -> None:
        mapping = '{"columns": {"Kontakt": "email", "Ort": "attribute:city"}, "status": "Pending", "lists": ["news"]}'
        answer = upload(client, "Kontakt;Ort;Rest\nana@example.org;Cluj;x\n", mapping=mapping)
        assert (answer.status_code, answer.json()["counts"]["new"]) == (200, 1)
        with db.read() as tx:
            ana = the_subscriber(tx, "ana@example.org")
        assert (ana.activated_at, ana.attributes) == (None, {"city": "Cluj"})

    @pytest.mark.parametrize(
        "mapping",
        [
            "{",
            "[]",
            "null",
            "[" * 10_000,
            '{"columns": {"Kontakt": "x"}}',
            '{"columns": {"Nobody": "email"}}',
            '{"columns": {"Ort": "email", "Kontakt": "email"}}',
            '{"status": "Gone"}',
            '{"lists": ["\\u0000"]}',
            '{"columns": {"Kontakt": "email", "Ort": "attribute:\\ud800"}}',
        ],
    )
    def test_a_mapping_that_makes_no_sense_is_400_and_imports_nobody(
        self, client: TestClient, db: Database, mapping: str
    ) -> None:
        answer = upload(client, "Kontakt;Ort\nana@example.org;Cluj\n", mapping=mapping)
        assert (answer.status_code, set(answer.json())) == (400, {"error"})
        assert client.get("/admin/api/imports").json()["total"] == 0
        with db.read() as tx:
            assert count(tx, subscribers) == 0

    def test_what_is_imported_is_noted_without_its_name(self, client: TestClient, db: Database) -> None:
        told = upload(client, "email\nana@example.org\n").json()
        upload(client, "email\nana@example.org\n", dry_run="true")
        with db.read() as tx:
            [row] = tx.execute(sa.select(activity)).all()
        assert (row.who, row.verb, row.about, row.target) == ("dev@localhost", Verb.IMPORT_STARTED, "Gna", told["id"])

    def test_an_unknown_import_is_404(self, client: TestClient) -> None:
        assert client.get("/admin/api/imports/x").status_code == 404
        assert client.get("/admin/api/imports/x/errors.csv").status_code == 404

    def test_other_addresses_still_take_a_megabyte_only(self, client: TestClient) -> None:
        answer = client.patch(f"{LIST}/{'x' * 5}", content=b"x" * (1024 * 1024 + 1))
        assert answer.status_code == 413


def test_a_large_file_is_a_job_to_watch(start: Callable[..., Gna], database_url: str) -> None:

    gna = start(DATABASE_URL=database_url)
    content = io.BytesIO(b"email,nickname\n" + b"".join(b"person%06d@example.org,P\n" % n for n in range(30_000)))
    answer = asking.post(f"{gna.url}{LIST}/import", files={"file": ("large.csv", content, "text/csv")}, timeout=30)
    assert answer.status_code == 202
    told = answer.json()
    assert told["state"] in ("waiting", "running")
    watch = f"{gna.url}/admin/api/imports/{told['id']}"
    until(lambda: asking.get(watch).json()["state"] == "done", within=60)
    assert asking.get(watch).json()["counts"]["new"] == 30_000
    assert asking.get(f"{gna.url}{LIST}?q=person012345").json()["total"] == 1


@pytest.mark.parametrize(
    ("header", "said"),
    [(b"email,nickname", {}), (b"Kontakt,Ruf", {"mapping": '{"columns": {"Kontakt": "email", "Ruf": "nickname"}}'})],
    ids=["recognised", "mapped"],
)
def test_a_killed_server_goes_on_with_its_import(
    start: Callable[..., Gna], database_url: str, header: bytes, said: dict[str, str]
) -> None:

    gna = start(DATABASE_URL=database_url)
    content = io.BytesIO(header + b"\n" + b"".join(b"person%06d@example.org,P\n" % n for n in range(20_000)))
    file = {"file": ("large.csv", content, "text/csv")}
    answer = asking.post(f"{gna.url}{LIST}/import", files=file, data=said, timeout=30)
    watch = f"/admin/api/imports/{answer.json()['id']}"
    until(lambda: 0 < asking.get(gna.url + watch).json()["rows"] < 20_000, within=30)
    gna.kill()
    gna.again()
    until(lambda: asking.get(gna.url + watch).json()["state"] == "done", within=90)
    told = asking.get(gna.url + watch).json()
    assert (told["rows"], told["counts"]["new"]) == (20_000, 20_000)
    assert asking.get(f"{gna.url}{LIST}").json()["total"] == 20_000


def test_the_export_ends_whatever_form_other_tools_give_a_moment(client: TestClient, db: Database) -> None:
    people = [
        {"id": f"{n}", "email": f"p{n}@example.org", "token": f"{n}", "moment": f"2026-11-15 0{n % 9}:00:00"}
        for n in range(5000)
    ]
    insert = "INSERT INTO subscribers (id, email, unsubscribe_token, created_at) VALUES (:id, :email, :token, :moment)"
    with db.write() as tx:
        moment = "CAST(:moment AS timestamptz)" if db.kind == "postgresql" else ":moment"
        tx.execute(sa.text(insert.replace(":moment", moment)), people)
    lines = client.get(f"{LIST}/export.csv").text.splitlines()[1:]
    assert len(lines) == len(set(lines)) == 5000
    assert client.get(LIST, params={"page": 50, "per_page": 100}).json()["items"]


def test_a_long_search_or_one_with_odd_characters(client: TestClient, ana: str) -> None:
    assert client.get(LIST, params={"q": "x" * 201}).status_code == 400
    assert client.get(f"{LIST}?q=%00").status_code == 400
    for q in (
        "[",
        "]",
        "*",
        "?",
        "^",
        "a*a",
        "[a-z]",
        "\\%",
        "a\nb",
        "ß",
        "İ",
        "\ud800".encode("utf-8", "surrogatepass"),
    ):
        answer = client.get(LIST, params={"q": q})
        assert answer.status_code == 200, q
        assert answer.json()["total"] == 0, q


def test_pages_of_a_common_search_hold_everybody_once(
    client: TestClient, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gna.subscribers.search.FEW", 5)
    with db.write() as tx:
        for number in range(23):
            a_subscriber(tx, email=f"p{number}@example.org", created_at=NOW)
    pages = [client.get(LIST, params={"q": "EXAMPLE", "page": page, "per_page": 10}).json() for page in (1, 2, 3, 4)]
    assert [len(page["items"]) for page in pages] == [10, 10, 3, 0]
    assert {page["total"] for page in pages} == {23}
    assert len({item["id"] for page in pages for item in page["items"]}) == 23
