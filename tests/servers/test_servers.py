"""Each server really serves, survives what the other tests do to it, and leaves the machine as it was."""

import imaplib
import os
import smtplib
import socket
import stat
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
import redis
from playwright.sync_api import sync_playwright

from gna import ids
from tests.servers import HOST, NOBODY, Server, ServerFailedError, chromium, dovecot, postfix, wait_until
from tests.servers.dovecot import Dovecot
from tests.servers.postfix import Postfix, smtp_sink
from tests.servers.postgres import Postgres
from tests.servers.valkey import Valkey


def skip_if(reason: str | None) -> None:
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture(scope="module")
def valkey() -> Iterator[Valkey]:
    with Valkey() as server:
        yield server


@pytest.fixture(scope="module")
def imap() -> Iterator[Dovecot]:
    skip_if(dovecot.why_missing())
    with Dovecot() as server:
        yield server


@pytest.fixture(scope="module")
def smtp() -> Iterator[Postfix]:
    skip_if(postfix.why_missing())
    with Postfix() as server:
        yield server


def ask(url: str, question: LiteralString) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(question).fetchone()
    assert row
    return row[0]


def tell(url: str, statement: LiteralString) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement)


def log_in(server: Dovecot, user: str) -> imaplib.IMAP4:
    client = imaplib.IMAP4(server.host, server.port)
    client.login(user, server.password)
    return client


def examine(client: imaplib.IMAP4, folder: str) -> list[bytes]:
    client.select(folder, readonly=True)
    _, answers = client.fetch("1:*", "(BODY.PEEK[])")
    return [answer[1] for answer in answers if isinstance(answer, tuple)]


def send(server: Server, to: str, subject: str) -> None:
    with smtplib.SMTP(server.host, server.port) as client:
        client.sendmail("sender@example.com", to, f"Subject: {subject}\r\n\r\nHello\r\n")


class Broken(Server):
    def configure(self) -> list[str | Path]:
        return ["sh", "-c", "echo out of luck; exit 1"]


def test_a_server_that_cannot_start_says_why_and_leaves_no_files(tmp_path: Path) -> None:
    with pytest.raises(ServerFailedError) as failure, Broken(tmp_path):
        pass
    assert str(failure.value).startswith("Broken did not start on port ")
    assert str(failure.value).endswith("Its log ends:\nout of luck\nout of luck")  # it was tried on two ports
    assert list(tmp_path.iterdir()) == []


def test_a_server_whose_port_was_taken_meanwhile_moves_to_another() -> None:
    server = Valkey()
    taken = server.port
    with socket.socket() as other:
        other.bind((HOST, taken))
        with server:
            assert server.port != taken


def test_a_server_that_was_up_stays_on_its_port() -> None:
    with Valkey() as server:
        port = server.port
        server.stop()
        with socket.socket() as other:
            other.bind((HOST, port))
            with pytest.raises(ServerFailedError, match="in use"):
                server.start()
        server.start()
        assert server.port == port


def test_postgres_answers(postgres: Postgres) -> None:
    assert ask(postgres.url, "SELECT 1") == 1


def test_postgres_sorts_by_code_point_and_knows_the_case_of_every_letter(postgres: Postgres) -> None:
    assert ask(postgres.url, "SELECT string_agg(x, '' ORDER BY x) FROM unnest('{ä,b,B}'::text[]) x") == "Bbä"
    assert ask(postgres.url, "SELECT upper('ä')") == "Ä"


def test_postgres_keeps_its_data_when_killed(postgres: Postgres) -> None:
    url = postgres.create_database("killed")
    connection = psycopg.connect(url)
    tell(url, "CREATE TABLE kept AS SELECT 42 AS answer")

    postgres.kill()

    with pytest.raises(psycopg.OperationalError), connection:
        connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
    postgres.start()
    assert ask(url, "SELECT answer FROM kept") == 42
    assert "automatic recovery in progress" in postgres.log.read_text()


def test_postgres_stops_though_a_client_is_connected(postgres: Postgres) -> None:
    with psycopg.connect(postgres.url) as connection:
        postgres.stop()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    postgres.start()
    assert ask(postgres.url, "SELECT 1") == 1


def test_postgres_copies_a_template_fast(postgres: Postgres) -> None:
    tell(postgres.create_database("template"), "CREATE TABLE copied AS SELECT 42 AS answer")
    seconds = []
    for name in ("copy_1", "copy_2", "copy_3"):
        start = time.monotonic()
        url = postgres.create_database(name, template="template")
        seconds.append(time.monotonic() - start)
        assert ask(url, "SELECT answer FROM copied") == 42
    assert min(seconds) < 0.2


