import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis
import sqlalchemy as sa

from gna import __version__
from gna.db import Database
from gna.migrations import HEAD
from tests.conftest import Databases
from tests.forking import gna
from tests.issuer import URL, Issuer
from tests.running import Gna
from tests.servers import free_port
from tests.servers.dns import Dns
from tests.servers.smtp import ScriptedSmtp
from tests.servers.valkey import Valkey


def test_a_wrong_setting_is_one_sentence_and_no_traceback(tmp_path: Path) -> None:
    done = gna(tmp_path, "serve", SEND_RATE="fast")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "gna: SEND_RATE must be a number.\n")
    assert list(tmp_path.iterdir()) == []


def test_a_provider_that_is_not_here_yet_is_refused(tmp_path: Path) -> None:
    done = gna(tmp_path, "serve", "--port", "0", EMAIL_PROVIDER="resend")
    assert done.returncode == 1
    assert done.stderr.startswith("gna: EMAIL_PROVIDER=resend is not part of this version yet")


def test_auth_cannot_be_disabled_on_a_public_address(tmp_path: Path) -> None:
    done = gna(tmp_path, "serve", "--host", "0.0.0.0", DISABLE_AUTH="true")
    assert done.returncode == 1
    assert "DISABLE_AUTH=true would open /admin to everybody who reaches 0.0.0.0" in done.stderr


def test_a_port_that_is_taken_is_said_plainly(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = gna(tmp_path, "serve", "--port", port)
    assert done.returncode == 1
    assert done.stderr.startswith(f"gna: Cannot listen on 127.0.0.1 port {port}: Address already in use.")


def test_a_database_that_is_away_stops_the_start(tmp_path: Path) -> None:
    done = gna(tmp_path, "serve", "--port", "0", DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert done.returncode == 1
    assert done.stderr.startswith("gna: The database does not answer")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        (
            "sqlite:///text.txt",
            "DATABASE_URL names a file that is no SQLite database; restore a backup, or name another.",
        ),
        ("sqlite:////proc/gna.db", "The database /proc/gna.db cannot be made"),
        ("postgresql://gna:hunter2/db", "DATABASE_URL cannot be understood: is the port a number?"),
        ("postgresql://gna:hun@ter2@127.0.0.1:1/db", "DATABASE_URL has an @ too many: in a password, write it as %40."),
        ("postgresql://gna:hunter2@127.0.0.1:1/db?nonsense=1", "The database does not answer"),
    ],
)
def test_a_wrong_database_is_one_sentence_and_no_secret(tmp_path: Path, url: str, sentence: str) -> None:
    (tmp_path / "text.txt").write_text("This is not a database at all. " * 10)
    for command in (("serve", "--port", "0"), ("check",)):
        done = gna(tmp_path, *command, DATABASE_URL=url)
        said = done.stdout + done.stderr
        assert done.returncode == 1
        assert sentence in " ".join(said.split())
        assert "Traceback" not in said
        assert "ter2" not in said


def test_check_and_migrate_agree_about_a_newer_schema(databases: Databases, tmp_path: Path) -> None:
    url = databases.migrated()
    db = Database(url)
    with db.write() as tx:
        tx.execute(sa.text("UPDATE alembic_version SET version_num = '0999'"))
    db.close()
    for command in ("check", "migrate"):
        done = gna(tmp_path, command, DATABASE_URL=url)
        assert done.returncode == 1
        assert "Install the newer Gna" in done.stdout + done.stderr


def test_a_worker_with_nothing_to_do_says_so(tmp_path: Path) -> None:
    done = gna(tmp_path, "worker", JOBS_ENABLED="false")
    assert (done.returncode, done.stderr.startswith("gna: JOBS_ENABLED=false")) == (1, True)


def test_migrate_says_what_it_did(databases: Databases, tmp_path: Path) -> None:
    url = databases.empty()
    first, second = (gna(tmp_path, "migrate", DATABASE_URL=url) for _ in range(2))
    assert first.stdout == f"The database is at {HEAD}, brought up to date just now.\n"
    assert second.stdout == f"The database is at {HEAD} already.\n"


