"""`gna inbox unsubscribe`: what is shown, what is asked, and what is said of it."""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from gna.db import Database
from gna.errors import Unreachable
from gna.inbox.table import subscriptions
from gna.inbox.unsubscribe import Result, unsubscribe
from tests.cli.commands import Done, Run
from tests.cli.inbox import EVIL, inbox, is_harmless
from tests.inbox.factories import a_mail, a_subscription, a_way, an_account, an_attempt, an_unsubscribed
from tests.servers.web import Web

RESULT = ["id", "status", "outcome", "method", "url", "message"]


@pytest.fixture
def gna(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    monkeypatch.setenv("INBOX_ALLOW_PRIVATE_HOSTS", "127.0.0.1")
    yield from inbox(database_url, tmp_path, monkeypatch, capfd)


@pytest.fixture
def account(db: Database) -> int:
    return an_account(db)


@pytest.fixture
def number(db: Database, account: int, web: Web) -> int:
    """A subscription whose link works."""
    return a_subscription(db, account, way=a_way(web.serves("/leave", "Bye") + "?u=1"), email_count=5)


def results(done: Done) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(done.out)["results"]
    return found


def answer(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(said))


def test_details_link_and_method_are_shown_before_the_question(
    gna: Run, number: int, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, "no\n")
    said = " ".join(gna("unsubscribe", str(number)).out.split())
    who = "Sender news@shop.example Kind newsletter. Sent to many; leaving stops it. Emails 5 Keep no"
    details = f"Id {number} {who} Method http_get Link {web.at('/leave?u=1')}"
    assert said.startswith(details)
    assert said.index("Type 'yes' to confirm") > len(details)


def test_what_a_form_would_send_is_shown_before_the_question_and_by_show(
    gna: Run, db: Database, account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, "no\n")
    fields = (("list", "1"), ("list", f"2{EVIL}"), ("t", "x" * 100), *((f"f{number}", "") for number in range(30)))
    form = a_way("https://shop.example/leave", "http_post", fields=fields)
    number = a_subscription(db, account, way=form, ways=[form.stored()], email_count=5)
    for command in ("unsubscribe", "show"):
        done = gna(command, str(number))
        assert is_harmless(done)
        [line] = [line for line in done.out.splitlines() if "a form with" in line]
        assert "list=1, list=2" in line
        assert f"t={'x' * 60}…, f0=, f1=, " in line
        assert line.endswith("f16= and 13 more")


def test_a_sender_who_wrote_once_may_be_a_spammer(
    gna: Run, db: Database, account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, "no\n")
    stranger = a_subscription(db, account, "once@shop.example", way=a_way(), email_count=1)
    assert "careful: Only one mail of theirs was seen" in gna("unsubscribe", str(stranger)).out


@pytest.mark.parametrize("said", ["yes\n", " YES \n", "Yes"])
def test_yes_goes_on(gna: Run, number: int, web: Web, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    answer(monkeypatch, said)
    done = gna("unsubscribe", str(number))
    assert (done.code, web.times("/leave?u=1")) == (0, 1), done
    assert f"{number}: Page opened" in done.out
    assert "The attempt is recorded." in done.out


def test_only_what_a_server_took_for_this_is_called_an_unsubscribe(
    gna: Run, db: Database, account: int, number: int, web: Web
) -> None:
    opened = gna("unsubscribe", str(number), "--yes").out
    assert "only later mail can tell" in opened
    assert "Unsubscribed" not in opened
    way = a_way(web.serves("/form", "Bye"), "http_post")
    posted = a_subscription(db, account, "form@shop.example", way=way, email_count=5)
    assert f"{posted}: Unsubscribed: " in gna("unsubscribe", str(posted), "--yes").out


@pytest.mark.parametrize("said", ["no\n", "y\n", "\n", ""])
def test_anything_else_aborts(gna: Run, number: int, web: Web, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    answer(monkeypatch, said)
    done = gna("unsubscribe", str(number))
    assert (done.code, web.asked) == (1, [])
    assert "Aborted; nothing was sent" in done.out
    assert "recorded" not in done.out


def test_nobody_at_all_is_no_yes(gna: Run, number: int, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    done = gna("unsubscribe", str(number), "--json")
    assert (done.code, results(done)[0]["status"], web.asked) == (1, "refused", [])


def test_each_one_is_asked_about(
    gna: Run, db: Database, account: int, number: int, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = a_subscription(db, account, "b@shop.example", way=a_way(web.serves("/other", "Bye") + "?u=1"))
    answer(monkeypatch, "no\nyes\n")
    done = gna("unsubscribe", str(number), str(other), "--json")
    assert done.code == 1
    assert [(one["id"], one["status"]) for one in results(done)] == [(number, "refused"), (other, "success")]
    assert [asked.path for asked in web.asked] == ["/other?u=1"]
    assert done.err.count("Type 'yes' to confirm") == 2


def test_with_yes_nobody_is_asked_and_json_is_quiet(gna: Run, number: int) -> None:
    done = gna("unsubscribe", str(number), "--yes", "--json")
    [result] = results(done)
    assert (done.code, done.err) == (0, "")
    assert set(RESULT) <= result.keys()
    assert (result["id"], result["status"], result["outcome"]) == (number, "success", "page_opened")


def test_no_line_of_a_log_stands_in_the_answer(gna: Run, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOG_LEVEL")
    assert gna("unsubscribe", str(number), "--yes").err == ""


def test_a_page_that_asks_for_more_is_remembered(gna: Run, number: int, web: Web) -> None:
    web.serves("/leave", "<form><button>Yes, really</button></form>", kind="text/html")
    assert gna("unsubscribe", str(number), "--yes").code == 0
    shown = gna("show", str(number)).out
    assert "success, page_opened, HTTP 200, The page asks for a confirmation" in " ".join(shown.split())


def test_a_failure_says_its_code(gna: Run, number: int, web: Web) -> None:
    web.serves("/leave", status=503)
    done = gna("unsubscribe", str(number), "--yes")
    assert done.code == 1
    assert f"{number}: Failed" in done.out
    assert "503" in done.out
    assert "The attempt is recorded." in done.out


def test_the_last_three_attempts_are_shown(gna: Run, db: Database, number: int) -> None:
    for code in (501, 502, 503, 504):
        an_attempt(db, number, status="failed", outcome="refused", response_code=code, error_message="no")
    said = gna("unsubscribe", str(number), "--dry-run").out
    assert [code for code in range(501, 505) if f"HTTP {code}" in said] == [502, 503, 504]


def test_a_dry_run_says_so_asks_nobody_and_sends_nothing(gna: Run, number: int, web: Web) -> None:
    done = gna("unsubscribe", str(number), "--dry-run")
    assert (done.code, web.asked) == (0, [])
    assert f"{number}: Dry run, nothing was sent: Would" in done.out
    assert "Type 'yes'" not in done.out
    assert results(gna("unsubscribe", str(number), "--dry-run", "--json"))[0]["status"] == "dry_run"


def test_the_sentences_of_a_refusal(gna: Run, db: Database, account: int) -> None:
    kept = a_subscription(db, account, "kept@shop.example", way=a_way(), kept=True)
    left = an_unsubscribed(db, account, "left@shop.example")
    none = a_subscription(db, account, "none@shop.example")
    tired = a_subscription(db, account, "tired@shop.example", way=a_way())
    for _ in range(3):
        an_attempt(db, tired, status="failed", outcome="refused")
    done = gna("unsubscribe", str(kept), str(left), str(none), str(tired), "--yes")
    assert done.code == 1
    for number, reason in (
        (kept, "Subscription marked to keep (skip unsubscribe)"),
        (left, "Already unsubscribed"),
        (none, "No unsubscribe link available"),
        (tired, "Max attempts (3) reached"),
    ):
        assert f"{number}: Not done: {reason}" in done.out
    assert "recorded" not in done.out


def test_what_is_refused_is_not_asked_about(gna: Run, db: Database, account: int) -> None:
    done = gna("unsubscribe", str(a_subscription(db, account, kept=True, way=a_way())))
    assert (done.code, "Type 'yes'" in done.out) == (1, False)


def test_an_unknown_one_keeps_no_other_from_leaving(gna: Run, number: int) -> None:
    done = gna("unsubscribe", "99", str(number), "--yes", "--json")
    assert done.code == 1
    assert [(one["id"], one["status"]) for one in results(done)] == [(99, "refused"), (number, "success")]
    assert "no subscription 99" in results(done)[0]["message"]


def test_twice_the_same_number_is_once(gna: Run, number: int, web: Web) -> None:
    done = gna("unsubscribe", str(number), str(number), "--yes", "--json")
    assert (done.code, len(results(done)), len(web.asked)) == (0, 1, 1)


def test_who_keeps_one_no_more_gets_the_way_of_a_host_that_is_allowed(gna: Run, db: Database, account: int) -> None:
    a_mail(db, account, list_unsubscribe="<mailto:leave@shop.example>, <https://127.0.0.1/u?t=1>")
    kept = a_subscription(db, account, way=a_way(), kept=True)
    assert gna("unkeep", str(kept)).code == 0
    found = json.loads(gna("show", str(kept), "--json").out)
    assert (found["unsubscribe_method"], found["unsubscribe_link"]) == ("http_get", "https://127.0.0.1/u?t=1")
    assert [(was["method"], was["url"]) for was in found["history"]] == [("http_get", "https://127.0.0.1/u?t=1")]


@dataclass
class Thinks:
    """Somebody who thinks for so long that a scan finds a newer mail."""

    db: Database
    url: str

    def readline(self) -> str:
        with self.db.write() as tx:
            tx.execute(sa.update(subscriptions).values(unsubscribe_link=self.url, ways=[a_way(self.url).stored()]))
        return "yes"


def test_a_yes_to_one_way_is_none_to_another(
    gna: Run, db: Database, number: int, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Thinks(db, web.serves("/other", "Bye")))
    done = gna("unsubscribe", str(number))
    assert (done.code, web.asked) == (1, [])
    assert "A newer mail has another way out" in done.out


def test_what_goes_wrong_with_one_hides_nothing_of_the_others(
    gna: Run, db: Database, account: int, number: int, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [a_subscription(db, account, f"{name}@shop.example", way=a_way(web.at("/leave"))) for name in ("b", "c")]

    async def breaks(db: Any, settings: Any, id: int, *, dry_run: bool = False, **rest: Any) -> Result:
        if id == broken[0] or (id == broken[1] and not dry_run):
            raise Unreachable("The database is away")
        return await unsubscribe(db, settings, id, dry_run=dry_run, **rest)

    monkeypatch.setattr("gna.cli.inbox_leaving.unsubscribe_from", breaks)
    done = gna("unsubscribe", str(number), *map(str, broken), "--yes", "--json")
    assert done.code == 1
    assert [(one["id"], one["status"]) for one in results(done)] == [
        (number, "success"),
        (broken[0], "refused"),
        (broken[1], "failed"),
    ]
    assert [one["message"] for one in results(done)[1:]] == ["The database is away"] * 2
    assert "recorded" not in done.err
