"""The pages of subscribers, without a browser."""

import json
import re
from html import unescape
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna.activity import activity
from gna.db import Database
from gna.outbox import Kind, messages
from gna.subscribers import directory, lists
from gna.subscribers.directory import Change
from gna.subscribers.lists import Leaving
from gna.subscribers.table import memberships, subscribers
from tests.factories import NOW, a_message, a_subscriber, count, the_subscriber

LIST = "/admin/subscribers"
API = "/admin/api/subscribers"
HTML = {"Accept": "text/html"}
REFERER = {"Referer": f"http://127.0.0.1:8000{LIST}?q=example&page=1"}


@pytest.fixture
def ana(db: Database) -> str:
    """The id of somebody who has confirmed."""
    with db.write() as tx:
        return a_subscriber(tx, nickname="Ana", activated=True, attributes={"city": "Cluj", "age": 40})


@pytest.fixture
def ion(db: Database) -> str:
    """The id of somebody who has not."""
    with db.write() as tx:
        return a_subscriber(tx, email="ion@example.org")


def shows(client: TestClient, path: str, status: int = 200, language: str = "en") -> str:
    answer = client.get(path, headers=HTML | {"Accept-Language": language})
    assert answer.status_code == status, answer.text
    return unescape(answer.text)


def posts(client: TestClient, path: str, **fields: Any) -> Any:
    return client.post(path, data=fields, headers=HTML | REFERER)


def opened(client: TestClient, person: str) -> dict[str, Any]:
    """The fields of somebody's form as a browser would send them back."""
    page = shows(client, f"{LIST}/{person}")
    texts = dict(re.findall(r'<input type="hidden" name="(shown_\w+)" value="(.*?)">', page, re.S))
    areas = dict(re.findall(r"<textarea [^>]*name=\"(\w+)\"[^>]*>(.*?)</textarea>", page, re.S))
    nickname = re.findall(r'id="nickname" name="nickname" value="(.*?)"', page)[-1]
    ticked = re.findall(r'name="lists" value="([^"]+)" checked', page)
    return {**texts, **areas, "nickname": nickname, "lists": ticked}


def on(db: Database, person: str) -> list[str]:
    """The lists that somebody is on."""
    with db.read() as tx:
        return [one.list_key for one in lists.of(tx, [person])[person] if one.unsubscribed_at is None]


def done(db: Database) -> list[tuple[str, str]]:
    """What was noted, without who did it."""
    with db.read() as tx:
        return [(row.verb, row.about) for row in tx.execute(sa.select(activity).order_by(activity.c.id))]


class TestList:
    """GET /admin/subscribers."""

    def test_nobody_yet_teaches_how_to_begin(self, client: TestClient) -> None:
        page = shows(client, LIST)
        assert "Nobody has subscribed yet" in page
        assert 'href="/admin/settings#embed"' in page
        assert 'href="/admin/import"' in page
        assert 'type="search"' not in page

    def test_nobody_matches(self, client: TestClient, ana: str) -> None:
        page = shows(client, f"{LIST}?q=nobody")
        assert "Nobody matches" in page
        assert "Show everybody" in page

    def test_chips_count_those_who_match(self, client: TestClient, ana: str, ion: str) -> None:
        def chips(query: str) -> list[tuple[str, str]]:
            group = re.search(r'<div class="chips".*?</div>', shows(client, f"{LIST}{query}"), re.S)
            assert group
            return re.findall(r">(\w+) <span>(\d+)", group[0])

        assert chips("") == [("All", "2"), ("Activated", "1"), ("Pending", "1")]
        assert chips("?q=ion") == [("All", "1"), ("Activated", "0"), ("Pending", "1")]
        assert chips("?q=ion&status=activated") == [("All", "1"), ("Activated", "0"), ("Pending", "1")]

    def test_filters_go_together_and_stay_in_every_link(
        self, client: TestClient, db: Database, ana: str, ion: str
    ) -> None:
        with db.write() as tx:
            lists.put_on(tx, [ana, ion], "news", now=NOW)
        page = shows(client, f"{LIST}?q=example&status=pending&list=news")
        assert ion in page
        assert ana not in page
        assert f"{API}/export.csv?q=example&status=pending&list=news" in page
        assert "?q=example&status=Activated&list=news" in page

    def test_the_list_filter_is_there_when_there_are_lists(self, client: TestClient, db: Database, ana: str) -> None:
        assert 'name="list"' not in shows(client, LIST)
        with db.write() as tx:
            lists.put_on(tx, [ana], "news", now=NOW)
        assert "<option>news</option>" in shows(client, LIST)

    @pytest.mark.parametrize("query", ["status=x", "list=%20no", "q=%00", "page=0"])
    def test_what_cannot_be_asked_is_a_page_with_a_reason(self, client: TestClient, query: str) -> None:
        assert "That is not possible" in shows(client, f"{LIST}?{query}", 400)

    def test_it_speaks_romanian(self, client: TestClient, ana: str) -> None:
        page = shows(client, LIST, language="ro")
        assert "1 persoană" in page
        assert "Adăugați un abonat" in page

    def test_what_people_call_themselves_is_only_text(self, client: TestClient, db: Database) -> None:
        with db.write() as tx:
            a_subscriber(tx, nickname="<script>alert(1)</script>")
        assert "<script>alert" not in client.get(LIST, headers=HTML).text