def test_several_processes_may_migrate_at_once(databases: Databases, tmp_path: Path) -> None:
    url = databases.empty()
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: gna(tmp_path, "migrate", DATABASE_URL=url), range(4)))
    assert [process.returncode for process in done] == [0] * 4
    assert sum("just now" in process.stdout for process in done) == 1


def test_check_reports_what_answers(databases: Databases, valkey: Valkey, tmp_path: Path) -> None:
    done = gna(tmp_path, "check", DATABASE_URL=databases.migrated(), REDIS_URL=valkey.url)
    assert done.returncode == 0
    report = " ".join(done.stdout.lower().split())
    assert f"database ok {databases.kind}" in report
    assert f"schema ok at {HEAD}, up to date" in report
    assert "redis ok answers" in report
    assert "mail ok mailbox: mails are written to mailbox" in report


def test_check_reports_what_does_not_answer(tmp_path: Path) -> None:
    away = {
        "DATABASE_URL": "postgresql://nobody:hunter2@127.0.0.1:1/none",
        "REDIS_URL": "redis://127.0.0.1:1",
    }
    done = gna(tmp_path, "check", **away)
    report = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert "database wrong The database does not answer" in report
    assert "redis wrong does not answer" in report
    assert "hunter2" not in done.stdout + done.stderr


def test_check_shows_the_sender_as_it_leaves(tmp_path: Path) -> None:
    sender = "Les Amis de la Forêt de Fontainebleau et des Gorges de Franchard <lettre@example.fr>"
    report = gna(tmp_path, "check", EMAIL_FROM_ADDRESS=sender, COLUMNS="80").stdout
    lines = [line[19:] for line in report.splitlines()]
    start = lines.index("From: =?utf-8?q?Les_Amis_de_la_For=C3=AAt_de_Fontainebleau_et_des_Gorges_d?=")
    assert lines[start + 1] == " =?utf-8?q?e_Franchard?= <lettre@example.fr>"


def test_check_warns_of_the_example_sender_before_real_mail_leaves(tmp_path: Path) -> None:
    warning = "EMAIL_FROM_ADDRESS is not set"
    assert warning in gna(tmp_path, "check", EMAIL_PROVIDER="smtp", SMTP_URL="smtp://127.0.0.1:1").stdout
    assert warning not in gna(tmp_path, "check", EMAIL_PROVIDER="mailbox").stdout


def test_a_sender_that_cannot_be_understood_is_one_sentence(tmp_path: Path) -> None:
    done = gna(tmp_path, "check", EMAIL_FROM_ADDRESS="Ana <a@example.org>, Bob <b@example.org>")
    assert done.returncode == 1
    assert done.stderr.startswith("gna: EMAIL_FROM_ADDRESS must be an address, or a name with an address:")


def test_check_shows_brackets_as_they_are(tmp_path: Path) -> None:
    assert "start with http://[::1]:8000" in gna(tmp_path, "check", GNA_HOST="::1").stdout


def test_check_says_to_whom_an_admin_without_sign_in_is_open(tmp_path: Path) -> None:
    assert "/admin is open to this machine" in gna(tmp_path, "check", DISABLE_AUTH="true").stdout
    anywhere = gna(tmp_path, "check", DISABLE_AUTH="true", GNA_HOST="0.0.0.0", GNA_ENV="development").stdout
    assert "/admin is open to everybody who reaches 0.0.0.0" in " ".join(anywhere.split())


def test_check_says_whether_anybody_can_sign_in(tmp_path: Path, issuer: Issuer) -> None:
    closed = " ".join(gna(tmp_path, "check", CF_ACCESS_AUD="a").stdout.split())
    assert "admin warning closed: no sign-in is configured; set CF_ACCESS_TEAM_NAME (docs/guides/access.md)" in closed
    assert f"admin ok sign-in by {URL}; its keys answer, there are 1" in " ".join(
        gna(tmp_path, "check", **issuer.environ).stdout.split()
    )
    issuer.goes_away()
    done = gna(tmp_path, "check", **issuer.environ)
    assert "nobody can sign in now: 127.0.0.1 answered 502 when it was asked for its keys." in done.stdout
    assert done.returncode == 0


