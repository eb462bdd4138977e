"""The pages of bounces and dead letters, as forms and links."""

import re

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna import outbox
from gna.activity import activity
from gna.db import Database
from gna.outbox import messages
from tests.desk import Desk
from tests.factories import a_message, a_subscriber, the_subscriber

HTML = {"Accept": "text/html"}
ROMANIAN = HTML | {"Accept-Language": "ro"}
BOUNCES, DEAD = "/admin/bounces", "/admin/dead-letters"


@pytest.fixture
def desk(client: TestClient, db: Database) -> Desk:
    """Three people who bounced, and three letters that did not arrive."""
    desk = Desk(client, db)
    for number in range(3):
        desk.provider.refuses(f"p{number}@example.org", permanently=True)
        desk.provider.refuses(f"d{number}@example.org", permanently=True)
    desk.has_readers(*(f"p{number}@example.org" for number in range(3)))
    with db.write() as tx:
        for number in range(3):
            to = f"d{number}@example.org"
            a_message(tx, to=to, subscriber_id=a_subscriber(tx, email=to))
    desk.sends()
    with db.write() as tx:
        tx.execute(sa.delete(activity))
        tx.execute(sa.delete(outbox.bounces).where(outbox.bounces.c.email.like("d%")))
    return desk


def ids(db: Database, table: sa.Table) -> list[str]:
    with db.read() as tx:
        return [*tx.scalars(sa.select(table.c.id).order_by(table.c.id))]


def noted(db: Database) -> list[tuple[str, str]]:
    with db.read() as tx:
        return [(row.verb, row.about) for row in tx.execute(sa.select(activity).order_by(activity.c.id))]


def pressed(client: TestClient, path: str, *, before: str, headers: dict[str, str] = HTML, **fields: object) -> str:
    """Send a form from a page; the text of the message on the page that comes next."""
    referer = {"Referer": f"http://127.0.0.1:8000{before}"}
    answer = client.post(path, data=fields, headers=headers | referer)
    assert (answer.status_code, answer.headers["location"]) == (303, before), answer.text
    page = client.get(answer.headers["location"], headers=headers)
    found = re.search(r'<p class="note said[^>]*>([^<]+)', page.text)
    assert found, page.text
    return found[1]


@pytest.mark.parametrize("path", [BOUNCES, DEAD])
@pytest.mark.parametrize(("headers", "title"), [(HTML, "No (bounces|dead letters)"), (ROMANIAN, "(Nicio|Niciun) ")])
def test_an_empty_list_teaches(client: TestClient, path: str, headers: dict[str, str], title: str) -> None:
    page = client.get(path, headers=headers)
    assert page.status_code == 200
    assert re.search(f"<h2>{title}", page.text)
    assert "<form" not in page.text


@pytest.mark.usefixtures("desk")
def test_a_bounce_is_dismissed(client: TestClient, db: Database) -> None:
    first = ids(db, outbox.bounces)[0]
    said = pressed(client, f"{BOUNCES}/{first}/dismiss", before=BOUNCES)
    assert said == "Dismissed. The person stays subscribed."
    assert len(ids(db, outbox.bounces)) == 2
    said = pressed(client, f"{BOUNCES}/{first}/dismiss", before=BOUNCES, headers=ROMANIAN)
    assert said == "Această adresă respinsă nu mai este în listă."
    assert noted(db) == [("bounce_dismissed", "1")]


@pytest.mark.usefixtures("desk")
def test_several_bounces_are_dismissed(client: TestClient, db: Database) -> None:
    some = ids(db, outbox.bounces)[:2]
    said = pressed(client, f"{BOUNCES}/dismiss", before=f"{BOUNCES}?page=1", bounce=some)
    assert said == "2 dismissed. The people stay subscribed."
    assert noted(db) == [("bounce_dismissed", "2")]


@pytest.mark.usefixtures("desk")
def test_people_who_bounced_are_removed(client: TestClient, db: Database) -> None:
    some = ids(db, outbox.bounces)[:2]
    said = pressed(client, f"{BOUNCES}/remove", before=BOUNCES, bounce=some)
    assert said == "2 people were removed."
    with db.read() as tx:
        assert [bool(the_subscriber(tx, f"p{number}@example.org")) for number in range(3)].count(True) == 1
    assert len(ids(db, outbox.bounces)) == 1
    assert noted(db) == [("subscriber_removed", "2")]
    assert pressed(client, f"{BOUNCES}/remove", before=BOUNCES, bounce=some) == "There is no such bounce."