def test_postgres_drops_a_database_that_is_in_use(postgres: Postgres) -> None:
    url = postgres.create_database("dropped")
    connection = psycopg.connect(url)
    postgres.drop_database("dropped")
    with pytest.raises(psycopg.OperationalError), connection:
        connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)


def test_postgres_adds_no_user_and_opens_no_folder(tmp_path: Path) -> None:
    users = Path("/etc/passwd").read_bytes()
    tmp_path.chmod(0o700)
    with Postgres(tmp_path) as server:
        assert ask(server.url, "SELECT 1") == 1
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
        assert Path("/etc/passwd").read_bytes() == users
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root has to become someone else: run the tests as root")
def test_postgres_runs_for_root_where_namespaces_are_forbidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unshare = tmp_path / "unshare"
    unshare.write_text("#!/bin/sh\nexit 1\n")
    unshare.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with Postgres(tmp_path) as server:
        assert ask(server.url, "SELECT 1") == 1
        assert (server.directory / "data").stat().st_uid == NOBODY
    assert list(tmp_path.iterdir()) == [unshare]


def test_valkey_answers_and_evicts_nothing(valkey: Valkey) -> None:
    with redis.Redis.from_url(valkey.url, decode_responses=True) as client:
        assert client.ping()
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


@pytest.mark.parametrize("end", [Valkey.stop, Valkey.kill])
def test_valkey_comes_back_empty(valkey: Valkey, end: Callable[[Valkey], None]) -> None:
    with redis.Redis.from_url(valkey.url) as client:
        client.set("key", "value")
        end(valkey)
        with pytest.raises(redis.ConnectionError):
            client.ping()
        valkey.start()
        assert client.get("key") is None


def test_dovecot_shows_what_was_delivered(imap: Dovecot) -> None:
    raw = b"Subject: Hello\r\n\r\nA byte that is not text: \xff\r\n"
    imap.deliver("reader@example.org", raw)
    with log_in(imap, "reader@example.org") as client:
        assert examine(client, "INBOX") == [raw]


def test_dovecot_keeps_users_and_folders_apart_and_the_order_of_delivery(imap: Dovecot) -> None:
    mails = [b"Subject: %d\r\n\r\n" % number for number in range(12)]
    for mail in mails:
        imap.deliver("order@example.org", mail)
    imap.deliver("order@example.org", b"Subject: apart\r\n\r\n", folder="Entwürfe")
    imap.deliver("other@example.org", b"Subject: theirs\r\n\r\n")
    with log_in(imap, "order@example.org") as client:
        assert examine(client, "INBOX") == mails
        assert examine(client, "Entw&APw-rfe") == [b"Subject: apart\r\n\r\n"]


def test_dovecot_refuses_a_wrong_password_and_is_not_offended(imap: Dovecot) -> None:
    for _ in range(2):
        with (
            imaplib.IMAP4(imap.host, imap.port) as client,
            pytest.raises(imaplib.IMAP4.error, match="AUTHENTICATIONFAILED"),
        ):
            client.login("reader@example.org", "wrong")
    start = time.monotonic()
    log_in(imap, "reader@example.org").logout()
    assert time.monotonic() - start < 2  # the first delay for an address that guessed wrong


def test_dovecot_keeps_its_mail_when_restarted(imap: Dovecot) -> None:
    imap.deliver("restart@example.org", b"Subject: kept\r\n\r\n")
    imap.stop()
    with pytest.raises(ConnectionRefusedError):
        log_in(imap, "restart@example.org")
    imap.start()
    with log_in(imap, "restart@example.org") as client:
        assert examine(client, "INBOX") == [b"Subject: kept\r\n\r\n"]


def test_postfix_delivers_to_any_address_of_its_domain(smtp: Postfix) -> None:
    send(smtp, "someone@example.org", "to someone")
    send(smtp, "someone-else@example.org", "to someone else")
    mail_to_someone = partial(_mail_with_subject, smtp, "to someone")
    mail_to_someone_else = partial(_mail_with_subject, smtp, "to someone else")
    wait_until(lambda: bool(mail_to_someone() and mail_to_someone_else()), "both mails are delivered")
    assert b"Delivered-To: someone@example.org\n" in mail_to_someone()
    assert b"Delivered-To: someone-else@example.org\n" in mail_to_someone_else()
    assert mail_to_someone().endswith(b"\n\nHello\n")


