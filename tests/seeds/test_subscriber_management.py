"""Feature 2, subscriber management: a test for each row of its tables."""

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from gna import tokens
from gna.db import Database
from gna.subscribers.cleanup import clean_up
from gna.subscribers.table import subscribers
from tests.factories import NOW, a_subscriber, count
from tests.seeds.reader import Reader

LIST = "/admin/api/subscribers"


@pytest.fixture
def people(db: Database) -> list[str]:
    """Five people, oldest first."""
    who = (
        ("ana@example.org", "Ana", True),
        ("bo_b@example.org", "Bo", False),
        ("CY@Example.net", "50% Cy", True),
        ("dan@example.org", None, True),
        ("eve@example.org", "Évelyne", False),
    )
    with db.write() as tx:
        return [
            a_subscriber(
                tx, email=email, nickname=nickname, activated=activated, created_at=NOW + timedelta(minutes=number)
            )
            for number, (email, nickname, activated) in enumerate(who)
        ]


def emails(client: TestClient, **query: Any) -> list[str]:
    """The addresses on a page."""
    answer = client.get(LIST, params=query)
    assert answer.status_code == 200, answer.text
    return [item["email"] for item in answer.json()["items"]]


def export(client: TestClient, **query: Any) -> list[list[str]]:
    """The rows of the file, header included."""
    answer = client.get(f"{LIST}/export.csv", params=query)
    assert answer.status_code == 200
    return list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig"), newline="")))


class TestSubscriberStates:
    """pending → activated → deleted."""

    def test_pending(self, reader: Reader) -> None:
        reader.subscribes()
        assert reader.row().activated_at is None

    def test_activated(self, reader: Reader) -> None:
        assert reader.is_activated().activated_at is not None

    def test_deleted(self, reader: Reader) -> None:
        person = reader.is_activated()
        reader.client.post(f"/api/unsubscribe?token={person.unsubscribe_token}")
        assert reader.row() is None

    def test_pending_expired_and_cleaned_up_is_deleted(self, reader: Reader) -> None:
        reader.subscribes()
        reader.expires("confirmation_expires_at")
        with reader.db.write() as tx:
            clean_up(tx, now=NOW + timedelta(days=365))
        assert reader.row() is None

    def test_activated_and_removed_by_an_admin_is_deleted(self, reader: Reader, client: TestClient) -> None:
        person = reader.is_activated()
        assert client.delete(f"{LIST}/{person.id}").status_code == 204
        assert reader.row() is None


class TestSubscriberFields:
    """The core business fields."""

    def test_email_is_required(self, reader: Reader) -> None:
        assert reader.client.post("/api/subscribe", json={"nickname": "Ana"}).status_code == 400

    def test_nickname_is_optional(self, reader: Reader) -> None:
        assert reader.is_activated().nickname is None

    def test_unsubscribe_token_is_there_from_the_start(self, reader: Reader) -> None:
        reader.subscribes()
        assert tokens.is_shaped(reader.row().unsubscribe_token)

    def test_activated_at_is_null_until_confirmed(self, reader: Reader) -> None:
        reader.subscribes()
        assert reader.row().activated_at is None


