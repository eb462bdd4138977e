"""`gna campaigns`."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from email import message_from_string
from pathlib import Path
from typing import Any, ClassVar

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from gna import clock
from gna.campaigns import overview, short_ids
from gna.campaigns.table import campaigns, deliveries
from gna.cli.watch import NOBODY_SENDS, PAUSED, Patience
from gna.db import Database
from gna.errors import NotFound, Refused
from gna.outbox import messages
from tests.cli.commands import Done, Run, running
from tests.desk import Desk, in_an_hour
from tests.running import Gna


@pytest.fixture
def gna(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """Runs `gna campaigns` on a database and in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", database_url)
    yield from running("campaigns", monkeypatch, capfd)


@pytest.fixture
def desk(client: TestClient, db: Database) -> Desk:
    """A publisher at the API, and the worker."""
    return Desk(client, db)


@pytest.fixture
def draft(gna: Run, tmp_path: Path) -> str:
    """The id of a draft."""
    (tmp_path / "news.md").write_text("# News\n\nFor {{ nickname | you }}: *all* of it.\n")
    return gna("create", "news.md", "--subject", "Issue 1").out.strip()


def refused(done: Done) -> str:
    """The one sentence of a refusal."""
    assert (done.code, done.err.count("\n"), done.err[:5]) == (1, 1, "gna: "), done
    return done.err[5:].strip()


def as_it_is(db: Database, campaign_id: str) -> dict[str, Any]:
    with db.read() as tx:
        return overview.get(tx, campaign_id)


def test_a_markdown_file_becomes_a_draft(gna: Run, db: Database, tmp_path: Path) -> None:
    (tmp_path / "news.markdown").write_text("\ufeff# Știri\n")
    (tmp_path / "plain.txt").write_text("Just text\n")
    options = ("--preheader", "In short", "--text", "plain.txt", "--no-archive", "--list", "weekly")
    conditions = ("--attribute", "city=Cluj", "--attribute", "a=b=c")
    done = gna("create", "news.markdown", "--subject", "Știri", *options, *conditions)
    assert (done.code, done.err) == (0, "")
    shown = as_it_is(db, done.out.strip())
    assert (shown["subject"], shown["body"], shown["body_format"]) == ("Știri", "# Știri\n", "markdown")
    assert (shown["preheader"], shown["body_text"], shown["archived"]) == ("In short", "Just text\n", False)
    assert shown["audience"] == {"list": "weekly", "attributes": {"city": "Cluj", "a": "b=c"}}
    assert shown["state"] == "draft"


def test_an_html_file_becomes_a_draft_and_json(gna: Run, db: Database, tmp_path: Path) -> None:
    (tmp_path / "NEWS.HTM").write_text("<p>Hello</p>")
    said = json.loads(gna("create", "NEWS.HTM", "--subject", "One", "--json").out)
    assert (said["body_format"], said["audience"], said["archived"], said["checks"]) == ("html", {}, True, [])
    assert said | as_it_is(db, said["id"]) == said


def test_markdown_comes_from_the_standard_input(database_url: str, db: Database, tmp_path: Path) -> None:
    done = outside(database_url, tmp_path, "create", "-", "--subject", "Piped", stdin="*Salut*, lume ș\n")
    shown = as_it_is(db, done.stdout.strip())
    assert (shown["body"], shown["body_format"]) == ("*Salut*, lume ș\n", "markdown")


