"""`gna inbox violations`: who kept sending, and the report that proves it."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gna import activity, clock
from gna.db import Database
from tests.cli.commands import Run
from tests.cli.inbox import EVIL, inbox, is_harmless, refused
from tests.inbox.factories import a_mail, an_account, an_attempt, an_unsubscribed

SENDER = "news@shop.example"


@pytest.fixture
def gna(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    yield from inbox(database_url, tmp_path, monkeypatch, capfd)


def kept_sending(db: Database, sender: str, *, mails: int, days: int, subject: str = "Hello again") -> int:
    """A subscription that was left so many days ago, and mails of the day after."""
    account, left = an_account(db, f"{sender}.mailbox@example.org"), clock.now() - timedelta(days=days)
    last = left + timedelta(days=1)
    sums = {"violation_count": mails, "emails_after_unsubscribe": mails, "last_violation_at": last}
    number = an_unsubscribed(db, account, sender, at=left, **sums)
    an_attempt(db, number, at=left)
    for _ in range(mails):
        a_mail(db, account, sender, sent=last, subject=subject)
    return number


def test_nobody_kept_sending(gna: Run) -> None:
    assert gna("violations").out.startswith("Nobody kept sending after you had left. ")
    assert "gna inbox scan" in gna("violations").out
    assert json.loads(gna("violations", "--json").out) == {
        "total_violations": 0, "total_violation_emails": 0, "recent": [], "worst_offenders": [],
    }  # fmt: skip


def test_the_worst_are_first_and_the_recent_are_apart(gna: Run, db: Database) -> None:
    kept_sending(db, "few@shop.example", mails=1, days=3)
    kept_sending(db, "many@shop.example", mails=4, days=40)
    said = json.loads(gna("violations", "--json").out)
    assert said["total_violation_emails"] == 5
    assert [one["sender_email"] for one in said["worst_offenders"]] == ["many@shop.example", "few@shop.example"]
    assert [one["sender_email"] for one in said["recent"]] == ["few@shop.example"]
    longer = json.loads(gna("violations", "--days", "60", "--json").out)
    assert len(longer["recent"]) == 2


def test_a_table_for_people(gna: Run, db: Database) -> None:
    kept_sending(db, SENDER, mails=2, days=3)
    kept_sending(db, "old@shop.example", mails=1, days=40)
    worst, recent = " ".join(gna("violations").out.split()).split("In the last 7 days")
    for part in (worst, recent):
        assert f"{SENDER} 2 " in part
    assert ("old@shop.example" in worst, "old@shop.example" in recent) == (True, False)
    assert recent.endswith("2 senders went on, with 3 mails")


def test_the_evidence_as_a_file_for_a_spreadsheet(gna: Run, db: Database, tmp_path: Path) -> None:
    kept_sending(db, SENDER, mails=2, days=20)
    done = gna("violations", "--csv", "evidence.csv")
    assert (done.code, done.out, done.err) == (0, "", "2 mails written to evidence.csv.\n")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "evidence.csv").read_text("utf-8-sig"))))
    assert [row["sender_email"] for row in rows] == [SENDER, SENDER]
    assert all(row["message_id"] and row["received_at"] and row["unsubscribed_at"] for row in rows)
    assert rows[0]["method_used"] == "http_get"
    assert gna("violations", "--csv", "-").out == (tmp_path / "evidence.csv").read_bytes().decode()


def test_the_evidence_as_json(gna: Run, db: Database, tmp_path: Path) -> None:
    kept_sending(db, SENDER, mails=2, days=20)
    items = json.loads(gna("violations", "--evidence", "-").out)["items"]
    assert [item["subject"] for item in items] == ["Hello again", "Hello again"]
    done = gna("violations", "--json", "--evidence", "all.json", "--csv", "all.csv")
    assert json.loads(done.out)["total_violation_emails"] == 2
    assert json.loads((tmp_path / "all.json").read_text())["items"] == items


def test_the_standard_output_takes_one_document(gna: Run) -> None:
    assert gna("violations", "--json", "--csv", "-").code == 2
    assert gna("violations", "--evidence", "-", "--csv", "-").code == 2


def test_a_file_that_cannot_be_written_is_refused(gna: Run) -> None:
    assert refused(gna("violations", "--csv", "no/such/folder.csv")).startswith("no/such/folder.csv cannot be written")


@pytest.mark.parametrize("days", ["0", "-1", "week"])
def test_days_are_a_number(gna: Run, days: str) -> None:
    assert gna("violations", "--days", days).code == 2


def test_a_sender_cannot_speak_to_the_terminal(gna: Run, db: Database) -> None:
    kept_sending(db, f"{EVIL}@shop.example", mails=1, days=3, subject=EVIL)
    for options in ((), ("--json",)):
        assert is_harmless(gna("violations", *options))


def test_taking_evidence_away_is_noted_with_how_many_mails_it_were(gna: Run, db: Database) -> None:
    kept_sending(db, SENDER, mails=2, days=20)
    gna("violations", "--json")
    gna("violations", "--csv", "no/such/folder.csv")
    gna("violations", "--csv", "-")
    with db.read() as tx:
        noted, _ = activity.newest(tx, page=1, per_page=9)
    assert [(one["verb"], one["about"]) for one in noted] == [("inbox_exported", "2")]