@pytest.mark.usefixtures("people")
class TestAdminOperations:
    """List, search, remove, export."""

    def test_list_shows_everybody_with_status(self, client: TestClient) -> None:
        items = client.get(LIST).json()["items"]
        assert [(item["email"], item["nickname"], item["status"]) for item in items] == [
            ("eve@example.org", "Évelyne", "Pending"),
            ("dan@example.org", None, "Activated"),
            ("CY@Example.net", "50% Cy", "Activated"),
            ("bo_b@example.org", "Bo", "Pending"),
            ("ana@example.org", "Ana", "Activated"),
        ]
        assert items[0]["activated_at"] is None
        assert items[1]["activated_at"] == "2026-11-15T12:00:00.000000Z"
        assert items[1]["created_at"] == "2026-11-15T12:03:00.000000Z"
        assert not any("token" in field for field in items[0])

    @pytest.mark.parametrize(
        ("q", "found"),
        [
            ("ana", ["ana@example.org"]),
            ("ANA@", ["ana@example.org"]),
            ("example.net", ["CY@Example.net"]),
            ("bo", ["bo_b@example.org"]),
            ("évely", ["eve@example.org"]),
            ("ÉVELY", ["eve@example.org"]),
            ("%", ["CY@Example.net"]),
            ("_", ["bo_b@example.org"]),
            ("\\", []),
            ("nobody", []),
            ("'; DROP TABLE subscribers; --", []),
            ("  ana  ", ["ana@example.org"]),
        ],
    )
    def test_search_finds_a_part_of_email_or_nickname(self, client: TestClient, q: str, found: list[str]) -> None:
        assert emails(client, q=q) == found
        assert client.get(LIST, params={"q": q}).json()["total"] == len(found)

    def test_remove_deletes_for_good(self, client: TestClient, db: Database, people: list[str]) -> None:
        assert client.delete(f"{LIST}/{people[0]}").status_code == 204
        again = client.delete(f"{LIST}/{people[0]}")
        assert (again.status_code, set(again.json())) == (404, {"error"})
        with db.read() as tx:
            assert count(tx, subscribers) == 4

    def test_export_downloads_a_csv_file(self, client: TestClient) -> None:
        answer = client.get(f"{LIST}/export.csv")
        assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
        assert answer.headers["Content-Disposition"] == 'attachment; filename="subscribers.csv"'


class TestPagination:
    """Offset-based pages."""

    @pytest.fixture(autouse=True)
    def many(self, db: Database) -> None:
        """A hundred and twenty people."""
        with db.write() as tx:
            for number in range(120):
                a_subscriber(tx, email=f"p{number:03}@example.org", created_at=NOW + timedelta(seconds=number))

    def test_default_size(self, client: TestClient) -> None:
        answer = client.get(LIST).json()
        assert (len(answer["items"]), answer["page"], answer["per_page"], answer["total"]) == (20, 1, 20, 120)

    def test_maximum_size(self, client: TestClient) -> None:
        answer = client.get(LIST, params={"per_page": 1000}).json()
        assert (len(answer["items"]), answer["per_page"]) == (100, 100)

    def test_method_is_by_offset(self, client: TestClient) -> None:
        assert emails(client, page=2, per_page=50) == [f"p{number:03}@example.org" for number in range(69, 19, -1)]
        assert len(emails(client, page=3, per_page=50)) == 20
        assert emails(client, page=4, per_page=50) == []

    def test_sort_default_is_newest_first(self, client: TestClient) -> None:
        assert emails(client, per_page=3) == ["p119@example.org", "p118@example.org", "p117@example.org"]

    @pytest.mark.parametrize("name", ["page", "per_page"])
    @pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", "", "9" * 30])
    def test_a_bad_page_is_refused(self, client: TestClient, name: str, value: str) -> None:
        answer = client.get(LIST, params={name: value})
        assert answer.status_code == 400
        assert set(answer.json()) == {"error"}


@pytest.mark.usefixtures("people")
class TestExportFormat:
    """GET /admin/api/subscribers/export.csv."""

    def test_format_is_csv_with_a_header_row(self, client: TestClient) -> None:
        assert len(export(client)) == 6

    def test_encoding_is_utf8_with_bom(self, client: TestClient) -> None:
        content = client.get(f"{LIST}/export.csv").content
        assert content.startswith(b"\xef\xbb\xbfemail,")
        assert "Évelyne" in content.decode("utf-8-sig")

    def test_columns(self, client: TestClient) -> None:
        assert export(client)[:3] == [
            ["email", "nickname", "status", "activated_at"],
            ["eve@example.org", "Évelyne", "Pending", ""],
            ["dan@example.org", "", "Activated", "2026-11-15T12:00:00.000000Z"],
        ]

    def test_scope_is_the_current_search(self, client: TestClient) -> None:
        assert [row[0] for row in export(client, q="EXAMPLE.NET")] == ["email", "CY@Example.net"]
        assert len(export(client, q="")) == 6

    def test_no_cell_can_be_a_formula(self, client: TestClient, db: Database) -> None:
        with db.write() as tx:
            a_subscriber(tx, email="=cmd@example.org", nickname="=HYPERLINK(1)", activated=True)
            a_subscriber(tx, email="+x@example.org", nickname="@SUM(1)", activated=True)
        cells = [cell for row in export(client) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
        assert "'=cmd@example.org" in cells