@pytest.mark.parametrize(
    ("file", "content", "options", "reason"),
    [
        ("news.md", None, ("--subject", "x"), "news.md cannot be read: No such file or directory."),
        ("news.md", b"\xff\xfe\xfa", ("--subject", "x"), "news.md is not UTF-8."),
        (
            "news.txt",
            b"Hi",
            ("--subject", "x"),
            "news.txt is neither Markdown (.md, .markdown) nor HTML (.html, .htm).",
        ),
        ("news.md", b" \n", ("--subject", "x"), "Body is required"),
        ("news.md", b"x" * 1_000_001, ("--subject", "x"), "Body is longer than 400,000 characters"),
        ("news.md", b"Hi", ("--subject", "a\nb"), "Subject must be one line"),
        ("news.md", b"Hi", ("--subject", "\udcff"), "Subject contains characters that cannot be stored"),
        ("news.md", b"Hi {{ salary }}", ("--subject", "x"), "salary"),
        ("news.md", b"Hi", ("--subject", "x", "--list", "no list"), "list"),
        ("news.md", b"Hi", ("--subject", "x", "--text", "none.txt"), "none.txt cannot be read"),
    ],
)
def test_what_cannot_be_sent_is_not_written(
    gna: Run, db: Database, tmp_path: Path, file: str, content: bytes | None, options: tuple[str, ...], reason: str
) -> None:
    if content is not None:
        (tmp_path / file).write_bytes(content)
    assert reason in refused(gna("create", file, *options))
    with db.read() as tx:
        assert tx.execute(sa.select(campaigns)).all() == []


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--subject", "x", "--attribute", "city"),
        ("--subject", "x", "--attribute", "=Cluj"),
        ("--subject", "x", "--attribute", "city=Cluj", "--attribute", "city=Iași"),
    ],
)
def test_a_draft_without_its_options_is_a_usage_error(gna: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "news.md").write_text("Hi")
    assert gna("create", "news.md", *options).code == 2


def test_campaigns_are_listed_with_their_marks(gna: Run, desk: Desk) -> None:
    desk.has_readers("ana@example.org")
    sent, going, waiting = (desk.in_state(state) for state in ("published", "publishing", "scheduled"))
    assert desk.asks(going, "pause").status_code == 200
    desk.time_comes(waiting, ago=timedelta(days=1))
    desk.works()
    desk.writes(subject="[bold]Loud[/bold] :smile:")
    lines = [line.split() for line in gna("list").out.splitlines()]
    assert lines[0] == ["Id", "Subject", "State", "When", "Sent", "Failed", "Audience"]
    assert lines[1][1:] == ["[bold]Loud[/bold]", ":smile:", "draft"]
    assert lines[2][0] == waiting["id"][-8:]
    assert lines[2][3:5] == ["scheduled", "(held)"]
    assert lines[3][3:5] == ["publishing", "(paused)"]
    assert (lines[4][0], lines[4][3], lines[4][-3:]) == (sent["id"][-8:], "published", ["1", "0", "1"])
    assert lines[5] == ["4", "of", "4"]
    assert "\x1b" not in gna("list").out


def test_a_list_in_json_is_that_of_the_api(gna: Run, desk: Desk) -> None:
    for state in ("draft", "scheduled", "published", "draft"):
        desk.in_state(state)
    queries: list[dict[str, str | int]] = [{}, {"state": "draft", "per_page": 1, "page": 2}, {"state": "publishing"}]
    for query in queries:
        options = [f"--{name.replace('_', '-')}={value}" for name, value in query.items()]
        api = desk.client.get("/admin/api/campaigns", params=query).json()
        assert json.loads(gna("list", "--json", *options).out) == api
    assert "1 of 2" in gna("list", "--state", "draft", "--per-page", "1").out
    for wrong in (("--state", "lost"), ("--page", "0"), ("--per-page", "101")):
        assert gna("list", *wrong).code == 2


def test_a_subject_cannot_speak_to_the_terminal(gna: Run, db: Database, draft: str) -> None:
    with db.write() as tx:
        tx.execute(sa.update(campaigns).values(subject="a\x1b[31mb\x9b2Jc\u202ed\re"))
    for command in (("list",), ("show", draft), ("send", draft)):
        assert "a[31mb2Jcde" in gna(*command).out


def test_one_campaign_is_shown_with_its_sums(gna: Run, desk: Desk) -> None:
    desk.has_readers("ana@example.org", "bo@example.org")
    desk.provider.refuses("bo@example.org", permanently=True)
    sent = desk.sends(subject="Issue 2", preheader="In short", audience={"list": "general", "attributes": {}})
    said = gna("show", sent["id"]).out
    for line in ("Subject     Issue 2", "Preheader   In short", "For         list general", "State       published"):
        assert line in said.splitlines()
    assert "Delivery    email, sent: 2 people = 1 sent + 1 failed + 0 skipped" in said
    assert json.loads(gna("show", sent["id"], "--json").out) == sent | {"checks": []}