def _mail_with_subject(smtp: Postfix, subject: str) -> bytes:
    line = f"Subject: {subject}\n".encode()
    return next((mail for mail in smtp.received() if line in mail), b"")


def test_postfix_refuses_mail_for_others(smtp: Postfix) -> None:
    with pytest.raises(smtplib.SMTPRecipientsRefused) as refusal:
        send(smtp, "someone@example.com", "to a stranger")
    assert refusal.value.recipients["someone@example.com"][0] == 554


def test_postfix_serves_again_after_a_stop(smtp: Postfix) -> None:
    smtp.stop()
    with pytest.raises(ConnectionRefusedError):
        send(smtp, "someone@example.org", "too early")
    smtp.start()
    send(smtp, "someone@example.org", "again")
    wait_until(lambda: any(b"Subject: again\n" in mail for mail in smtp.received()), "the mail is delivered")


def test_smtp_sink_takes_any_mail() -> None:
    skip_if(postfix.why_sink_missing())
    with smtp_sink() as sink:
        send(sink, "someone@example.com", "to a stranger")


def test_chromium_shows_a_page_and_runs_its_script() -> None:
    skip_if(chromium.why_missing())
    with sync_playwright() as playwright, chromium.Chromium(playwright).running() as browser:
        page = browser.new_page()
        page.goto("data:text/html,<h1>Hello</h1><script>document.title = 6 * 7</script>")
        assert page.inner_text("h1") == "Hello"
        assert page.title() == "42"


def test_a_missing_server_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = Path("/nowhere")
    monkeypatch.setenv("PATH", str(nowhere))
    monkeypatch.setattr(dovecot, "BINARY", nowhere)
    monkeypatch.setattr(postfix, "MASTER", nowhere)
    monkeypatch.setattr(postfix, "SINK", nowhere)
    assert chromium.why_missing() == "Chromium is not installed: apt install chromium-headless-shell"
    assert dovecot.why_missing() == "Dovecot is not installed: apt install dovecot-imapd"
    assert postfix.why_missing() == "Postfix is not installed: apt install postfix"
    assert postfix.why_sink_missing() == "smtp-sink is not installed: apt install postfix"


def test_postfix_is_left_out_without_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(postfix, "MASTER", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert postfix.why_missing() == "Postfix needs root: run the tests as root"


class TestEmptiedDatabases:
    @pytest.fixture
    def template(self, postgres: Postgres) -> Iterator[str]:
        name = f"t{ids.new()}"
        url = postgres.create_database(name)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE alembic_version (version_num text)")
            connection.execute("CREATE TABLE people (id int GENERATED ALWAYS AS IDENTITY, name text)")
        yield name
        postgres.drop_database(name)

    @pytest.fixture
    def used(self, postgres: Postgres, template: str) -> Iterator[str]:
        url = postgres.create_database(f"t{ids.new()}", template=template)
        yield url
        postgres.drop_database(url.rpartition("/")[2])

    @pytest.mark.parametrize("deleted", [False, True])
    def test_have_no_rows_and_number_from_one(
        self, postgres: Postgres, template: str, used: str, deleted: bool
    ) -> None:
        with psycopg.connect(used) as connection:
            connection.execute("INSERT INTO people (name) VALUES ('Ana'), ('Bo')")
            if deleted:
                connection.execute("DELETE FROM people")
        assert postgres.empty_database(used.rpartition("/")[2], like=template)
        with psycopg.connect(used) as connection:
            connection.execute("INSERT INTO people (name) VALUES ('Cy')")
            assert connection.execute("SELECT * FROM people").fetchall() == [(1, "Cy")]

    @pytest.mark.parametrize(
        "change",
        [
            "ALTER TABLE people ALTER COLUMN name SET DEFAULT 'x'",
            "ALTER TABLE people ALTER COLUMN name SET NOT NULL",
            "ALTER TABLE people ENABLE ROW LEVEL SECURITY",
            "ALTER TABLE people SET (autovacuum_enabled = off)",
            "CREATE RULE nothing AS ON INSERT TO people DO INSTEAD NOTHING",
            "GRANT SELECT ON people TO PUBLIC",
            "CREATE TABLE more ()",
            "DROP TABLE alembic_version",
        ],
    )
    def test_are_not_used_again_if_anything_else_changed(
        self, postgres: Postgres, template: str, used: str, change: LiteralString
    ) -> None:
        with psycopg.connect(used) as connection:
            connection.execute(change)
        assert not postgres.empty_database(used.rpartition("/")[2], like=template)
