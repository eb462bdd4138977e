"""A signed campaign goes through a real mail server into real mailboxes, and every reader can read and leave."""

import subprocess
from collections.abc import Callable, Iterator
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

import dkim
import pytest
import sqlalchemy as sa

from gna.db import Database
from gna.delivery import mailings
from gna.mail.content import Content
from gna.mail.dkim import record
from gna.subscribers.table import subscribers
from tests.factories import a_mailing
from tests.running import Gna, until
from tests.servers import postfix
from tests.servers.postfix import Postfix

ISSUE = Content(
    subject="Știri pentru {{ nickname | tine }}: a subject that goes on until it has to be folded, and then further",
    html="<html><body><p>Salut {{ nickname | prietene }} & co</p>\n.\n<p>" + "x" * 1500 + "</p></body></html>",
    text="Salut {{ nickname | prietene }}\n.\n..two dots\nFrom here on\n" + "lung " * 300 + "\n",
)


@pytest.fixture
def server() -> Iterator[Postfix]:
    if reason := postfix.why_missing():
        pytest.skip(reason)
    with Postfix() as running:
        yield running


def test_every_reader_gets_exactly_what_was_meant(
    server: Postfix, start: Callable[..., Gna], db: Database, database_url: str, tmp_path: Path
) -> None:
    key = tmp_path / "dkim.pem"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    mailing = a_mailing(db, people=60, content=ISSUE)
    with db.write() as tx:
        for number, name in enumerate(("Ană-Maria", ".dot", "<b>Bob</b>", "O'Neil & Söhne", "名前", "")):
            someone = subscribers.c.email == f"p{number}@example.org"
            tx.execute(sa.update(subscribers).where(someone).values(nickname=name or None))
        people = {row.email: row for row in tx.execute(sa.select(subscribers))}
    start(
        command="worker",
        DATABASE_URL=database_url,
        EMAIL_PROVIDER="smtp",
        SMTP_URL=f"smtp://127.0.0.1:{server.port}",
        PLATFORM_BASE_URL="http://127.0.0.1:8000",
        DKIM_SELECTOR="gna",
        DKIM_PRIVATE_KEY_FILE=str(key),
    )
    until(lambda: len(server.received()) == 60, within=40, otherwise=lambda: f"{len(server.received())} arrived")
    published = record(key.read_text())
    for raw in server.received():
        mail = message_from_bytes(raw, _class=EmailMessage, policy=default)
        person = people.pop(str(mail["To"]))
        meant = ISSUE.merged({"nickname": person.nickname or "", "email": person.email})
        assert str(mail["Subject"]) == meant.subject
        assert text_of(mail, "plain").startswith(meant.text.rstrip())
        assert text_of(mail, "html").startswith(meant.html.partition("</body>")[0])
        assert mail["List-Unsubscribe"].endswith(f"/api/unsubscribe?token={person.unsubscribe_token}>")
        assert dkim.verify(raw, dnsfunc=lambda *_, **__: published)
    assert not people
    until(lambda: totals(db, mailing).state == "done", within=10)
    assert (totals(db, mailing).sent, totals(db, mailing).failed) == (60, 0)


def totals(db: Database, mailing: int) -> mailings.Totals:
    with db.read() as tx:
        return mailings.totals(tx, mailing)


def text_of(mail: EmailMessage, kind: str) -> str:
    part = mail.get_body((kind,))
    assert part is not None
    data = part.get_payload(decode=True)
    assert isinstance(data, bytes)
    return data.decode().replace("\r\n", "\n")