def test_what_is_held_and_what_failed_says_why(gna: Run, desk: Desk) -> None:
    waiting, failed = desk.in_state("scheduled"), desk.in_state("failed")
    desk.time_comes(waiting, ago=timedelta(days=1))
    desk.works()
    said = gna("show", waiting["id"]).out
    assert "State       scheduled (held)" in said
    assert "Held        It was to be sent at" in said
    assert "For         everybody, now 1 person" in said
    said = gna("show", failed["id"]).out
    assert "State       published (failed)" in said
    assert "Delivery    email, failed: 1 person = 0 sent + 1 failed + 0 skipped" in said
    assert "            1 of 1 mails could not be sent: 550 no such mailbox (1)" in said


def test_what_is_to_be_mended_is_shown_and_keeps_it_from_being_sent(gna: Run, db: Database, draft: str) -> None:
    with db.write() as tx:  # as from a version that knew another field
        tx.execute(sa.update(campaigns).values(body="Hi {{ salary }}"))
    assert "Check       error: " in gna("show", draft).out
    assert json.loads(gna("show", draft, "--json").out)["checks"][0]["code"] == "unknown_field"
    done = gna("send", draft, "--yes")
    assert "Check       error: " in done.out
    assert refused(done) == "It has errors and cannot be sent so; mend them first."
    assert as_it_is(db, draft)["state"] == "draft"


def test_an_id_may_be_short_as_long_as_it_is_clear(gna: Run, desk: Desk) -> None:
    first, second = desk.writes(subject="First"), desk.writes(subject="Second")
    assert "Second" in gna("show", second["id"][-4:]).out
    assert "First" in gna("show", first["id"][-8:].upper()).out
    unlike = next(n for n in range(37) if first["id"][:n] != second["id"][:n])
    assert "First" in gna("show", first["id"][:unlike]).out
    said = refused(gna("show", first["id"][:6]))
    assert said == f"The id of more than one campaign begins or ends with {first['id'][:6]}; write more of it"
    assert refused(gna("show", first["id"][-3:])).startswith("An id needs at least 4 of its characters")
    for nobody in ("zzzz", "%%%%", "____", "\udcff\udcff\udcff\udcff", first["id"] + "0"):
        assert refused(gna("show", nobody)) == "There is no such campaign"


def test_a_whole_id_wins_over_those_that_contain_it(db: Database, desk: Desk) -> None:
    desk.writes()
    with db.write() as tx:
        tx.execute(sa.delete(deliveries))
        tx.execute(sa.update(campaigns).values(id="news"))
    desk.writes()
    with db.write() as tx:
        other = campaigns.c.id != "news"
        tx.execute(sa.delete(deliveries))
        tx.execute(sa.update(campaigns).where(other).values(id="news-2"))
    with db.read() as tx:
        assert short_ids.whole(tx, "news") == "news"
        with pytest.raises(Refused, match="more than one"):
            short_ids.whole(tx, "NEWS")
        with pytest.raises(NotFound):
            short_ids.whole(tx, "olds")


def test_a_preview_is_what_a_reader_will_see(gna: Run, desk: Desk, draft: str) -> None:
    desk.has_readers("Ana@example.org", nickname="Ana")
    assert "For you: all of it." in gna("preview", draft).out
    assert gna("preview", draft, "--text").out == gna("preview", draft).out
    assert "For Ana: all of it." in gna("preview", draft, "--as", "ana@EXAMPLE.org").out
    person = desk.client.get("/admin/api/subscribers").json()["items"][0]["id"]
    seen = gna("preview", draft, "--html", "--as", person).out
    assert "For Ana: <em" in seen
    api = desk.client.get(f"/admin/api/campaigns/{draft}/preview", params={"format": "html", "subscriber": person})
    assert seen == api.text
    mail = message_from_string(gna("preview", draft, "--source", "--as", person).out)
    assert (mail["To"], mail["Subject"]) == ("Ana@example.org", "Issue 1")