class TestAdd:
    """POST /admin/subscribers."""

    def test_somebody_new_is_asked_first(self, client: TestClient, db: Database, rung: list[str]) -> None:
        answer = posts(client, LIST, email=" New@example.org ", nickname="New")
        assert (answer.status_code, answer.headers["Location"]) == (303, LIST)
        with db.read() as tx:
            row = the_subscriber(tx, "new@example.org")
            assert (row.nickname, row.activated_at) == ("New", None)
            assert tx.scalar(sa.select(messages.c.kind)) == Kind.CONFIRMATION
        assert rung == ["send"]
        assert done(db) == [("subscriber_added", "1")]

    def test_somebody_who_is_here_gets_nothing(self, client: TestClient, db: Database, ana: str) -> None:
        answer = posts(client, LIST, email="ANA@example.org", nickname="Eve")
        assert answer.headers["Location"] == f"{LIST}/{ana}"
        with db.read() as tx:
            assert count(tx, messages) == 0
            assert the_subscriber(tx, "ana@example.org").nickname == "Ana"
        assert done(db) == []
        assert "already; nothing was sent" in shows(client, f"{LIST}/{ana}")

    def test_somebody_who_waits_gets_another_mail(self, client: TestClient, db: Database, ion: str) -> None:
        assert posts(client, LIST, email="ion@example.org").headers["Location"] == f"{LIST}/{ion}"
        with db.read() as tx:
            assert count(tx, messages) == 1

    def test_what_was_typed_stays_when_it_is_wrong(self, client: TestClient, db: Database) -> None:
        answer = posts(client, LIST, email="ana@", nickname="Ana")
        assert answer.status_code == 400
        assert "Email is not a valid address." in answer.text
        assert 'value="ana@"' in answer.text
        assert 'value="Ana"' in answer.text
        assert done(db) == []

    def test_the_form_is_a_page_too(self, client: TestClient) -> None:
        assert "Send the mail" in shows(client, f"{LIST}/new")


