"""Both ends of one mailing: a campaign goes out, its reader finds it in the inbox, leaves, and catches what follows."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import format_datetime
from pathlib import Path
from smtplib import SMTP
from typing import Any

import httpx2
import pytest

from gna.db import Database
from gna.subscribers.table import subscribers
from tests import asking
from tests.factories import count
from tests.journeys.test_a_campaign_reaches_its_readers import text_of
from tests.running import INHERITED, Gna, until
from tests.servers import HOST, certificates, dovecot, postfix
from tests.servers.certificates import Certificate
from tests.servers.dovecot import Dovecot
from tests.servers.front import Front
from tests.servers.postfix import Postfix

CONFIRM = re.compile(r"https://\S+/confirm\?token=[A-Za-z0-9_-]+")
ANA, SENDER = "ana@example.org", "news@example.org"

WELCOME = b"From: box@example.net\r\nSubject: Your new mailbox\r\n\r\nWelcome.\r\n"


@dataclass(frozen=True)
class World:
    """A mail server that fills a mailbox, an IMAP server that opens it, and a certificate that both ends trust."""

    certificate: Certificate
    mail: Postfix
    box: Dovecot
    front: Front


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    if reason := postfix.why_missing() or dovecot.why_missing():
        pytest.skip(reason)
    made = certificates.make(tmp_path / "tls")
    with Dovecot(certificate=made) as box:
        box.deliver(ANA, WELCOME)
        places = {"virtual_mailbox_base": box.directory / "mail", "virtual_mailbox_maps": f"static:{ANA}/Maildir/"}
        with Postfix(**places) as mail, Front(made) as front:
            yield World(made, mail, box, front)


@dataclass(frozen=True)
class Reader:
    """Somebody at a terminal, with a database of their own."""

    folder: Path
    environ: dict[str, str]

    def inbox(self, *arguments: str) -> Any:
        """Run `gna inbox …` and read what it says."""
        done = subprocess.run(
            [sys.executable, "-m", "gna", "inbox", *arguments],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout) if "--json" in arguments else done.stdout


def test_what_gna_sends_gna_finds_and_leaves(
    world: World, start: Callable[..., Gna], db: Database, database_url: str, tmp_path: Path
) -> None:
    gna = start(
        DATABASE_URL=database_url,
        EMAIL_PROVIDER="smtp",
        SMTP_URL=f"smtp://{HOST}:{world.mail.port}",
        EMAIL_FROM_ADDRESS=f"The Quiet Web <{SENDER}>",
        PLATFORM_BASE_URL=world.front.url,
    )
    world.front.leads_to(gna.port)
    the_reader_signs_up(gna, world)
    the_publisher_sends(gna, world)

    reader = a_reader(tmp_path / "reader", world)
    reader.inbox("account", "add", ANA, "--imap", f"imap://localhost:{world.box.tls_port}?tls=implicit")
    scanned = reader.inbox("scan", ANA, "--json")
    assert (scanned["new"], scanned["errors"], scanned["violations"]) == (3, 0, 0)
    [found] = [item for item in reader.inbox("list", "--json")["items"] if item["sender_email"] == SENDER]
    assert (found["unsubscribe_method"], found["kind"]) == ("one_click", "newsletter")
    assert found["unsubscribe_link"].startswith(f"{world.front.url}/api/unsubscribe?token=")
    [left] = reader.inbox("unsubscribe", str(found["id"]), "--yes", "--json")["results"]
    assert (left["status"], left["outcome"]) == ("success", "accepted")
    with db.read() as tx:
        assert count(tx, subscribers) == 0

    somebody_keeps_sending(world)
    assert reader.inbox("scan", "--json")["violations"] == 1
    said = reader.inbox("violations", "--json")
    assert (said["total_violations"], said["total_violation_emails"]) == (1, 1)
    assert said["worst_offenders"][0]["sender_email"] == SENDER


def the_reader_signs_up(gna: Gna, world: World) -> None:
    assert gna.subscribe(ANA).status_code == 201
    arrived(world, 2)
    texts = [text_of(message_from_bytes(mail, EmailMessage, policy=default), "plain") for mail in mails(world)]
    [link] = [found[0] for text in texts if (found := CONFIRM.search(text))]
    trust = world.certificate.for_client()
    assert httpx2.get(link, verify=trust, follow_redirects=True, timeout=30).status_code == 200


def the_publisher_sends(gna: Gna, world: World) -> None:
    admin = f"{gna.url}/admin/api/campaigns"
    draft = {"subject": "The first issue", "body": "Hello, and welcome."}
    made = asking.post(admin, json=draft)
    assert made.status_code == 201, made.text
    assert asking.post(f"{admin}/{made.json()['id']}/send").status_code == 200
    arrived(world, 3)


def somebody_keeps_sending(world: World) -> None:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = SENDER, ANA, "We miss you"
    mail["Date"] = format_datetime(datetime.now(UTC) + timedelta(minutes=1))
    mail["Message-ID"] = "<again@example.org>"
    mail.set_content("Come back.")
    with SMTP(HOST, world.mail.port) as smtp:
        smtp.send_message(mail)
    arrived(world, 4)


def a_reader(folder: Path, world: World) -> Reader:
    folder.mkdir()
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    ours = {
        "INBOX_PASSWORD": world.box.password,
        "INBOX_ALLOW_PRIVATE_HOSTS": "localhost",
        "SSL_CERT_FILE": str(world.certificate.file),
    }
    return Reader(folder, inherited | ours)


def mails(world: World) -> list[bytes]:
    maildir = world.box.directory / "mail" / ANA / "Maildir"
    files = [file for place in ("new", "cur") for file in (maildir / place).iterdir()]
    return [file.read_bytes() for file in files]


def arrived(world: World, number: int) -> None:
    until(lambda: len(mails(world)) == number, within=90, otherwise=lambda: world.mail.log.read_text())