def test_a_preview_for_nobody_or_in_two_ways_is_refused(gna: Run, draft: str) -> None:
    for nobody in ("bo@example.org", "nobody", "\udcff@"):
        assert refused(gna("preview", draft, "--as", nobody)) == "There is no such subscriber"
    assert gna("preview", draft, "--text", "--html").code == 2


def test_a_test_goes_to_the_addresses_alone(gna: Run, desk: Desk, draft: str) -> None:
    desk.has_readers("reader@example.org")
    done = gna("test", draft[-8:], "me@example.org", "you@example.org", "me@example.org")
    assert done == Done(0, "A test to 2 addresses is on its way.\n", "")
    desk.works()
    assert sorted(desk.got()) == ["me@example.org", "you@example.org"]
    assert refused(gna("test", draft, "nonsense")) == "Email is not a valid address"
    assert "1–20" in refused(gna("test", draft, *(f"p{n}@example.org" for n in range(21))))
    assert gna("test", draft).code == 2


def test_a_campaign_is_sent_when_somebody_is_sure(gna: Run, desk: Desk, draft: str) -> None:
    desk.has_readers("ana@example.org", "bo@example.org")
    done = gna("send", draft)
    assert done.out == "Subject     Issue 1\nFor         2 people\nLinks       start with http://127.0.0.1:8000\n"
    assert refused(done) == "Nobody is here to be asked; add --yes if you are sure."
    assert gna("send", draft, "--yes").out.endswith("It is being sent.\n")
    desk.works()
    assert sorted(desk.got()) == ["ana@example.org", "bo@example.org"]
    again = gna("send", draft, "--yes")
    assert refused(again) == "Operation not allowed in current state: the campaign is published"
    assert again.out == ""


@pytest.mark.parametrize(("answer", "code", "state"), [("y", 0, "publishing"), ("n", 1, "draft"), ("", 1, "draft")])
def test_somebody_at_a_terminal_is_asked(
    database_url: str, db: Database, tmp_path: Path, draft: str, answer: str, code: int, state: str
) -> None:
    desk, terminal = pty.openpty()
    process = begun(database_url, tmp_path, "send", draft, stdin=terminal)
    os.close(terminal)
    os.write(desk, f"{answer}\n".encode())
    out, err = process.communicate(timeout=60)
    os.close(desk)
    assert "Its audience is empty: no mail would go out" in out
    assert "Send it anyway? [y/N]" in out
    assert (process.returncode, err) == (code, "" if code == 0 else "gna: Nothing was done.\n")
    assert as_it_is(db, draft)["state"] == state