@pytest.mark.parametrize("path", [f"{BOUNCES}/remove", f"{BOUNCES}/dismiss"])
def test_who_chose_nobody_is_told(client: TestClient, path: str) -> None:
    assert pressed(client, path, before=BOUNCES) == "Choose somebody first."
    assert pressed(client, path, before=BOUNCES, headers=ROMANIAN) == "Alegeți întâi pe cineva."


@pytest.mark.usefixtures("desk")
def test_a_dead_letter_is_sent_again(client: TestClient, db: Database, rung: list[str]) -> None:
    first = ids(db, outbox.dead_letters)[0]
    shown = client.get(f"{DEAD}/{first}", headers=HTML)
    assert "Hello Ana" in shown.text
    assert "550 no such mailbox" in shown.text
    said = pressed(client, f"{DEAD}/{first}/replay", before=DEAD)
    assert said == "On its way again. If it fails once more, it comes back here."
    assert rung[-1] == "send"
    assert pressed(client, f"{DEAD}/{first}/replay", before=DEAD) == "Dead letter not found."
    assert noted(db) == [("dead_letter_replayed", "1")]
    assert client.get(f"{DEAD}/{first}", headers=HTML).status_code == 404


@pytest.mark.usefixtures("desk")
def test_from_its_own_page_it_leads_to_the_list(client: TestClient, db: Database) -> None:
    first, second = ids(db, outbox.dead_letters)[:2]
    for letter, verb in ((first, "replay"), (second, "drop")):
        own = {"Referer": f"http://127.0.0.1:8000{DEAD}/{letter}"}
        answer = client.post(f"{DEAD}/{letter}/{verb}", headers=HTML | own)
        assert (answer.status_code, answer.headers["location"]) == (303, DEAD)
    with db.read() as tx:
        left = tx.scalars(sa.select(messages.c.status).where(messages.c.mailing_id.is_(None))).all()
    assert sorted(left) == ["failed_permanent", "pending"]
    assert noted(db) == [("dead_letter_replayed", "1"), ("dead_letter_dropped", "1")]


def test_all_on_the_page_are_sent_again(desk: Desk, client: TestClient, db: Database) -> None:
    letters = ids(db, outbox.dead_letters)
    for number in range(3):
        desk.provider.takes(f"d{number}@example.org")
    said = pressed(client, f"{DEAD}/replay", before=DEAD, letter=[*letters, "unknown"])
    assert said == "3 mails are on their way again."
    assert noted(db) == [("dead_letter_replayed", "3")]
    desk.works()
    assert sorted(desk.got()) == [f"d{number}@example.org" for number in range(3)]
    assert not ids(db, outbox.dead_letters)
    assert pressed(client, f"{DEAD}/replay", before=DEAD, letter=letters).startswith("The message is not there any")
    assert pressed(client, f"{DEAD}/replay", before=DEAD) == "Choose what to send again."


@pytest.mark.usefixtures("desk")
def test_one_whose_mail_is_gone_can_only_be_thrown_away(client: TestClient, db: Database) -> None:
    [first, *_] = ids(db, outbox.dead_letters)
    with db.write() as tx:
        tx.execute(sa.delete(messages))
    page = client.get(f"{DEAD}/{first}", headers=HTML).text
    assert "it cannot be sent again" in page
    assert "Send again" not in page
    said = pressed(client, f"{DEAD}/{first}/replay", before=DEAD, headers=ROMANIAN)
    assert said == "Mesajul nu mai există sau este deja pe drum."


@pytest.mark.usefixtures("desk")
def test_what_a_server_said_is_no_markup(client: TestClient, db: Database) -> None:
    with db.write() as tx:
        tx.execute(sa.update(outbox.bounces).values(reason="<script>x</script>", email='"><b>x'))
        tx.execute(sa.update(outbox.dead_letters).values(error="<script>x</script>"))
    [first, *_] = ids(db, outbox.dead_letters)
    for path in (BOUNCES, DEAD, f"{DEAD}/{first}"):
        text = client.get(path, headers=HTML).text
        assert "<script>x" not in text
        assert '"><b>' not in text