class TestPerson:
    """/admin/subscribers/{id}."""

    def test_everything_is_shown(self, client: TestClient, db: Database, ana: str) -> None:
        with db.write() as tx:
            lists.leave(tx, Leaving("ana@example.org", "news"), now=NOW)
        page = shows(client, f"{LIST}/{ana}")
        for text in ("ana@example.org", "Ana", "Activated", "city = Cluj", "age = 40", "Left news", "left on"):
            assert text in page, text
        assert "Send the confirmation mail again" not in page

    def test_edits_are_saved(self, client: TestClient, db: Database, ana: str) -> None:
        fields = opened(client, ana) | {
            "nickname": " Anca ",
            "another": "news, extra",
            "ocd_ids": "ocd/ro\r\n\r\nocd/md",
            "attributes": "age = 41\r\nnew = x",
        }
        answer = posts(client, f"{LIST}/{ana}", **fields)
        assert (answer.status_code, answer.headers["Location"]) == (303, f"{LIST}/{ana}")
        with db.read() as tx:
            person = directory.get(tx, ana)
        assert (person.nickname, person.ocd_ids) == ("Anca", ["ocd/ro", "ocd/md"])
        assert person.attributes == {"age": 41, "new": "x"}
        assert [one.list_key for one in person.lists if not one.unsubscribed_at] == ["extra", "general", "news"]
        assert done(db) == [("subscriber_changed", "1")]

    def test_what_nobody_touched_is_not_written(self, client: TestClient, db: Database, ana: str) -> None:
        assert posts(client, f"{LIST}/{ana}", **opened(client, ana)).status_code == 303
        with db.read() as tx:
            person = directory.get(tx, ana)
            assert dict(person.attributes) == {"city": "Cluj", "age": 40}
            assert count(tx, memberships) == 0

    def test_what_the_reader_does_while_the_form_is_open_stays(
        self, client: TestClient, db: Database, ana: str
    ) -> None:
        with db.write() as tx:
            lists.put_on(tx, [ana], "news", now=NOW)
        fields = opened(client, ana)
        assert fields["lists"] == ["general", "news"]
        with db.write() as tx:
            lists.leave(tx, Leaving("ana@example.org", "news"), now=NOW)
            lists.leave(tx, Leaving("ana@example.org", "extra"), now=NOW)
            lists.put_on(tx, [ana], "weekly", now=NOW)
            directory.change(tx, ana, Change.parse({"nickname": "Anca", "attributes": {"city": "Iași"}}), now=NOW)
        # Refused at first: the form that comes back knows what the first one showed.
        refused = posts(client, f"{LIST}/{ana}", **fields | {"another": "no/key"})
        for name in ("nickname", "lists"):
            assert f'name="shown_{name}" value="{fields[f"shown_{name}"]}"' in unescape(refused.text)
        posts(client, f"{LIST}/{ana}", **fields | {"another": "extra", "ocd_ids": "ocd/ro"})
        with db.read() as tx:
            person = directory.get(tx, ana)
        assert (person.nickname, person.attributes, person.ocd_ids) == ("Anca", {"city": "Iași"}, ["ocd/ro"])
        assert on(db, ana) == ["general", "weekly"]

    def test_a_list_that_was_left_is_joined_again_only_by_a_tick(
        self, client: TestClient, db: Database, ana: str
    ) -> None:
        with db.write() as tx:
            lists.leave(tx, Leaving("ana@example.org", "news"), now=NOW)
        fields = opened(client, ana)
        posts(client, f"{LIST}/{ana}", **fields)
        assert on(db, ana) == ["general"]
        posts(client, f"{LIST}/{ana}", **fields | {"lists": ["news"]})
        assert on(db, ana) == ["news"]

    @pytest.mark.parametrize(
        ("wrong", "reason"),
        [
            ({"nickname": "x" * 51}, "Nickname must be"),
            ({"another": "no/key"}, "A list key is"),
            ({"attributes": "no value"}, "as name = value"),
            ({"attributes": "a = 1\na = 2"}, "the same name"),
            ({"ocd_ids": "x" * 201}, "1–200 characters"),
        ],
    )
    def test_what_was_typed_stays(
        self, client: TestClient, db: Database, ana: str, wrong: dict[str, str], reason: str
    ) -> None:
        fields = opened(client, ana) | {"nickname": "Other", "attributes": "kept = typed"} | wrong
        answer = posts(client, f"{LIST}/{ana}", **fields)
        assert answer.status_code == 400
        assert reason in answer.text
        for value in fields.values():
            assert value[0] in answer.text if isinstance(value, list) else value in answer.text
        with db.read() as tx:
            assert directory.get(tx, ana).nickname == "Ana"
        assert done(db) == []

    def test_the_mail_is_sent_again(self, client: TestClient, db: Database, ion: str, rung: list[str]) -> None:
        assert "Send the confirmation mail again" in shows(client, f"{LIST}/{ion}")
        for _ in range(2):
            assert posts(client, f"{LIST}/{ion}/confirmation").headers["Location"] == f"{LIST}/{ion}"
        with db.read() as tx:
            assert count(tx, messages) == 1  # the one before is withdrawn
        assert rung == ["send", "send"]
        assert done(db) == [("confirmation_sent_again", "1")] * 2
        assert "sent the confirmation mail again to one person" in shows(client, "/admin/activity?area=subscribers")

    def test_the_mail_is_sent_five_times_an_hour(self, client: TestClient, db: Database, ion: str) -> None:
        mails = set()
        for _ in range(7):
            assert posts(client, f"{LIST}/{ion}/confirmation").status_code == 303
            with db.read() as tx:
                mails.add(tx.scalars(sa.select(messages.c.id)).one())
        assert len(mails) == 5

    def test_a_confirmed_person_is_not_asked_again(self, client: TestClient, db: Database, ana: str) -> None:
        answer = posts(client, f"{LIST}/{ana}/confirmation")
        assert answer.status_code == 303
        with db.read() as tx:
            assert count(tx, messages) == 0
        assert done(db) == []

    def test_removing_deletes_at_once(self, client: TestClient, db: Database, ana: str) -> None:
        answer = posts(client, f"{LIST}/{ana}/remove")
        assert (answer.status_code, answer.headers["Location"]) == (303, LIST)
        with db.read() as tx:
            assert count(tx, subscribers) == 0
        assert done(db) == [("subscriber_removed", "1")]
        assert shows(client, f"{LIST}/{ana}", 404)

    def test_what_we_know_of_them_is_a_file(self, client: TestClient, db: Database, ana: str) -> None:
        with db.write() as tx:
            a_message(tx, subscriber_id=ana)
        answer = client.get(f"{LIST}/{ana}/data.json", headers=HTML)
        assert answer.headers["Content-Disposition"] == 'attachment; filename="person.json"'
        told = json.loads(answer.text)
        assert told["email"] == "ana@example.org"
        assert told["attributes"] == {"city": "Cluj", "age": 40}
        assert [mail["kind"] for mail in told["messages"]] == ["confirmation"]
        assert "token" not in answer.text
        assert done(db) == [("subscribers_exported", "1")]

    @pytest.mark.parametrize("path", ["", "/confirmation", "/remove"])
    def test_nothing_is_done_to_nobody(self, client: TestClient, db: Database, ana: str, path: str) -> None:
        answer = posts(client, f"{LIST}/nobody{path}", nickname="Eve")
        assert (answer.status_code, answer.headers["Location"]) == (303, f"{LIST}?q=example&page=1")
        assert "There is no such subscriber" in shows(client, LIST)
        assert done(db) == []

    @pytest.mark.parametrize("path", ["", "/confirmation", "/remove"])
    def test_another_site_changes_nobody(self, client: TestClient, db: Database, ion: str, path: str) -> None:
        headers = HTML | {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
        answer = client.post(f"{LIST}/{ion}{path}", data={"nickname": "Eve"}, headers=headers)
        assert answer.status_code == 403
        with db.read() as tx:
            assert directory.get(tx, ion).nickname is None
            assert count(tx, messages) == 0
        assert done(db) == []

    @pytest.mark.parametrize("path", ["nobody", "nobody/data.json", "%00"])
    def test_nobody(self, client: TestClient, path: str) -> None:
        assert "There is nothing here" in shows(client, f"{LIST}/{path}", 404)


class TestSeveral:
    """POST /admin/subscribers/some."""

    def test_several_are_removed_in_chunks(
        self, client: TestClient, db: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("gna.web.desk.subscribers.CHUNK", 2)
        with db.write() as tx:
            people = [a_subscriber(tx, email=f"p{number}@example.org") for number in range(6)]
        answer = posts(client, f"{LIST}/some", do="remove", id=people[:5] + people[:1])
        assert (answer.status_code, answer.headers["Location"]) == (303, f"{LIST}?q=example&page=1")
        assert "5 people were removed." in shows(client, LIST)
        with db.read() as tx:
            assert count(tx, subscribers) == 1
        assert done(db) == [("subscriber_removed", number) for number in ("2", "2", "1")]

    def test_several_are_put_on_a_list_and_taken_off(
        self, client: TestClient, db: Database, ana: str, ion: str
    ) -> None:
        posts(client, f"{LIST}/some", do="put_on", put_on="news", id=[ana, ion])
        assert "2 people are on the list news now." in shows(client, LIST)
        posts(client, f"{LIST}/some", do="take_off", take_off="news", id=[ana])
        assert "1 person was taken off the list news." in shows(client, LIST)
        with db.read() as tx:
            found = lists.of(tx, [ana, ion])
        assert [lists.is_on(found[person], "news") for person in (ana, ion)] == [False, True]
        assert done(db) == [("subscriber_changed", "2"), ("subscriber_changed", "1")]

    @pytest.mark.parametrize(
        "fields",
        [
            {"do": "remove"},
            {"do": "remove", "id": "nobody"},
            {"do": "remove", "id": "a\0b"},
            {"do": "put_on", "put_on": "no key", "id": "x"},
            {"do": "put_on", "id": "x"},
            {"do": "take_off", "id": "x"},
            {"id": "x"},
        ],
    )
    def test_nothing_is_done_without_a_clear_wish(
        self, client: TestClient, db: Database, ana: str, fields: dict[str, str]
    ) -> None:
        answer = posts(client, f"{LIST}/some", **fields)
        assert (answer.status_code, answer.headers["Location"]) == (303, f"{LIST}?q=example&page=1")
        with db.read() as tx:
            assert count(tx, subscribers) == 1
        assert done(db) == []

    def test_whoever_is_gone_meanwhile_is_not_counted(self, client: TestClient, db: Database, ana: str) -> None:
        posts(client, f"{LIST}/some", do="remove", id=[ana, "gone"])
        assert "1 person was removed." in shows(client, LIST)
        assert done(db) == [("subscriber_removed", "1")]

    def test_a_list_without_a_good_name_is_refused_with_a_reason(self, client: TestClient, ana: str) -> None:
        posts(client, f"{LIST}/some", do="put_on", put_on="no key", id=[ana])
        assert "A list key is 1–64 letters, digits or - _ . :" in shows(client, LIST)

    def test_another_site_removes_nobody(self, client: TestClient, db: Database, ana: str) -> None:
        headers = HTML | {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
        answer = client.post(f"{LIST}/some", data={"do": "remove", "id": ana}, headers=headers)
        assert answer.status_code == 403
        with db.read() as tx:
            assert count(tx, subscribers) == 1


class TestApi:
    """What the JSON API gained."""

    def test_status_and_list_filter(self, client: TestClient, db: Database, ana: str, ion: str) -> None:
        def found(**query: str) -> tuple[list[str], int]:
            told = client.get(API, params=query).json()
            return [person["id"] for person in told["items"]], told["total"]

        with db.write() as tx:
            lists.replace(tx, ana, ["news"], now=NOW)
        assert found(status="activated") == ([ana], 1)
        assert found(status="PENDING") == ([ion], 1)
        assert found(list="news") == ([ana], 1)
        assert found(list="general") == ([ion], 1)
        assert found(list="news", status="pending") == ([], 0)
        assert found(q="ana", list="news", status="Activated") == ([ana], 1)
        lines = client.get(f"{API}/export.csv", params={"status": "pending"}).text.splitlines()
        assert [line.partition(",")[0] for line in lines[1:]] == ["ion@example.org"]

    def test_who_comes_with_a_file_is_found_on_its_lists(self, client: TestClient, ana: str) -> None:
        file = "email,lists\nnew@example.org,weekly;extra\nANA@example.org,extra\nplain@example.org,\n"
        assert client.post(f"{API}/import", files={"file": ("people.csv", file)}).json()["counts"]["new"] == 2
        for key, people in {
            "extra": {"new@example.org", "ana@example.org"},
            "weekly": {"new@example.org"},
            "general": {"ana@example.org", "plain@example.org"},
        }.items():
            for q in ("", "example"):
                told = client.get(API, params={"list": key, "q": q}).json()
                assert ({person["email"] for person in told["items"]}, told["total"]) == (people, len(people))

    @pytest.mark.parametrize("path", [API, f"{API}/export.csv"])
    def test_an_unknown_status_is_400(self, client: TestClient, path: str) -> None:
        answer = client.get(path, params={"status": "confirmed"})
        assert (answer.status_code, answer.json()) == (400, {"error": "status must be Activated or Pending"})

    def test_what_is_done_is_noted_and_never_who_it_was(self, client: TestClient, db: Database, ana: str) -> None:
        client.patch(f"{API}/{ana}", json={"nickname": "Anca"})
        client.get(f"{API}/export.csv")
        client.get(f"{API}/export.csv", params={"q": "nobody"})
        client.delete(f"{API}/{ana}")
        client.delete(f"{API}/{ana}")
        assert done(db) == [
            ("subscriber_changed", "1"),
            ("subscribers_exported", "1"),
            ("subscribers_exported", "0"),
            ("subscriber_removed", "1"),
        ]
        with db.read() as tx:
            assert ana not in str(tx.execute(sa.select(activity)).all())