def test_what_was_changed_while_somebody_thought_is_not_sent(
    gna: Run, db: Database, draft: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def thinks(question: str, **_: object) -> bool:
        with db.write() as tx:
            tx.execute(sa.update(campaigns).values(updated_at=clock.now()))
        return True

    monkeypatch.setattr("typer.confirm", thinks)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    assert refused(gna("send", draft)).startswith("Somebody changed the campaign meanwhile")
    assert as_it_is(db, draft)["state"] == "draft"


def test_a_campaign_is_scheduled_and_cancelled(gna: Run, db: Database, draft: str) -> None:
    assert gna("schedule", draft, "2099-01-31T09:00:00+02:00").out == "Scheduled for 2099-01-31 07:00 UTC.\n"
    assert as_it_is(db, draft)["scheduled_at"] == "2099-01-31T07:00:00.000000Z"
    assert gna("schedule", draft, "2099-02-01T09:00:00Z").code == 0
    assert "2099-02-01 09:00 UTC" in gna("list").out
    assert gna("cancel", draft).out == "It is a draft again.\n"
    assert as_it_is(db, draft)["state"] == "draft"
    assert refused(gna("cancel", draft)) == "Operation not allowed in current state: the campaign is draft"
    for when, why in (("tomorrow", "ISO 8601"), ("2099-01-31T09:00:00", "zone"), ("2020-01-31T09:00:00Z", "future")):
        assert why in refused(gna("schedule", draft, when))


def test_a_campaign_is_paused_and_goes_on(gna: Run, desk: Desk) -> None:
    going = desk.in_state("publishing")
    assert gna("pause", going["id"]).out == "It is paused.\n"
    assert desk.sees(going)["deliveries"][0]["paused"]
    said = "Operation not allowed in current state: the campaign is publishing (paused)"
    assert refused(gna("pause", going["id"])) == said
    assert gna("resume", going["id"]).out == "It goes on.\n"
    assert refused(gna("resume", going["id"])).endswith("the campaign is publishing")


def test_failed_deliveries_are_tried_again(gna: Run, desk: Desk, draft: str) -> None:
    failed = desk.in_state("failed")
    desk.provider.takes("refused@example.org")
    assert gna("retry", failed["id"]).out == "Trying again: 1 mail.\n"
    desk.works()
    assert desk.sees(failed)["sent_count"] == 1
    assert refused(gna("retry", failed["id"])) == "No delivery of it has failed: the campaign is published"
    assert refused(gna("retry", draft)) == "No delivery of it has failed: the campaign is draft"


def test_what_can_no_longer_be_tried_again_says_so(gna: Run, desk: Desk) -> None:
    failed = desk.in_state("failed")
    with desk.db.write() as tx:  # as the clean-up does after a week
        tx.execute(sa.delete(messages))
    said = "Nothing is left to be tried again: the campaign is published (failed)"
    assert refused(gna("retry", failed["id"])) == said
    assert desk.sees(failed)["deliveries"][0]["state"] == "failed"


def test_a_campaign_is_copied_and_thrown_away(gna: Run, db: Database, draft: str) -> None:
    copy = gna("duplicate", draft).out.strip()
    assert as_it_is(db, copy)["body"] == as_it_is(db, draft)["body"]
    assert refused(gna("delete", copy)) == "Nobody is here to be asked; add --yes if you are sure."
    assert gna("delete", copy, "--yes").out == "Deleted.\n"
    assert refused(gna("show", copy)) == "There is no such campaign"
    gna("schedule", draft, in_an_hour())
    assert refused(gna("delete", draft, "--yes")).endswith("the campaign is scheduled")


@pytest.mark.parametrize(
    "command", ["show", "preview", "send", "cancel", "pause", "resume", "retry", "watch", "duplicate", "delete"]
)
def test_a_campaign_that_is_not_there_is_one_sentence(gna: Run, command: str) -> None:
    assert refused(gna(command, "00000000")) == "There is no such campaign"
    assert gna(command).code == 2


def test_watching_ends_with_the_sums(
    start: Callable[..., Gna], gna: Run, desk: Desk, database_url: str, draft: str
) -> None:
    desk.has_readers(*(f"p{number}@example.org" for number in range(30)))
    server = start(DATABASE_URL=database_url)
    done = gna("send", draft, "--yes", "--watch")
    assert done.code == 0, (done, server.log.read_text())
    assert done.out.splitlines()[-2:] == ["It is being sent.", "30 people = 30 sent + 0 failed + 0 skipped"]
    assert done.err == ""
    assert len([*(server.folder / "mailbox").rglob("*.eml")]) == 30
    assert gna("watch", draft).out == "30 people = 30 sent + 0 failed + 0 skipped\n"


def test_watching_what_failed_ends_with_the_reason(gna: Run, desk: Desk, draft: str) -> None:
    failed = desk.in_state("failed")
    done = gna("watch", failed["id"])
    assert done.out == "1 person = 0 sent + 1 failed + 0 skipped\n"
    assert refused(done) == "1 of 1 mails could not be sent: 550 no such mailbox (1)"
    assert refused(gna("watch", draft)) == "There is nothing to watch yet: the campaign is draft"


def test_ctrl_c_ends_the_watching_alone(database_url: str, desk: Desk, tmp_path: Path) -> None:
    going = desk.in_state("publishing")
    assert desk.asks(going, "pause").status_code == 200
    process = begun(database_url, tmp_path, "watch", going["id"])
    assert process.stderr
    assert process.stderr.readline() == f"{PAUSED}\n"  # so it watches
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "No longer watching; the campaign goes on.\n", "")
    assert desk.sees(going)["state"] == "publishing"