def test_check_survives_an_option_that_redis_does_not_know(valkey: Valkey, tmp_path: Path) -> None:
    done = gna(tmp_path, "check", REDIS_URL=f"{valkey.url}?bogus=1")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "redis wrong does not answer: " in " ".join(done.stdout.split())


def test_check_does_not_blame_a_redis_that_keeps_its_settings_to_itself(valkey: Valkey, tmp_path: Path) -> None:
    with redis.Redis.from_url(valkey.url) as client:
        client.execute_command("ACL", "SETUSER", "guest", "on", ">pw", "~*", "+@all", "-config")
        done = gna(tmp_path, "check", REDIS_URL=valkey.url.replace("//", "//guest:pw@"))
        client.execute_command("ACL", "DELUSER", "guest")
    assert done.returncode == 0
    assert "maxmemory-policy is not told" in done.stdout


def test_check_notices_what_is_missing_and_misspelt(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("EMAIL_PROVDER=smtp\nRESEND_MAX_RPS=5\n")
    report = " ".join(gna(tmp_path, "check").stdout.split())
    assert "EMAIL_PROVDER in .env means nothing; EMAIL_PROVIDER?" in report
    assert "not used by this version yet: RESEND_MAX_RPS" in report
    assert "schema warning the database is empty" in report
    assert "PLATFORM_BASE_URL is not set" in report


def test_the_version_is_said(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gna", "--version"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout == f"gna {__version__}\n"


@pytest.mark.parametrize("command", ["serve", "worker", "migrate", "check"])
def test_every_command_explains_itself(tmp_path: Path, command: str) -> None:
    assert command in gna(tmp_path, "--help").stdout
    assert f"Usage: gna {command}" in gna(tmp_path, command, "--help").stdout


def test_an_unknown_command_is_a_usage_error(tmp_path: Path) -> None:
    assert gna(tmp_path, "nonsense").returncode == 2


def test_check_says_what_the_mail_server_can_do(tmp_path: Path) -> None:
    with ScriptedSmtp() as server:
        done = gna(tmp_path, "check", EMAIL_PROVIDER="smtp", SMTP_URL=server.url)
    assert done.returncode == 0
    assert f"smtp: 127.0.0.1:{server.port} answers (pipelining" in " ".join(done.stdout.split())


def test_check_says_that_the_mail_server_does_not_answer(tmp_path: Path) -> None:
    done = gna(tmp_path, "check", EMAIL_PROVIDER="smtp", SMTP_URL=f"smtp://127.0.0.1:{free_port()}")
    assert done.returncode == 1
    assert "mail wrong" in " ".join(done.stdout.split())
    assert "refused" in done.stdout


def test_a_server_starts_though_the_mail_server_is_away(start: Callable[..., Gna]) -> None:
    running = start(EMAIL_PROVIDER="smtp", SMTP_URL=f"smtp://127.0.0.1:{free_port()}", DATABASE_URL="sqlite:///gna.db")
    assert running.subscribe("ana@example.org").status_code == 201
    assert "the provider does not answer yet; mails wait" in running.log.read_text()


def test_check_asks_dns_when_it_is_told_to(tmp_path: Path) -> None:
    with Dns() as dns:
        dns.says("example.org", "TXT", "v=spf1 mx -all")
        dns.says("_dmarc.example.org", "TXT", "v=DMARC1; p=reject; rua=mailto:dmarc@example.org")
        silent, asked = (gna(tmp_path, "check", *given, DNS_SERVERS=dns.address) for given in ((), ("--dns",)))
        wrong = gna(tmp_path, "check", "--dns", "--selector", "s1", DNS_SERVERS=dns.address)
        refused = gna(tmp_path, "check", "--dns", "--selector", "s 1", DNS_SERVERS=dns.address)
    assert (silent.returncode, "spf" in silent.stdout) == (0, False)
    report = " ".join(asked.stdout.split())
    assert asked.returncode == 0
    assert "spf ok There is one SPF record" in report
    assert "dkim warning Gna does not sign" in report
    assert "dmarc ok DMARC asks receivers" in report
    assert (wrong.returncode, "There is no DKIM key at s1._domainkey.example.org" in wrong.stdout) == (1, True)
    assert (refused.returncode, "dns wrong A selector has letters" in " ".join(refused.stdout.split())) == (1, True)
