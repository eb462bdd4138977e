"""`gna inbox`: looking at what was found, keeping it, and reading mails."""

import json
import os
import pty
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from gna import clock
from gna.db import Database
from gna.inbox import seals
from gna.inbox.doubts import STRANGER
from gna.inbox.ways import Source
from tests.cli.commands import Done, Run
from tests.cli.inbox import EVIL, inbox, is_harmless, refused
from tests.inbox.factories import a_mail, a_subscription, a_way, an_account, an_attempt, an_unsubscribed
from tests.inbox.scripted import Lines, Script, a_server
from tests.servers import free_port

SUBSCRIPTION = [
    "id", "sender_email", "sender_domain", "list_id", "kind", "email_count", "confidence", "reasons", "last_seen",
    "active", "keep_subscription", "unsubscribe_status", "unsubscribe_method", "unsubscribe_link", "unsubscribed_at",
    "violation_count", "emails_after_unsubscribe", "last_violation_at",
]  # fmt: skip
WAY = ["method", "url", "source", "safe", "warnings", "error", "fields", "to", "subject", "body"]
READING = (("list",), ("show", "1"), ("stats",), ("violations",), ("account", "list"))


@pytest.fixture
def gna(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    yield from inbox(database_url, tmp_path, monkeypatch, capfd)


@pytest.fixture
def account(db: Database) -> int:
    return an_account(db)


class TestList:
    def test_nothing_yet_says_the_next_step(self, gna: Run, db: Database) -> None:
        assert json.loads(gna("list", "--json").out) == {"items": [], "page": 1, "per_page": 0, "total": 0}
        assert "gna inbox account add EMAIL --imap 'imap://" in gna("list").out
        account = an_account(db)
        assert "gna inbox scan" in gna("list").out
        a_subscription(db, account)
        assert gna("list", "--search", "nobody").out == "None of them matches.\n"

    def test_names_are_shown_where_there_is_room(
        self, gna: Run, db: Database, account: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        a_subscription(db, account, sender_name="The Shop")
        assert "The Shop" in gna("list").out
        monkeypatch.setattr("gna.cli.screen.WIDEST", 100)
        said = gna("list").out
        assert ("The Shop" in said, "news@shop.example" in said) == (False, True)

    def test_json_has_every_key_of_the_contract(self, gna: Run, db: Database, account: int) -> None:
        a_subscription(db, account)
        said = json.loads(gna("list", "--json").out)
        assert said["total"] == 1
        assert set(SUBSCRIPTION) <= said["items"][0].keys()

    def test_the_surest_is_first(self, gna: Run, db: Database, account: int) -> None:
        for number, confidence in enumerate((20, 90, 55)):
            a_subscription(db, account, f"s{number}@shop.example", confidence=confidence)
        assert [one["confidence"] for one in json.loads(gna("list", "--json").out)["items"]] == [90, 55, 20]

    def test_a_table_for_people(self, gna: Run, db: Database, account: int) -> None:
        a_subscription(db, account, "news@shop.example", way=a_way(), confidence=85, email_count=1234)
        an_unsubscribed(db, account, "left@shop.example", violation_count=2, emails_after_unsubscribe=2)
        said = " ".join(gna("list").out.split())
        for words in ("1,234 85 news@shop.example newsletter", "http_get", "left, 2 since", "2 of 2"):
            assert words in said

    @pytest.mark.parametrize(
        ("options", "found"),
        [
            pytest.param(("--kind", "personal"), {"friend"}, id="kind"),
            pytest.param(("--kept",), {"kept"}, id="kept"),
            pytest.param(("--not-kept",), {"friend", "left", "other"}, id="not kept"),
            pytest.param(("--unsubscribed",), {"left"}, id="unsubscribed"),
            pytest.param(("--active",), {"friend", "kept", "other"}, id="active"),
            pytest.param(("--search", "KEPT@"), {"kept"}, id="search"),
            pytest.param(("--account", "Bo@Example.org"), {"other"}, id="account"),
            pytest.param(("--kept", "--unsubscribed"), set(), id="both"),
        ],
    )
    def test_filters(self, gna: Run, db: Database, account: int, options: tuple[str, ...], found: set[str]) -> None:
        a_subscription(db, account, "friend@shop.example", kind="personal")
        a_subscription(db, account, "kept@shop.example", kept=True)
        an_unsubscribed(db, account, "left@shop.example")
        a_subscription(db, an_account(db, "bo@example.org"), "other@shop.example")
        items = json.loads(gna("list", *options, "--json").out)["items"]
        assert {one["sender_email"].partition("@")[0] for one in items} == found

    def test_only_so_many(self, gna: Run, db: Database, account: int) -> None:
        for number in range(3):
            a_subscription(db, account, f"s{number}@shop.example")
        said = json.loads(gna("list", "--limit", "2", "--json").out)
        assert (len(said["items"]), said["per_page"], said["total"]) == (2, 2, 3)

    def test_an_unknown_kind_is_wrong_usage_and_an_unknown_mailbox_not_found(self, gna: Run) -> None:
        assert gna("list", "--kind", "spam").code == 2
        assert "no account" in refused(gna("list", "--account", "nobody@example.org")).lower()


class TestShow:
    def test_json_has_every_key_of_the_contract(self, gna: Run, db: Database, account: int) -> None:
        way = a_way("mailto:leave@shop.example", "email_reply", to="leave@shop.example", subject="Off", body="Please")
        number = a_subscription(db, account, way=way)
        an_attempt(db, number, status="failed", outcome="refused", response_code=500, error_message="no")
        an_attempt(db, number)
        said = json.loads(gna("show", str(number), "--json").out)
        assert {*SUBSCRIPTION, "methods", "history", "attempts"} <= said.keys()
        assert set(WAY) <= said["methods"][0].keys()
        assert (said["methods"][0]["to"], said["methods"][0]["fields"]) == ("leave@shop.example", {})
        assert [attempt["status"] for attempt in said["attempts"]] == ["success", "failed"]

    def test_history_is_that_of_the_mails(self, gna: Run, db: Database, account: int) -> None:
        number = a_subscription(db, account)
        for days, link in ((3, "https://a.example/u?1"), (2, "https://b.example/u?1")):
            a_mail(db, account, sent=clock.now() - timedelta(days=days), list_unsubscribe=f"<{link}>")
        [newest, oldest] = json.loads(gna("show", str(number), "--json").out)["history"]
        assert newest.keys() >= {"method", "url", "email_date", "changed_at"}
        assert (newest["url"], oldest["url"]) == ("https://b.example/u?1", "https://a.example/u?1")

    def test_everything_for_people(self, gna: Run, db: Database, account: int) -> None:
        way = a_way(warnings=("not encrypted",))
        number = a_subscription(db, account, way=way, sender_name="The Shop", list_id="n.shop.example")
        an_attempt(db, number, status="failed", outcome="refused", response_code=503, error_message="busy")
        said = gna("show", str(number)).out
        for words in ("The Shop <news@shop.example>", "n.shop.example", "17 of 100", way.url, "careful: not encrypted"):
            assert words in said
        assert "http_get, failed, refused, HTTP 503, busy" in said

    def test_the_way_that_would_be_gone_has_every_warning(self, gna: Run, db: Database, account: int) -> None:
        best = a_way("https://shop.example/u/1", "one_click", Source.HEADER, warnings=("mind this",))
        number = a_subscription(db, account, way=best, ways=[best.stored(), a_way().stored()])
        found = json.loads(gna("show", str(number), "--json").out)
        first, second = found["methods"]
        assert first["warnings"] == ["mind this", seals.why_not(None)]
        assert found["doubts"] == [STRANGER]
        assert second["warnings"] == []
        assert gna("show", str(number)).out.count("careful: ") == 3

    def test_what_was_left_says_who_kept_sending(self, gna: Run, db: Database, account: int) -> None:
        last = clock.now()
        sums: dict[str, Any] = {"violation_count": 3, "emails_after_unsubscribe": 3, "last_violation_at": last}
        said = gna("show", str(an_unsubscribed(db, account, **sums))).out
        assert "left, 3 since" in said
        assert f"{last:%Y-%m-%d %H:%M} UTC" in said

    @pytest.mark.parametrize("command", ["show", "keep", "unkeep"])
    def test_an_unknown_number_is_not_found(self, gna: Run, command: str) -> None:
        assert "no subscription 99" in refused(gna(command, "99"))

    @pytest.mark.parametrize("command", ["show", "keep", "unkeep", "unsubscribe"])
    @pytest.mark.parametrize("number", ["twelve", "1.5", "", "99999999999999999999"])
    def test_what_is_no_number_is_wrong_usage(self, gna: Run, command: str, number: str) -> None:
        assert gna(command, number).code == 2


class TestKeep:
    def test_several_are_kept_and_not_kept(self, gna: Run, db: Database, account: int) -> None:
        numbers = [str(a_subscription(db, account, f"s{number}@shop.example")) for number in range(2)]
        assert gna("keep", *numbers) == Done(0, "".join(f"{number} is kept.\n" for number in numbers), "")
        assert [one["keep_subscription"] for one in json.loads(gna("list", "--json").out)["items"]] == [True, True]
        assert gna("unkeep", numbers[0]).code == 0
        assert [one["keep_subscription"] for one in json.loads(gna("list", "--kept", "--json").out)["items"]] == [True]

    def test_an_unknown_one_keeps_no_other_from_being_kept(self, gna: Run, db: Database, account: int) -> None:
        number = a_subscription(db, account)
        done = gna("keep", "99", str(number))
        assert (done.code, done.out) == (1, f"{number} is kept.\n")
        assert "no subscription 99" in done.err


class TestStats:
    def test_the_numbers(self, gna: Run, db: Database, account: int) -> None:
        a_mail(db, account)
        a_subscription(db, account, kept=True)
        an_unsubscribed(db, account, "left@shop.example", violation_count=2)
        said = json.loads(gna("stats", "--json").out)
        assert said == {
            "accounts": 1, "messages": 1, "subscriptions": 2, "kept": 1, "unsubscribed": 1, "violations": 1,
        }  # fmt: skip
        assert gna("stats").out.split()[:2] == ["1", "mailboxes"]


class TestScan:
    def test_without_a_mailbox_it_says_how_to_add_one(self, gna: Run) -> None:
        assert "gna inbox account add" in refused(gna("scan"))
        assert refused(gna("scan", "--json"))

    def test_an_unknown_mailbox_is_not_found(self, gna: Run, account: int) -> None:
        assert "no account" in refused(gna("scan", "nobody@example.org")).lower()

    def test_a_mailbox_that_fails_keeps_no_other_from_being_read(
        self, gna: Run, db: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("INBOX_PASSWORD", "secret")
        for name in ("ana", "bo"):
            an_account(db, f"{name}@example.org", imap_url=f"imap://127.0.0.1:{free_port()}?tls=none")
        done = gna("scan", "--json")
        said = json.loads(done.out)
        assert (done.code, said["new"], said["errors"], said["violations"]) == (1, 0, 0, 0)
        assert [one["email"] for one in said["accounts"]] == ["ana@example.org", "bo@example.org"]
        assert done.err.count("gna: ") == 2

    def test_what_was_found_before_something_failed_is_told(
        self, gna: Run, db: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("INBOX_PASSWORD", "secret")
        date = format_datetime(clock.now())
        script = Script({1: f"From: news@shop.example\r\nDate: {date}\r\n\r\n".encode()})

        def answers(tag: str, command: str) -> Lines | None:
            nowhere = command.startswith("EXAMINE") and "INBOX" not in command
            return [f"{tag} NO [NONEXISTENT] where?"] if nowhere else script(tag, command)

        with a_server(answers) as raw:
            for name in ("ana", "bo"):
                an_account(db, f"{name}@example.org", imap_url=f"imap://127.0.0.1:{raw.port}?tls=none")
            where = ("--folder", "Nowhere", "--folder", "INBOX")
            done = gna("scan", "ana@example.org", *where, "--json")
            told = gna("scan", "bo@example.org", *where)
        said = json.loads(done.out)
        assert (done.code, said["new"], "Nowhere" in said["accounts"][0]["error"]) == (1, 1, True), done
        assert (told.code, told.out) == (1, "bo@example.org: 1 new mail.\n")
        assert "Nowhere" in refused(told)

    def test_without_a_password_it_says_what_to_do(self, gna: Run, account: int) -> None:
        assert "INBOX_PASSWORD" in refused(gna("scan"))

    @pytest.mark.parametrize("options", [("--days", "0"), ("--days", "soon"), ("a@b.example", "c@d.example")])
    def test_wrong_usage(self, gna: Run, options: tuple[str, ...]) -> None:
        assert gna("scan", *options).code == 2


RAW = (
    b"From: news@shop.example\nSubject: Sale\nDate: Mon, 02 Jan 2023 10:00:00 +0000\nList-Unsubscribe: <%s>\n\nHello\n"
)
LINK = b"https://lists.example.net/leave?u=1"


class TestAudit:
    @pytest.fixture
    def mails(self, tmp_path: Path) -> Path:
        """One mail, in every form."""
        raw = RAW % LINK
        (tmp_path / "one.eml").write_bytes(raw)
        (tmp_path / "all.mbox").write_bytes(b"From x Thu Jan  1 00:00:00 2026\n" + raw)
        maildir = tmp_path / "Maildir"
        for name in ("cur", "new", "tmp"):
            (maildir / name).mkdir(parents=True)
        (maildir / "cur" / "1:2,S").write_bytes(raw)
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "one.eml").write_bytes(raw)
        with zipfile.ZipFile(tmp_path / "takeout.zip", "w") as archive:
            archive.write(tmp_path / "all.mbox", "Takeout/Mail/All mail.mbox")
        with tarfile.open(tmp_path / "takeout.tgz", "w:gz") as archive:
            archive.add(tmp_path / "all.mbox", "Takeout/Mail/All mail.mbox")
        return tmp_path

    @pytest.mark.parametrize("name", ["one.eml", "all.mbox", "Maildir", "folder", "takeout.zip", "takeout.tgz"])
    def test_every_form_is_read(
        self, gna: Run, mails: Path, name: str, monkeypatch: pytest.MonkeyPatch, database_url: str
    ) -> None:
        # Whoever opened this would fail.
        monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
        before = sorted(mails.rglob("*"))
        said = json.loads(gna("audit", name, "--json").out)
        assert (said["messages"], said["errors"], len(said["items"])) == (1, 0, 1)
        item = said["items"][0]
        assert set(SUBSCRIPTION) - {"id"} <= item.keys()
        assert [way["url"] for way in item["methods"]] == [LINK.decode()]
        assert (item["sender_email"], item["confidence"]) == ("news@shop.example", 42)
        assert item["unsubscribe_link"] == LINK.decode()
        assert sorted(mails.rglob("*")) == before

    def test_a_table_for_people(self, gna: Run, mails: Path) -> None:
        said = " ".join(gna("audit", "one.eml").out.split())
        assert "1 42 news@shop.example" in said
        assert said.endswith("1 mail, 1 sender")
        assert "Id" not in said.split()
        assert "State" not in said.split()

    def test_a_file_without_mails_says_what_it_should_be(self, gna: Run, tmp_path: Path) -> None:
        (tmp_path / "empty.mbox").write_bytes(b"")
        done = gna("audit", "empty.mbox")
        assert (done.code, done.out.startswith("There is no mail in empty.mbox; it should be an mbox")) == (0, True)

    def test_what_is_not_there_or_no_mail_is_refused(self, gna: Run, tmp_path: Path) -> None:
        (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        for name in ("nothing.mbox", "picture.png"):
            assert refused(gna("audit", name, "--json"))

    def test_mails_that_cannot_be_read_are_counted(self, gna: Run, tmp_path: Path) -> None:
        broken = b"From x Thu Jan  1 00:00:00 2026\nSubject: from nobody\n\nHello\n\n"
        (tmp_path / "broken.mbox").write_bytes(broken * 2)
        (tmp_path / "some.mbox").write_bytes(broken + b"From x Thu Jan  1 00:00:00 2026\n" + RAW % LINK)
        done = gna("audit", "broken.mbox", "--json")
        assert (done.code, json.loads(done.out)) == (1, {"messages": 0, "errors": 2, "items": []})
        done = gna("audit", "some.mbox", "--json")
        assert (done.code, json.loads(done.out)["errors"]) == (0, 1)

    def test_a_sender_cannot_speak_to_the_terminal(self, gna: Run, tmp_path: Path) -> None:
        (tmp_path / "evil.eml").write_bytes((RAW % LINK).replace(b"news@", b"n\x1b[2Jews\x9b@"))
        for options in ((), ("--json",)):
            assert is_harmless(gna("audit", "evil.eml", *options))


def test_a_bar_is_drawn_on_a_terminal_and_only_there(tmp_path: Path) -> None:
    (tmp_path / "all.mbox").write_bytes(b"From x Thu Jan  1 00:00:00 2026\n%s\n" % (RAW % LINK) * 1200)
    command = [sys.executable, "-m", "gna", "inbox", "audit", "all.mbox", "--json"]
    screen, terminal = pty.openpty()
    environ = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=terminal) as process:
        os.close(terminal)
        drawn = "".join(read(screen))
        out, _ = process.communicate(timeout=60)
    assert json.loads(out)["messages"] == 1200
    assert "Reading" in drawn
    quiet = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, check=True)
    assert (quiet.stdout, quiet.stderr) == (out, b"")


def read(screen: int) -> Iterator[str]:
    """What is drawn on a terminal, until nobody draws any more."""
    with suppress(OSError), open(screen, "rb", buffering=0) as opened:
        while piece := opened.read(1000):
            yield piece.decode(errors="replace")


class TestScreen:
    def test_a_sender_cannot_speak_to_the_terminal(self, gna: Run, db: Database, account: int) -> None:
        way = a_way(f"https://shop.example/{EVIL}", warnings=(EVIL,), error=EVIL, to=EVIL, subject=EVIL)
        texts: dict[str, Any] = {"sender_name": EVIL, "list_id": EVIL, "reasons": [EVIL], "way": way}
        number = a_subscription(db, account, f"{EVIL}@shop.example", **texts)
        an_attempt(db, number, error_message=EVIL)
        for command in (("list",), ("show", str(number)), ("unsubscribe", str(number), "--dry-run")):
            for options in ((), ("--json",)):
                assert is_harmless(gna(*command, *options)), command

    def test_json_means_what_was_said(self, gna: Run, db: Database, account: int) -> None:
        number = a_subscription(db, account, sender_name=EVIL)
        assert json.loads(gna("show", str(number), "--json").out)["sender_name"] == EVIL

    def test_markup_in_a_name_is_shown_as_it_is(self, gna: Run, db: Database, account: int) -> None:
        number = a_subscription(db, account, sender_name="[red]Sale[/red] :tada:")
        assert "[red]Sale[/red] :tada:" in gna("show", str(number)).out

    def test_reading_commands_say_one_document(self, gna: Run, db: Database, account: int) -> None:
        an_unsubscribed(db, account)
        for command in READING:
            done = gna(*command, "--json")
            assert (done.code, done.err) == (0, ""), command
            assert isinstance(json.loads(done.out), dict)

    def test_a_pipe_gets_no_colours(self, gna: Run, db: Database, account: int) -> None:
        an_unsubscribed(db, account, violation_count=1, last_violation_at=clock.now())
        for command in READING:
            assert "\x1b" not in gna(*command).out

    @pytest.mark.parametrize("command", [(), ("nonsense",), ("show",), ("keep",), ("unsubscribe",), ("audit",)])
    def test_a_command_without_its_arguments_is_wrong_usage(self, gna: Run, command: tuple[str, ...]) -> None:
        assert gna(*command).code == 2