def test_a_bar_is_drawn_on_a_terminal(start: Callable[..., Gna], database_url: str, desk: Desk, tmp_path: Path) -> None:
    desk.has_readers(*(f"p{number}@example.org" for number in range(5)))
    going = desk.in_state("publishing")
    screen, terminal = pty.openpty()
    with begun(database_url, tmp_path, "watch", going["id"], stderr=terminal) as process:
        os.close(terminal)
        pieces = read(screen)
        drawn = ""
        while "0 sent" not in drawn:
            drawn += next(pieces)
        start(DATABASE_URL=database_url)
        drawn += "".join(pieces)
        out, _ = process.communicate(timeout=30)
    assert out == "5 people = 5 sent + 0 failed + 0 skipped\n"
    assert "Sending" in drawn
    assert "Nothing is being sent" not in drawn


def test_whoever_watches_in_vain_is_told_once(gna: Run, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    going, looks = desk.in_state("publishing"), iter(range(3))

    def sleep(_: float) -> None:
        if next(looks, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr("gna.cli.watch.SILENCE", 0)
    monkeypatch.setattr("time.sleep", sleep)
    done = gna("watch", going["id"])
    assert done == Done(0, "No longer watching; the campaign goes on.\n", f"{NOBODY_SENDS}\n")


class TestPatience:
    """When somebody who watches is told that nothing moves."""

    GOING: ClassVar[dict[str, Any]] = {"sent_count": 1, "deliveries": [{"paused": False}]}

    def test_silence_is_noticed_once_after_ten_seconds(self) -> None:
        patience = Patience(since=100)
        said = [patience.remark(self.GOING, at) for at in (100, 109.9, 110, 111, 130)]
        assert said == [None, None, NOBODY_SENDS, None, None]

    def test_whatever_moves_begins_the_silence_anew(self) -> None:
        patience = Patience(since=0)
        said = [patience.remark(self.GOING | {"sent_count": at}, at) for at in (0, 9, 18, 27)]
        assert said == [None] * 4
        assert patience.remark(self.GOING | {"sent_count": 27}, 37) == NOBODY_SENDS

    def test_what_is_paused_is_silent_for_that(self) -> None:
        patience = Patience(since=0)
        paused = {"sent_count": 1, "deliveries": [{"paused": True}]}
        assert [patience.remark(paused, at) for at in (0, 20, 40)] == [PAUSED, None, None]
        assert [patience.remark(self.GOING, at) for at in (41, 50, 51)] == [None, None, NOBODY_SENDS]


def begun(database_url: str, folder: Path, *arguments: str, **pipes: Any) -> "subprocess.Popen[str]":
    """A command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "gna", "campaigns", *arguments],
        cwd=folder,
        env={"DATABASE_URL": database_url, "PATH": os.environ["PATH"], "TERM": "xterm", "PYTHONDONTWRITEBYTECODE": "1"},
        text=True,
        # A shell that runs the tests in the background lets them, and what they start, ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | pipes,
    )


def outside(database_url: str, folder: Path, *arguments: str, stdin: str) -> "subprocess.CompletedProcess[str]":
    """The same, with something to read, until it ends."""
    with begun(database_url, folder, *arguments, stdin=subprocess.PIPE) as process:
        out, err = process.communicate(stdin, timeout=60)
    assert process.returncode == 0, err
    return subprocess.CompletedProcess(arguments, 0, out, err)


def read(screen: int) -> Iterator[str]:
    """What is drawn on a terminal, until nobody draws any more."""
    with suppress(OSError), open(screen, "rb", buffering=0) as opened:
        while piece := opened.read(1000):
            yield piece.decode(errors="replace")
